//! A consume flow's worker: one consumer. It takes what is there, calls the guest for it or counts it, and says what is
//! handled. What its workers share is in `readers`.
//!
//! For a record khost allocates, locks, formats and logs nothing here: a batch has buffers that are used again.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::end_to_end::EndToEnd;
use super::flow::FlowRun;
use super::gate::Gate;
use super::readers::{Claim, Readers};
use super::shared::Shared;
use super::stop::Ended;
use super::worker::{Done, Next, Returned, Rounds, Worker};
use super::worker_host::WorkerHost;
use crate::guest::{Batch, Received, ReceivedHeader};
use crate::kafka::{Arrived, ConsumeError, Consumer, Group, Partition};
use crate::measure::{Measure, Tag};
use crate::plan::{Consume, Deliver, EndToEnd as EndToEndOf, format_duration};

/// How long a worker waits for records before it deals with its group's affairs, and asks whether it is to stop.
const SLICE: Duration = Duration::from_millis(50);
/// How long the group may take to give each worker its partitions. A group of others may be about to rebalance: that takes
/// as long as its slowest member.
const JOIN: Duration = Duration::from_secs(60);
/// Where a worker has no partition, or has lost one, how long nothing may have changed: members learn by their heartbeats, every
/// 3 to 5 s, that they are to give partitions up for one who came later.
const SETTLED: Duration = Duration::from_secs(6);
/// How often it is asked whether that is so.
const LOOK: Duration = Duration::from_millis(5);
/// Where a group reads to its end, how long nothing may come: as long as a broker may take to be elected or restarted.
const STALL: Duration = Duration::from_secs(60);
/// How long leaving the group may take: what is handled is committed with it.
const CLOSE: Duration = Duration::from_secs(10);
/// The same when nothing may wait any more.
const CLOSE_NOW: Duration = Duration::from_secs(1);

/// One worker's.
pub(super) struct Reader {
    readers: Arc<Readers>,
    group: Arc<Group>,
    consumer: Option<Consumer>,
    handler: bool,
    deliver: Deliver,
    max_records: usize,
    max_bytes: u64,
    batch: Arc<Batch>,
    /// Behind the records of the batch, by partition.
    behind: Vec<(Partition, i64)>,
    /// Keys and values of the measured records of the batch.
    bytes: u64,
    began: Option<Instant>,
    called: Option<Instant>,
    broken: bool,
    /// What its figures count towards, by its number in the run.
    operation: u32,
    end_to_end: Option<EndToEnd>,
}

/// The flow; where it has several groups, its part of the flow.
fn operation(readers: &Readers, worker: u32, consume: &Consume, shared: &Shared, flow: usize) -> u32 {
    if consume.groups.len() == 1 {
        return flow as u32;
    }
    let labels = vec![("group".to_owned(), readers.place(worker).0.name.clone())];
    // an operation too many would be one of the guest's: there are no guests yet
    shared.operations.open(flow, "read", labels).map_or(flow as u32, |handle| shared.operations.number(flow, handle))
}

impl Reader {
    /// A batch may take a part of `memory_bytes`, what an instance may have.
    pub(super) fn new(
        readers: &Arc<Readers>,
        worker: u32,
        consumer: Consumer,
        consume: &Consume,
        shared: &Shared,
        flow: usize,
        memory_bytes: u64,
    ) -> Self {
        let looks = consume.end_to_end != EndToEndOf::Off;
        let of_any = consume.end_to_end == EndToEndOf::Any;
        Reader {
            operation: operation(readers, worker, consume, shared, flow),
            end_to_end: looks.then(|| EndToEnd::new(shared.run_id, shared.clock.clone(), of_any)),
            readers: readers.clone(),
            group: readers.place(worker).0.clone(),
            consumer: Some(consumer),
            handler: consume.handler,
            deliver: consume.deliver,
            max_records: consume.max_records as usize,
            max_bytes: consume.max_bytes.unwrap_or(u64::MAX).min(memory_bytes / 4),
            batch: Arc::default(),
            behind: Vec::new(),
            bytes: 0,
            began: None,
            called: None,
            broken: false,
        }
    }

    fn consumer(&mut self) -> &mut Consumer {
        self.consumer.as_mut().expect("it is there until the worker leaves")
    }

    fn fail(&mut self, worker: &Worker, error: &ConsumeError) {
        self.broken = true;
        worker.shared.stop.end_because(Ended::Failed(format!("flow `{}`: {error}", worker.identity.flow)));
    }

    /// A group that reads to its end has something to come to: where nothing comes, nor anything is being handled, it fails.
    fn look_for_a_stall(&mut self, worker: &Worker) {
        if self.readers.handling.load(Relaxed) > 0 {
            return;
        }
        if let Some(what) = self.group.stalls(STALL) {
            let reason = format!("nothing came for {}: {what}", format_duration(STALL));
            self.fail(worker, &ConsumeError::Group { group: self.group.name.clone(), reason });
        }
    }

