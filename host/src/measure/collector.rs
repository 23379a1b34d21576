//! Merges what the threads hand over into the run's totals, on a thread of its own.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use hdrhistogram::Histogram;

use super::{
    Asked, DeliveryInterval, Failures, JobRuns, Measure, OperationInterval, Sample, Series, WorkInterval, new_histogram,
};

/// What a run came to, by flow.
#[derive(Debug, Default)]
pub struct Totals {
    /// In the plan's order.
    pub flows: Vec<FlowTotals>,
}

/// What a flow came to. Warm-up is left out where a field does not say otherwise.
#[derive(Debug)]
pub struct FlowTotals {
    /// By the operation's number.
    pub operations: BTreeMap<u32, OperationInterval>,
    /// Failed messages by reason.
    pub failures: Failures,
    /// Acknowledged messages by topic (its number in the plan) and partition.
    pub partitions: Vec<Vec<u64>>,
    /// Of a job: each duration of its own.
    pub jobs: JobRuns,
    /// Everything by second, with warm-up.
    pub series: Series,
    /// Iterations that ran.
    pub iterations: u64,
    /// Iterations that failed.
    pub iterations_failed: u64,
    /// Messages handed over.
    pub sent: u64,
    /// Iterations with warm-up.
    pub all_iterations: u64,
    /// Iterations that failed, with warm-up.
    pub all_iterations_failed: u64,
    /// Messages with warm-up.
    pub all_sent: u64,
    /// Acknowledged with warm-up.
    pub all_acknowledged: u64,
    /// Bytes acknowledged with warm-up.
    pub all_bytes: u64,
    /// Failed and unknown with warm-up.
    pub all_failed: u64,
    /// Processor time inside the guests' own code.
    pub guest_cpu_ns: u64,
    /// Time that workers waited for room in a client's queue, summed.
    pub blocked_ns: u64,
    /// Time that guests waited in `deliver`, `request`, `wait` and `sleep`, summed.
    pub waited_ns: u64,
    /// Time that workers slept because nothing was due, summed.
    pub idle_ns: u64,
    /// Time that workers lived, summed.
    pub wall_ns: u64,
    /// Whether the partitioner placed any message by its key.
    pub keyed: bool,
    /// When the first measured acknowledgement came, on the run's clock.
    pub first_acknowledged_us: Option<u64>,
    /// Measured iterations of a session that the run's end cut short.
    pub cut: u64,
    /// When the last measured iteration returned, on the run's clock; 0 for none.
    pub last_iteration_us: u64,
    /// When the last measured iteration of a session began, on the run's clock; 0 for none.
    pub last_begun_us: u64,
    /// When the last measured acknowledgement came, on the run's clock; 0 for none.
    pub last_acknowledged_us: u64,
    /// Requests with warm-up.
    pub all_requests: Asked,
    /// Announced replies with warm-up.
    pub all_expectations: Asked,
}

impl Default for FlowTotals {
    fn default() -> Self {
        FlowTotals {
            operations: BTreeMap::new(),
            failures: Failures::new(),
            partitions: Vec::new(),
            jobs: JobRuns::default(),
            series: Series::new(),
            iterations: 0,
            iterations_failed: 0,
            sent: 0,
            all_iterations: 0,
            all_iterations_failed: 0,
            all_sent: 0,
            all_acknowledged: 0,
            all_bytes: 0,
            all_failed: 0,
            guest_cpu_ns: 0,
            blocked_ns: 0,
            waited_ns: 0,
            idle_ns: 0,
            wall_ns: 0,
            keyed: false,
            first_acknowledged_us: None,
            cut: 0,
            last_iteration_us: 0,
            last_begun_us: 0,
            last_acknowledged_us: 0,
            all_requests: Asked::default(),
            all_expectations: Asked::default(),
        }
    }
}

impl FlowTotals {
    fn add_operations(&mut self, operations: impl Iterator<Item = (u32, OperationInterval)>) {
        for (number, one) in operations {
            self.operations.entry(number).or_default().merge(one);
        }
    }

    fn add_failures(&mut self, failures: Failures) {
        for (reason, count) in failures {
            let sum = self.failures.entry(reason).or_default();
            sum.measured += count.measured;
            sum.all += count.all;
        }
    }

