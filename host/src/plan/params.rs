//! A scenario's parameters: what the manifest declares, and the values that lie over it.

use std::collections::BTreeMap;

use super::decode::decode;
use super::error::Error;
use super::manifest::{ParameterKind, ParameterTable};
use super::origin::Origin;
use super::tree::{Entry, Kind, Node};
use super::value::Value;
use super::written::is_bare;

/// What every scenario has without declaring it.
const PREFIX: &str = "prefix";
const PREFIX_DEFAULT: &str = "khost-";

/// A parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    kind: ParameterKind,
    /// Absent until someone gives it.
    value: Option<Value>,
    pub(super) origin: Origin,
    help: Option<String>,
}

/// The parameters of a scenario, by name.
#[derive(Debug)]
pub(super) struct Parameters(BTreeMap<String, Parameter>);

impl Parameters {
    /// Reads the manifest's `[params]`.
    pub(super) fn declare(table: Option<&Node>) -> Result<Self, Error> {
        let mut parameters = BTreeMap::new();
        if let Some(node) = table {
            for entry in entries(node)? {
                let parameter = declare(entry).map_err(|error| error.on(&["params", &entry.key]).at(&entry.origin))?;
                parameters.insert(entry.key.clone(), parameter);
            }
        }
        parameters.entry(PREFIX.to_owned()).or_insert_with(|| Parameter {
            kind: ParameterKind::Text,
            value: Some(Value::Text(PREFIX_DEFAULT.to_owned())),
            origin: Origin::Default("put before the topics' names".to_owned()),
            help: None,
        });
        Ok(Self(parameters))
    }

    /// Lays the `[params]` of a profile, or of `--set`, over what is declared.
    pub(super) fn lay(&mut self, node: &Node) -> Result<(), Error> {
        for entry in entries(node)? {
            self.lay_one(entry).map_err(|error| error.on(&["params", &entry.key]).at(&entry.origin))?;
        }
        Ok(())
    }

    fn lay_one(&mut self, entry: &Entry) -> Result<(), Error> {
        let parameter = self.find(&entry.key)?;
        let value = match &entry.node.kind {
            Kind::Table(table) => match table.keys().find(|key| *key != "default") {
                Some(key) => {
                    return Err(
                        Error::refused(format!("only the manifest says a parameter's `{key}`")).at(&entry.node.origin)
                    );
                }
                None => match table.get("default") {
                    Some(value) => value,
                    None => return Ok(()),
                },
            },
            _ => &entry.node,
        };
        parameter.value = Some(match value.text() {
            Some(text) if value.origin == Origin::Set => Value::from_text(parameter.kind, text)?,
            _ => Value::from_node(parameter.kind, value)?,
        });
        parameter.origin = value.origin.clone();
        Ok(())
    }

    /// Takes a `--param` of the form `name=value`.
    pub(super) fn give(&mut self, argument: &str) -> Result<(), Error> {
        let Some((name, text)) = argument.split_once('=') else {
            return Err(Error::unexpected("name=value", format!("{argument:?}")).at(&Origin::Param));
        };
        let name = name.trim();
        let given = self.find(name).and_then(|parameter| {
            let value = Value::from_text(parameter.kind, text).map_err(|error| match &parameter.value {
                Some(default) if error.hint().is_none() => error.with_hint(format!("its default is {default}")),
                _ => error,
            });
            parameter.value = Some(value?);
            parameter.origin = Origin::Param;
            Ok(())
        });
        given.map_err(|error| error.on(&["params", name]).at(&Origin::Param))
    }

    fn find(&mut self, name: &str) -> Result<&mut Parameter, Error> {
        if self.0.contains_key(name) {
            Ok(self.0.get_mut(name).expect("just seen"))
        } else {
            Err(Error::unknown("parameter", name, self.0.keys().map(String::as_str)))
        }
    }

    /// Checks that every parameter has a value.
    pub(super) fn complete(self) -> Result<Values, Error> {
        let mut values = BTreeMap::new();
        for (name, parameter) in self.0 {
            let Some(value) = parameter.value else {
                let help = parameter.help.map(|help| format!(" ({help})")).unwrap_or_default();
                let error = Error::refused("this parameter has no default, and nobody gave it a value");
                return Err(error
                    .on(&["params", &name])
                    .at(&parameter.origin)
                    .with_hint(format!("--param {name}=…{help}")));
            };
            values.insert(name, (value, parameter.origin));
        }
        Ok(Values(values))
    }
}

