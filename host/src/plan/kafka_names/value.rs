//! What librdkafka is to be given for a value that someone wrote.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};

use super::property::{Kind, Property};
use crate::plan::error::{Error, list};
use crate::plan::{parse_bytes, parse_count, parse_duration};

/// A value of `[kafka]`: whatever is not a list or a table.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plan) enum Scalar {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Boolean(value) => value.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;

        impl Visitor<'_> for ScalarVisitor {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false")
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(number))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(number))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar::Boolean(value))
            }
        }

        deserializer.deserialize_any(ScalarVisitor)
    }
}

pub(super) fn check(property: &Property, value: &Scalar) -> Result<String, Error> {
    let text = value.to_string();
    let unexpected = |expected: String| {
        let found = match value {
            _ if super::is_secret(property.name) => "something else".to_owned(),
            Scalar::Text(text) => format!("{text:?}"),
            _ => text.clone(),
        };
        Error::unexpected(expected, found)
    };
    match &property.kind {
        Kind::Integer { min, max } => {
            let number = text.replace('_', "").parse().ok().filter(|number| (*min..=*max).contains(number));
            number.map(|number: i64| number.to_string()).ok_or_else(|| {
                let expected = format!("a whole number from {min} to {max}{}", unit(property.name));
                with_number_hint(unexpected(expected), property.name, &text)
            })
        }
        Kind::Float { min, max } => {
            let number = decimal(&text).filter(|number| (*min..=*max).contains(number));
            number.map(|number| number.to_string()).ok_or_else(|| {
                let expected = format!("a number from {min} to {max}{}", unit(property.name));
                with_number_hint(unexpected(expected), property.name, &text)
            })
        }
        Kind::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" => Ok("true".to_owned()),
            "false" => Ok("false".to_owned()),
            _ => Err(unexpected("true or false".to_owned())),
        },
        Kind::Word(words) => match find_word(words, &text) {
            Some(word) => Ok(word.to_owned()),
            None => Err(unexpected(or(words))),
        },
        Kind::Flags(words) => {
            let given = text.split(',').map(str::trim).filter(|flag| !flag.is_empty());
            let flags: Option<Vec<&str>> = given.map(|flag| find_word(words, flag)).collect();
            match flags {
                Some(flags) => Ok(flags.join(",")),
                None => Err(unexpected(format!("some of {}, with commas between", list(words)))),
            }
        }
        Kind::Text => {
            if text.contains('\0') {
                Err(Error::refused("a text for librdkafka can't hold a zero byte"))
            } else {
                Ok(text)
            }
        }
        Kind::Code => Err(Error::refused("this can't be set: it is for programs that call librdkafka")),
    }
}

/// A number without exponent; "inf" and "nan" are none.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'));
    plain.then(|| text.replace('_', "").parse().ok()).flatten()
}