    fn add_work(&mut self, work: WorkInterval) {
        let point = self.series.at(work.second);
        point.sent += work.all_sent;
        point.failed += work.all_failed;
        // where replies are measured, they are a second's durations, and not the acknowledgements
        work.operations.some().filter_map(latency).for_each(|replies| self.series.durations(work.second, replies));
        self.add_operations(work.operations.into_some());
        self.all_requests.add(&work.all_requests);
        self.all_expectations.add(&work.all_expectations);
        self.add_failures(work.failures);
        self.jobs.merge(work.jobs);
        self.iterations += work.iterations;
        self.iterations_failed += work.iterations_failed;
        self.sent += work.sent;
        self.all_iterations += work.all_iterations;
        self.all_iterations_failed += work.all_iterations_failed;
        self.all_sent += work.all_sent;
        self.all_failed += work.all_failed;
        self.guest_cpu_ns += work.guest_cpu_ns;
        self.blocked_ns += work.blocked_ns;
        self.waited_ns += work.waited_ns;
        self.idle_ns += work.idle_ns;
        self.wall_ns += work.wall_ns;
        self.keyed |= work.keyed;
        self.cut += work.cut;
        self.last_iteration_us = self.last_iteration_us.max(work.last_iteration_us);
        self.last_begun_us = self.last_begun_us.max(work.last_begun_us);
    }

    fn add_deliveries(&mut self, deliveries: DeliveryInterval) {
        let point = self.series.at(deliveries.second);
        point.acknowledged += deliveries.all_acknowledged;
        point.bytes += deliveries.all_bytes;
        point.failed += deliveries.all_failed;
        for (number, one) in deliveries.operations.into_some() {
            if let Some(latency) = latency(&one) {
                self.series.durations(deliveries.second, latency);
            }
            self.operations.entry(number).or_default().merge(one);
        }
        self.add_failures(deliveries.failures);
        if self.partitions.len() < deliveries.partitions.len() {
            self.partitions.resize_with(deliveries.partitions.len(), Vec::new);
        }
        for (mine, theirs) in self.partitions.iter_mut().zip(deliveries.partitions) {
            mine.resize(mine.len().max(theirs.len()), 0);
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
        self.all_acknowledged += deliveries.all_acknowledged;
        self.all_bytes += deliveries.all_bytes;
        self.all_failed += deliveries.all_failed;
        self.last_acknowledged_us = self.last_acknowledged_us.max(deliveries.last_acknowledged_us);
        let first = self.first_acknowledged_us.into_iter().chain(deliveries.first_acknowledged_us);
        self.first_acknowledged_us = first.min();
    }

    /// Books messages that were handed over and of which nothing was ever reported, as unknown ones of `operation`.
    pub fn book_silent(&mut self, operation: u32) {
        let counts = self.whole();
        let silent = self.sent.saturating_sub(counts.acknowledged + counts.failed + counts.unknown);
        if silent > 0 {
            self.operations.entry(operation).or_default().unknown += silent;
        }
        self.all_failed = self.all_failed.max(self.all_sent.saturating_sub(self.all_acknowledged));
    }

    /// The sum over all operations.
    pub fn whole(&self) -> Counts {
        self.operations.values().fold(Counts::default(), |sum, one| Counts {
            acknowledged: sum.acknowledged + one.acknowledged,
            failed: sum.failed + one.failed,
            unknown: sum.unknown + one.unknown,
            bytes: sum.bytes + one.bytes,
        })
    }
}

/// Messages by what became of them; warm-up is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Acknowledged by the broker.
    pub acknowledged: u64,
    /// Refused, timed out or never sent.
    pub failed: u64,
    /// Sent, and nothing heard of until the drain ended.
    pub unknown: u64,
    /// Keys and values of the acknowledged ones.
    pub bytes: u64,
}

/// Response, or service where there is no intended time, or that of announced replies.
fn latency(one: &OperationInterval) -> Option<&Histogram<u64>> {
    one.good[Measure::Response as usize]
        .as_deref()
        .or(one.good[Measure::Service as usize].as_deref())
        .or(one.good[Measure::Reply as usize].as_deref())
}

/// What a progress line shows; warm-up is in the counts.
#[derive(Debug, Default, Clone)]
pub struct Live {
    /// Iterations that ran so far.
    pub iterations: u64,
    /// Messages handed over so far.
    pub sent: u64,
    /// Messages acknowledged so far.
    pub acknowledged: u64,
    /// Messages failed so far.
    pub failed: u64,
    /// Requests, and announced replies, that failed or timed out so far.
    pub unanswered: u64,
    /// The last seconds of the run's clock that all threads have handed over, oldest first.
    pub seconds: Vec<LiveSecond>,
}

/// One second of a run.
#[derive(Debug, Default, Clone)]
pub struct LiveSecond {
    /// Messages acknowledged in it.
    pub acknowledged: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Measured durations: response, or service where there is no intended time.
    pub latency: Option<Histogram<u64>>,
}

/// Seconds that are kept.
const MOST_SECONDS: usize = 8;
/// A second is whole when the clock is this much further: every thread hands over within a tenth of one.
const WHOLE_AFTER_US: u64 = 300_000;

