//! What stands behind a worker's imports: its lane into a client (`sending`), the scenario's own figures (`figures`), and
//! what it records.

mod figures;
mod sending;

mod requests;

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::data::OpenData;
use super::flow::FlowRun;
use super::later::Delayed;
use super::log::LogLine;
use super::shared::Shared;
use crate::guest::{Acknowledgement, Host, Labels, Level, Outcomes, Outgoing, Rows, Sending};
use crate::kafka::Lane;
use crate::measure::{JobRun, Measure, Sample, Tag, WorkInterval};
use figures::OpenFigures;
use requests::Requests;
use sending::Call;

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
    figures: OpenFigures,
    data: OpenData,
    requests: Requests,
    call: Call,
    /// What the messages of each iteration of the current `iterate` count from.
    pub(super) tags: Vec<Tag>,
    /// What was recorded in the current second.
    pub(super) now: WorkInterval,
    since: Instant,
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
        WorkerHost {
            opened: vec![false; shared.topics.len()],
            data: OpenData::new(&shared, flow.index, body_limit),
            requests: Requests::default(),
            shared,
            flow,
            worker,
            lane,
            samples,
            later,
            bodies: Vec::new(),
            body_bytes: 0,
            body_limit,
            figures: OpenFigures::default(),
            call: Call::default(),
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
        self.figures.reset();
        self.data.reset();
        self.requests.reset();
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

    /// Whether anything that the flow's client was given is on its way.
    pub(super) fn has_outstanding(&self) -> bool {
        self.lane.client().outstanding() > 0
    }

    /// Messages of the current `iterate`, and begins the next.
    pub(super) fn take_messages(&mut self) -> u64 {
        std::mem::take(&mut self.call.in_iterate)
    }

    /// Whether the guest was told in the current `iterate` that the run is ending; then its answer does not count.
    pub(super) fn take_told_to_end(&mut self) -> bool {
        std::mem::take(&mut self.call.told_to_end)
    }

    fn in_warm_up(&self) -> bool {
        self.tags.last().is_none_or(|tag| tag.is_warm_up())
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
        self.begin_call(sending, count);
        self.begin_requests(count)
    }

    #[inline]
    unsafe fn push(&mut self, message: &Outgoing<'_>) -> Result<(), String> {
        // SAFETY: as the caller promises.
        unsafe { self.push_message(message) }
    }

    fn finish(&mut self) -> Result<Vec<Acknowledgement>, String> {
        let acknowledgements = self.finish_call();
        self.finish_requests();
        Ok(acknowledgements)
    }

    fn abandon(&mut self) {
        self.abandon_call();
        self.abandon_requests();
    }

    fn open_channel(&mut self, name: &str) -> Result<u32, String> {
        self.find_channel(name)
    }

    fn outcomes(&mut self) -> Outcomes {
        self.requests.take_outcomes()
    }

    fn expect(&mut self, via: u32, correlation: &[u8], count: u32, operation: u32) -> Result<u32, String> {
        self.announce(via, correlation, count, operation)
    }

    fn wait(&mut self, on: &[u32], least: u32, timeout: Duration) -> Result<Outcomes, String> {
        self.wait_for_tickets(on, least, timeout)
    }

    fn returned(&mut self) {
        self.requests.give_up_tickets();
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
                if self.flow.is_told_to_stop(&self.shared.stop) {
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
        self.figures.open_operation(&self.shared, self.flow.index, name, labels)
    }

    fn observe(&mut self, operation: u32, duration: Duration, ok: bool) -> Result<(), String> {
        self.figures.check_operation(operation)?;
        if !self.in_warm_up() {
            let number = self.shared.operations.number(self.flow.index, operation);
            let us = duration.as_micros() as u64;
            let (is_job, at_us) = (self.flow.is_job, self.shared.clock.now_us());
            self.record(|work| {
                let one = work.operations.of(number);
                if ok {
                    one.good(Measure::Observed, us)
                } else {
                    one.bad(Measure::Observed, us)
                }
                if is_job {
                    work.jobs.observed(JobRun { operation: number, at_us, took_us: us, failed: !ok });
                }
            });
        }
        Ok(())
    }

    fn open_counter(&mut self, name: &str, labels: Labels) -> Result<u32, String> {
        self.figures.open_counter(&self.shared, name, labels)
    }

    fn add(&mut self, counter: u32, amount: u64) -> Result<(), String> {
        self.figures.add(counter, amount, !self.in_warm_up())
    }

    fn open_check(&mut self, name: &str, labels: Labels) -> Result<u32, String> {
        self.figures.open_check(&self.shared, name, labels)
    }

    fn check(&mut self, check: u32, ok: bool) -> Result<(), String> {
        self.figures.check(check, ok, !self.in_warm_up())
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
