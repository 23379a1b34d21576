//! A worker's way into a client: messages are gathered, handed over in batches, and what is refused is told apart.
//!
//! On the hot path: no allocation, lock, formatting or log line per message.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{
    RD_KAFKA_RESP_ERR__QUEUE_FULL, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR_INVALID_RECORD,
    RD_KAFKA_RESP_ERR_NO_ERROR,
};

use super::client::Client;
use super::deliver::{Delivery, Settled, Waiter};
use super::errors::ENDING;
use super::replies::{Entry, Line};
use super::stamp::{STAMP_HEADER, Stamper};
use crate::measure::Tag;

/// librdkafka's "let the partitioner choose".
const PARTITION_UNASSIGNED: i32 = -1;
/// Messages handed over at a time.
const MOST_PENDING: usize = 4096;

/// Where a value is.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Kafka's null: a tombstone.
    Null,
    /// Bytes that librdkafka copies.
    Copied(&'a [u8]),
    /// Bytes that stay where they are as long as the client lives: sent without a copy.
    Kept(&'a [u8]),
}

/// One record to send.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The topic's number in the plan.
    pub topic: usize,
    /// -1 leaves the choice to the partitioner.
    pub partition: i32,
    /// `None` is Kafka's null.
    pub key: Option<&'a [u8]>,
    /// Its value.
    pub value: Value<'a>,
    /// Names (without NUL) and values; `None` is null.
    pub headers: &'a [(&'a [u8], Option<&'a [u8]>)],
    /// Milliseconds since the Unix epoch; -1 is the time of sending.
    pub timestamp: i64,
}

/// A message that the client did not take.
#[derive(Debug, Clone, Copy)]
pub struct Rejected {
    /// What it carried.
    pub tag: Tag,
    /// librdkafka's code, or [`ENDING`].
    pub code: i32,
}

/// One worker's.
pub struct Lane {
    client: Arc<Client>,
    pending: Vec<rd::rd_kafka_message_t>,
    /// The topic and the flags of all that is pending.
    run: (usize, i32),
    fields: Vec<rd::rd_kafka_vu_t>,
    /// By the topic's number: compacted, so that a record without a key would spoil its whole batch.
    needs_key: Vec<bool>,
    /// Stamps each message.
    stamper: Option<Stamper>,
    rejected: Vec<Rejected>,
    blocked: Duration,
}

// SAFETY: the pointers in `pending` and `fields` are only used between `push` and `flush`, within one call of the
// thread that owns the lane.
unsafe impl Send for Lane {}

impl Lane {
    /// `needs_key` says by the topic's number whether it is compacted.
    pub fn new(client: Arc<Client>, needs_key: Vec<bool>) -> Self {
        Lane { pending: Vec::with_capacity(MOST_PENDING), ..Lane::small(client, needs_key) }
    }

    /// The same for one of thousands of workers: it takes room as it needs it.
    pub fn small(client: Arc<Client>, needs_key: Vec<bool>) -> Self {
        Lane {
            client,
            pending: Vec::new(),
            run: (0, 0),
            fields: Vec::new(),
            needs_key,
            stamper: None,
            rejected: Vec::new(),
            blocked: Duration::ZERO,
        }
    }

    /// The same, stamping each message. Such a one is handed over alone, as messages with headers are.
    pub fn stamping(self, stamper: Option<Stamper>) -> Self {
        Lane { stamper, ..self }
    }

    /// The client behind it.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Adds a record; it may be handed over now or at the next `flush`. `stop` is asked while the queue is full.
    ///
    /// # Safety
    /// The record's bytes stay where they are until `flush` returns or the lane is dropped; those of
    /// [`Value::Kept`] until the client is dropped. The topic is one of the client's.
    #[inline]
    pub unsafe fn push(&mut self, record: &Record<'_>, tag: Tag, stop: &dyn Fn() -> bool) {
        if record.key.is_none() && self.needs_key.get(record.topic).is_some_and(|needs| *needs) {
            self.rejected.push(Rejected { tag, code: RD_KAFKA_RESP_ERR_INVALID_RECORD as i32 });
            return;
        }
        if record.partition != PARTITION_UNASSIGNED && !self.client.has_partition(record.topic, record.partition) {
            // librdkafka would wait for topic.metadata.propagation.max.ms, 30 s, for the partition to appear
            self.rejected.push(Rejected { tag, code: RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION as i32 });
            return;
        }
        if !record.headers.is_empty() || record.timestamp >= 0 || self.stamper.is_some() {
            self.flush(stop);
            // SAFETY: as the caller says; the record is handed over before this returns.
            unsafe { self.send_alone(record, tag, stop) };
            return;
        }
        let (value, flags) = match record.value {
            Value::Null => (None, rd::RD_KAFKA_MSG_F_COPY),
            Value::Copied(bytes) => (Some(bytes), rd::RD_KAFKA_MSG_F_COPY),
            Value::Kept(bytes) => (Some(bytes), 0),
        };
        if self.run != (record.topic, flags) || self.pending.len() == MOST_PENDING {
            self.flush(stop);
            self.run = (record.topic, flags);
        }
        let (payload, len) = raw(value);
        let (key, key_len) = raw(record.key);
        self.pending.push(rd::rd_kafka_message_t {
            err: RD_KAFKA_RESP_ERR_NO_ERROR,
            rkt: std::ptr::null_mut(),
            partition: record.partition,
            payload,
            len,
            key,
            key_len,
            offset: 0,
            _private: tag.bits() as *mut c_void,
        });
    }

