//! One message of a batch, said in a chain: `out.message(topic).key(id).value(body)`.
//!
//! Everything here is called per message: it copies into the batch's buffers, or stores a number.

use std::fmt::{self, Display, Write as _};
use std::io;
use std::time::Duration;

use crate::batch::nanos;
use crate::json::{self, SerJson};
use crate::wire::{self, Payload};
use crate::{Acknowledgement, Batch, Channel, Error, Operation, Outcomes, Record, Result, Slice, host};

/// The message that was begun last. It is part of its batch already, so nothing need be done at the end of the chain.
pub struct Message<'b> {
    pub(crate) batch: &'b mut Batch,
    pub(crate) at: usize,
}

impl Message<'_> {
    #[inline]
    fn raw(&mut self) -> &mut wire::Message {
        &mut self.batch.messages[self.at]
    }

    /// What was written into the batch's bytes since they were `start` long.
    #[inline]
    fn written(&self, start: usize) -> Payload {
        let length = self.batch.bytes.len() - start;
        Payload { tag: Payload::BYTES, a: start as u32, b: length as u32, c: 0 }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Payload {
        let start = self.batch.bytes.len();
        self.batch.bytes.extend_from_slice(bytes);
        self.written(start)
    }

    fn put_text(&mut self, text: impl Display) -> Payload {
        let start = self.batch.bytes.len();
        write!(Writer(&mut self.batch.bytes), "{text}").expect("a `Display` does not fail");
        self.written(start)
    }

    /// Its key: bytes, or text as UTF-8.
    #[inline]
    pub fn key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.raw().key = self.put(key.as_ref());
        self
    }

    /// Its key, written in place: `key_text(42)`, `key_text(format_args!("user-{id}"))`.
    #[inline]
    pub fn key_text(mut self, text: impl Display) -> Self {
        self.raw().key = self.put_text(text);
        self
    }

    /// Its key, out of a shared body.
    #[inline]
    pub fn key_slice(mut self, slice: Slice) -> Self {
        self.raw().key = slice.payload();
        self
    }

    /// Its value: bytes, or text as UTF-8.
    #[inline]
    pub fn value(mut self, value: impl AsRef<[u8]>) -> Self {
        self.raw().value = self.put(value.as_ref());
        self
    }

    /// Its value, written in place: `value_text(format_args!(r#"{{"id":{id}}}"#))`.
    #[inline]
    pub fn value_text(mut self, text: impl Display) -> Self {
        self.raw().value = self.put_text(text);
        self
    }

    /// Its value, out of a shared body: it stays on the host's side and is sent without a copy.
    #[inline]
    pub fn value_slice(mut self, slice: Slice) -> Self {
        self.raw().value = slice.payload();
        self
    }

    /// Its value, `length` bytes that `fill` sets in place. They are 0 before.
    #[inline]
    pub fn value_fill(mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        let start = self.batch.bytes.len();
        self.batch.bytes.resize(start + length, 0);
        fill(&mut self.batch.bytes[start..]);
        self.raw().value = self.written(start);
        self
    }

    /// Its value, of whatever `write` writes; its error is handed on.
    /// For example `value_write(|w| serde_json::to_writer(w, &order))?`.
    #[inline]
    pub fn value_write<E>(mut self, write: impl FnOnce(&mut Writer<'_>) -> Result<(), E>) -> Result<Self, E> {
        let start = self.batch.bytes.len();
        write(&mut Writer(&mut self.batch.bytes))?;
        self.raw().value = self.written(start);
        Ok(self)
    }

    /// Its value, as JSON: of a type that derives [`SerJson`](crate::json::SerJson).
    #[inline]
    pub fn value_json(mut self, value: &impl SerJson) -> Self {
        let start = self.batch.bytes.len();
        json::write(value, &mut self.batch.json, &mut self.batch.bytes);
        self.raw().value = self.written(start);
        self
    }

    /// Adds a header. Names may repeat; the order stays.
    #[inline]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let (name, value) = (self.put(name.as_bytes()), self.put(value.as_ref()));
        self.push_header(name, 1, value)
    }

    /// Adds a header whose value is null.
    #[inline]
    pub fn header_null(mut self, name: &str) -> Self {
        let name = self.put(name.as_bytes());
        self.push_header(name, 0, Payload::default())
    }

    /// Adds all headers of a record that was read, in their order: whoever asked finds its correlation id again.
    pub fn copy_headers(mut self, record: Record<'_>) -> Self {
        for (name, value) in record.headers() {
            self = self.copy(name, value);
        }
        self
    }

    /// Adds the last header of this name of a record that was read, if it has one.
    pub fn copy_header(self, record: Record<'_>, name: &str) -> Self {
        match record.headers().rev().find(|header| header.0 == name.as_bytes()) {
            Some((name, value)) => self.copy(name, value),
            None => self,
        }
    }

    fn copy(mut self, name: &[u8], value: Option<&[u8]>) -> Self {
        let name = self.put(name);
        match value {
            Some(value) => {
                let value = self.put(value);
                self.push_header(name, 1, value)
            }
            None => self.push_header(name, 0, Payload::default()),
        }
    }

    #[inline]
    fn push_header(mut self, name: Payload, has_value: u32, value: Payload) -> Self {
        self.batch.headers.push(wire::Header {
            name: name.a,
            name_length: name.b,
            has_value,
            value: value.a,
            value_length: value.b,
        });
        self.raw().header_count += 1;
        self
    }

    /// Its partition, from 0. Left out, the flow's partitioner chooses.
    #[inline]
    pub fn partition(mut self, partition: u32) -> Self {
        // One that no topic has must not turn into -1, "the partitioner chooses".
        self.raw().partition = partition.min(i32::MAX as u32) as i32;
        self
    }

    /// Its timestamp, in milliseconds since the Unix epoch. Left out, or -1, it is the time of sending. Others below 0 trap, 0 is
    /// sent as 1, and the report tells of those before 1990 or after 2099: seconds or microseconds, most likely.
    #[inline]
    pub fn timestamp(mut self, millis: i64) -> Self {
        self.raw().timestamp = millis;
        self
    }

    /// What it counts towards in the report. Left out, that is the flow.
    #[inline]
    pub fn operation(mut self, operation: Operation) -> Self {
        self.raw().operation = operation.0;
        self
    }

    /// Sends this message, after all that came before it, and waits for its acknowledgement.
    ///
    /// Errors: [`Error::Code`] when it was not acknowledged, or not in time.
    pub fn deliver(self, timeout: Duration) -> Result<Acknowledgement, Error> {
        let acknowledgements = self.batch.send(self.at, |own| host::deliver(own, nanos(timeout)));
        let acknowledgement = acknowledgements.first().expect("one for each message");
        acknowledgement.code.result().map(|()| *acknowledgement)
    }

    /// Sends this message as a request, after all that came before it, and waits for the reply.
    ///
    /// Errors: [`Error::Code`] when it was not acknowledged or no reply came in time, [`Error::Text`] when the reply is a
    /// failure, as the channel tells.
    pub fn request(self, via: Channel, timeout: Duration) -> Result<Outcomes, Error> {
        let outcomes = self.batch.send(self.at, |own| host::request(own, via.0, nanos(timeout)));
        let outcome = outcomes.each.first().expect("one for each message");
        outcome.result()?;
        Ok(outcomes)
    }
}

/// Writes into a batch: an [`io::Write`] and a [`fmt::Write`] that never fails.
pub struct Writer<'b>(&'b mut Vec<u8>);

impl io::Write for Writer<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Write for Writer<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
