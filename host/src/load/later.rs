//! Messages that wait for their time: retries, late events. One thread a flow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::flow::FlowRun;
use super::shared::Shared;
use crate::kafka::{Lane, Record, Value};
use crate::measure::{Measure, Sample, Tag, WorkInterval};

/// Messages that are taken in before it is looked again whether others are due.
const MOST_AT_ONCE: usize = 1_000;

/// A message of its own, as its guest's memory will have changed.
pub(super) struct Delayed {
    /// When it is to be sent, and what it counts from, in nanoseconds since the load's start.
    pub(super) due_ns: u64,
    pub(super) tag: Tag,
    pub(super) topic: usize,
    pub(super) partition: i32,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: DelayedValue,
    pub(super) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    pub(super) timestamp: i64,
}

pub(super) enum DelayedValue {
    Null,
    Bytes(Vec<u8>),
    Kept { body: Arc<[u8]>, start: usize, length: usize },
}

impl Delayed {
    /// What it takes in memory, roughly.
    pub(super) fn bytes(&self) -> u64 {
        let headers: usize =
            self.headers.iter().map(|(name, value)| name.len() + value.as_ref().map_or(0, Vec::len)).sum();
        let value = if let DelayedValue::Bytes(bytes) = &self.value { bytes.len() } else { 0 };
        (size_of::<Entry>() + headers + value + self.key.as_ref().map_or(0, Vec::len)) as u64
    }
}

/// By the time when it is due, then in the order of arrival.
struct Entry(u64, u64, Delayed);

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// Starts the thread. It ends when every sender is gone, and drops what is not due by then.
pub(super) fn start(
    shared: Arc<Shared>,
    flow: Arc<FlowRun>,
    lane: Lane,
    samples: Sender<Sample>,
) -> (Sender<Delayed>, JoinHandle<()>) {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new()
        .name("khost-later".into())
        .spawn(move || run(&shared, &flow, lane, &samples, &receiver))
        .expect("a thread can be started before the load");
    (sender, thread)
}

fn run(shared: &Shared, flow: &FlowRun, mut lane: Lane, samples: &Sender<Sample>, receiver: &Receiver<Delayed>) {
    let mut waiting: BinaryHeap<Reverse<Entry>> = BinaryHeap::new();
    let mut arrived = 0;
    loop {
        let next_ns = waiting.peek().map(|Reverse(entry)| entry.0);
        let patience = next_ns
            .map_or(Duration::from_secs(1), |due| Duration::from_nanos(due.saturating_sub(shared.clock.now_ns())));
        match receiver.recv_timeout(patience) {
            Ok(message) => {
                for message in std::iter::once(message).chain(receiver.try_iter().take(MOST_AT_ONCE)) {
                    arrived += 1;
                    waiting.push(Reverse(Entry(message.due_ns, arrived, message)));
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now_ns = shared.clock.now_ns();
        let mut work = WorkInterval { flow: flow.index, second: now_ns / 1_000_000_000, ..Default::default() };
        while let Some(Reverse(entry)) = waiting.pop() {
            if entry.0 > now_ns {
                waiting.push(Reverse(entry));
                break;
            }
            flow.delayed_bytes.fetch_sub(entry.2.bytes(), Relaxed);
            send(shared, flow, &mut lane, entry.2, &mut work);
        }
        if work.all_sent > 0 {
            // the collector outlives this thread
            let _ = samples.send(Sample::Work(work));
        }
    }
    flow.delayed_dropped.fetch_add(waiting.len() as u64, Relaxed);
}

fn send(shared: &Shared, flow: &FlowRun, lane: &mut Lane, message: Delayed, work: &mut WorkInterval) {
    let headers: Vec<_> = message.headers.iter().map(|(name, value)| (name.as_slice(), value.as_deref())).collect();
    let record = Record {
        topic: message.topic,
        partition: message.partition,
        key: message.key.as_deref(),
        value: match &message.value {
            DelayedValue::Null => Value::Null,
            DelayedValue::Bytes(bytes) => Value::Copied(bytes),
            DelayedValue::Kept { body, start, length } => Value::Kept(&body[*start..start + length]),
        },
        headers: &headers,
        timestamp: message.timestamp,
    };
    let began = shared.clock.now_us();
    let stop = || shared.stop.is_over();
    // SAFETY: the record is flushed while `message` lives; kept bodies live as long as the run.
    unsafe { lane.push(&record, message.tag, &stop) };
    lane.flush(&stop);
    work.all_sent += 1;
    work.keyed |= message.key.is_some() && message.partition < 0;
    if !message.tag.is_warm_up() {
        work.sent += 1;
        work.operations.of(message.tag.slot()).good(Measure::Enqueue, shared.clock.now_us() - began);
    }
    let mut rejected = Vec::new();
    lane.take_rejected(&mut rejected);
    for one in rejected {
        let now_us = shared.clock.now_us();
        work.reject(lane.settle(&one).operation, one.tag, one.code, now_us - began, flow.is_timed().then_some(now_us));
    }
    work.blocked_ns += lane.take_blocked().as_nanos() as u64;
}
