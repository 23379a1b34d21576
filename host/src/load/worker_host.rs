//! What stands behind a worker's imports, in a stream or a session: its lane into a client, and what it records.
//!
//! On the hot path (`begin`, `push`, `finish`): no allocation, lock, formatting or log line per message.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::counters::Tally;
use super::data::OpenData;
use super::flow::FlowRun;
use super::later::{Delayed, DelayedValue};
use super::log::LogLine;
use super::shared::Shared;
use crate::guest::{Acknowledgement, Host, Labels, Level, Outgoing, Part, Rows, Sending};
use crate::kafka::{Delivery, ENDING, Lane, Record, Rejected, Value};
use crate::measure::{Measure, Sample, Tag, WorkInterval};

/// Delayed messages of a flow that wait at a time, in bytes; a guest that delays more waits.
const MOST_DELAYED_BYTES: u64 = 256 << 20;
/// How long a sleep lasts before the stop is asked again.
const SLICE: Duration = Duration::from_millis(50);

/// One worker's.
pub struct WorkerHost {
    shared: Arc<Shared>,
    flow: Arc<FlowRun>,
    worker: u32,
    lane: Lane,
    samples: Sender<Sample>,
    later: Sender<Delayed>,
    opened: Vec<bool>,
    bodies: Vec<Arc<[u8]>>,
    body_bytes: u64,
    body_limit: u64,
    operations: u32,
    counters: Vec<Arc<Tally>>,
    checks: Vec<Arc<Tally>>,
    data: OpenData,
    call: Call,
    /// What the messages of each iteration of the current `iterate` count from.
    pub(super) tags: Vec<Tag>,
    /// What was recorded in the current second.
    pub(super) now: WorkInterval,
    since: Instant,
}

/// The call of `produce`, or its like, that is under way.
struct Call {
    sending: Sending,
    began_us: u64,
    delivery: Option<Arc<Delivery>>,
    pushed: usize,
    /// Measured messages by operation: nearly always one entry.
    measured: Vec<(u32, u64)>,
    rejected: Vec<Rejected>,
    /// Messages of all calls of the current `iterate`, measured or not.
    in_iterate: u64,
    /// `sleep` has said that the run is ending.
    told_to_end: bool,
}

impl WorkerHost {
    pub(super) fn new(
        shared: Arc<Shared>,
        flow: Arc<FlowRun>,
        worker: u32,
        lane: Lane,
        samples: Sender<Sample>,
        later: Sender<Delayed>,
        body_limit: u64,
    ) -> Self {
        let now = WorkInterval { flow: flow.index, ..Default::default() };
        let call = Call {
            sending: Sending::Now,
            began_us: 0,
            delivery: None,
            pushed: 0,
            measured: Vec::new(),
            rejected: Vec::new(),
            in_iterate: 0,
            told_to_end: false,
        };
        WorkerHost {
            opened: vec![false; shared.topics.len()],
            data: OpenData::new(&shared, flow.index, body_limit),
            shared,
            flow,
            worker,
            lane,
            samples,
            later,
            bodies: Vec::new(),
            body_bytes: 0,
            body_limit,
            operations: 0,
            counters: Vec::new(),
            checks: Vec::new(),
            call,
            tags: Vec::new(),
            now,
            since: Instant::now(),
        }
    }

    /// Forgets what the last instance opened: a new one opens its own.
    pub(super) fn reset(&mut self) {
        self.opened.fill(false);
        self.bodies.clear();
        self.body_bytes = 0;
        self.tags.clear();
        self.counters.clear();
        self.checks.clear();
        self.data.reset();
        self.operations = 0;
    }

    /// Hands over what was recorded when a second is over; `last` does it in any case, and so does a session's user.
    pub(super) fn tick(&mut self, last: bool) {
        if let Some(recorders) = &self.flow.recorders {
            self.now.wall_ns = self.since.elapsed().as_nanos() as u64;
            self.since = Instant::now();
            let next = WorkInterval { flow: self.flow.index, ..Default::default() };
            let done = std::mem::replace(&mut self.now, next);
            return recorders.record(self.worker, |work| work.merge(done));
        }
        let second = self.shared.clock.now_us() / 1_000_000;
        if second == self.now.second && !last {
            return;
        }
        self.now.wall_ns = self.since.elapsed().as_nanos() as u64;
        self.since = Instant::now();
        let next = WorkInterval { flow: self.flow.index, second, ..Default::default() };
        // the collector outlives the workers
        let _ = self.samples.send(Sample::Work(std::mem::replace(&mut self.now, next)));
    }

    /// Records durations: a stream's thread into its own interval, a session's user into one that it shares.
    pub(super) fn record(&mut self, record: impl FnOnce(&mut WorkInterval)) {
        recording(&self.flow, self.worker, &mut self.now, record);
    }