    /// Takes records, and claims those that the flow may have still; then does with them what is to be done. Answers how many
    /// there were.
    fn take(&mut self, worker: &Worker, wait: Duration, host: &mut WorkerHost) -> Result<usize, ConsumeError> {
        self.consumer().serve()?;
        host.tags.clear();
        let began = Instant::now();
        let count = self.consumer().fill(wait)?.min(self.max_records);
        host.now.idle_ns += began.elapsed().as_nanos() as u64;
        if count == 0 {
            return Ok(0);
        }
        let at_us = self.consumer().arrived_us();
        let claim = self.readers.claim(&worker.flow, count, at_us * 1_000);
        if claim.count > claim.warm_up {
            worker.flow.measured_at(worker.shared.clock.now_ns());
        }
        let count = self.gather(claim, at_us, host);
        if !self.handler {
            self.count(worker, claim, host)?;
        }
        Ok(count)
    }

    /// Goes through what is claimed, and puts it into the batch, if there is a handler, with a tag for each record. Answers how
    /// many records that were.
    fn gather(&mut self, claim: Claim, at_us: u64, host: &mut WorkerHost) -> usize {
        if Arc::get_mut(&mut self.batch).is_none() {
            self.batch = Arc::default();
        }
        let Reader { batch, consumer, behind, bytes, handler, max_bytes, deliver, end_to_end, operation, .. } = self;
        let batch = Arc::get_mut(batch).expect("it was just made where another call had it");
        let consumer = consumer.as_mut().expect("it is there until the worker leaves");
        batch.clear();
        behind.clear();
        *bytes = 0;
        let mut count = 0;
        for record in consumer.held().take(claim.count) {
            let is_warm_up = count < claim.warm_up;
            if *handler {
                if !add(batch, &record, *deliver, *max_bytes) {
                    break;
                }
                host.tags.push(Tag::at(at_us, is_warm_up));
            }
            *bytes += if is_warm_up { 0 } else { record.bytes() };
            if let Some(end_to_end) = end_to_end {
                end_to_end.look(&record, at_us, is_warm_up, host.now.operations.of(*operation));
            }
            go_past(behind, &record);
            count += 1;
        }
        self.readers.give_back(claim, count);
        self.consumer().advance(count);
        count
    }

    /// Records that are only counted are handled with that.
    fn count(&mut self, worker: &Worker, claim: Claim, host: &mut WorkerHost) -> Result<(), ConsumeError> {
        let measured = (claim.count - claim.warm_up) as u64;
        let figures = self.readers.figures(worker.identity.worker);
        figures.handled.fetch_add(measured, Relaxed);
        figures.bytes.fetch_add(self.bytes, Relaxed);
        host.now.all_iterations += claim.count as u64;
        host.now.iterations += measured;
        if measured > 0 {
            host.now.last_iteration_us = worker.shared.clock.now_us();
        }
        let behind = std::mem::take(&mut self.behind);
        self.consumer().store(&behind)?;
        self.behind = behind;
        Ok(())
    }
}

/// Notes that a record is in the batch.
#[inline]
fn go_past(behind: &mut Vec<(Partition, i64)>, record: &Arrived<'_>) {
    let (partition, next) = ((record.topic, record.partition()), record.offset() + 1);
    match behind.last_mut() {
        Some((last, behind)) if *last == partition => *behind = next,
        _ => behind.push((partition, next)),
    }
}

/// Copies a record into the batch; false where it would be larger than `max_bytes` with it.
fn add(batch: &mut Batch, record: &Arrived<'_>, deliver: Deliver, max_bytes: u64) -> bool {
    let key = record.key().filter(|_| deliver.key);
    let value = record.value().filter(|_| deliver.value);
    let first_header = batch.headers.len() as u32;
    let before = batch.bytes.len();
    if deliver.headers {
        record.each_header(|name, value| {
            let (name, value) = (batch.put(Some(name)), batch.put(value));
            batch.headers.push(ReceivedHeader { name, value });
        });
    }
    let (key, value) = (batch.put(key), batch.put(value));
    if batch.bytes.len() as u64 > max_bytes && !batch.records.is_empty() {
        batch.bytes.truncate(before);
        batch.headers.truncate(first_header as usize);
        return false;
    }
    batch.records.push(Received {
        topic: record.topic as u32 + 1,
        partition: record.partition(),
        offset: record.offset(),
        timestamp: record.timestamp(),
        key,
        value,
        first_header,
        header_count: batch.headers.len() as u32 - first_header,
    });
    true
}