    /// Hands over all that is pending; waits while the queue is full, until `stop` says so.
    pub fn flush(&mut self, stop: &dyn Fn() -> bool) {
        let (topic, flags) = self.run;
        while !self.pending.is_empty() {
            // SAFETY: the topic is the client's, the array is ours, and its pointers are valid as `push` demands.
            let accepted = unsafe {
                rd::rd_kafka_produce_batch(
                    self.client.topics[topic],
                    PARTITION_UNASSIGNED,
                    flags | rd::RD_KAFKA_MSG_F_PARTITION,
                    self.pending.as_mut_ptr(),
                    self.pending.len() as i32,
                )
            };
            if accepted as usize == self.pending.len() {
                self.pending.clear();
                break;
            }
            let rejected = &mut self.rejected;
            self.pending.retain_mut(|message| match message.err {
                RD_KAFKA_RESP_ERR_NO_ERROR => false,
                RD_KAFKA_RESP_ERR__QUEUE_FULL => {
                    message.err = RD_KAFKA_RESP_ERR_NO_ERROR;
                    true
                }
                other => {
                    rejected.push(Rejected { tag: Tag::from_bits(message._private as u64), code: other as i32 });
                    false
                }
            });
            if accepted == 0 && !self.pending.is_empty() && self.client.outstanding() == 0 {
                // larger than the whole queue: no waiting helps
                let message = self.pending.remove(0);
                let tag = Tag::from_bits(message._private as u64);
                self.rejected.push(Rejected { tag, code: RD_KAFKA_RESP_ERR__QUEUE_FULL as i32 });
            } else if !self.pending.is_empty() && !self.wait_for_room(stop) {
                let given_up =
                    self.pending.drain(..).map(|m| Rejected { tag: Tag::from_bits(m._private as u64), code: ENDING });
                self.rejected.extend(given_up);
            }
        }
        self.client.take_reports();
    }

    /// A record with headers, a stamp or a timestamp, which `rd_kafka_produce_batch` can't carry.
    ///
    /// # Safety
    /// As for `push`.
    unsafe fn send_alone(&mut self, record: &Record<'_>, tag: Tag, stop: &dyn Fn() -> bool) {
        use rd::rd_kafka_vtype_t as t;
        use rd::rd_kafka_vu_s__bindgen_ty_1 as U;
        let (value, flags) = match record.value {
            Value::Null => (None, rd::RD_KAFKA_MSG_F_COPY),
            Value::Copied(bytes) => (Some(bytes), rd::RD_KAFKA_MSG_F_COPY),
            Value::Kept(bytes) => (Some(bytes), 0),
        };
        let memory = |bytes: Option<&[u8]>| {
            let (ptr, size) = raw(bytes);
            U { mem: rd::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_1 { ptr, size } }
        };
        let fields = &mut self.fields;
        fields.clear();
        let mut field = |vtype, u| fields.push(rd::rd_kafka_vu_t { vtype, u });
        field(t::RD_KAFKA_VTYPE_RKT, U { rkt: self.client.topics[record.topic] });
        field(t::RD_KAFKA_VTYPE_PARTITION, U { i32_: record.partition });
        field(t::RD_KAFKA_VTYPE_MSGFLAGS, U { i: flags });
        field(t::RD_KAFKA_VTYPE_KEY, memory(record.key));
        field(t::RD_KAFKA_VTYPE_VALUE, memory(value));
        field(t::RD_KAFKA_VTYPE_OPAQUE, U { ptr: tag.bits() as *mut c_void });
        if record.timestamp >= 0 {
            field(t::RD_KAFKA_VTYPE_TIMESTAMP, U { i64_: record.timestamp });
        }
        let stamp = self.stamper.as_ref().map(|stamper| stamper.stamp(tag.time_us(), tag.is_warm_up()).bytes());
        let headers = if record.headers.is_empty() && stamp.is_none() {
            std::ptr::null_mut()
        } else {
            // a stamp that came with a record which this one answers is not this one's
            let own = record.headers.iter().filter(|(name, _)| stamp.is_none() || *name != STAMP_HEADER).copied();
            let stamp = stamp.as_ref().map(|stamp| (STAMP_HEADER, Some(&stamp[..])));
            // SAFETY: lengths are passed along, and librdkafka copies names and values.
            unsafe {
                let headers = rd::rd_kafka_headers_new(record.headers.len() + 1);
                for (name, value) in own.chain(stamp) {
                    let (value, size) = raw(value);
                    rd::rd_kafka_header_add(headers, name.as_ptr().cast(), name.len() as isize, value, size as isize);
                }
                headers
            }
        };
        if !headers.is_null() {
            field(t::RD_KAFKA_VTYPE_HEADERS, U { headers });
        }
        let code = loop {
            // SAFETY: the fields are as their types say; the headers are the message's once it is taken.
            let code = unsafe {
                let error = rd::rd_kafka_produceva(self.client.rk, self.fields.as_ptr(), self.fields.len());
                let code = if error.is_null() { RD_KAFKA_RESP_ERR_NO_ERROR } else { rd::rd_kafka_error_code(error) };
                rd::rd_kafka_error_destroy(error);
                code
            };
            if code != RD_KAFKA_RESP_ERR__QUEUE_FULL || self.client.outstanding() == 0 {
                break code as i32;
            }
            if !self.wait_for_room(stop) {
                break ENDING;
            }
            if let Some(stamper) = &self.stamper {
                // it is sent only now: what it waited for room is not part of its way
                let stamp = stamper.stamp(tag.time_us(), tag.is_warm_up()).bytes();
                // SAFETY: the message was not taken, so the headers are still ours; the value is copied.
                unsafe { set_stamp(headers, &stamp) };
            }
        };
        if code == 0 {
            return;
        }
        if !headers.is_null() {
            // SAFETY: the message was not taken, so they are still ours.
            unsafe { rd::rd_kafka_headers_destroy(headers) };
        }
        self.rejected.push(Rejected { tag, code });
    }

