//! The durations of a job: few, and each is kept as it was, as a histogram's three digits say too little of hours.

use std::collections::BTreeMap;

/// Observed durations that are kept. A job's iterations are few by definition, and all are.
const MOST_OBSERVED: usize = 1_000;

/// How long something of a job took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobRun {
    /// The operation's number in the run.
    pub operation: u32,
    /// When it was over, on the run's clock.
    pub at_us: u64,
    /// How long it took.
    pub took_us: u64,
    /// It failed.
    pub failed: bool,
}

/// Of one job: its iterations, and what its guest observed.
#[derive(Debug, Default)]
pub struct JobRuns {
    iterations: Vec<JobRun>,
    observed: Vec<JobRun>,
    /// Observed ones that were not kept, by operation.
    others: BTreeMap<u32, Others>,
}

/// Durations that were counted and not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Others {
    /// How many.
    pub count: u64,
    /// Of these: that failed.
    pub failed: u64,
}

impl JobRuns {
    /// Keeps an iteration.
    pub fn iteration(&mut self, run: JobRun) {
        self.iterations.push(run);
    }

    /// Keeps what a guest observed, or counts it.
    pub fn observed(&mut self, run: JobRun) {
        if self.observed.len() < MOST_OBSERVED {
            return self.observed.push(run);
        }
        let others = self.others.entry(run.operation).or_default();
        others.count += 1;
        others.failed += u64::from(run.failed);
    }

    /// Adds another one's.
    pub fn merge(&mut self, other: JobRuns) {
        self.iterations.extend(other.iterations);
        other.observed.into_iter().for_each(|run| self.observed(run));
        for (operation, more) in other.others {
            let others = self.others.entry(operation).or_default();
            others.count += more.count;
            others.failed += more.failed;
        }
    }

    /// By operation: what was kept, in the order in which it was over, and what was not.
    pub fn by_operation(&self) -> BTreeMap<u32, (Vec<JobRun>, Others)> {
        let mut all: BTreeMap<u32, (Vec<JobRun>, Others)> = BTreeMap::new();
        for run in self.iterations.iter().chain(&self.observed) {
            all.entry(run.operation).or_default().0.push(*run);
        }
        for (operation, others) in &self.others {
            all.entry(*operation).or_default().1 = *others;
        }
        all.values_mut().for_each(|(runs, _)| runs.sort_by_key(|run| run.at_us));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(operation: u32, at_us: u64, failed: bool) -> JobRun {
        JobRun { operation, at_us, took_us: at_us, failed }
    }

    #[test]
    fn observed_ones_are_bounded_and_none_is_lost() {
        let mut total = JobRuns::default();
        for part in 0..3 {
            let mut runs = JobRuns::default();
            (0..1_500).for_each(|at| runs.observed(run(1 + at as u32 % 2, part * 10_000 + at, at % 10 == 0)));
            runs.iteration(run(0, part, false));
            total.merge(runs);
        }
        let all = total.by_operation();
        assert_eq!(all[&0], (vec![run(0, 0, false), run(0, 1, false), run(0, 2, false)], Others::default()));
        let kept = all[&1].0.len() + all[&2].0.len();
        assert_eq!((kept as u64, all[&1].1.count + all[&2].1.count), (1_000, 3_500));
        let failed = |operation: u32| all[&operation].0.iter().filter(|run| run.failed).count() as u64;
        assert_eq!(failed(1) + all[&1].1.failed + failed(2) + all[&2].1.failed, 450);
    }

    #[test]
    fn they_come_in_the_order_in_which_they_were_over() {
        let mut runs = JobRuns::default();
        [5, 1, 3].into_iter().for_each(|at| runs.iteration(run(7, at, false)));
        let order: Vec<u64> = runs.by_operation()[&7].0.iter().map(|run| run.at_us).collect();
        assert_eq!(order, [1, 3, 5]);
    }
}
