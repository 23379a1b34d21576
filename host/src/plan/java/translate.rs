//! What a Java client's file comes to here: settings of librdkafka and of khost, the brokers, and what a person should know.
//!
//! One pass over the names, in the file's order; what depends on several names is in `stores.rs` and `sasl.rs`.

use std::collections::BTreeMap;
use std::fmt;

use super::file::{Entry, File, unknown};
use super::names::{self, Action};
use super::properties::Line;
use super::{sasl, stores, values};

/// What a file comes to.
#[derive(Debug, Default)]
pub(in crate::plan) struct Translated {
    /// What librdkafka has under its own names first: what is made of Java's names holds over it.
    pub settings: Vec<Given>,
    /// The brokers, as they stand in the file, and its line.
    pub bootstrap: Option<(String, usize)>,
    pub notes: Vec<Note>,
}

/// A setting of librdkafka or of khost, not checked yet.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::plan) struct Given {
    /// The name in the file.
    pub java: String,
    pub name: String,
    pub value: String,
    pub line: usize,
}

/// What a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plan) struct Note {
    pub line: usize,
    pub text: String,
}

/// A file that can't be used as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {name}: {problem}")]
pub(in crate::plan) struct Refused {
    pub line: usize,
    pub name: String,
    pub problem: String,
    pub hint: String,
}

/// Translates a file. `known` tells whether librdkafka or khost has a setting of that name.
///
/// # Errors
/// At what can't be had here, and would change what happens if it were left out; at what Java refuses as well.
pub(in crate::plan) fn translate(lines: &[Line], known: impl Fn(&str) -> bool) -> Result<Translated, Refused> {
    let mut out = Translated::default();
    let file = File::new(lines, &mut out);
    if let Some(providers) = file.get("config.providers").filter(|entry| !entry.value.is_empty()) {
        return Err(providers.refused_by_table());
    }
    for entry in file.in_order() {
        if let Some(protocol) = file.sits_idle(entry.name) {
            out.note(entry.line, format!("`{}` is not used with security.protocol={protocol}", entry.name));
            continue;
        }
        match names::find(entry.name).map(|name| (name.action, name)) {
            _ if stores::takes(entry.name) || sasl::takes(entry.name) => {}
            Some((Action::Same | Action::As | Action::Convert, name)) => {
                values::convert(&entry, name, &file, &mut out)?
            }
            Some((Action::Unused, name)) => {
                out.note(entry.line, format!("`{}` is not used: {}", entry.name, name.words));
            }
            Some((Action::Refuse, _)) if values::changes_nothing(&entry) => {}
            Some((Action::Refuse, _)) => return Err(entry.refused_by_table()),
            None if known(entry.name) => out.give(&entry, entry.name, entry.value),
            None => out.note(entry.line, unknown(entry.name)),
        }
    }
    stores::translate(&file, &mut out)?;
    sasl::translate(&file, &mut out)?;
    out.settle();
    Ok(out)
}

impl Translated {
    pub(super) fn give(&mut self, entry: &Entry<'_>, name: &str, value: impl Into<String>) {
        let (java, name) = (entry.name.to_owned(), name.to_owned());
        self.settings.push(Given { java, name, value: value.into(), line: entry.line });
    }

    pub(super) fn note(&mut self, line: usize, text: impl Into<String>) {
        self.notes.push(Note { line, text: text.into() });
    }

    /// Puts librdkafka's own names before what is made of Java's, drops those that are given twice, and looks for text
    /// that was meant to be UTF-8.
    fn settle(&mut self) {
        let (java, own): (Vec<_>, Vec<_>) =
            self.settings.drain(..).partition(|given| names::find(&given.java).is_some());
        for given in own {
            match java.iter().find(|other| other.name == given.name) {
                Some(other) => self.notes.push(Note {
                    line: given.line,
                    text: format!("`{}` is not used: line {} holds, `{}`", given.name, other.line, other.java),
                }),
                None => self.settings.push(given),
            }
        }
        self.settings.extend(java);
        let odd = self.settings.iter().filter(|given| reads_as_utf8(&given.value));
        let odd: BTreeMap<usize, &str> = odd.map(|given| (given.line, given.java.as_str())).collect();
        for (line, java) in odd {
            let text = format!(
                "the value of `{java}` is written in UTF-8, and Java reads the file as ISO-8859-1: write other letters than ASCII as \\u…"
            );
            self.notes.push(Note { line, text });
        }
        self.notes.sort_by_key(|note| note.line);
    }
}

/// Without the value, which may be a secret.
impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}: {})", self.name, self.line, self.java)
    }
}

