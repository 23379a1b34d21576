//! The one reader and writer of durations, sizes, rates and counts, for manifests, command lines and what is shown.
//!
//! Nothing here is guessed: no exponents, no signs, no unit that could mean two things. What is refused says what was
//! expected.

mod bytes;
mod count;
mod decimal;
mod duration;
mod rate;
mod read;

pub use bytes::{format_bytes, parse_bytes};
pub use count::parse_count;
pub use duration::{format_duration, parse_duration};
pub use rate::{MAX_RATE_PER_SECOND, Rate};
pub(super) use read::{Bytes, Count, Length, Whole};

/// An amount that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct BadAmount {
    /// What should have been there.
    pub expected: &'static str,
    /// What was there.
    pub found: String,
    /// The next step.
    pub hint: Option<String>,
}

impl BadAmount {
    fn new(expected: &'static str, found: &str) -> Self {
        Self { expected, found: found.to_owned(), hint: None }
    }

    fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
