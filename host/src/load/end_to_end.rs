//! How long records took from their sender to here, as their stamps tell.

use serde::Serialize;

use crate::kafka::{Arrived, Stamp};
use crate::measure::{Measure, OperationInterval, RunClock};

/// What stamps came to; warm-up left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EndToEndFigures {
    /// Records that this run has sent, on its own monotonic clock.
    pub own: u64,
    /// Records of other runs, on wall clocks; those of which nothing is wanted are not among them.
    pub others: u64,
    /// Records of other runs of which nothing is wanted.
    pub left_out: u64,
    /// Records without a stamp that can be read.
    pub unstamped: u64,
    /// Records of others that would have come before they were sent, as the clocks differ: they are in no percentile.
    pub negative: u64,
    /// The smallest difference of those of others, in microseconds.
    pub smallest_us: Option<i64>,
}

impl EndToEndFigures {
    pub(super) fn add(&mut self, other: &EndToEndFigures) {
        self.own += other.own;
        self.others += other.others;
        self.left_out += other.left_out;
        self.unstamped += other.unstamped;
        self.negative += other.negative;
        self.smallest_us = self.smallest_us.into_iter().chain(other.smallest_us).min();
    }
}

/// One reader's.
pub(super) struct EndToEnd {
    run_id: u64,
    clock: RunClock,
    /// Whether stamps of other runs are regarded.
    of_any: bool,
    pub(super) figures: EndToEndFigures,
}

impl EndToEnd {
    pub(super) fn new(run_id: u64, clock: RunClock, of_any: bool) -> Self {
        EndToEnd { run_id, clock, of_any, figures: EndToEndFigures::default() }
    }

    /// Records what a record's stamp tells; it arrived at `arrived_us` on the run's clock, and is in the reader's warm-up or not.
    pub(super) fn look(&mut self, record: &Arrived<'_>, arrived_us: u64, warm_up: bool, into: &mut OperationInterval) {
        self.take(record.stamp(), arrived_us, warm_up, into);
    }

    fn take(&mut self, stamp: Option<Stamp>, arrived_us: u64, warm_up: bool, into: &mut OperationInterval) {
        let figures = &mut self.figures;
        let Some(stamp) = stamp else {
            figures.unstamped += u64::from(!warm_up);
            return;
        };
        let is_own = stamp.run_id == self.run_id;
        if warm_up || stamp.warm_up {
            return;
        }
        if !is_own && !self.of_any {
            figures.left_out += 1;
            return;
        }
        let took_us = self.clock.wall_us(arrived_us).saturating_sub(stamp.sent_us);
        if is_own {
            figures.own += 1;
        } else {
            figures.others += 1;
            figures.smallest_us = figures.smallest_us.into_iter().chain([took_us]).min();
        }
        let Ok(took_us) = u64::try_from(took_us) else {
            figures.negative += 1;
            return;
        };
        into.good(Measure::EndToEnd, took_us);
        if let Some(wait_us) = stamp.wait_us {
            into.good(Measure::SinceIntended, took_us + u64::from(wait_us));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const OWN: u64 = 1;

    fn stamp(clock: &RunClock, run_id: u64, sent_us: i64) -> Stamp {
        Stamp { run_id, sent_us: clock.wall_us(0) + sent_us, wait_us: Some(200), warm_up: false }
    }

    fn looked(
        of_any: bool,
        stamps: &[(Option<Stamp>, bool)],
        clock: &RunClock,
    ) -> (EndToEndFigures, OperationInterval) {
        let (mut one, mut into) = (EndToEnd::new(OWN, clock.clone(), of_any), OperationInterval::default());
        stamps.iter().for_each(|(stamp, warm_up)| one.take(*stamp, 10_000, *warm_up, &mut into));
        (one.figures, into)
    }

    fn max(of: &OperationInterval, measure: Measure) -> Option<(u64, u64)> {
        of.good[measure as usize].as_ref().map(|histogram| (histogram.len(), histogram.max()))
    }

    #[test]
    fn own_stamps_count_on_one_clock_and_warm_up_not_at_all() {
        let clock = RunClock::default();
        clock.start(Instant::now());
        let own = stamp(&clock, OWN, 9_000);
        let (figures, into) = looked(
            false,
            &[(Some(own), false), (Some(own), true), (Some(Stamp { warm_up: true, ..own }), false)],
            &clock,
        );
        assert_eq!(figures, EndToEndFigures { own: 1, ..EndToEndFigures::default() });
        assert_eq!(max(&into, Measure::EndToEnd), Some((1, 1_000)));
        assert_eq!(max(&into, Measure::SinceIntended), Some((1, 1_200)));
        let (_, into) = looked(false, &[(Some(Stamp { wait_us: None, ..own }), false)], &clock);
        assert_eq!(max(&into, Measure::SinceIntended), None, "an unpaced flow has no intended time");
    }

    #[test]
    fn others_are_left_out_unless_they_are_asked_for() {
        let clock = RunClock::default();
        clock.start(Instant::now());
        let (early, late) = (stamp(&clock, 2, 8_000), stamp(&clock, 3, 15_000));
        let all = [(Some(early), false), (Some(late), false), (None, false), (None, true)];
        let (figures, into) = looked(false, &all, &clock);
        assert_eq!((figures.left_out, figures.unstamped, max(&into, Measure::EndToEnd)), (2, 1, None));
        let (figures, into) = looked(true, &all, &clock);
        let expected =
            EndToEndFigures { others: 2, unstamped: 1, negative: 1, smallest_us: Some(-5_000), ..Default::default() };
        assert_eq!(figures, expected);
        assert_eq!(max(&into, Measure::EndToEnd), Some((1, 2_000)), "what would be negative is in no percentile");
    }

    #[test]
    fn figures_add_up() {
        let one = EndToEndFigures { own: 1, others: 2, smallest_us: Some(5), ..Default::default() };
        let mut sum = EndToEndFigures::default();
        sum.add(&one);
        sum.add(&EndToEndFigures { smallest_us: Some(-3), negative: 4, ..one });
        assert_eq!((sum.own, sum.others, sum.negative, sum.smallest_us), (2, 4, 4, Some(-3)));
    }
}
