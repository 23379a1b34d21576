//! What one thread recorded since its last tick. It is handed over whole; the thread goes on with an empty one.
//!
//! On the hot path: recording allocates only at an interval's first sample of an operation.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::{Asked, JobRuns, Measure, Tag, new_histogram};

/// What goes to the collector.
#[allow(clippy::large_enum_variant, reason = "one a thread and second")]
#[derive(Debug)]
pub enum Sample {
    /// From a client.
    Deliveries(DeliveryInterval),
    /// From a worker.
    Work(WorkInterval),
}

/// Failed messages by who refused them and librdkafka's code.
pub type Failures = BTreeMap<(Refuser, i32), FailureCount>;

/// How many messages failed for one reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailureCount {
    /// Without the warm-up.
    pub measured: u64,
    /// With it.
    pub all: u64,
}

impl FailureCount {
    /// Counts one.
    pub fn add(&mut self, warm_up: bool) {
        self.measured += u64::from(!warm_up);
        self.all += 1;
    }
}

/// Who refused a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refuser {
    /// The client did not take it.
    Client,
    /// The broker did not, or nothing was heard in time.
    Broker,
}

/// Counts and durations of one operation; warm-up is not in them.
#[derive(Debug, Default)]
pub struct OperationInterval {
    /// Messages that the broker acknowledged.
    pub acknowledged: u64,
    /// Messages that failed: refused, timed out, never sent.
    pub failed: u64,
    /// Messages that were sent and of which nothing was heard until the drain ended.
    pub unknown: u64,
    /// Bytes of the acknowledged ones: keys and values.
    pub bytes: u64,
    /// Requests, by what became of them.
    pub requests: Asked,
    /// Announced replies, likewise.
    pub expectations: Asked,
    /// Durations of what went well, by measure.
    pub good: [Option<Box<Histogram<u64>>>; Measure::COUNT],
    /// Durations until it failed, by measure.
    pub bad: [Option<Box<Histogram<u64>>>; Measure::COUNT],
}

impl OperationInterval {
    /// Records a duration of something that went well.
    #[inline]
    pub fn good(&mut self, measure: Measure, us: u64) {
        self.good_n(measure, us, 1);
    }

    /// The same duration `count` times.
    #[inline]
    pub fn good_n(&mut self, measure: Measure, us: u64, count: u64) {
        record(&mut self.good[measure as usize], us, count);
    }

    /// Records how long something took to fail.
    pub fn bad(&mut self, measure: Measure, us: u64) {
        record(&mut self.bad[measure as usize], us, 1);
    }

    /// Adds another one's counts and durations.
    pub fn merge(&mut self, other: OperationInterval) {
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
        self.unknown += other.unknown;
        self.bytes += other.bytes;
        self.requests.add(&other.requests);
        self.expectations.add(&other.expectations);
        for (mine, theirs) in self.good.iter_mut().chain(&mut self.bad).zip(other.good.into_iter().chain(other.bad)) {
            match (mine, theirs) {
                (_, None) => {}
                (mine @ None, theirs) => *mine = theirs,
                (Some(mine), Some(theirs)) => mine.add(*theirs).expect("all histograms have the same bounds"),
            }
        }
    }
}

#[inline]
fn record(histogram: &mut Option<Box<Histogram<u64>>>, us: u64, count: u64) {
    histogram.get_or_insert_with(|| Box::new(new_histogram())).saturating_record_n(us.max(1), count);
}

/// Operations of an interval, by their number in the run.
#[derive(Debug, Default)]
pub struct ByOperation(Vec<Option<Box<OperationInterval>>>);

impl ByOperation {
    /// The interval of an operation.
    #[inline]
    pub fn of(&mut self, operation: u32) -> &mut OperationInterval {
        let at = operation as usize;
        if at >= self.0.len() {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at].get_or_insert_default()
    }

    /// Those that have something.
    pub fn some(&self) -> impl Iterator<Item = &OperationInterval> {
        self.0.iter().filter_map(|one| one.as_deref())
    }

    /// Those that have something, with their numbers.
    pub fn into_some(self) -> impl Iterator<Item = (u32, OperationInterval)> {
        self.0.into_iter().enumerate().filter_map(|(at, one)| Some((at as u32, *one?)))
    }
}

/// What a client reported within one second of the run's clock.
#[derive(Debug, Default)]
pub struct DeliveryInterval {
    /// The flow whose client it is.
    pub flow: usize,
    /// Which second of the run's clock.
    pub second: u64,
    /// By operation, warm-up left out.
    pub operations: ByOperation,
    /// Failed ones by reason.
    pub failures: Failures,
    /// Acknowledged messages by topic (its number in the plan) and partition, warm-up left out.
    pub partitions: Vec<Vec<u64>>,
    /// Acknowledged messages, with warm-up.
    pub all_acknowledged: u64,
    /// Their bytes.
    pub all_bytes: u64,
    /// Failed and unknown ones, with warm-up.
    pub all_failed: u64,
    /// When the first measured acknowledgement came, on the run's clock.
    pub first_acknowledged_us: Option<u64>,
    /// When the last measured acknowledgement came, on the run's clock; 0 for none.
    pub last_acknowledged_us: u64,
}

impl DeliveryInterval {
    /// Counts one acknowledged message of a partition.
    #[inline]
    pub fn count_partition(&mut self, topic: usize, partition: i32) {
        if topic >= self.partitions.len() {
            self.partitions.resize_with(topic + 1, Vec::new);
        }
        let partitions = &mut self.partitions[topic];
        let at = partition.max(0) as usize;
        if at >= partitions.len() {
            partitions.resize(at + 1, 0);
        }
        partitions[at] += 1;
    }
}