    /// Answers false when `stop` said so.
    fn wait_for_room(&mut self, stop: &dyn Fn() -> bool) -> bool {
        if stop() {
            return false;
        }
        let begun = Instant::now();
        self.client.wait_for_room(Duration::from_millis(10));
        self.blocked += begun.elapsed();
        true
    }

    /// A tag for a message whose delivery is waited for; none when too many are waited for at once.
    pub fn await_delivery(&self, tag: Tag, delivery: &Arc<Delivery>, index: usize, operation: u32) -> Option<Tag> {
        let waiter = Waiter::Call { delivery: delivery.clone(), index, operation };
        Some(tag.awaited(self.client.waiting.add(waiter, Tag::SLOTS)?))
    }

    /// A tag for a request, which fails with its message; none when too many messages are waited for at once.
    pub fn await_request(&self, tag: Tag, line: &Arc<Line>, entry: Entry, operation: u32) -> Option<Tag> {
        let waiter = Waiter::Request { line: line.clone(), entry, operation };
        Some(tag.awaited(self.client.waiting.add(waiter, Tag::SLOTS)?))
    }

    /// What a message was for that was not taken; wakes a call that waits for it, and fails a request.
    pub fn settle(&self, rejected: &Rejected) -> Settled {
        let tag = rejected.tag;
        let waiter = if tag.is_awaited() { self.client.waiting.take(tag.slot()) } else { None };
        match waiter {
            Some(waiter) => {
                waiter.answer(super::Acknowledgement { code: rejected.code, ..super::Acknowledgement::PENDING })
            }
            None => Settled { operation: if tag.is_awaited() { 0 } else { tag.slot() }, is_request: false },
        }
    }

    /// Forgets what is pending, as the call that pushed it has failed; answers the operations that it was for.
    pub fn abandon(&mut self) -> Vec<(Tag, u32)> {
        let tags: Vec<_> = self.pending.drain(..).map(|message| Tag::from_bits(message._private as u64)).collect();
        tags.into_iter().map(|tag| (tag, self.settle(&Rejected { tag, code: ENDING }).operation)).collect()
    }

    /// What the client did not take since the last time, moved into `into`.
    pub fn take_rejected(&mut self, into: &mut Vec<Rejected>) {
        into.append(&mut self.rejected);
    }

    /// How long the worker waited for room since the last time.
    pub fn take_blocked(&mut self) -> Duration {
        std::mem::take(&mut self.blocked)
    }
}

/// Puts another stamp in the place of the one that is there.
///
/// # Safety
/// `headers` are live and ours.
unsafe fn set_stamp(headers: *mut rd::rd_kafka_headers_t, stamp: &[u8]) {
    let name = STAMP_HEADER.as_ptr().cast();
    // SAFETY: as the caller says; the name to be removed is NUL-terminated, lengths are passed along with the rest.
    unsafe {
        rd::rd_kafka_header_remove(headers, c"khost".as_ptr());
        rd::rd_kafka_header_add(
            headers,
            name,
            STAMP_HEADER.len() as isize,
            stamp.as_ptr().cast(),
            stamp.len() as isize,
        );
    }
}

/// A pointer that is null for Kafka's null, and not null for an empty one.
#[inline]
fn raw(bytes: Option<&[u8]>) -> (*mut c_void, usize) {
    bytes.map_or((std::ptr::null_mut(), 0), |b| (b.as_ptr() as *mut c_void, b.len()))
}
