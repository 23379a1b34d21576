//! The table of librdkafka's settings.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A setting.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: &'static str,
    /// The name that librdkafka keeps it by.
    pub(super) canonical: &'static str,
    producer: bool,
    consumer: bool,
    pub(super) kind: Kind,
}

/// What a setting's value is.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Integer {
        min: i64,
        max: i64,
    },
    Float {
        min: f64,
        max: f64,
    },
    Boolean,
    /// One of these words.
    Word(Vec<&'static str>),
    /// Some of these words.
    Flags(Vec<&'static str>),
    Text,
    /// A callback or a pointer: no text can set it.
    Code,
}

static PROPERTIES: LazyLock<BTreeMap<&'static str, Property>> = LazyLock::new(|| {
    include_str!("properties.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| parse(line).expect("the table is well-formed, as a test sees"))
        .map(|property| (property.name, property))
        .collect()
});

fn parse(line: &'static str) -> Option<Property> {
    let [name, scope, kind, allowed, alias_of] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
    let words = || allowed.split(' ').collect();
    let kind = match kind {
        "integer" => {
            let (min, max) = allowed.split_once(' ')?;
            Kind::Integer { min: min.parse().ok()?, max: max.parse().ok()? }
        }
        "float" => {
            let (min, max) = allowed.split_once(' ')?;
            Kind::Float { min: min.parse().ok()?, max: max.parse().ok()? }
        }
        "boolean" => Kind::Boolean,
        "enum" => Kind::Word(words()),
        "flags" => Kind::Flags(words()),
        "text" => Kind::Text,
        "code" => Kind::Code,
        _ => return None,
    };
    let canonical = if alias_of.is_empty() { name } else { alias_of };
    Some(Property { name, canonical, producer: scope != "C", consumer: scope != "P", kind })
}

pub(super) fn find(name: &str) -> Option<&'static Property> {
    PROPERTIES.get(name)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PROPERTIES.keys().copied()
}

/// The name that librdkafka keeps a setting by: `queue.buffering.max.ms` for `linger.ms`. Plans use no other.
pub fn canonical(name: &str) -> &str {
    find(name).map_or(name, |property| property.canonical)
}

/// Whether a producer takes this setting.
pub fn for_producers(name: &str) -> bool {
    find(name).is_some_and(|property| property.producer)
}

/// Whether a consumer takes this setting.
pub fn for_consumers(name: &str) -> bool {
    find(name).is_some_and(|property| property.consumer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        for line in include_str!("properties.tsv").lines().filter(|line| !line.starts_with('#')) {
            assert!(parse(line).is_some(), "{line}");
        }
        assert!(names().count() > 150);
        for name in names() {
            assert_eq!(canonical(canonical(name)), canonical(name), "{name}");
            assert!(find(canonical(name)).is_some(), "{name}");
        }
    }

    #[test]
    fn names_know_their_kind_and_their_clients() {
        assert_eq!(canonical("linger.ms"), "queue.buffering.max.ms");
        assert_eq!(canonical("acks"), "request.required.acks");
        assert_eq!(find("linger.ms").map(|p| &p.kind), Some(&Kind::Float { min: 0.0, max: 900_000.0 }));
        assert_eq!(find("dr_msg_cb").map(|p| &p.kind), Some(&Kind::Code));
        assert!(for_producers("linger.ms") && !for_consumers("linger.ms"));
        assert!(!for_producers("fetch.min.bytes") && for_consumers("fetch.min.bytes"));
        assert!(for_producers("client.id") && for_consumers("client.id"));
    }
}
