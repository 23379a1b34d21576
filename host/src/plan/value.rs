//! The value of a parameter.

use std::fmt;
use std::time::Duration;

use super::amount::{Rate, format_duration, parse_bytes, parse_count, parse_duration};
use super::error::Error;
use super::manifest::ParameterKind;
use super::origin::Origin;
use super::tree::{Kind, Node};

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// As it is.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Any number.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// A stretch of time.
    Duration(Duration),
    /// Bytes.
    Size(u64),
    /// How often.
    Rate(Rate),
    /// Texts.
    List(Vec<String>),
}

impl Value {
    /// As the contract gives it to a guest: a number in decimal, a duration in nanoseconds, a size in bytes, a rate as a
    /// decimal number a second, true or false, a list with commas.
    pub fn as_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Boolean(value) => value.to_string(),
            Self::Duration(duration) => duration.as_nanos().to_string(),
            Self::Size(bytes) => bytes.to_string(),
            Self::Rate(rate) => rate.per_second().to_string(),
            Self::List(items) => items.join(","),
        }
    }

    /// The items of a list.
    pub fn items(&self) -> Option<&[String]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// What stands in a manifest in place of a string that is wholly its placeholder.
    pub(super) fn to_node(&self, origin: Origin) -> Node {
        let kind = match self {
            Self::Integer(number) => Kind::Integer(*number),
            Self::Float(number) => Kind::Float(*number),
            Self::Boolean(value) => Kind::Boolean(*value),
            Self::List(items) => {
                let item = |item: &String| Node { kind: Kind::Text(item.clone()), origin: origin.clone() };
                Kind::List(items.iter().map(item).collect())
            }
            other => Kind::Text(other.to_string()),
        };
        Node { kind, origin }
    }

    /// What a text is as a default: a duration, a size or a rate if it is one with its unit, else a text.
    pub(super) fn evident_kind(text: &str) -> ParameterKind {
        let unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
        match text {
            _ if unit && parse_duration(text).is_ok() => ParameterKind::Duration,
            _ if unit && parse_bytes(text).is_ok() => ParameterKind::Size,
            _ if Rate::parse(text).is_ok() => ParameterKind::Rate,
            _ => ParameterKind::Text,
        }
    }

    /// Reads a value from text: a list has commas between its items.
    pub(super) fn from_text(kind: ParameterKind, text: &str) -> Result<Self, Error> {
        let unexpected = || Error::unexpected(expected(kind), format!("{text:?}"));
        let amount = |error: super::BadAmount| match error.hint.clone() {
            Some(hint) => unexpected().with_hint(hint),
            None => unexpected(),
        };
        let trimmed = text.trim();
        Ok(match kind {
            ParameterKind::Text => Self::Text(text.to_owned()),
            ParameterKind::Integer => Self::Integer(integer(trimmed).ok_or_else(unexpected)?),
            ParameterKind::Float => Self::Float(float(trimmed).ok_or_else(unexpected)?),
            ParameterKind::Boolean => Self::Boolean(trimmed.parse().map_err(|_| unexpected())?),
            ParameterKind::Duration => Self::Duration(parse_duration(text).map_err(amount)?),
            ParameterKind::Size => Self::Size(parse_bytes(text).map_err(amount)?),
            ParameterKind::Rate => Self::Rate(Rate::parse(text).map_err(amount)?),
            ParameterKind::List if trimmed.is_empty() => Self::List(Vec::new()),
            ParameterKind::List if trimmed.starts_with('[') && trimmed.ends_with(']') => {
                let items = trimmed[1..trimmed.len() - 1].replace('"', "");
                return Err(unexpected()
                    .with_hint(format!("here a list has commas between its items, and no brackets: {items}")));
            }
            ParameterKind::List => Self::List(text.split(',').map(|item| item.trim().to_owned()).collect()),
        })
    }

    /// Reads a value from a manifest or a profile.
    pub(super) fn from_node(kind: ParameterKind, node: &Node) -> Result<Self, Error> {
        let unexpected = || Error::unexpected(expected(kind), node.describe());
        let value = match (kind, &node.kind) {
            (ParameterKind::List, Kind::List(items)) => {
                let item = |item: &Node| match &item.kind {
                    Kind::Text(text) => Ok(text.clone()),
                    Kind::List(_) | Kind::Table(_) => {
                        Err(Error::unexpected("a text or a number in the list", item.describe()))
                    }
                    _ => Ok(item.to_string()),
                };
                items.iter().map(item).collect::<Result<_, _>>().map(Self::List)
            }
            (ParameterKind::List, _) => Err(unexpected().with_hint(format!("a list of one is [{node}]"))),
            (_, Kind::Text(text)) => Self::from_text(kind, text),
            (ParameterKind::Integer, Kind::Integer(number)) => Ok(Self::Integer(*number)),
            (ParameterKind::Float, Kind::Integer(number)) => Ok(Self::Float(*number as f64)),
            (ParameterKind::Float, Kind::Float(number)) if number.is_finite() => Ok(Self::Float(*number)),
            (ParameterKind::Boolean, Kind::Boolean(value)) => Ok(Self::Boolean(*value)),
            (ParameterKind::Size, Kind::Integer(bytes)) => {
                u64::try_from(*bytes).map(Self::Size).map_err(|_| unexpected())
            }
            (ParameterKind::Text, Kind::Integer(_) | Kind::Float(_) | Kind::Boolean(_)) => {
                Err(unexpected().with_hint(format!("put it in quotes: \"{node}\"")))
            }
            _ => Err(unexpected()),
        };
        value.map_err(|error| error.at(&node.origin))
    }
}

