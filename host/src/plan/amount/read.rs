//! Amounts as the fields of a manifest.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

use super::{BadAmount, Rate, bytes, count, duration, parse_bytes, parse_count, parse_duration, rate};

/// A count of something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::plan) struct Count(pub(in crate::plan) u64);

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::plan) struct Bytes(pub(in crate::plan) u64);

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::plan) struct Length(pub(in crate::plan) Duration);

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::plan) struct Whole<const MIN: u32, const MAX: u32>(pub(in crate::plan) u32);

/// What can be read from a text, and perhaps from a number.
trait Amount: Sized {
    const EXPECTED: &'static str;

    fn from_text(text: &str) -> Result<Self, BadAmount>;

    fn from_number(_number: u64) -> Option<Self> {
        None
    }

    /// What to write in place of a number that stands alone.
    fn hint_for_number(_number: i64) -> Option<String> {
        None
    }
}

impl Amount for Count {
    const EXPECTED: &'static str = count::EXPECTED;

    fn from_text(text: &str) -> Result<Self, BadAmount> {
        parse_count(text).map(Self)
    }

    fn from_number(number: u64) -> Option<Self> {
        Some(Self(number))
    }
}

impl Amount for Bytes {
    const EXPECTED: &'static str = bytes::EXPECTED;

    fn from_text(text: &str) -> Result<Self, BadAmount> {
        parse_bytes(text).map(Self)
    }

    fn from_number(number: u64) -> Option<Self> {
        Some(Self(number))
    }
}

impl Amount for Length {
    const EXPECTED: &'static str = duration::EXPECTED;

    fn from_text(text: &str) -> Result<Self, BadAmount> {
        parse_duration(text).map(Self)
    }

    fn hint_for_number(number: i64) -> Option<String> {
        Some(format!("give it a unit, such as \"{number}s\""))
    }
}

impl Amount for Rate {
    const EXPECTED: &'static str = rate::EXPECTED;

    fn from_text(text: &str) -> Result<Self, BadAmount> {
        Self::parse(text)
    }

    fn hint_for_number(number: i64) -> Option<String> {
        Some(format!("say per what: \"{number}/s\""))
    }
}

/// An error whose hint is on a line of its own, as `plan::Error` takes it.
fn refuse<E: Error>(message: impl fmt::Display, hint: Option<String>) -> E {
    match hint {
        Some(hint) => E::custom(format_args!("{message}\nhint: {hint}")),
        None => E::custom(message),
    }
}

struct AmountVisitor<A>(PhantomData<A>);

impl<A: Amount> Visitor<'_> for AmountVisitor<A> {
    type Value = A;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(A::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<A, E> {
        A::from_text(text).map_err(|error| refuse(&error, error.hint.clone()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<A, E> {
        match u64::try_from(number).ok().and_then(A::from_number) {
            Some(amount) => Ok(amount),
            None => Err(refuse(
                format_args!("expected {}, found {number}", A::EXPECTED),
                A::hint_for_number(number).filter(|_| number >= 0),
            )),
        }
    }
}

macro_rules! deserialize_amounts {
    ($($amount:ty),*) => {$(
        impl<'de> Deserialize<'de> for $amount {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(AmountVisitor(PhantomData))
            }
        }
    )*};
}

deserialize_amounts!(Count, Bytes, Length, Rate);

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WholeVisitor<const MIN: u32, const MAX: u32>;

        impl<const MIN: u32, const MAX: u32> Visitor<'_> for WholeVisitor<MIN, MAX> {
            type Value = Whole<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                u32::try_from(number)
                    .ok()
                    .filter(|number| (MIN..=MAX).contains(number))
                    .map(Whole)
                    .ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
            }
        }

        deserializer.deserialize_any(WholeVisitor)
    }
}