#[derive(Debug, Default)]
struct Gathering {
    /// By flow: whether it is told of.
    told: Vec<bool>,
    iterations: u64,
    sent: u64,
    acknowledged: u64,
    failed: u64,
    unanswered: u64,
    seconds: BTreeMap<u64, LiveSecond>,
}

impl Gathering {
    fn add(&mut self, sample: &Sample) {
        let flow = match sample {
            Sample::Work(work) => work.flow,
            Sample::Deliveries(deliveries) => deliveries.flow,
        };
        if !self.told[flow] {
            return;
        }
        match sample {
            Sample::Work(work) => {
                self.iterations += work.all_iterations;
                self.sent += work.all_sent;
                self.failed += work.all_failed;
                let asked = [&work.all_requests, &work.all_expectations];
                self.unanswered += asked.iter().map(|asked| asked.failed + asked.timed_out).sum::<u64>();
                self.add_latency(work.second, work.operations.some());
            }
            Sample::Deliveries(d) => {
                self.acknowledged += d.all_acknowledged;
                self.failed += d.all_failed;
                let second = self.seconds.entry(d.second).or_default();
                second.acknowledged += d.all_acknowledged;
                second.bytes += d.all_bytes;
                self.add_latency(d.second, d.operations.some());
            }
        }
        while self.seconds.len() > MOST_SECONDS {
            self.seconds.pop_first();
        }
    }

    fn add_latency<'o>(&mut self, second: u64, operations: impl Iterator<Item = &'o OperationInterval>) {
        for latency in operations.filter_map(latency) {
            let second = self.seconds.entry(second).or_default();
            let sum = second.latency.get_or_insert_with(new_histogram);
            sum.add(latency).expect("all histograms have the same bounds");
        }
    }

    fn look(&self, now_us: u64) -> Live {
        let whole = now_us.saturating_sub(WHOLE_AFTER_US) / 1_000_000;
        let seconds = self.seconds.range(..whole).map(|(_, second)| second.clone()).collect();
        Live {
            iterations: self.iterations,
            sent: self.sent,
            acknowledged: self.acknowledged,
            failed: self.failed,
            unanswered: self.unanswered,
            seconds,
        }
    }
}

/// The collector's thread, and the way to it.
#[derive(Debug)]
pub struct Collector {
    thread: JoinHandle<Totals>,
    live: Arc<Mutex<Gathering>>,
}

impl Collector {
    /// Starts it for flows of which these are told of while the run lasts. It ends when every sender is gone.
    pub fn start(told: Vec<bool>) -> (Sender<Sample>, Self) {
        let (sender, receiver) = channel();
        let flows = told.len();
        let live = Arc::new(Mutex::new(Gathering { told, ..Gathering::default() }));
        let shared = live.clone();
        let thread = std::thread::Builder::new()
            .name("khost-collect".into())
            .spawn(move || collect(flows, receiver, &shared))
            .expect("a thread can be started before the load");
        (sender, Collector { thread, live })
    }

    /// How far the run is at this time of its clock.
    pub fn look(&self, now_us: u64) -> Live {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).look(now_us)
    }

    /// Waits for the last sample. All senders must be gone, or this waits for ever.
    pub fn finish(self) -> Totals {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn collect(flows: usize, receiver: Receiver<Sample>, live: &Mutex<Gathering>) -> Totals {
    let mut totals = Totals::default();
    totals.flows.resize_with(flows, FlowTotals::default);
    for sample in receiver {
        live.lock().unwrap_or_else(PoisonError::into_inner).add(&sample);
        match sample {
            Sample::Work(work) => totals.flows[work.flow].add_work(work),
            Sample::Deliveries(deliveries) => totals.flows[deliveries.flow].add_deliveries(deliveries),
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_many_threads_become_one_total() {
        let (sender, collector) = Collector::start(vec![true]);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    for second in 0..3 {
                        let mut d = DeliveryInterval {
                            second,
                            all_acknowledged: 5,
                            last_acknowledged_us: second,
                            ..Default::default()
                        };
                        d.operations.of(0).acknowledged = 5;
                        d.operations.of(0).good_n(Measure::Service, 700, 5);
                        d.count_partition(1, 2);
                        sender.send(Sample::Deliveries(d)).expect("the collector lives");
                        let w = WorkInterval { second, all_sent: 6, sent: 6, ..Default::default() };
                        sender.send(Sample::Work(w)).expect("the collector lives");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().expect("it sends"));
        drop(sender);
        let totals = collector.finish();
        let flow = &totals.flows[0];
        assert_eq!((flow.whole().acknowledged, flow.sent, flow.partitions[1][2]), (60, 72, 12));
        assert_eq!(flow.last_acknowledged_us, 2);
    }
}
