//! Settings that come with a person's cluster: Java's `client.properties`, and variables of the environment. Each is a
//! layer that has a `[kafka]` only, and its values are taken to the byte: nothing is filled in.

use std::sync::Arc;

use super::error::{Error, Problem};
use super::java;
use super::kafka_names::{canonical, names};
use super::origin::{Origin, Place, Source};
use super::suggest::nearest;
use super::tree::{Entry, Kind, Node, Table};

/// How variables of the environment begin that are settings of `[kafka]`.
pub const VARIABLES: &str = "KHOST_KAFKA_";
/// How a variable ends that names a file with the value.
const FILE: &str = "_FILE";

/// A file's bytes and what messages call it.
#[derive(Debug, Clone, Default)]
pub struct Bytes {
    /// A path.
    pub place: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What a `client.properties` comes to.
pub(super) struct JavaFile {
    pub(super) layer: Node,
    pub(super) bootstrap: Option<String>,
    pub(super) notes: Vec<String>,
}

/// Reads a file of Java's clients.
pub(super) fn java_file(file: &Bytes) -> Result<JavaFile, Error> {
    // as Java does: a byte is a character, and lines end in any of three ways
    let text: String = file.bytes.iter().map(|byte| char::from(*byte)).collect();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let source = Arc::new(Source { name: file.place.clone(), text });
    let lines = java::parse(&file.bytes).map_err(|error| {
        Error::new(Problem::Properties(error.problem.to_owned()))
            .with_hint("a backslash that is meant is written as two")
            .at(&Origin::JavaFile(Place::of_line(&source, error.line)))
    })?;
    let translated = java::translate(&lines, |name| names().any(|known| known == name)).map_err(|refused| {
        let at = Origin::JavaFile(Place::of_line(&source, refused.line));
        Error::refused(refused.problem).with_hint(refused.hint).under(&refused.name).at(&at)
    })?;
    let setting = |given: &java::Given| {
        let origin = Origin::JavaFile(Place::of_line(&source, given.line));
        Entry {
            key: given.name.clone(),
            origin: origin.clone(),
            node: Node { kind: Kind::Text(given.value.clone()), origin },
        }
    };
    let mut settings = Table::default();
    for given in &translated.settings {
        // the last one of a setting with several names holds
        settings.0.retain(|known| canonical(&known.key) != canonical(&given.name));
        settings.0.push(setting(given));
    }
    let origin = Origin::JavaFile(Place::of_line(&source, 1));
    let notes = translated.notes.iter().map(|note| format!("{}:{}: {}", file.place, note.line, note.text));
    Ok(JavaFile {
        layer: layer(settings, &origin),
        bootstrap: translated.bootstrap.map(|(list, _)| list),
        notes: notes.collect(),
    })
}

/// Settings by the names of variables, such as `KHOST_KAFKA_SASL_PASSWORD`.
pub(super) fn environment(variables: &[(String, String)]) -> Result<Node, Error> {
    let mut settings = Table::default();
    for (variable, value) in variables {
        let origin = Origin::Variable(variable.clone());
        let (setting, _) = setting_of_variable(variable).ok_or_else(|| unknown(variable).at(&origin))?;
        if let Some(other) = settings.0.iter().find(|known| canonical(&known.key) == canonical(setting)) {
            return Err(Error::refused(format!("this is the same setting as {}, which is set as well", other.origin))
                .with_hint("unset one of the two")
                .at(&origin));
        }
        let node = Node { kind: Kind::Text(value.clone()), origin: origin.clone() };
        settings.0.push(Entry { key: setting.to_owned(), origin, node });
    }
    Ok(layer(settings, &Origin::Variable(VARIABLES.to_owned())))
}

/// The setting that a variable of the environment has the value of, and whether it only names a file with it:
/// `KHOST_KAFKA_SASL_PASSWORD` and `KHOST_KAFKA_SASL_PASSWORD_FILE` are both `sasl.password`.
pub fn setting_of_variable(variable: &str) -> Option<(&'static str, bool)> {
    let name = variable.strip_prefix(VARIABLES)?;
    let find = |wanted: &str| names().find(|known| as_variable(known) == wanted);
    let in_file = || Some((find(name.strip_suffix(FILE)?)?, true));
    find(name).map(|setting| (setting, false)).or_else(in_file)
}

fn as_variable(setting: &str) -> String {
    setting.to_ascii_uppercase().replace('.', "_")
}

fn unknown(variable: &str) -> Error {
    let known: Vec<String> = names().map(|name| format!("{VARIABLES}{}", as_variable(name))).collect();
    let error = Error::refused("librdkafka has no such setting");
    match nearest(variable, known.iter().map(String::as_str)) {
        Some(meant) => error.with_hint(format!("did you mean {meant}?")),
        None => error.with_hint("KHOST_KAFKA_SASL_PASSWORD is sasl.password, and so on for every setting"),
    }
}

fn layer(settings: Table, origin: &Origin) -> Node {
    let kafka = Node { kind: Kind::Table(settings), origin: origin.clone() };
    let entry = Entry { key: "kafka".to_owned(), origin: origin.clone(), node: kafka };
    Node { kind: Kind::Table(Table(vec![entry])), origin: origin.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_settings_or_files_of_them() {
        assert_eq!(setting_of_variable("KHOST_KAFKA_SASL_PASSWORD"), Some(("sasl.password", false)));
        assert_eq!(setting_of_variable("KHOST_KAFKA_SASL_PASSWORD_FILE"), Some(("sasl.password", true)));
        let token = Some(("sasl.oauthbearer.token.file", false));
        assert_eq!(setting_of_variable("KHOST_KAFKA_SASL_OAUTHBEARER_TOKEN_FILE"), token);
        assert_eq!(setting_of_variable("KHOST_KAFKA_SASL_PASWORD"), None);
        assert_eq!(setting_of_variable("KAFKA_SASL_PASSWORD"), None);
    }

    #[test]
    fn a_variable_that_is_none_is_refused_without_its_value() {
        let variables = [("KHOST_KAFKA_SASL_PASWORD".to_owned(), "hunter2".to_owned())];
        let error = environment(&variables).expect_err("unknown");
        assert_eq!(error.to_string(), "KHOST_KAFKA_SASL_PASWORD: librdkafka has no such setting");
        assert_eq!(error.hint(), Some("did you mean KHOST_KAFKA_SASL_PASSWORD?"));
    }

    #[test]
    fn a_file_of_javas_is_a_layer() {
        let file = Bytes { place: "c.properties".into(), bytes: b"bootstrap.servers=h:1\nlinger.ms : 20\n".to_vec() };
        let read = java_file(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.bootstrap.as_deref(), Some("h:1"));
        let linger = read.layer.find(&["kafka", "linger.ms"]).expect("there");
        assert_eq!(format!("{linger} {}", linger.origin), "\"20\" c.properties:2");
    }

    #[test]
    fn a_file_that_is_none_of_javas_is_refused_with_its_line() {
        let file = Bytes { place: "c.properties".into(), bytes: b"a=1\nclient.id=\\u00zz\n".to_vec() };
        let error = java_file(&file).err().expect("malformed").to_string();
        assert!(error.starts_with("c.properties:2: "), "{error}");
    }
}