/// Whether a text is UTF-8 that was read as ISO-8859-1.
fn reads_as_utf8(text: &str) -> bool {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    bytes.is_some_and(|bytes| !bytes.is_ascii() && str::from_utf8(&bytes).is_ok())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plan::java::parse;

    fn translated(written: &str) -> Result<Translated, Refused> {
        let lines = parse(written.as_bytes()).expect("well-formed");
        translate(&lines, |name| matches!(name, "socket.timeout.ms" | "sasl.password" | "linger.ms"))
    }

    /// What a file gives: `name=value name=value`.
    pub(in crate::plan::java) fn settings(written: &str) -> String {
        let given = translated(written).unwrap_or_else(|refused| panic!("{written}: {refused}")).settings;
        given.iter().map(|given| format!("{}={}", given.name, given.value)).collect::<Vec<_>>().join(" ")
    }

    /// What it says of it: `line: text`.
    pub(in crate::plan::java) fn notes(written: &str) -> Vec<String> {
        let notes = translated(written).unwrap_or_else(|refused| panic!("{written}: {refused}")).notes;
        notes.iter().map(|note| format!("{}: {}", note.line, note.text)).collect()
    }

    pub(in crate::plan::java) fn refused(written: &str) -> Refused {
        translated(written).expect_err(written)
    }

    #[test]
    fn brokers_and_settings_are_taken_with_their_lines() {
        let all = translated("# mine\nbootstrap.servers = a:1, b:2 \nacks=1\n\nlinger.ms=5").expect("fine");
        assert_eq!(all.bootstrap, Some(("a:1, b:2".into(), 2)));
        let taken: Vec<_> = all.settings.iter().map(|given| (given.java.as_str(), given.line)).collect();
        assert_eq!(taken, [("acks", 3), ("linger.ms", 5)]);
        assert!(all.notes.is_empty());
        assert_eq!(translated("bootstrap.servers=").expect("fine").bootstrap, None);
    }

    #[test]
    fn the_later_of_two_holds() {
        assert_eq!(settings("acks=0\nlinger.ms=1\nacks=all"), "linger.ms=1 acks=all");
        assert_eq!(notes("acks=0\nlinger.ms=1\nacks=all"), ["1: `acks` is set again in line 3, which holds"]);
        let own = "sasl.password=hunter2\nsasl.mechanism=PLAIN\n\
                   sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=a password=b;";
        assert_eq!(settings(own), "sasl.mechanism=PLAIN sasl.username=a sasl.password=b");
        assert_eq!(notes(own), ["1: `sasl.password` is not used: line 3 holds, `sasl.jaas.config`"]);
    }

    #[test]
    fn what_no_client_has_is_ignored_and_said() {
        assert_eq!(settings("ack=1\nschema.registry.url=x\nsocket.timeout.ms=10"), "socket.timeout.ms=10");
        assert_eq!(
            notes("ack=1\nschema.registry.url=x\nmax.block.ms=1"),
            [
                "1: `ack` is no setting of Kafka's clients, ignored as Java does; did you mean `acks`?",
                "2: `schema.registry.url` is no setting of Kafka's clients, ignored as Java does",
                "3: `max.block.ms` is not used: khost waits as long as the producer's queue is full, and shows that time as `enqueue`",
            ]
        );
        assert!(notes("\u{feff}acks=1")[0].contains("byte order mark"));
    }

    #[test]
    fn text_that_was_meant_to_be_utf8_is_noted() {
        assert!(notes("client.id=é")[0].contains("ISO-8859-1"));
        assert!(notes("client.id=\\u00e9\nmax.poll.records=é").iter().all(|note| !note.contains("ISO-8859-1")));
    }

    #[test]
    fn values_are_not_filled_in() {
        let refused = refused("sasl.jaas.config=?\nconfig.providers=env");
        assert_eq!((refused.name.as_str(), refused.line), ("config.providers", 2));
        assert!(refused.hint.contains("`KHOST_KAFKA_SASL_PASSWORD_FILE`"));
    }

    #[test]
    fn no_part_of_a_secret_is_shown() {
        for written in [
            "hunter2\n\"hunter2\";\nhunter2;\nMIIEhunter2\nhunter2: x\nhunter2=\nhunter2=",
            "sasl.password=hunter2\nsasl.pasword=hunter2\nssl.key.password=hunter2\nssl.key.password=hunter2\u{e9}",
            "sasl.oauthbearer.client.credentials.client.secret=hunter2\nbuffer.memory=1\nretry.backoff.ms=hunter2",
        ] {
            assert!(!notes(written).iter().any(|note| note.contains("hunter2")), "{:?}", notes(written));
            assert!(!format!("{:?}", translated(written)).contains("hunter2"));
        }
        for name in names::all().chain(["sasl.password"]) {
            for value in ["hunter2", "hunter2,hunter2", "-----BEGIN PRIVATE KEY----- hunter2"] {
                let shown = match translated(&format!("{name}={value}\n{name}={value}")) {
                    Ok(all) => format!("{:?}", all.notes),
                    Err(refused) => format!("{refused} {}", refused.hint),
                };
                assert!(!shown.contains("hunter2"), "{name}: {shown}");
            }
        }
    }
}
