//! A record that a test hands to a consumer.

use super::state::State;
use crate::Records;
use crate::bindings::khost::scenario::types;

/// A record to hand to [`Running::handle`](super::Running::handle). By default in partition 0 at offset 0, without key,
/// value and headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    topic: String,
    partition: i32,
    offset: i64,
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Record {
    /// A record of a topic that the [`Host`](super::Host) has.
    pub fn new(topic: &str) -> Self {
        Record { topic: topic.into(), ..Record::default() }
    }

    /// Where it lies.
    pub fn at(mut self, partition: i32, offset: i64) -> Self {
        (self.partition, self.offset) = (partition, offset);
        self
    }

    /// In milliseconds since the Unix epoch.
    pub fn timestamp(mut self, millis: i64) -> Self {
        self.timestamp = millis;
        self
    }

    /// Its key.
    pub fn key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.key = Some(key.as_ref().into());
        self
    }

    /// Its value.
    pub fn value(mut self, value: impl AsRef<[u8]>) -> Self {
        self.value = Some(value.as_ref().into());
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), Some(value.as_ref().into())));
        self
    }

    /// Adds a header whose value is null.
    pub fn header_null(mut self, name: &str) -> Self {
        self.headers.push((name.into(), None));
        self
    }
}

/// Records as the contract hands them over.
pub(crate) fn batch(records: &[Record], state: &State) -> Records {
    let mut batch = Records::default().0;
    let put = |bytes: &mut Vec<u8>, part: Option<&[u8]>| {
        let start = bytes.len() as u32;
        bytes.extend_from_slice(part.unwrap_or_default());
        types::Span { start, length: part.map_or(-1, |part| part.len() as i32) }
    };
    for record in records {
        let first_header = batch.headers.len() as u32;
        for (name, value) in &record.headers {
            let name = put(&mut batch.bytes, Some(name.as_bytes()));
            let value = put(&mut batch.bytes, value.as_deref());
            batch.headers.push(types::ReceivedHeader { name, value });
        }
        batch.records.push(types::Received {
            topic: state.handle_of(&record.topic),
            partition: record.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            key: put(&mut batch.bytes, record.key.as_deref()),
            value: put(&mut batch.bytes, record.value.as_deref()),
            first_header,
            header_count: record.headers.len() as u32,
        });
    }
    Records(batch)
}