impl Rounds for Reader {
    /// Joins the group, and waits until all workers of the flow have their partitions.
    fn prepare(&mut self, worker: &Worker) -> Result<(), ConsumeError> {
        let until = Instant::now() + JOIN;
        self.consumer().join()?;
        while !self.group.is_complete(SETTLED) {
            if worker.shared.stop.is_over() {
                return Ok(());
            }
            self.consumer().serve()?;
            if Instant::now() >= until {
                let group = &self.group;
                let waiting: Vec<String> = group.waiting().iter().map(ToString::to_string).collect();
                let (limit, of) = (format_duration(JOIN), group.size());
                let reason = if waiting.is_empty() {
                    format!("after {limit} it still deals out its partitions anew to its {of} workers, again and again")
                } else {
                    format!(
                        "after {limit} it has not dealt out its partitions to these of its {of} workers: {}",
                        waiting.join(", ")
                    )
                };
                return Err(ConsumeError::Group { group: group.name.clone(), reason });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Until the flow begins others may still join: each time the partitions are dealt anew.
    fn await_start(&mut self, worker: &Worker, gate: &Gate) {
        while !gate.is_decided_within(LOOK) {
            if let Err(error) = self.consumer().serve() {
                return self.fail(worker, &error);
            }
        }
        // the start may lie far ahead: the group is not to wait for that
        let leaves = || worker.shared.stop.is_ending() || worker.flow.is_too_late();
        while gate.is_ahead_by() > LOOK && !leaves() {
            if let Err(error) = self.consumer().serve() {
                return self.fail(worker, &error);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn begin(&mut self, _flow: &FlowRun) {
        self.began = Some(Instant::now());
    }

    fn next(&mut self, worker: &Worker, _done: &Done, host: &mut WorkerHost) -> Next {
        let flow = &worker.flow;
        let now_ns = worker.shared.clock.now_ns();
        let left = flow.end_ns().map(|end| Duration::from_nanos(end.saturating_sub(now_ns)));
        let is_through = self.group.is_read_through(SETTLED) && self.consumer().held().next().is_none();
        if self.broken || left == Some(Duration::ZERO) || self.readers.are_done(flow) || is_through {
            return Next::Done;
        }
        match self.take(worker, left.map_or(SLICE, |left| left.min(SLICE)), host) {
            Err(error) => {
                self.fail(worker, &error);
                Next::Done
            }
            Ok(count) if count > 0 && self.handler => {
                self.called = Some(Instant::now());
                self.readers.handling.fetch_add(1, Relaxed);
                Next::Handle(self.batch.clone())
            }
            Ok(0) => {
                self.look_for_a_stall(worker);
                Next::Wait(now_ns)
            }
            Ok(_) => Next::Wait(now_ns),
        }
    }

    /// The waiting is for records, and done by then.
    fn wait(&mut self, _worker: &Worker, _until_ns: u64, _host: &mut WorkerHost) {}

    fn returned(&mut self, worker: &Worker, call: Returned<'_>, host: &mut WorkerHost) {
        let figures = self.readers.figures(worker.identity.worker);
        if let Some(called) = self.called.take() {
            self.readers.handling.fetch_sub(1, Relaxed);
            figures.busy_ns.fetch_add(called.elapsed().as_nanos() as u64, Relaxed);
        }
        let Returned::Ran { count, failures, trapped, .. } = call else {
            host.now.cut += host.tags.iter().filter(|tag| !tag.is_warm_up()).count() as u64;
            return;
        };
        let count = count as usize;
        let measured = |tags: &[Tag]| tags.iter().filter(|tag| !tag.is_warm_up()).count() as u64;
        let failed = failures.iter().filter(|at| **at < count && !host.tags[**at].is_warm_up()).count() as u64;
        let good = measured(&host.tags[..count]) - failed;
        figures.handled.fetch_add(good, Relaxed);
        figures.failed.fetch_add(failed, Relaxed);
        figures.bytes.fetch_add(self.bytes, Relaxed);
        let arrived_us = host.tags.first().map_or(0, |tag| tag.time_us());
        let took_us = worker.shared.clock.now_us().saturating_sub(arrived_us);
        let operation = self.operation;
        host.record(|work| {
            let one = work.operations.of(operation);
            if good > 0 {
                one.good_n(Measure::Handle, took_us, good);
            }
            (0..failed).for_each(|_| one.bad(Measure::Handle, took_us));
        });
        if trapped {
            return;
        }
        if count < self.batch.records.len() {
            self.behind.clear();
            let handled = self.batch.records[..count].iter();
            self.behind.extend(handled.map(|one| ((one.topic as usize - 1, one.partition), one.offset + 1)));
        }
        let behind = std::mem::take(&mut self.behind);
        if let Err(error) = self.consumer().store(&behind) {
            self.fail(worker, &error);
        }
        self.behind = behind;
    }

    /// What it has sent is through before it leaves its group.
    fn leave(&mut self, worker: &Worker, _done: &Done, host: Option<&WorkerHost>) {
        let stop = &worker.shared.stop;
        while host.is_some_and(WorkerHost::has_outstanding) && !stop.is_over() {
            std::thread::sleep(LOOK);
        }
        if let Some(began) = self.began {
            let lived_ns = began.elapsed().as_nanos() as u64;
            self.readers.figures(worker.identity.worker).lived_ns.store(lived_ns, Relaxed);
        }
        if let Some(end_to_end) = &self.end_to_end {
            self.readers.add_end_to_end(&end_to_end.figures);
        }
        let Some(mut consumer) = self.consumer.take() else { return };
        consumer.close(if stop.is_over() { CLOSE_NOW } else { CLOSE });
        // an unreachable broker makes its end slow; without a thread for it, the closure is dropped here, and does the same
        let _ = std::thread::Builder::new().name("khost-retire".into()).spawn(move || drop(consumer));
    }
}
