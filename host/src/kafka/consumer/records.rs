//! Records: taken from librdkafka in batches, held, and handed over. This is the hot path: for a record khost allocates nothing.

use std::ffi::{CStr, CString};
use std::time::Duration;

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use super::error::{ConsumeError, is_passing, unreadable};
use super::group::{Group, Partition};
use super::{Arrived, Consumer};
use crate::kafka::wire::owned;

impl Consumer {
    /// Takes records, if it holds none: waits for the first at most this long, and takes those that are there with it.
    /// Answers how many it holds.
    ///
    /// # Errors
    /// What keeps a partition from being read.
    pub fn fill(&mut self, wait: Duration) -> Result<usize, ConsumeError> {
        if !self.begun {
            self.begin()?;
        }
        if !self.held.is_empty() {
            return Ok(self.held.len());
        }
        self.taken.clear();
        // SAFETY: the queue is live; the array has room for `most`, of which librdkafka sets as many as it answers.
        unsafe {
            let first = rd::rd_kafka_consume_queue(self.records.0, wait.as_millis() as i32);
            if first.is_null() {
                return Ok(0);
            }
            self.taken.push(first);
            if self.most > 1 {
                let room = self.taken.as_mut_ptr().add(1);
                let more = rd::rd_kafka_consume_batch_queue(self.records.0, 0, room, self.most - 1);
                self.taken.set_len(1 + more.max(0) as usize);
            }
        }
        self.arrived_us = self.clock.now_us();
        self.held.extend(self.taken.drain(..));
        // SAFETY: the messages are live.
        let error = self.held.iter().copied().find(|one| unsafe { (**one).err } != RD_KAFKA_RESP_ERR_NO_ERROR);
        match error {
            None => Ok(self.held.len()),
            Some(message) => {
                // SAFETY: the message is live.
                let (code, text, partition, topic) = unsafe {
                    let text = owned(rd::rd_kafka_message_errstr(message));
                    ((*message).err, text, (*message).partition, topic_name((*message).rkt))
                };
                self.held.retain(|one| {
                    // SAFETY: the message is live.
                    let is_record = unsafe { (**one).err } == RD_KAFKA_RESP_ERR_NO_ERROR;
                    if !is_record {
                        // SAFETY: it is ours, and forgotten with this.
                        unsafe { rd::rd_kafka_message_destroy(*one) };
                    }
                    is_record
                });
                match topic {
                    _ if is_passing(code) => self.heed(code, &text)?,
                    Some(topic) => return Err(unreadable(&topic, partition, text)),
                    None => return Err(self.failed(text)),
                }
                Ok(self.held.len())
            }
        }
    }

    /// When the records that it holds were taken, on the run's clock.
    pub fn arrived_us(&self) -> u64 {
        self.arrived_us
    }

    /// The records that it holds, in the order of each partition.
    pub fn held(&mut self) -> impl Iterator<Item = Arrived<'_>> {
        let Consumer { held, numbers, group, .. } = self;
        let mut last = (std::ptr::null_mut(), 0);
        held.iter().map(move |message| {
            // SAFETY: the message is live as long as it is held, and its topic's handle with it.
            unsafe {
                let handle = (**message).rkt;
                if handle != last.0 {
                    last = (handle, *numbers.entry(handle).or_insert_with(|| number_of(group, handle)));
                }
                Arrived::new(*message, last.1)
            }
        })
    }

    /// The first `count` records are handed over: they won't be read again by this process.
    pub fn advance(&mut self, count: usize) {
        let mut next: Option<(Partition, i64)> = None;
        let mut numbers = std::mem::take(&mut self.numbers);
        for message in self.held.drain(..count) {
            // SAFETY: the message is live, and forgotten with this.
            let (partition, offset) = unsafe {
                let handle = (*message).rkt;
                let topic = *numbers.entry(handle).or_insert_with(|| number_of(&self.group, handle));
                let read = ((topic, (*message).partition), (*message).offset + 1);
                rd::rd_kafka_message_destroy(message);
                read
            };
            if let Some((before, behind)) = next.filter(|(before, _)| *before != partition) {
                self.group.set_next(before, behind);
            }
            next = Some((partition, offset));
        }
        if let Some((partition, behind)) = next {
            self.group.set_next(partition, behind);
        }
        self.numbers = numbers;
    }

    /// Forgets records that it holds of partitions that go elsewhere: they are read there.
    pub(super) fn let_go(&mut self, goes: impl Fn(Partition) -> bool) {
        let group = &self.group;
        self.held.retain(|message| {
            // SAFETY: the message is live, and destroyed when it is forgotten.
            unsafe {
                let goes = goes((number_of(group, (**message).rkt), (**message).partition));
                if goes {
                    rd::rd_kafka_message_destroy(*message);
                }
                !goes
            }
        });
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.let_go(|_| true);
    }
}

/// # Safety
/// `handle` is null or live.
unsafe fn topic_name(handle: *mut rd::rd_kafka_topic_t) -> Option<CString> {
    // SAFETY: as the caller says; a topic's name is NUL-terminated.
    (!handle.is_null()).then(|| unsafe { CStr::from_ptr(rd::rd_kafka_topic_name(handle)) }.to_owned())
}

/// A topic's number in the plan.
///
/// # Safety
/// `handle` is live.
pub(super) unsafe fn number_of(group: &Group, handle: *mut rd::rd_kafka_topic_t) -> usize {
    // SAFETY: as the caller says; a topic's name is NUL-terminated.
    let name = unsafe { CStr::from_ptr(rd::rd_kafka_topic_name(handle)) };
    let found = group.topics.iter().find(|(_, known)| known.as_c_str() == name);
    *found.expect("only the group's topics are subscribed to").0
}