/// As it is written, and as it stands inside a longer string: `1m 30s`, `65536`, `1500/s`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration(duration) => f.write_str(&format_duration(*duration)),
            Self::Rate(rate) => rate.fmt(f),
            other => f.write_str(&other.as_text()),
        }
    }
}

fn expected(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::Text => "a text",
        ParameterKind::Integer => "an integer such as 4, \"25_000\" or \"10k\"",
        ParameterKind::Float => "a number such as 0.5",
        ParameterKind::Boolean => "a boolean, true or false",
        ParameterKind::Duration => "a duration such as \"250ms\" or \"1h 30m\"",
        ParameterKind::Size => "a size such as 500, \"64KiB\" or \"1MB\"",
        ParameterKind::Rate => "a rate such as \"1500/s\" or \"90/m\"",
        ParameterKind::List => "a list",
    }
}

fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(rest) => parse_count(rest).ok().and_then(|count| 0i64.checked_sub_unsigned(count)),
        None => parse_count(text).ok().and_then(|count| i64::try_from(count).ok()),
    }
}

fn float(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_gets_plain_numbers_and_a_manifest_what_people_write() {
        for (kind, text, for_guest, written) in [
            (ParameterKind::Text, " as it is ", " as it is ", " as it is "),
            (ParameterKind::Integer, "25_000", "25000", "25000"),
            (ParameterKind::Integer, "-10k", "-10000", "-10000"),
            (ParameterKind::Float, "0.50", "0.5", "0.5"),
            (ParameterKind::Boolean, "true", "true", "true"),
            (ParameterKind::Duration, "90s", "90000000000", "1m 30s"),
            (ParameterKind::Size, "64KiB", "65536", "65536"),
            (ParameterKind::Rate, "90/m", "1.5", "90/m"),
            (ParameterKind::List, "a, b,c", "a,b,c", "a,b,c"),
            (ParameterKind::List, "", "", ""),
        ] {
            let value = Value::from_text(kind, text).expect(text);
            assert_eq!((value.as_text().as_str(), value.to_string().as_str()), (for_guest, written), "{text}");
        }
        let list = Value::from_text(ParameterKind::List, "a, b").expect("list");
        assert_eq!(list.items(), Some(&["a".to_owned(), "b".to_owned()][..]));
        let error = Value::from_text(ParameterKind::List, "[5, \"b\"]").expect_err("brackets");
        assert!(format!("{error:?}").contains("no brackets: 5, b"), "{error:?}");
    }

    #[test]
    fn a_text_with_a_unit_is_what_the_unit_says() {
        for (text, kind) in [
            ("250ms", ParameterKind::Duration),
            ("1h 30m", ParameterKind::Duration),
            ("64KiB", ParameterKind::Size),
            ("500B", ParameterKind::Size),
            ("90/m", ParameterKind::Rate),
            ("500", ParameterKind::Text),
            ("0", ParameterKind::Text),
            ("10k", ParameterKind::Text),
            ("diku", ParameterKind::Text),
            ("", ParameterKind::Text),
        ] {
            assert_eq!(Value::evident_kind(text), kind, "{text}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused_naming_the_type() {
        for (kind, text, message) in [
            (ParameterKind::Integer, "many", "expected an integer such as 4, \"25_000\" or \"10k\", found \"many\""),
            (ParameterKind::Integer, "1.5", "expected an integer such as 4, \"25_000\" or \"10k\", found \"1.5\""),
            (ParameterKind::Float, "nan", "expected a number such as 0.5, found \"nan\""),
            (ParameterKind::Boolean, "yes", "expected a boolean, true or false, found \"yes\""),
            (ParameterKind::Duration, "5", "expected a duration such as \"250ms\" or \"1h 30m\", found \"5\""),
            (ParameterKind::Size, "10k", "expected a size such as 500, \"64KiB\" or \"1MB\", found \"10k\""),
            (ParameterKind::Rate, "5", "expected a rate such as \"1500/s\" or \"90/m\", found \"5\""),
        ] {
            assert_eq!(Value::from_text(kind, text).expect_err(text).to_string(), message);
        }
    }
}