/// librdkafka takes its words in capitals too.
fn find_word(words: &[&'static str], text: &str) -> Option<&'static str> {
    words.iter().find(|word| word.eq_ignore_ascii_case(text)).copied()
}

fn or(words: &[&str]) -> String {
    list(words).replace(" and ", " or ")
}

/// What a setting counts, as its name tells.
fn unit(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("ms" | "ttl") => " (milliseconds)",
        Some("bytes") => " (bytes)",
        Some("kbytes") => " (units of 1024 bytes)",
        Some("messages") => " (messages)",
        Some("size") => " (bytes)",
        _ => "",
    }
}

/// Shows how to write an amount that librdkafka would read only the start of.
fn with_number_hint(error: Error, name: &str, text: &str) -> Error {
    let number = match unit(name) {
        " (milliseconds)" => parse_duration(text).ok().map(|duration| duration.as_millis().to_string()),
        " (bytes)" => parse_bytes(text).ok().map(|bytes| bytes.to_string()),
        " (units of 1024 bytes)" => parse_bytes(text).ok().map(|bytes| (bytes / 1024).to_string()),
        _ => None,
    };
    match number.or_else(|| parse_count(text).ok().map(|count| count.to_string())) {
        Some(number) if number != text => error.with_hint(format!("librdkafka takes plain numbers: write {number}")),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::kafka_names::check;

    fn given(name: &str, text: &str) -> Result<String, String> {
        check(name, &Scalar::Text(text.into())).map_err(|error| match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })
    }

    #[test]
    fn values_are_given_to_librdkafka_in_one_spelling() {
        for (name, text, given_text) in [
            ("batch.size", "65536", "65536"),
            ("batch.size", "65_536", "65536"),
            ("batch.size", "010", "10"),
            ("topic.metadata.refresh.interval.ms", "-1", "-1"),
            ("linger.ms", "0.5", "0.5"),
            ("linger.ms", "5", "5"),
            ("enable.idempotence", "TRUE", "true"),
            ("compression.type", "LZ4", "lz4"),
            ("acks", "all", "all"),
            ("acks", "-1", "-1"),
            ("debug", "broker, Topic,msg", "broker,topic,msg"),
            ("sasl.mechanism", "scram-sha-512", "SCRAM-SHA-512"),
            ("client.id", " as it is {x} ", " as it is {x} "),
        ] {
            assert_eq!(given(name, text).as_deref(), Ok(given_text), "{name}={text}");
        }
        assert_eq!(check("linger.ms", &Scalar::Integer(5)).ok().as_deref(), Some("5"));
        assert_eq!(check("socket.nagle.disable", &Scalar::Boolean(false)).ok().as_deref(), Some("false"));
    }

    #[test]
    fn what_librdkafka_would_misread_is_refused_with_the_number_to_write() {
        let refused = |name, text| given(name, text).expect_err(text);
        assert_eq!(
            refused("queue.buffering.max.messages", "16k"),
            "expected a whole number from 1 to 2147483647 (messages), found \"16k\"; librdkafka takes plain numbers: write 16000"
        );
        assert_eq!(
            refused("batch.size", "16KiB"),
            "expected a whole number from 1 to 2147483647 (bytes), found \"16KiB\"; librdkafka takes plain numbers: write 16384"
        );
        assert_eq!(
            refused("linger.ms", "1s"),
            "expected a number from 0 to 900000 (milliseconds), found \"1s\"; librdkafka takes plain numbers: write 1000"
        );
        assert_eq!(
            refused("queue.buffering.max.kbytes", "32MiB"),
            "expected a whole number from 1 to 2147483647 (units of 1024 bytes), found \"32MiB\"; librdkafka takes plain numbers: write 32768"
        );
        for text in ["1e6", "0x10", "", " 5", "5 ", "5.0", "--5", "9999999999999999999", "-1", "2147483648"] {
            assert!(given("batch.num.messages", text).is_err(), "{text}");
        }
        for text in ["1e3", "inf", "nan", "", "-0.1", "900001", "5ms"] {
            assert!(given("linger.ms", text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_and_flags_are_checked() {
        let refused = |name, text| given(name, text).expect_err(text);
        assert_eq!(refused("compression.type", "lz4 "), "expected none, gzip, snappy, lz4 or zstd, found \"lz4 \"");
        assert_eq!(refused("acks", "2"), "expected all, -1, 0 or 1, found \"2\"");
        assert_eq!(refused("enable.idempotence", "yes"), "expected true or false, found \"yes\"");
        assert!(refused("partitioner", "murmur").starts_with("expected random, consistent,"));
        assert!(refused("debug", "broker,everything").starts_with("expected some of generic, broker,"));
    }

    #[test]
    fn names_that_are_none_lead_to_ones_that_are() {
        let refused = |name| given(name, "1").expect_err(name);
        assert_eq!(refused("linger_ms"), "librdkafka has no such setting; did you mean `linger.ms`?");
        assert_eq!(
            refused("max.request.size"),
            "librdkafka has no such setting; this is `message.max.bytes` here: the largest message, before compression"
        );
        assert!(refused("test.mock.num.brokers").starts_with("librdkafka has no such setting"));
        assert!(refused("bootstrap.servers").contains("--brokers"));
        assert_eq!(refused("dr_msg_cb"), "this can't be set: it is for programs that call librdkafka");
    }

    #[test]
    fn no_message_holds_a_secret() {
        assert!(!given("sasl.password", "hunter\u{0}2").expect_err("zero byte").contains("hunter"));
        assert_eq!(given("sasl.password", "a{b}c;=#").as_deref(), Ok("a{b}c;=#"));
    }
}
