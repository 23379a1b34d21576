//! What befalls a message or a request is a [`Code`]; what a flow returns is a [`Result`].

use std::fmt;

/// What befell a message or a request, as the contract numbers it. The set grows.
///
/// 0 is success. Below 10000 are librdkafka's own (negative) and the broker's (positive) error codes, from 10001 on
/// khost's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Code(pub i32);

impl Code {
    /// Nothing went wrong.
    pub const OK: Code = Code(0);
    /// The run is ending: return from the call.
    pub const ENDING: Code = Code(10_001);
    /// Nothing came in time.
    pub const TIMEOUT: Code = Code(10_002);

    /// Whether nothing went wrong.
    pub fn is_ok(self) -> bool {
        self == Code::OK
    }

    /// `Ok` for success, [`Error::Code`] otherwise.
    pub fn result(self) -> Result<(), Error> {
        if self.is_ok() { Ok(()) } else { Err(Error::Code(self)) }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Code::OK => f.write_str("ok"),
            Code::ENDING => f.write_str("the run is ending"),
            Code::TIMEOUT => f.write_str("nothing came in time"),
            Code(code) => write!(f, "Kafka error {code}"),
        }
    }
}

/// Why a call of this crate has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// What befell a message or a request; never [`Code::OK`].
    Code(Code),
    /// Anything else: a parameter that is missing or of another type, a column that a data set lacks.
    Text(String),
}

/// What a flow returns. `?` takes every error, and `Err("text".into())` makes one.
pub type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

impl Error {
    /// The run is ending, so there is nothing to report: the SDK counts no failure for it.
    pub const ENDING: Error = Error::Code(Code::ENDING);

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Error::Text(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Code(code) => code.fmt(f),
            Error::Text(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