fn entries(params: &Node) -> Result<&[Entry], Error> {
    match &params.kind {
        Kind::Table(table) => Ok(&table.0),
        _ => Err(Error::unexpected("a table", params.describe()).under("params").at(&params.origin)),
    }
}

fn declare(entry: &Entry) -> Result<Parameter, Error> {
    check_name(&entry.key)?;
    let (definition, default) = match &entry.node.kind {
        Kind::Table(table) => (decode::<ParameterTable>(&entry.node)?, table.get("default")),
        _ => (ParameterTable::default(), Some(&entry.node)),
    };
    let kind = match (definition.kind, default) {
        (Some(kind), _) => kind,
        (None, Some(default)) => inferred(default)?,
        (None, None) => return Err(Error::refused("a parameter needs a `default` or a `type`")),
    };
    if entry.key == PREFIX && kind != ParameterKind::Text {
        return Err(Error::refused("`prefix` is a text: it is put before the topics' names"));
    }
    let value = default.map(|node| Value::from_node(kind, node)).transpose()?;
    let origin = default.map_or_else(|| entry.origin.clone(), |node| node.origin.clone());
    Ok(Parameter { kind, value, origin, help: definition.help })
}

fn inferred(default: &Node) -> Result<ParameterKind, Error> {
    match &default.kind {
        Kind::Text(text) => Ok(Value::evident_kind(text)),
        Kind::Integer(_) => Ok(ParameterKind::Integer),
        Kind::Float(_) => Ok(ParameterKind::Float),
        Kind::Boolean(_) => Ok(ParameterKind::Boolean),
        Kind::List(_) => Ok(ParameterKind::List),
        Kind::Table(_) => {
            Err(Error::unexpected("a text, a number, true, false or a list", "a table").at(&default.origin))
        }
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    match name {
        "each" => Err(Error::refused("`each` stands for the items of a repeated topic: choose another name")),
        _ if is_bare(name) => Ok(()),
        _ => Err(Error::refused("a parameter's name is made of letters, digits, - and _")),
    }
}

/// Parameters that all have a value.
#[derive(Debug)]
pub(super) struct Values(BTreeMap<String, (Value, Origin)>);

impl Values {
    pub(super) fn get(&self, name: &str) -> Result<(&Value, &Origin), Error> {
        match self.0.get(name) {
            Some((value, origin)) => Ok((value, origin)),
            None => Err(Error::unknown("parameter", name, self.0.keys().map(String::as_str))),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.0.iter().map(|(name, (value, origin))| (name.as_str(), value, origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::command_line::parse_set;
    use crate::plan::tree::parse_file;

    fn parameters(text: &str) -> Result<Parameters, Error> {
        let tree = parse_file("scenario.toml", text, Origin::Manifest)?;
        Parameters::declare(tree.find(&["params"]))
    }

    fn value(parameters: Parameters, name: &str) -> Value {
        parameters.complete().expect("complete").get(name).expect("declared").0.clone()
    }

    const MANIFEST: &str = r#"
        [params]
        tenants = ["diku"]
        partitions = { default = 2, help = "of the circulation topic" }
        pause = { default = "5s", type = "duration" }
        wait = "250ms"
        share = 0.5
        owner = { type = "text", help = "who pays" }
    "#;

    #[test]
    fn types_come_from_the_default_or_by_name() {
        let declared = parameters(MANIFEST).expect("valid");
        for (name, kind) in [
            ("tenants", ParameterKind::List),
            ("partitions", ParameterKind::Integer),
            ("pause", ParameterKind::Duration),
            ("wait", ParameterKind::Duration),
            ("share", ParameterKind::Float),
            ("prefix", ParameterKind::Text),
        ] {
            assert_eq!(declared.0.get(name).map(|parameter| parameter.kind), Some(kind), "{name}");
        }
    }

    #[test]
    fn values_lie_over_each_other_and_keep_their_type() {
        let mut declared = parameters(MANIFEST).expect("valid");
        let profile =
            parse_file("p.toml", "[params]\npartitions = 4\nshare = 1\npause = { default = \"1m\" }", Origin::Profile)
                .expect("TOML");
        declared.lay(profile.find(&["params"]).expect("params")).expect("fits");
        declared.give("partitions=1k").expect("fits");
        declared.give("tenants=a, b").expect("fits");
        declared.give("owner=a=b").expect("fits");
        let values = declared.complete().expect("complete");
        let get = |name| values.get(name).map(|(value, origin)| (value.clone(), origin.to_string())).expect("declared");
        assert_eq!(get("partitions"), (Value::Integer(1000), "--param".into()));
        assert_eq!(get("share"), (Value::Float(1.0), "p.toml:3".into()));
        assert_eq!(get("pause"), (Value::Duration(std::time::Duration::from_secs(60)), "p.toml:4".into()));
        assert_eq!(get("tenants").0.items().map(<[String]>::len), Some(2));
        assert_eq!(get("owner").0, Value::Text("a=b".into()));
        assert_eq!(get("prefix"), (Value::Text("khost-".into()), "default: put before the topics' names".into()));
    }

    #[test]
    fn set_takes_a_parameter_as_param_does() {
        let mut declared = parameters(MANIFEST).expect("valid");
        for argument in ["params.tenants=a, b", "params.partitions=1k", "params.owner=1.10"] {
            let document = parse_set(argument).expect(argument);
            declared.lay(document.find(&["params"]).expect("params")).expect(argument);
        }
        let values = declared.complete().expect("complete");
        let get = |name| values.get(name).map(|(value, _)| value.as_text()).expect("declared");
        assert_eq!((get("tenants"), get("partitions"), get("owner")), ("a,b".into(), "1000".into(), "1.10".into()));
    }

    #[test]
    fn a_prefix_of_ones_own_is_the_prefix() {
        let declared = parameters("[params]\nprefix = \"x-\"").expect("valid");
        assert_eq!(value(declared, "prefix"), Value::Text("x-".into()));
        assert!(parameters("[params]\nprefix = 5").is_err());
    }

    #[test]
    fn wrong_values_are_refused_naming_the_type_and_who_said_so() {
        let mut declared = parameters(MANIFEST).expect("valid");
        let mut give = |argument| declared.give(argument).expect_err(argument);
        assert_eq!(
            give("partitions=two").to_string(),
            "--param partitions: expected an integer such as 4, \"25_000\" or \"10k\", found \"two\""
        );
        let unknown = give("tenant=a");
        assert_eq!(unknown.to_string(), "--param tenant: there is no parameter \"tenant\"");
        assert_eq!(unknown.hint(), Some("did you mean `tenants`?"));
        assert_eq!(give("partitions").to_string(), "--param: expected name=value, found \"partitions\"");
    }

    #[test]
    fn a_parameter_without_a_value_says_how_to_give_one() {
        let error = parameters(MANIFEST).expect("valid").complete().expect_err("owner");
        assert!(error.to_string().contains("params.owner: this parameter has no default"), "{error}");
        assert_eq!(error.hint(), Some("--param owner=… (who pays)"));
    }

    #[test]
    fn declarations_are_checked() {
        for (text, message) in [
            ("[params]\nx = { default = 1, typ = \"text\" }", "unknown key `typ` in [params.x]"),
            ("[params]\nx = { type = \"number\" }", "params.x.type: expected \"text\", \"integer\""),
            ("[params]\nx = { help = \"?\" }", "params.x: a parameter needs a `default` or a `type`"),
            ("[params]\nx = { default = \"a\", type = \"integer\" }", "params.x: expected an integer"),
            ("[params]\n\"a b\" = 1", "params.\"a b\": a parameter's name is made of"),
            ("[params]\neach = 1", "params.each: `each` stands for"),
            ("params = 5", "params: expected a table, found 5"),
        ] {
            let error = parameters(text).expect_err(text).to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn only_the_manifest_declares() {
        let mut declared = parameters(MANIFEST).expect("valid");
        for (text, message) in [
            ("[params]\nnew = 1", "there is no parameter \"new\""),
            ("[params]\nshare = { type = \"text\" }", "params.share: only the manifest says a parameter's `type`"),
            ("[params]\ntenants = \"a\"", "params.tenants: expected a list, found \"a\""),
            ("[params]\nowner = 5", "params.owner: expected a text, found 5"),
        ] {
            let profile = parse_file("p.toml", text, Origin::Profile).expect("TOML");
            let error = declared.lay(profile.find(&["params"]).expect("params")).expect_err(text).to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