    /// The time that the worker lives counts from now; what it waited for in `setup` is not part of it.
    pub(super) fn begin_life(&mut self) {
        (self.now.waited_ns, self.now.blocked_ns) = (0, 0);
        self.since = Instant::now();
    }

    /// Messages of the current `iterate`, and begins the next.
    pub(super) fn take_messages(&mut self) -> u64 {
        std::mem::take(&mut self.call.in_iterate)
    }

    /// Whether the guest was told in the current `iterate` that the run is ending; then its answer does not count.
    pub(super) fn take_told_to_end(&mut self) -> bool {
        std::mem::take(&mut self.call.told_to_end)
    }

    /// What a message without an iteration counts from: the call.
    fn call_tag(&self) -> Tag {
        Tag::at(self.call.began_us, self.in_warm_up())
    }

    fn in_warm_up(&self) -> bool {
        self.tags.last().is_none_or(|tag| tag.is_warm_up())
    }

    fn wait_until_less_is_delayed(&mut self) {
        let began = Instant::now();
        while self.flow.delayed_bytes.load(Relaxed) > MOST_DELAYED_BYTES && !self.shared.stop.is_ending() {
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
            let operation = lane.settle(&one);
            let now_us = flow.is_timed().then_some(now_us);
            recording(flow, *worker, now, |work| work.reject(operation, one.tag, one.code, took_us, now_us));
        }
    }

