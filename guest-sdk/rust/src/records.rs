//! What was read: records whose bytes lie in one buffer, lent without a copy.

use std::ops::Range;

use crate::bindings::khost::scenario::types;
use crate::json::{self, DeJson};
use crate::{Error, Topic};

/// Records in the order of each partition.
pub struct Records(pub(crate) types::Batch);

impl Default for Records {
    fn default() -> Self {
        Records(types::Batch { bytes: Vec::new(), records: Vec::new(), headers: Vec::new() })
    }
}

impl Records {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.records.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.range(0..self.len())
    }

    pub(crate) fn at(&self, index: usize) -> Record<'_> {
        Record { batch: &self.0, raw: &self.0.records[index] }
    }

    pub(crate) fn range(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.0.records[range].iter().map(|raw| Record { batch: &self.0, raw })
    }
}

/// A record that was read.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    batch: &'a types::Batch,
    raw: &'a types::Received,
}

/// A header of a record: its name, and its value unless that is null.
pub type Header<'a> = (&'a [u8], Option<&'a [u8]>);

impl<'a> Record<'a> {
    /// Where it was read.
    pub fn topic(self) -> Topic {
        Topic(self.raw.topic)
    }

    /// From 0.
    pub fn partition(self) -> i32 {
        self.raw.partition
    }

    /// Its place in the partition.
    pub fn offset(self) -> i64 {
        self.raw.offset
    }

    /// Milliseconds since the Unix epoch, as the broker stores it.
    pub fn timestamp(self) -> i64 {
        self.raw.timestamp
    }

    /// `None` is a record without a key.
    pub fn key(self) -> Option<&'a [u8]> {
        part(&self.batch.bytes, self.raw.key)
    }

    /// `None` is a tombstone.
    pub fn value(self) -> Option<&'a [u8]> {
        part(&self.batch.bytes, self.raw.value)
    }

    /// Its value, read as JSON: into a type that derives [`DeJson`].
    ///
    /// Errors: [`Error::Text`] when the value is null, or no such JSON.
    pub fn json<T: DeJson>(self) -> Result<T, Error> {
        json::read(self.value())
    }

    /// Its headers, in their order.
    pub fn headers(self) -> impl DoubleEndedIterator<Item = Header<'a>> + use<'a> {
        let (first, count) = (self.raw.first_header as usize, self.raw.header_count as usize);
        let bytes = &self.batch.bytes;
        let header =
            |raw: &'a types::ReceivedHeader| (part(bytes, raw.name).unwrap_or_default(), part(bytes, raw.value));
        self.batch.headers[first..first + count].iter().map(header)
    }

    /// The value of the last header of this name, as Kafka's clients have it; `None` for a null one, too.
    pub fn header(self, name: &str) -> Option<&'a [u8]> {
        self.headers().rev().find(|header| header.0 == name.as_bytes()).and_then(|header| header.1)
    }
}

/// What a span of the contract says; `None` for null.
pub(crate) fn part(bytes: &[u8], span: types::Span) -> Option<&[u8]> {
    let length = usize::try_from(span.length).ok()?;
    Some(&bytes[span.start as usize..][..length])
}
