//! A worker's messages: gathered from one call of the guest, tagged, handed to its lane, and accounted for.
//!
//! On the hot path (`begin_call`, `push_message`, `finish_call`): no allocation, lock, formatting or log line per message.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::{WorkerHost, recording};
use crate::guest::{Acknowledgement, Host, Level, Outgoing, Part, Sending};
use crate::kafka::{Delivery, ENDING, Record, Rejected, Settled, Value};
use crate::load::later::{Delayed, DelayedValue};
use crate::load::timestamps::NOW;
use crate::measure::{Measure, Tag, WorkInterval};

/// Delayed messages of a flow that wait at a time, in bytes; a guest that delays more waits.
const MOST_DELAYED_BYTES: u64 = 256 << 20;

/// The call of `produce`, or its like, that is under way.
pub(super) struct Call {
    pub(super) sending: Sending,
    began_us: u64,
    delivery: Option<Arc<Delivery>>,
    pushed: usize,
    /// Measured messages by operation: nearly always one entry.
    measured: Vec<(u32, u64)>,
    rejected: Vec<Rejected>,
    /// Messages of all calls of the current `iterate`, measured or not.
    pub(super) in_iterate: u64,
    /// `sleep` has said that the run is ending.
    pub(super) told_to_end: bool,
}

impl Call {
    /// Counts a message that is handed over.
    #[inline]
    pub(super) fn count(&mut self, now: &mut WorkInterval, keyed: bool, tag: Tag, operation: u32) {
        self.pushed += 1;
        now.keyed |= keyed;
        now.all_sent += 1;
        if !tag.is_warm_up() {
            match self.measured.last_mut() {
                Some((last, count)) if *last == operation => *count += 1,
                _ => self.measured.push((operation, 1)),
            }
        }
    }
}

impl Default for Call {
    fn default() -> Self {
        Call {
            sending: Sending::Now,
            began_us: 0,
            delivery: None,
            pushed: 0,
            measured: Vec::new(),
            rejected: Vec::new(),
            in_iterate: 0,
            told_to_end: false,
        }
    }
}

impl WorkerHost {
    pub(super) fn begin_call(&mut self, sending: Sending, count: usize) {
        self.call.sending = sending;
        self.call.began_us = self.shared.clock.now_us();
        if self.flow.turns.is_some()
            && let Some(tag) = self.tags.first_mut()
        {
            // a session's messages count from their call, whether they name the iteration or not
            *tag = Tag::at(self.call.began_us, tag.is_warm_up());
        }
        self.call.pushed = 0;
        self.call.measured.clear();
        self.call.delivery = matches!(sending, Sending::Deliver(_)).then(|| Delivery::new(count));
    }

    /// # Safety
    /// The message's bytes stay where they are until `finish_call` or `abandon_call` returns.
    #[inline]
    pub(super) unsafe fn push_message(&mut self, message: &Outgoing<'_>) -> Result<(), String> {
        let topic = self.topic(message.topic)?;
        let checked;
        let message = if message.timestamp == NOW {
            message
        } else {
            checked = Outgoing { timestamp: self.timestamp(topic, message.timestamp)?, ..*message };
            &checked
        };
        self.figures.check_operation(message.operation)?;
        let operation = self.shared.operations.number(self.flow.index, message.operation);
        let tag = match usize::try_from(message.iteration) {
            Ok(at) => *self.tags.get(at).ok_or_else(|| {
                format!(
                    "a message names iteration {at}, but the call has {}: they count from 0 within a call",
                    self.tags.len()
                )
            })?,
            Err(_) => self.call_tag(),
        };
        self.call.in_iterate += 1;
        if let Sending::After(delay) = self.call.sending {
            return self.delay(message, topic, tag.operation(operation), delay);
        }
        if self.requests.are_sent() {
            // SAFETY: as the caller promises.
            return unsafe { self.push_request(message, topic, tag, operation) };
        }
        let key = key(&self.bodies, message)?;
        let value = value(&self.bodies, message)?;
        let carried = match &self.call.delivery {
            None => tag.operation(operation),
            Some(delivery) => self
                .lane
                .await_delivery(tag, delivery, self.call.pushed, operation)
                .ok_or_else(|| format!("more than {} messages are waited for at once", Tag::SLOTS))?,
        };
        self.call.count(&mut self.now, key.is_some() && message.partition < 0, tag, operation);
        let record = Record {
            topic,
            partition: message.partition,
            key,
            value,
            headers: message.headers,
            timestamp: message.timestamp,
        };
        let shared = &self.shared;
        // SAFETY: as the caller promises; kept bodies live in `shared`, which outlives the clients.
        unsafe { self.lane.push(&record, carried, &|| shared.stop.is_over()) };
        Ok(())
    }

