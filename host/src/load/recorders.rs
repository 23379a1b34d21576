//! Where the users of a session flow record. A histogram takes 229 KB, so thousands of users share a few intervals, each
//! behind a lock that is taken a few times an iteration.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use crate::measure::{RunClock, Sample, WorkInterval};

/// More would only take memory: a lock is held for less than a microsecond.
const MOST: u32 = 16;

/// A flow's.
#[derive(Debug)]
pub(super) struct Recorders {
    clock: RunClock,
    shards: Vec<Mutex<Shard>>,
}

#[derive(Debug)]
struct Shard {
    now: WorkInterval,
    /// Gone at the end: the collector ends with the last sender.
    samples: Option<Sender<Sample>>,
}

impl Shard {
    /// Hands over what was recorded before `second`.
    fn tick(&mut self, second: u64) {
        if second == self.now.second {
            return;
        }
        let next = WorkInterval { flow: self.now.flow, second, ..WorkInterval::default() };
        let done = std::mem::replace(&mut self.now, next);
        if let Some(samples) = &self.samples {
            // the collector lives as long as any sender
            let _ = samples.send(Sample::Work(done));
        }
    }
}

impl Recorders {
    /// For so many users of a flow, on a machine with so many processors.
    pub(super) fn new(flow: usize, users: u32, processors: u32, clock: RunClock, samples: &Sender<Sample>) -> Self {
        let count = users.min(processors.saturating_mul(2)).clamp(1, MOST);
        let shard = || Shard { now: WorkInterval { flow, ..WorkInterval::default() }, samples: Some(samples.clone()) };
        Recorders { clock, shards: (0..count).map(|_| Mutex::new(shard())).collect() }
    }

    /// Records for a user.
    pub(super) fn record(&self, user: u32, record: impl FnOnce(&mut WorkInterval)) {
        let shard = &self.shards[user as usize % self.shards.len()];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        shard.tick(self.clock.now_us() / 1_000_000);
        record(&mut shard.now);
    }

    /// Hands over what is of an earlier second, also where no user records.
    pub(super) fn tick(&self) {
        let second = self.clock.now_us() / 1_000_000;
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).tick(second);
        }
    }

    /// Hands over all. Nothing may be recorded any more.
    pub(super) fn finish(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.tick(u64::MAX);
            shard.samples = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Collector, Measure};

    #[test]
    fn what_many_users_record_is_one_total() {
        let (samples, collector) = Collector::start(vec![true]);
        let recorders = Recorders::new(0, 1_000, 2, RunClock::default(), &samples);
        drop(samples);
        assert_eq!(recorders.shards.len(), 4);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let recorders = &recorders;
                scope.spawn(move || {
                    for user in 0..1_000 {
                        recorders.record(user, |work| {
                            work.iterations += 1;
                            work.operations.of(0).good(Measure::Iteration, 1_000 * (thread + 1));
                        });
                    }
                });
            }
        });
        recorders.finish();
        let totals = collector.finish();
        let flow = &totals.flows[0];
        assert_eq!(flow.iterations, 4_000);
        let iteration = flow.operations[&0].good[Measure::Iteration as usize].as_ref().expect("recorded");
        assert_eq!(iteration.len(), 4_000);
    }
}