/// What a worker did within one second of the run's clock.
#[derive(Debug, Default)]
pub struct WorkInterval {
    /// The worker's flow.
    pub flow: usize,
    /// Which second of the run's clock.
    pub second: u64,
    /// Durations by operation: enqueue, lateness, what the guest observed; messages that the client refused; and what
    /// became of requests.
    pub operations: ByOperation,
    /// Messages that the client refused, by reason.
    pub failures: Failures,
    /// Of a job: each duration of its own.
    pub jobs: JobRuns,
    /// Measured iterations that ran.
    pub iterations: u64,
    /// Measured iterations that failed.
    pub iterations_failed: u64,
    /// Iterations that ran, with warm-up.
    pub all_iterations: u64,
    /// Iterations that failed, with warm-up.
    pub all_iterations_failed: u64,
    /// Messages handed over in measured iterations.
    pub sent: u64,
    /// The same with warm-up.
    pub all_sent: u64,
    /// Messages that the client refused, with warm-up.
    pub all_failed: u64,
    /// Processor time inside the guest's own code.
    pub guest_cpu_ns: u64,
    /// Time that the worker waited for room in the client's queue.
    pub blocked_ns: u64,
    /// Time that the guest waited in `deliver`, `request`, `wait` and `sleep`.
    pub waited_ns: u64,
    /// Time that the worker slept because nothing was due.
    pub idle_ns: u64,
    /// Time that the worker lived.
    pub wall_ns: u64,
    /// Measured iterations of a session that the run's end cut short: they are in no figure.
    pub cut: u64,
    /// When the last measured iteration returned, on the run's clock; 0 for none.
    pub last_iteration_us: u64,
    /// When the last measured iteration of a session began, on the run's clock; 0 for none.
    pub last_begun_us: u64,
    /// Whether the partitioner placed any message by its key.
    pub keyed: bool,
    /// Requests with warm-up.
    pub all_requests: Asked,
    /// Announced replies with warm-up.
    pub all_expectations: Asked,
}

impl WorkInterval {
    /// Adds what another one has; its flow and its second are this one's.
    pub fn merge(&mut self, other: WorkInterval) {
        let WorkInterval {
            flow: _,
            second: _,
            operations,
            failures,
            jobs,
            keyed,
            last_iteration_us,
            last_begun_us,
            ..
        } = other;
        for (number, one) in operations.into_some() {
            self.operations.of(number).merge(one);
        }
        self.jobs.merge(jobs);
        for (reason, count) in failures {
            let sum = self.failures.entry(reason).or_default();
            sum.measured += count.measured;
            sum.all += count.all;
        }
        for (mine, theirs) in [
            (&mut self.iterations, other.iterations),
            (&mut self.iterations_failed, other.iterations_failed),
            (&mut self.all_iterations, other.all_iterations),
            (&mut self.all_iterations_failed, other.all_iterations_failed),
            (&mut self.sent, other.sent),
            (&mut self.all_sent, other.all_sent),
            (&mut self.all_failed, other.all_failed),
            (&mut self.guest_cpu_ns, other.guest_cpu_ns),
            (&mut self.blocked_ns, other.blocked_ns),
            (&mut self.waited_ns, other.waited_ns),
            (&mut self.idle_ns, other.idle_ns),
            (&mut self.wall_ns, other.wall_ns),
            (&mut self.cut, other.cut),
        ] {
            *mine += theirs;
        }
        self.keyed |= keyed;
        self.all_requests.add(&other.all_requests);
        self.all_expectations.add(&other.all_expectations);
        self.last_iteration_us = self.last_iteration_us.max(last_iteration_us);
        self.last_begun_us = self.last_begun_us.max(last_begun_us);
    }

    /// Counts a message that the client did not take. `took_us` is the time from the call to the refusal, `now_us` is
    /// now, on the run's clock; an unpaced flow has no response.
    pub fn reject(&mut self, operation: u32, tag: Tag, code: i32, took_us: u64, now_us: Option<u64>) {
        self.reject_untimed(operation, tag, code);
        if tag.is_warm_up() {
            return;
        }
        let one = self.operations.of(operation);
        one.bad(Measure::Service, took_us);
        if let Some(now_us) = now_us {
            one.bad(Measure::Response, now_us.saturating_sub(tag.time_us()));
        }
    }

    /// The same for one whose durations are recorded elsewhere.
    pub fn reject_untimed(&mut self, operation: u32, tag: Tag, code: i32) {
        self.all_failed += 1;
        self.failures.entry((Refuser::Client, code)).or_default().add(tag.is_warm_up());
        if !tag.is_warm_up() {
            self.operations.of(operation).failed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_loses_nothing() {
        let mut total = OperationInterval::default();
        for part in 0..3 {
            let mut one = OperationInterval { acknowledged: 10, bytes: 100, ..Default::default() };
            one.good_n(Measure::Service, 1000 * (part + 1), 10);
            if part == 2 {
                one.failed = 1;
                one.bad(Measure::Service, 5_000_000);
            }
            total.merge(one);
        }
        assert_eq!((total.acknowledged, total.failed, total.bytes), (30, 1, 300));
        let service = total.good[Measure::Service as usize].as_ref().expect("merged");
        assert_eq!((service.len(), service.max() / 1000), (30, 3));
        assert_eq!(total.bad[Measure::Service as usize].as_ref().expect("merged").len(), 1);
        assert!(total.good[Measure::Wait as usize].is_none());
    }
}
