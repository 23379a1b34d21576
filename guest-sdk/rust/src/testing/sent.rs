//! A message that a flow has sent, with its bytes resolved.

use std::time::Duration;

/// A message that a flow has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its topic's name in the manifest.
    pub topic: String,
    /// Which of a repeated topic it is.
    pub each: Option<String>,
    /// `None` leaves the choice to the partitioner.
    pub partition: Option<u32>,
    /// `None` is no key, which is not an empty one.
    pub key: Option<Vec<u8>>,
    /// `None` is a tombstone. The bytes are here also when they were a slice of a shared body.
    pub value: Option<Vec<u8>>,
    /// In their order; a value of `None` is a null one.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// Milliseconds since the Unix epoch; `None` is the time of sending.
    pub timestamp: Option<i64>,
    /// The number, within its call, of the iteration or record that its latency counts from.
    pub iteration: Option<u32>,
    /// What it counts towards, `check-in{tenant=diku}` with labels; `None` is the flow itself.
    pub operation: Option<String>,
    /// When it was sent, as [`run::now`](crate::run::now) says.
    pub at: Duration,
    /// How much later than its call it was to be sent.
    pub delay: Duration,
}

impl Sent {
    /// Its key as text; `None` if there is none, or if it is not UTF-8.
    pub fn key_text(&self) -> Option<&str> {
        std::str::from_utf8(self.key.as_deref()?).ok()
    }

    /// Its value as text; `None` for a tombstone, or if it is not UTF-8.
    pub fn value_text(&self) -> Option<&str> {
        std::str::from_utf8(self.value.as_deref()?).ok()
    }

    /// The value of the last header of this name, as Kafka's clients have it; `None` for a null one, too.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().rev().find(|header| header.0 == name);
        found.and_then(|header| header.1.as_deref())
    }
}
