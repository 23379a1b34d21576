//! What a file sets: the value in force of each name, trimmed as Kafka trims it, and how a name is shown.

use std::collections::BTreeMap;

use super::names;
use super::properties::Line;
use super::translate::{Refused, Translated};
use crate::plan::{kafka_names, nearest};

/// The values in force.
pub(super) struct File<'a>(BTreeMap<&'a str, Entry<'a>>);

/// A name with its value, trimmed as Kafka trims every value.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    pub(super) line: usize,
}

impl<'a> File<'a> {
    /// Of what is set twice the later holds, as in Java, and a note says so.
    pub(super) fn new(lines: &'a [Line], out: &mut Translated) -> Self {
        let mut entries: BTreeMap<&str, Entry<'_>> = BTreeMap::new();
        for Line { name, value, line } in lines {
            // java.lang.String.trim: all up to the blank, and no other white space.
            let entry = Entry { name, value: value.trim_matches(|c| c <= ' '), line: *line };
            if let Some(before) = entries.insert(name, entry) {
                out.note(before.line, format!("{} is set again in line {line}, which holds", shown(name)));
            }
        }
        Self(entries)
    }

    pub(super) fn get(&self, name: &str) -> Option<Entry<'a>> {
        self.0.get(name).copied()
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.number()
    }

    pub(super) fn in_order(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<_> = self.0.values().copied().collect();
        entries.sort_by_key(|entry| entry.line);
        entries
    }

    /// The protocol in the file with which Java's client does not look at a setting of TLS or SASL.
    pub(super) fn sits_idle(&self, name: &str) -> Option<&'static str> {
        names::find(name)?;
        let protocol = self.get("security.protocol")?.value.to_ascii_uppercase();
        let protocol = ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"].into_iter().find(|word| *word == protocol)?;
        let idle = (name.starts_with("ssl.") && !protocol.ends_with("SSL"))
            || (name.starts_with("sasl.") && !protocol.starts_with("SASL"));
        idle.then_some(protocol)
    }

    /// A setting of TLS or SASL that Java's client looks at.
    pub(super) fn active(&self, name: &str) -> Option<Entry<'a>> {
        self.get(name).filter(|_| self.sits_idle(name).is_none())
    }
}

impl Entry<'_> {
    pub(super) fn number(&self) -> Option<i64> {
        self.value.parse().ok()
    }

    pub(super) fn refused(&self, problem: impl Into<String>, hint: impl Into<String>) -> Refused {
        Refused { line: self.line, name: self.name.to_owned(), problem: problem.into(), hint: hint.into() }
    }

    pub(super) fn refused_by_table(&self) -> Refused {
        let words = names::find(self.name).map_or("leave it out", |name| name.words);
        self.refused("khost can't do what this asks of a client", words)
    }
}

/// What is said of a name that no client has.
pub(super) fn unknown(name: &str) -> String {
    const MARK: &str = "\u{ef}\u{bb}\u{bf}";
    if name.starts_with(MARK) {
        return "this line begins with a byte order mark, which Java reads as a part of the name: the line is ignored as \
                Java does; save the file without the mark"
            .into();
    }
    let ignored = format!("{} is no setting of Kafka's clients, ignored as Java does", shown(name));
    match nearest(name, names::all().chain(kafka_names::names())).filter(|_| is_plain(name)) {
        Some(meant) => format!("{ignored}; did you mean `{meant}`?"),
        None => ignored,
    }
}

/// A name for a message. What does not look like one may be a line of a secret whose backslash is missing.
fn shown(name: &str) -> String {
    let is_dotted = name.matches('.').count() > 1 && !name.bytes().any(|b| b.is_ascii_digit());
    if is_plain(name) && (is_dotted || nearest(name, names::all().chain(kafka_names::names())).is_some()) {
        format!("`{name}`")
    } else {
        "what stands here".into()
    }
}

fn is_plain(name: &str) -> bool {
    name.len() <= 80 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
}