    pub(super) fn finish_call(&mut self) -> Vec<Acknowledgement> {
        let shared = &self.shared;
        self.lane.flush(&|| shared.stop.is_over());
        self.book_call();
        let Sending::Deliver(timeout) = self.call.sending else { return Vec::new() };
        let delivery = self.call.delivery.take().expect("`begin` made it");
        let began = Instant::now();
        let answers = self.lane.client().wait_for(&delivery, timeout, || self.shared.stop.is_over());
        self.now.waited_ns += began.elapsed().as_nanos() as u64;
        let over = self.shared.stop.is_over();
        let pending = |code| if over && code == crate::kafka::NO_ANSWER { ENDING } else { code };
        answers
            .into_iter()
            .map(|a| Acknowledgement {
                code: pending(a.code),
                partition: a.partition,
                offset: a.offset,
                latency: a.latency_ns,
            })
            .collect()
    }

    pub(super) fn abandon_call(&mut self) {
        // what was handed over before the mistake is on its way and counts; what was not is forgotten
        for (tag, operation) in self.lane.abandon() {
            self.now.all_sent -= 1;
            self.call.in_iterate -= 1;
            let measured = self.call.measured.iter_mut().rev().find(|(known, count)| *known == operation && *count > 0);
            if let Some((_, count)) = measured.filter(|_| !tag.is_warm_up()) {
                *count -= 1;
            }
        }
        self.book_call();
        self.call.delivery = None;
    }

    /// The timestamp that a message is sent with, of one that it has.
    fn timestamp(&mut self, topic: usize, millis: i64) -> Result<i64, String> {
        let shared = &self.shared;
        let name = &shared.topics[topic].name;
        let (sent, told) = shared.timestamps.check(self.flow.index, topic, name, millis)?;
        if let Some(text) = told {
            self.log(Level::Warn, &text);
        }
        Ok(sent)
    }

    /// What a message without an iteration counts from: the call.
    fn call_tag(&self) -> Tag {
        Tag::at(self.call.began_us, self.in_warm_up())
    }

    fn wait_until_less_is_delayed(&mut self) {
        let began = Instant::now();
        while self.flow.delayed_bytes.load(Relaxed) > MOST_DELAYED_BYTES
            && !self.flow.is_told_to_stop(&self.shared.stop)
        {
            self.lane.client().idle(Duration::from_millis(1));
        }
        self.now.blocked_ns += began.elapsed().as_nanos() as u64;
    }

    /// Counts what the call has handed over, and what was refused.
    fn book_call(&mut self) {
        let now_us = self.shared.clock.now_us();
        let WorkerHost { flow, worker, lane, call, now, .. } = self;
        let took_us = now_us - call.began_us;
        for (operation, count) in call.measured.drain(..).filter(|(_, count)| *count > 0) {
            now.sent += count;
            recording(flow, *worker, now, |work| {
                work.operations.of(operation).good_n(Measure::Enqueue, took_us, count);
            });
        }
        now.blocked_ns += lane.take_blocked().as_nanos() as u64;
        lane.take_rejected(&mut call.rejected);
        for one in call.rejected.drain(..) {
            let Settled { operation, is_request } = lane.settle(&one);
            let now_us = flow.is_timed().then_some(now_us);
            recording(flow, *worker, now, |work| match is_request {
                true => work.reject_untimed(operation, one.tag, one.code),
                false => work.reject(operation, one.tag, one.code, took_us, now_us),
            });
        }
    }