    fn topic(&self, handle: u32) -> Result<usize, String> {
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

impl Host for WorkerHost {
    fn open_topic(&mut self, name: &str, each: Option<&str>) -> Result<u32, String> {
        let of_name: Vec<_> = self.shared.topics.iter().enumerate().filter(|(_, t)| t.key == name).collect();
        if of_name.is_empty() {
            let near = crate::plan::nearest(name, self.shared.topics.iter().map(|t| t.key.as_str()));
            return Err(match near {
                Some(near) => format!("it opens the topic `{name}`, which the manifest lacks; the nearest is `{near}`"),
                None => format!("it opens the topic `{name}`, which the manifest lacks"),
            });
        }
        let Some((at, topic)) = of_name.iter().find(|(_, t)| t.each.as_deref() == each) else {
            let known: Vec<_> = of_name.iter().map(|(_, t)| t.each.as_deref().unwrap_or("none")).collect();
            return Err(format!(
                "it opens `{name}` for {}, but the manifest has it for {}",
                each.unwrap_or("none"),
                known.join(", ")
            ));
        };
        if !topic.produce {
            return Err(format!(
                "it opens the topic `{name}` to write to it, which the manifest does not grant (topics.{name}.access lacks \"produce\")"
            ));
        }
        self.opened[*at] = true;
        Ok(*at as u32 + 1)
    }

    fn topic_each(&self, of: u32) -> Result<Option<String>, String> {
        Ok(self.shared.topics[self.topic(of)?].each.clone())
    }

    fn partition_count(&mut self, of: u32) -> Result<u32, String> {
        Ok(self.lane.client().partition_count(self.topic(of)?))
    }

    fn share(&mut self, bytes: &[u8]) -> Result<u32, String> {
        self.body_bytes += bytes.len() as u64;
        if self.body_bytes > self.body_limit {
            return Err(format!("it shares more than {} (limits.memory)", crate::plan::format_bytes(self.body_limit)));
        }
        self.bodies.push(self.shared.bodies.keep(bytes));
        Ok(self.bodies.len() as u32)
    }

    fn begin(&mut self, sending: Sending, count: usize) -> Result<(), String> {
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
        Ok(())
    }

    #[inline]
    unsafe fn push(&mut self, message: &Outgoing<'_>) -> Result<(), String> {
        let topic = self.topic(message.topic)?;
        if message.operation > self.operations {
            return Err(format!("{} is no operation that was opened", message.operation));
        }
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
        let key = match message.key {
            Part::Null => None,
            Part::Bytes(bytes) => Some(bytes),
            Part::Shared { body, start, length } => Some(slice(&self.bodies, body, start, length)?),
        };
        let value = match message.value {
            Part::Null => Value::Null,
            Part::Bytes(bytes) => Value::Copied(bytes),
            Part::Shared { body, start, length } => Value::Kept(slice(&self.bodies, body, start, length)?),
        };
        let carried = match &self.call.delivery {
            None => tag.operation(operation),
            Some(delivery) => self
                .lane
                .await_delivery(tag, delivery, self.call.pushed, operation)
                .ok_or_else(|| format!("more than {} messages are waited for at once", Tag::SLOTS))?,
        };
        self.call.pushed += 1;
        self.now.keyed |= key.is_some() && message.partition < 0;
        self.now.all_sent += 1;
        if !tag.is_warm_up() {
            match self.call.measured.last_mut() {
                Some((last, count)) if *last == operation => *count += 1,
                _ => self.call.measured.push((operation, 1)),
            }
        }
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

    fn finish(&mut self) -> Result<Vec<Acknowledgement>, String> {
        let shared = &self.shared;
        self.lane.flush(&|| shared.stop.is_over());
        self.book_call();
        let Sending::Deliver(timeout) = self.call.sending else { return Ok(Vec::new()) };
        let delivery = self.call.delivery.take().expect("`begin` made it");
        let began = Instant::now();
        let answers = self.lane.client().wait_for(&delivery, timeout, || self.shared.stop.is_over());
        self.now.waited_ns += began.elapsed().as_nanos() as u64;
        let over = self.shared.stop.is_over();
        let pending = |code| if over && code == crate::kafka::NO_ANSWER { ENDING } else { code };
        Ok(answers
            .into_iter()
            .map(|a| Acknowledgement {
                code: pending(a.code),
                partition: a.partition,
                offset: a.offset,
                latency: a.latency_ns,
            })
            .collect())
    }

    fn abandon(&mut self) {
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

    fn now(&self) -> u64 {
        self.shared.clock.now_ns()
    }

    fn sleep(&mut self, duration: Duration) -> bool {
        let began = Instant::now();
        let goes_on = if self.flow.turns.is_some() {
            self.shared.stop.sleep(duration, || false)
        } else {
            loop {
                if self.shared.stop.is_ending() {
                    break false;
                }
                let left = duration.saturating_sub(began.elapsed());
                if left.is_zero() {
                    break true;
                }
                self.lane.client().idle(left.min(SLICE));
            }
        };
        self.now.waited_ns += began.elapsed().as_nanos() as u64;
        self.call.told_to_end |= !goes_on;
        goes_on
    }

    fn must_stop(&self) -> bool {
        self.shared.stop.is_over()
    }

    fn open_operation(&mut self, name: &str, labels: Labels) -> Result<u32, String> {
        let handle = self.shared.operations.open(self.flow.index, name, labels)?;
        self.operations = self.operations.max(handle);
        Ok(handle)
    }

    fn observe(&mut self, operation: u32, duration: Duration, ok: bool) -> Result<(), String> {
        if operation > self.operations {
            return Err(format!("{operation} is no operation that was opened"));
        }
        if !self.in_warm_up() {
            let number = self.shared.operations.number(self.flow.index, operation);
            let us = duration.as_micros() as u64;
            self.record(|work| {
                let one = work.operations.of(number);
                if ok { one.good(Measure::Observed, us) } else { one.bad(Measure::Observed, us) }
            });
        }
        Ok(())
    }

    fn open_counter(&mut self, name: &str, labels: Labels) -> Result<u32, String> {
        self.counters.push(self.shared.counters.open(name, labels)?);
        Ok(self.counters.len() as u32)
    }

    fn add(&mut self, counter: u32, amount: u64) -> Result<(), String> {
        let tally = tally(&self.counters, counter, "counter")?;
        if !self.in_warm_up() {
            tally.passed.fetch_add(amount, Relaxed);
        }
        Ok(())
    }

    fn open_check(&mut self, name: &str, labels: Labels) -> Result<u32, String> {
        self.checks.push(self.shared.checks.open(name, labels)?);
        Ok(self.checks.len() as u32)
    }

    fn check(&mut self, check: u32, ok: bool) -> Result<(), String> {
        let tally = tally(&self.checks, check, "check")?;
        if !self.in_warm_up() {
            if ok { &tally.passed } else { &tally.failed }.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    fn open_dataset(&mut self, name: &str) -> Result<u32, String> {
        self.data.open(&self.shared, name)
    }

    fn row_count(&self, of: u32) -> Result<u64, String> {
        self.data.row_count(&self.shared, of)
    }

    fn columns(&self, of: u32) -> Result<Vec<String>, String> {
        self.data.columns(&self.shared, of)
    }

    fn get_rows(&mut self, of: u32, first: u64, count: u32) -> Result<Rows, String> {
        self.data.get(&self.shared, of, first, count)
    }

    fn next_rows(&mut self, of: u32, count: u32) -> Result<Rows, String> {
        self.data.next(&self.shared, of, count)
    }

    fn log(&mut self, level: Level, text: &str) {
        self.shared.log.line(LogLine { level, flow: self.flow.name.clone(), worker: self.worker, text: text.into() });
    }
}

/// Where a worker of `flow` records durations: into `now`, its own, or into an interval that users share.
#[inline]
fn recording(flow: &FlowRun, worker: u32, now: &mut WorkInterval, record: impl FnOnce(&mut WorkInterval)) {
    match &flow.recorders {
        None => record(now),
        Some(recorders) => recorders.record(worker, record),
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

fn tally<'t>(list: &'t [Arc<Tally>], handle: u32, what: &str) -> Result<&'t Tally, String> {
    let tally = handle.checked_sub(1).and_then(|at| list.get(at as usize));
    tally.map(Arc::as_ref).ok_or_else(|| format!("{handle} is no {what} that was opened"))
}
