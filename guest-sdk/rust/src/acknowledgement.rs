//! What the broker says about a message that was delivered.

use std::time::Duration;

use crate::Code;
use crate::bindings::khost::scenario::types;

/// What became of one message of a `deliver`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// [`Code::OK`], or why it was not acknowledged.
    pub code: Code,
    /// Where it lies; -1 when that is not known.
    pub partition: i32,
    /// Where in its partition; -1 when that is not known, as with `acks=0`.
    pub offset: i64,
    /// From the sending to the acknowledgement.
    pub latency: Duration,
}

impl From<types::Acknowledgement> for Acknowledgement {
    fn from(raw: types::Acknowledgement) -> Self {
        Acknowledgement {
            code: Code(raw.code),
            partition: raw.partition,
            offset: raw.offset,
            latency: Duration::from_nanos(raw.latency),
        }
    }
}
