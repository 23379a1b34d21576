//! The fields of a manifest that are read in a way of their own.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{I64Deserializer, StrDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, Unexpected, Visitor};

use super::{Clients, FlowRate, From, PauseEvery, Share, Think, WarmUp};
use crate::plan::ReadFrom;
use crate::plan::amount::{Length, Rate, parse_count, parse_duration};
use crate::plan::kafka_names::{self, Scalar, Settings};

/// A table whose keys are names, in the order of writing.
#[derive(Debug)]
pub(in crate::plan) struct Named<T>(pub(in crate::plan) Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamedVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedVisitor<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of tables, each with a name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut named = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    named.push(entry);
                }
                Ok(Named(named))
            }
        }

        deserializer.deserialize_map(NamedVisitor(PhantomData))
    }
}

/// librdkafka's settings, checked, by its own names.
#[derive(Debug, Default)]
pub(in crate::plan) struct KafkaTable(pub(in crate::plan) Settings);

impl<'de> Deserialize<'de> for KafkaTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KafkaVisitor;
        /// Reads the value of the setting that it names.
        struct ValueOf<'a>(&'a str);

        impl<'de> Visitor<'de> for KafkaVisitor {
            type Value = KafkaTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of librdkafka's settings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<KafkaTable, A::Error> {
                let mut settings = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    let value = map.next_value_seed(ValueOf(&name))?;
                    settings.insert(kafka_names::canonical(&name).to_owned(), value);
                }
                Ok(KafkaTable(settings))
            }
        }

        impl<'de> DeserializeSeed<'de> for ValueOf<'_> {
            type Value = String;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
                let value = Scalar::deserialize(deserializer)?;
                kafka_names::check(self.0, &value).map_err(|error| match error.hint() {
                    Some(hint) => D::Error::custom(format_args!("{error}\nhint: {hint}")),
                    None => D::Error::custom(error),
                })
            }
        }

        deserializer.deserialize_map(KafkaVisitor)
    }
}

/// A topic's settings in Kafka; brokers check them.
#[derive(Debug, Default)]
pub(in crate::plan) struct ConfigTable(pub(in crate::plan) BTreeMap<String, String>);

impl<'de> Deserialize<'de> for ConfigTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = BTreeMap::<String, Scalar>::deserialize(deserializer)?;
        Ok(Self(settings.into_iter().map(|(name, value)| (name, value.to_string())).collect()))
    }
}

/// A text, or a number that stands for one.
#[derive(Debug)]
pub(in crate::plan) struct Text(pub(in crate::plan) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Scalar::deserialize(deserializer).map(|value| Self(value.to_string()))
    }
}

impl<'de> Deserialize<'de> for Clients {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "a whole number from 1 to 1024 or \"dedicated\"";
        match Scalar::deserialize(deserializer)? {
            Scalar::Integer(number @ 1..=1024) => Ok(Self::Shared(number.unsigned_abs() as u32)),
            Scalar::Text(word) if word == "dedicated" => Ok(Self::Dedicated),
            other => Err(D::Error::invalid_value(unexpected(&other), &EXPECTED)),
        }
    }
}

impl<'de> Deserialize<'de> for FlowRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateVisitor;

        impl Visitor<'_> for RateVisitor {
            type Value = FlowRate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as \"1500/s\", or \"unpaced\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<FlowRate, E> {
                match text {
                    "unpaced" => Ok(FlowRate::Unpaced),
                    _ => Rate::deserialize(StrDeserializer::new(text)).map(FlowRate::Paced),
                }
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<FlowRate, E> {
                Rate::deserialize(I64Deserializer::new(number)).map(FlowRate::Paced)
            }
        }

        deserializer.deserialize_any(RateVisitor)
    }
}

impl<'de> Deserialize<'de> for Think {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "a duration such as \"1s\", or from one to another as in \"1s..3s\"";
        let value = Scalar::deserialize(deserializer)?;
        let Scalar::Text(text) = &value else { return Err(D::Error::invalid_type(unexpected(&value), &EXPECTED)) };
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let read = parse_duration(from).and_then(|from| Ok(Self(from, parse_duration(to)?)));
        read.ok()
            .filter(|Self(from, to)| from <= to)
            .ok_or_else(|| D::Error::invalid_value(unexpected(&value), &EXPECTED))
    }
}

impl<'de> Deserialize<'de> for From {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "\"latest\", \"earliest\", \"committed\", a time such as \"2026-12-01T08:00:00Z\", an offset, or \
                                -N for N records before the end";
        let value = Scalar::deserialize(deserializer)?;
        let read = match &value {
            Scalar::Integer(before @ ..=-1) => before.checked_neg().map(ReadFrom::BeforeEnd),
            Scalar::Integer(offset) => Some(ReadFrom::Offset(*offset)),
            Scalar::Text(text) => match text.as_str() {
                "latest" => Some(ReadFrom::Latest),
                "earliest" => Some(ReadFrom::Earliest),
                "committed" => Some(ReadFrom::Committed),
                text => ReadFrom::parse_time(text),
            },
            _ => None,
        };
        read.map(Self).ok_or_else(|| D::Error::invalid_value(unexpected(&value), &EXPECTED))
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "a share from 0.0 to 0.9";
        let value = Scalar::deserialize(deserializer)?;
        let share = match value {
            Scalar::Integer(0) => Some(0.0),
            Scalar::Float(share) if (0.0..=0.9).contains(&share) => Some(share),
            _ => None,
        };
        share.map(Self).ok_or_else(|| D::Error::invalid_value(unexpected(&value), &EXPECTED))
    }
}

impl<'de> Deserialize<'de> for PauseEvery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "\"poll\" or a duration such as \"100ms\"";
        let value = Scalar::deserialize(deserializer)?;
        let read = match &value {
            Scalar::Text(text) if text == "poll" => Some(Self::Poll),
            Scalar::Text(text) => {
                parse_duration(text).ok().filter(|length| !length.is_zero()).map(|length| Self::Time(Length(length)))
            }
            _ => None,
        };
        read.ok_or_else(|| D::Error::invalid_value(unexpected(&value), &EXPECTED))
    }
}

impl<'de> Deserialize<'de> for WarmUp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "a duration such as \"30s\" or a count of iterations such as \"10k\"";
        let value = Scalar::deserialize(deserializer)?;
        let read = match &value {
            Scalar::Integer(count) => u64::try_from(*count).ok().map(Self::Iterations),
            Scalar::Text(text) => {
                parse_count(text).map(Self::Iterations).or_else(|_| parse_duration(text).map(Self::Time)).ok()
            }
            _ => None,
        };
        read.ok_or_else(|| D::Error::invalid_value(unexpected(&value), &EXPECTED))
    }
}

fn unexpected(value: &Scalar) -> Unexpected<'_> {
    match value {
        Scalar::Text(text) => Unexpected::Str(text),
        Scalar::Integer(number) => Unexpected::Signed(*number),
        Scalar::Float(number) => Unexpected::Float(*number),
        Scalar::Boolean(value) => Unexpected::Bool(*value),
    }
}