    pub(super) fn topic(&self, handle: u32) -> Result<usize, String> {
        match handle.checked_sub(1).map(|at| at as usize) {
            Some(at) if self.opened.get(at) == Some(&true) => Ok(at),
            _ => Err(format!("{handle} is no topic that was opened")),
        }
    }

    fn delay(&mut self, message: &Outgoing<'_>, topic: usize, tag: Tag, delay: Duration) -> Result<(), String> {
        let own = |part: &Part<'_>| {
            Ok::<_, String>(match *part {
                Part::Null => DelayedValue::Null,
                Part::Bytes(bytes) => DelayedValue::Bytes(bytes.to_vec()),
                Part::Shared { body, start, length } => {
                    slice(&self.bodies, body, start, length)?;
                    let body = self.bodies[body as usize - 1].clone();
                    DelayedValue::Kept { body, start: start as usize, length: length as usize }
                }
            })
        };
        let key = match own(&message.key)? {
            DelayedValue::Null => None,
            DelayedValue::Bytes(bytes) => Some(bytes),
            DelayedValue::Kept { body, start, length } => Some(body[start..start + length].to_vec()),
        };
        let delay_ns = delay.as_nanos() as u64;
        let delayed = Delayed {
            due_ns: self.shared.clock.now_ns().saturating_add(delay_ns),
            tag: Tag::at(tag.time_us() + delay_ns / 1_000, tag.is_warm_up()).operation(tag.slot()),
            topic,
            partition: message.partition,
            key,
            value: own(&message.value)?,
            headers: message.headers.iter().map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec))).collect(),
            timestamp: message.timestamp,
        };
        if self.flow.delayed_bytes.load(Relaxed) > MOST_DELAYED_BYTES {
            self.wait_until_less_is_delayed();
        }
        self.flow.delayed_bytes.fetch_add(delayed.bytes(), Relaxed);
        // its thread lives as long as a worker does
        let _ = self.later.send(delayed);
        Ok(())
    }
}

/// A message's key; one out of a body is copied by librdkafka.
#[inline]
pub(super) fn key<'m>(bodies: &'m [Arc<[u8]>], message: &Outgoing<'m>) -> Result<Option<&'m [u8]>, String> {
    match message.key {
        Part::Null => Ok(None),
        Part::Bytes(bytes) => Ok(Some(bytes)),
        Part::Shared { body, start, length } => slice(bodies, body, start, length).map(Some),
    }
}

/// A message's value.
#[inline]
pub(super) fn value<'m>(bodies: &'m [Arc<[u8]>], message: &Outgoing<'m>) -> Result<Value<'m>, String> {
    match message.value {
        Part::Null => Ok(Value::Null),
        Part::Bytes(bytes) => Ok(Value::Copied(bytes)),
        Part::Shared { body, start, length } => slice(bodies, body, start, length).map(Value::Kept),
    }
}

/// A slice of a body that this instance shared.
#[inline]
fn slice(bodies: &[Arc<[u8]>], body: u32, start: u32, length: u32) -> Result<&[u8], String> {
    let bytes = body
        .checked_sub(1)
        .and_then(|at| bodies.get(at as usize))
        .ok_or_else(|| format!("{body} is no body that was shared"))?;
    let range = start as usize..start as usize + length as usize;
    bytes
        .get(range)
        .ok_or_else(|| format!("a slice of {length} bytes from {start} goes beyond its body of {} bytes", bytes.len()))
}
