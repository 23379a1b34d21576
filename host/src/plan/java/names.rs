//! The one table of the Java client's settings: what becomes of each here, and what a person should know about it.
//!
//! It serves the translation, the hints for names typed with `-X`, and the page `docs/java-properties.md`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A setting of Java's client.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) java: &'static str,
    pub(super) action: Action,
    /// What it becomes, where it becomes a setting: `a`, or `a, b`.
    pub(super) target: &'static str,
    /// One phrase, which for [`Action::Refuse`] says the way out.
    pub(super) words: &'static str,
}

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// librdkafka has it, with that name and that meaning.
    Same,
    /// librdkafka has it, with another name.
    As,
    /// Its value decides.
    Convert,
    /// It makes no difference here.
    Unused,
    /// Leaving it out would change what happens.
    Refuse,
}

static NAMES: LazyLock<BTreeMap<&'static str, Name>> = LazyLock::new(|| {
    include_str!("names.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| read(line).expect("the table is well-formed, as a test sees"))
        .map(|name| (name.java, name))
        .collect()
});

fn read(line: &'static str) -> Option<Name> {
    let [java, action, target, words] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
    let action = match action {
        "same" => Action::Same,
        "as" => Action::As,
        "convert" => Action::Convert,
        "unused" => Action::Unused,
        "refuse" => Action::Refuse,
        _ => return None,
    };
    Some(Name { java, action, target, words })
}

pub(super) fn find(java: &str) -> Option<&'static Name> {
    NAMES.get(java)
}

pub(super) fn all() -> impl Iterator<Item = &'static str> {
    NAMES.keys().copied()
}

/// What to use for a name of Java's client that librdkafka does not have, or has with another meaning.
pub(in crate::plan) fn hint(java: &str) -> Option<&'static str> {
    static HINTS: LazyLock<BTreeMap<&'static str, String>> = LazyLock::new(|| {
        let other = NAMES.values().filter(|name| name.action != Action::Same);
        other.map(|name| (name.java, name.hint())).collect()
    });
    HINTS.get(java).map(String::as_str)
}

/// A row for each name: the name, what it is here, and what to know. As `docs/java-properties.md` has them.
pub fn rows() -> impl Iterator<Item = [String; 3]> {
    NAMES.values().map(|name| [format!("`{}`", name.java), name.here(), name.words.to_owned()])
}

impl Name {
    fn here(&self) -> String {
        match self.action {
            Action::Same => "the same".into(),
            Action::Unused => "not used".into(),
            Action::Refuse => "refused".into(),
            Action::As | Action::Convert if self.target.is_empty() => "checked".into(),
            Action::As | Action::Convert if self.target == self.java => "the same".into(),
            Action::As | Action::Convert => self.targets().collect::<Vec<_>>().join(", "),
        }
    }

    fn targets(&self) -> impl Iterator<Item = String> {
        self.target.split(", ").filter(|target| !target.is_empty()).map(|target| format!("`{target}`"))
    }

    fn hint(&self) -> String {
        match self.action {
            Action::As | Action::Convert if !self.target.is_empty() && self.target != self.java => {
                format!("this is {} here: {}", self.targets().collect::<Vec<_>>().join(" and "), self.words)
            }
            Action::Unused => format!("leave it out: {}", self.words),
            _ => self.words.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed_sorted_and_without_duplicates() {
        let lines: Vec<_> = include_str!("names.tsv").lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.is_sorted());
        assert_eq!(all().count(), lines.len());
        assert_eq!(lines.len(), 141, "as many as kafka-clients 4.3.1 has for producers, consumers and admins");
        for line in lines {
            let name = read(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(name.words.is_empty(), name.action == Action::Same, "{line}");
            assert!(name.action != Action::As || !name.target.is_empty(), "{line}");
            assert!(matches!(name.action, Action::As | Action::Convert) || name.target.is_empty(), "{line}");
            assert!(!line.contains('|') && !name.words.ends_with('.'), "{line}");
        }
    }

    #[test]
    fn a_hint_says_what_stands_for_a_name() {
        assert_eq!(hint("linger.ms"), None);
        assert_eq!(hint("no.such.name"), None);
        assert!(
            hint("buffer.memory").is_some_and(|hint| hint.starts_with("this is `queue.buffering.max.kbytes` here"))
        );
        assert_eq!(hint("key.serializer"), Some("leave it out: khost sends the bytes that the scenario makes"));
        assert_eq!(hint("interceptor.classes"), Some("leave it out: Java classes can't be used here"));
    }

    #[test]
    fn rows_are_for_a_table() {
        let rows: Vec<_> = rows().collect();
        let row = |java: &str| rows.iter().find(|row| row[0] == format!("`{java}`")).map(|row| row[1].as_str());
        assert_eq!(rows.len(), all().count());
        assert_eq!(row("acks"), Some("the same"));
        assert_eq!(row("request.timeout.ms"), Some("`request.timeout.ms`, `socket.timeout.ms`"));
        assert_eq!(row("ssl.truststore.type"), Some("checked"));
        assert_eq!(row("max.block.ms"), Some("not used"));
        assert_eq!(row("transactional.id"), Some("refused"));
    }
}
