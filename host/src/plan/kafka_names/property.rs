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

const LIBRDKAFKAS: &str = include_str!("properties.tsv");
const OWN: &str = include_str!("own.tsv");

/// A mechanism that librdkafka does not know by name: khost makes tokens for its OAUTHBEARER.
const MSK_IAM: &str = "AWS_MSK_IAM";

static PROPERTIES: LazyLock<BTreeMap<&'static str, Property>> = LazyLock::new(|| {
    lines(LIBRDKAFKAS)
        .chain(lines(OWN))
        .map(|line| parse(line).expect("the table is well-formed, as a test sees"))
        .map(|property| (property.name, property))
        .collect()
});

fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.starts_with('#'))
}

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
    let kind = match kind {
        Kind::Word(mut mechanisms) if canonical == "sasl.mechanisms" => {
            mechanisms.push(MSK_IAM);
            Kind::Word(mechanisms)
        }
        kind => kind,
    };
    Some(Property { name, canonical, producer: scope != "C", consumer: scope != "P", kind })
}

pub(super) fn find(name: &str) -> Option<&'static Property> {
    PROPERTIES.get(name)
}

pub(in crate::plan) fn names() -> impl Iterator<Item = &'static str> {
    PROPERTIES.keys().copied()
}

/// The name that librdkafka keeps a setting by: `queue.buffering.max.ms` for `linger.ms`. Plans use no other.
pub fn canonical(name: &str) -> &str {
    find(name).map_or(name, |property| property.canonical)
}

/// Whether a setting is khost's own, and nothing that librdkafka knows.
pub fn is_own(name: &str) -> bool {
    lines(OWN).any(|line| line.split('\t').next() == Some(name))
}

/// Whether a setting says where brokers are, how to reach them, and who we are to them: it holds for the whole run.
pub fn is_of_the_connection(name: &str) -> bool {
    let name = canonical(name);
    ["ssl.", "sasl.", "security.", "enable.ssl.", "enable.sasl.", "https.", "aws.", "metadata.broker.list"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
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
        for line in lines(LIBRDKAFKAS).chain(lines(OWN)) {
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
        assert!(is_own("aws.region") && !is_own("client.id"));
        assert!(is_of_the_connection("sasl.mechanism") && !is_of_the_connection("linger.ms"));
        assert!(for_producers("client.id") && for_consumers("client.id"));
    }
}
