//! Records: taken from librdkafka in batches, held, and handed over. This is the hot path: for a record khost allocates nothing.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::time::Duration;

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{RD_KAFKA_RESP_ERR__PARTITION_EOF, RD_KAFKA_RESP_ERR_NO_ERROR};

use super::error::{ConsumeError, is_passing, unreadable};
use super::group::{Group, Partition};
use super::pause::wire_bytes;
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
        self.take_turns()?;
        self.taken.clear();
        match self.pausing.as_ref().filter(|pausing| pausing.keeps()) {
            // SAFETY: the array has room for `most`; the client is live.
            Some(pausing) => unsafe { pausing.take(&mut self.taken, self.most, wait) },
            None => self.take(wait),
        }
        if self.taken.is_empty() {
            return Ok(0);
        }
        self.arrived_us = self.clock.now_us();
        self.held.extend(self.taken.drain(..));
        if let Some(pausing) = &mut self.pausing {
            // SAFETY: the messages are live.
            let is_record = |one: &&*mut rd::rd_kafka_message_t| unsafe { (***one).err } == RD_KAFKA_RESP_ERR_NO_ERROR;
            let records = self.held.iter().filter(is_record);
            // SAFETY: as above, and they are records.
            let bytes = unsafe { wire_bytes(records.clone()) };
            pausing.took(records.count(), bytes);
        }
        self.sort_out()?;
        Ok(self.held.len())
    }

    /// Takes records from the queue of all partitions.
    fn take(&mut self, wait: Duration) {
        // SAFETY: the queue is live; the array has room for `most`, of which librdkafka sets as many as it answers.
        unsafe {
            let first = rd::rd_kafka_consume_queue(self.records.0, wait.as_millis() as i32);
            if first.is_null() {
                return;
            }
            self.taken.push(first);
            if self.most > 1 {
                let room = self.taken.as_mut_ptr().add(1);
                let more = rd::rd_kafka_consume_batch_queue(self.records.0, 0, room, self.most - 1);
                self.taken.set_len(1 + more.max(0) as usize);
            }
        }
    }

    /// Takes out what is no record, and records behind the end.
    fn sort_out(&mut self) -> Result<(), ConsumeError> {
        // SAFETY: the messages are live.
        let is_record = |one: &*mut rd::rd_kafka_message_t| unsafe { (**one).err } == RD_KAFKA_RESP_ERR_NO_ERROR;
        if self.held.iter().all(is_record) && self.all_are_before_the_end() {
            return Ok(());
        }
        let mut result = Ok(());
        for _ in 0..self.held.len() {
            let Some(message) = self.held.pop_front() else { break };
            // SAFETY: the message is live.
            let (code, partition, offset) = unsafe { ((*message).err, (*message).partition, (*message).offset) };
            // SAFETY: as above, and it is destroyed where it is forgotten.
            unsafe {
                if code == RD_KAFKA_RESP_ERR_NO_ERROR && !self.is_behind_the_end(message) {
                    self.held.push_back(message);
                    continue;
                }
                let topic = topic_name((*message).rkt);
                if code == RD_KAFKA_RESP_ERR__PARTITION_EOF || code == RD_KAFKA_RESP_ERR_NO_ERROR {
                    self.group.reached((number_of(&self.group, (*message).rkt), partition), offset);
                } else if result.is_ok() {
                    let text = owned(rd::rd_kafka_message_errstr(message));
                    result = match topic {
                        _ if is_passing(code) => self.heed(code, &text),
                        Some(topic) => Err(unreadable(&topic, partition, text)),
                        None => Err(self.failed(text)),
                    };
                }
                rd::rd_kafka_message_destroy(message);
            }
        }
        result
    }

    /// Whether none of the records came after the end up to which it is read. One look a partition, not one a record.
    fn all_are_before_the_end(&self) -> bool {
        if self.bounds.is_none() {
            return true;
        }
        // SAFETY: the messages are live.
        let place = |at: usize| unsafe { ((*self.held[at]).rkt, (*self.held[at]).partition) };
        // offsets only grow within a partition: the last of each stretch tells
        let is_last = |at: usize| at + 1 == self.held.len() || place(at) != place(at + 1);
        // SAFETY: as above.
        (0..self.held.len()).filter(|at| is_last(*at)).all(|at| unsafe { !self.is_behind_the_end(self.held[at]) })
    }

    /// Whether a record came after the end up to which it is read; then all before it is handed over.
    ///
    /// # Safety
    /// `message` is a live record.
    unsafe fn is_behind_the_end(&self, message: *const rd::rd_kafka_message_t) -> bool {
        let Some(bounds) = &self.bounds else { return false };
        // SAFETY: as the caller says.
        let (topic, partition, offset) =
            unsafe { (number_of(&self.group, (*message).rkt), (*message).partition, (*message).offset) };
        bounds.get(&(topic, partition)).is_some_and(|end| offset >= *end)
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
        let mut numbers = std::mem::take(&mut self.numbers);
        let mut run: Option<Run> = None;
        for message in self.held.drain(..count) {
            // SAFETY: the message is live, and forgotten with this.
            let (handle, partition, offset) = unsafe {
                let read = ((*message).rkt, (*message).partition, (*message).offset);
                rd::rd_kafka_message_destroy(message);
                read
            };
            match &mut run {
                Some(run) if run.handle == handle && run.partition == partition => {
                    run.missing += offset - run.behind;
                    run.behind = offset + 1;
                }
                _ => {
                    let next = Run { handle, partition, first: offset, behind: offset + 1, missing: 0 };
                    if let Some(run) = run.replace(next) {
                        run.hand_over(&self.group, &mut numbers);
                    }
                }
            }
        }
        if let Some(run) = run {
            run.hand_over(&self.group, &mut numbers);
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

/// Records of one partition, one after the other.
struct Run {
    handle: *mut rd::rd_kafka_topic_t,
    partition: i32,
    first: i64,
    behind: i64,
    /// Offsets without a record.
    missing: i64,
}

impl Run {
    fn hand_over(self, group: &Group, numbers: &mut HashMap<*mut rd::rd_kafka_topic_t, usize>) {
        // SAFETY: handles last as long as an assignment, and that is dealt with between two batches.
        let topic = *numbers.entry(self.handle).or_insert_with(|| unsafe { number_of(group, self.handle) });
        group.handed_over((topic, self.partition), self.first, self.behind, self.missing.max(0));
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
