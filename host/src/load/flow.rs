//! One flow of a run: its schedule, its window, and what its workers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::draws::{hash, mix};
use super::ramp::Ramp;
use super::readers::Readers;
use super::recorders::Recorders;
use super::schedule::Schedule;
use super::shared::Texts;
use super::stop::Stop;
use super::turns::{Instants, Turns};
use crate::plan::{Arrivals, Consume, End, FlowKind, Session, WarmUp};

/// Workers go on with what was due before the end for this long after it, so that a hiccup at the end loses nothing.
const CATCH_UP_NS: u64 = 2_000_000_000;

/// Times are nanoseconds since the load's start, but those of the schedule, which count from the flow's beginning; numbers
/// count the flow's iterations from 0, warm-up included.
pub(super) struct FlowRun {
    pub(super) index: usize,
    pub(super) name: String,
    /// A stream's threads, a session's users, a group's members.
    pub(super) workers: u32,
    pub(super) schedule: Schedule,
    /// When it began; `u64::MAX` until that is known.
    began_ns: AtomicU64,
    /// When the run ends it, whatever its own end is; `u64::MAX` until that is known.
    end_by_ns: AtomicU64,
    /// Its durations are kept one by one.
    pub(super) is_job: bool,
    /// A closed session's, where the number of its users changes.
    pub(super) ramp: Option<Ramp>,
    /// A session's: who runs which iteration.
    pub(super) turns: Option<Turns>,
    /// A session's: where its users record. A stream's threads have recorders of their own.
    pub(super) recorders: Option<Recorders>,
    /// Whether its workers call the guest; else they only count.
    pub(super) calls_guest: bool,
    /// A consume flow's: what its workers share.
    pub(super) readers: Option<Arc<Readers>>,
    pub(super) end: End,
    warm_up: WarmUp,
    /// When the window began; `u64::MAX` until it is known.
    window_start_ns: AtomicU64,
    pub(super) missed: AtomicU64,
    /// A worker said that it has nothing left to do.
    pub(super) exhausted: AtomicBool,
    /// Bytes of messages that wait for their time.
    pub(super) delayed_bytes: AtomicU64,
    pub(super) delayed_dropped: AtomicU64,
    pub(super) failed_texts: Texts,
}

impl FlowRun {
    pub(super) fn new(index: usize, name: &str, kind: &FlowKind, end: &End, warm_up: WarmUp, seed: u64) -> Self {
        let schedule = Schedule::new(kind.pace());
        let turns = match kind {
            FlowKind::Stream(_) | FlowKind::Consume(_) => None,
            FlowKind::Session(Session { arrivals: Arrivals::Open { poisson: true, .. }, .. }) => {
                Some(Turns::new(Instants::poisson(mix(seed, &[hash(name), hash("arrivals")]))))
            }
            FlowKind::Session(_) => Some(Turns::new(Instants::Uniform(0))),
        };
        let ramp = match kind {
            FlowKind::Session(Session { arrivals: Arrivals::Closed { stages, .. }, .. }) => Ramp::new(stages),
            _ => None,
        };
        let window_start_ns = match warm_up {
            WarmUp::None => 0,
            WarmUp::Time(length) => length.as_nanos() as u64,
            WarmUp::Iterations(count) if turns.is_none() && schedule.is_paced() => {
                schedule.due_ns(count).unwrap_or(u64::MAX)
            }
            WarmUp::Iterations(_) => u64::MAX,
        };
        FlowRun {
            index,
            name: name.into(),
            workers: kind.workers(),
            schedule,
            began_ns: AtomicU64::new(0),
            end_by_ns: AtomicU64::new(u64::MAX),
            is_job: kind.is_job(end),
            ramp,
            turns,
            recorders: None,
            calls_guest: !matches!(kind, FlowKind::Consume(Consume { handler: false, .. })),
            readers: None,
            end: end.clone(),
            warm_up,
            window_start_ns: AtomicU64::new(window_start_ns),
            missed: AtomicU64::new(0),
            exhausted: AtomicBool::new(false),
            delayed_bytes: AtomicU64::new(0),
            delayed_dropped: AtomicU64::new(0),
            failed_texts: Texts::default(),
        }
    }

    /// The same for a flow that waits for something before it begins. It has no warm-up.
    pub(super) fn that_waits(self) -> Self {
        let never = || AtomicU64::new(u64::MAX);
        FlowRun { began_ns: never(), window_start_ns: never(), ..self }
    }

    /// Says when it begins.
    pub(super) fn begin(&self, at_ns: u64) {
        self.began_ns.store(at_ns, Relaxed);
        if let WarmUp::None = self.warm_up {
            self.window_start_ns.store(at_ns, Relaxed);
        }
    }

    /// When it began; `u64::MAX` if it has not.
    #[inline]
    pub(super) fn began_ns(&self) -> u64 {
        self.began_ns.load(Relaxed)
    }

    /// The run ends it then, if it has not ended before.
    pub(super) fn end_by(&self, at_ns: u64) {
        self.end_by_ns.fetch_min(at_ns, Relaxed);
    }

    /// It ends before it begins.
    pub(super) fn is_too_late(&self) -> bool {
        self.end_ns().is_some_and(|end| end <= self.began_ns())
    }

    pub(super) fn has_warm_up(&self) -> bool {
        self.warm_up != WarmUp::None
    }

    /// How many iterations the schedule has due before `until_ns`; `None` where it is unpaced.
    pub(super) fn due_before(&self, until_ns: u64) -> Option<u64> {
        self.schedule.count_within(until_ns.saturating_sub(self.began_ns()))
    }

    /// Whether what is sent has a time that it counts from: its iteration's, in a session that of its call, and in a consume
    /// flow the arrival of the record that it answers.
    #[inline]
    pub(super) fn is_timed(&self) -> bool {
        self.turns.is_some() || self.readers.is_some() || self.schedule.is_paced()
    }

    /// Whether its workers are to begin nothing more: consumers go on until the others are through.
    #[inline]
    pub(super) fn is_told_to_stop(&self, stop: &Stop) -> bool {
        if self.readers.is_some() { stop.is_closing() } else { stop.is_ending() }
    }

    /// Whether it ends by itself: a consume flow beside others does not.
    pub(super) fn ends_by_itself(&self) -> bool {
        self.readers.is_none() || self.end != End::default()
    }

    /// Whether an iteration is left out of the figures; `at_ns` is its intended time, or now in an unpaced flow.
    #[inline]
    pub(super) fn is_warm_up(&self, number: u64, at_ns: u64) -> bool {
        match self.warm_up {
            WarmUp::None => false,
            WarmUp::Iterations(count) => number < count,
            WarmUp::Time(length) => at_ns < length.as_nanos() as u64,
        }
    }

    /// How many of the `count` records from number `first`, that arrived at `at_ns`, are left out of the figures: the first
    /// ones.
    pub(super) fn warm_up_within(&self, first: u64, count: u64, at_ns: u64) -> u64 {
        match self.warm_up {
            WarmUp::None => 0,
            WarmUp::Iterations(all) => all.saturating_sub(first).min(count),
            WarmUp::Time(length) => {
                if at_ns < length.as_nanos() as u64 {
                    count
                } else {
                    0
                }
            }
        }
    }

    /// An iteration that counts begins now: the window of an unpaced flow, or of a session, with a warm-up by count begins
    /// with its first.
    #[inline]
    pub(super) fn measured_at(&self, now_ns: u64) {
        if self.window_start_ns.load(Relaxed) == u64::MAX {
            let _ = self.window_start_ns.compare_exchange(u64::MAX, now_ns, Relaxed, Relaxed);
        }
    }

    pub(super) fn window_start_ns(&self) -> Option<u64> {
        Some(self.window_start_ns.load(Relaxed)).filter(|start| *start != u64::MAX)
    }

    /// When it ends, as far as that is known by time.
    pub(super) fn end_ns(&self) -> Option<u64> {
        let after = |duration: Duration| Some(self.window_start_ns()?.saturating_add(duration.as_nanos() as u64));
        let by_run = Some(self.end_by_ns.load(Relaxed)).filter(|end| *end != u64::MAX);
        let by_stages = self.ramp.as_ref().map(|ramp| self.began_ns().saturating_add(ramp.end_ns()));
        self.end.duration.and_then(after).into_iter().chain(by_run).chain(by_stages).min()
    }

    /// Until when a worker may catch up with what was due before the end.
    pub(super) fn catch_up_until_ns(&self) -> Option<u64> {
        Some(self.end_ns()?.saturating_add(CATCH_UP_NS))
    }

    /// How many iterations of worker `worker` come before the measured ones, where that is known by number.
    pub(super) fn warm_up_share(&self, worker: u32) -> u64 {
        let count = match self.warm_up {
            WarmUp::Iterations(count) => count,
            WarmUp::Time(length) => self.schedule.count_within(length.as_nanos() as u64).unwrap_or(0),
            WarmUp::None => 0,
        };
        below(count, worker, self.workers)
    }

    /// How many of the flow's first `count` iterations are worker `worker`'s.
    pub(super) fn share(&self, count: u64, worker: u32) -> u64 {
        below(count, worker, self.workers)
    }

    /// How many measured iterations worker `worker` runs at most.
    pub(super) fn iterations_share(&self, worker: u32) -> Option<u64> {
        let before = match self.warm_up {
            WarmUp::Iterations(count) => count,
            _ => 0,
        };
        let last = before + self.end.iterations?;
        Some(below(last, worker, self.workers) - below(before, worker, self.workers))
    }

    /// How many measured messages worker `worker` sends at most.
    pub(super) fn messages_share(&self, worker: u32) -> Option<u64> {
        Some(below(self.end.messages?, worker, self.workers))
    }
}

/// How many of the numbers below `count` are `worker`'s: those that leave it as the rest of a division by `workers`.
fn below(count: u64, worker: u32, workers: u32) -> u64 {
    (count + workers as u64 - 1 - worker as u64) / workers as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Pace, Stream};

    fn flow(threads: u32, end: End, warm_up: WarmUp) -> FlowRun {
        let stream = Stream { threads, clients: 1, pace: Pace::Unpaced, batch: 100 };
        FlowRun::new(0, "write", &FlowKind::Stream(stream), &end, warm_up, 0)
    }

    #[test]
    fn shares_add_up() {
        for (threads, warm_up, count) in [(1, 0, 10), (3, 7, 100), (4, 1, 2), (4, 50_000, 500_003)] {
            let end = End { iterations: Some(count), messages: Some(count), ..Default::default() };
            let flow = flow(threads, end, WarmUp::Iterations(warm_up));
            let sum = |share: &dyn Fn(u32) -> u64| (0..threads).map(share).sum::<u64>();
            assert_eq!(sum(&|w| flow.iterations_share(w).expect("given")), count);
            assert_eq!(sum(&|w| flow.messages_share(w).expect("given")), count);
            assert_eq!(sum(&|w| flow.warm_up_share(w)), warm_up);
        }
    }

    #[test]
    fn a_flow_that_waits_counts_from_its_beginning_and_ends_with_the_run_at_the_latest() {
        let end = End { duration: Some(Duration::from_secs(5)), ..Default::default() };
        let flow = flow(1, end, WarmUp::None).that_waits();
        assert_eq!((flow.began_ns(), flow.window_start_ns(), flow.end_ns()), (u64::MAX, None, None));
        flow.begin(3_000_000_000);
        assert_eq!((flow.window_start_ns(), flow.end_ns()), (Some(3_000_000_000), Some(8_000_000_000)));
        flow.end_by(9_000_000_000);
        assert_eq!(flow.end_ns(), Some(8_000_000_000));
        flow.end_by(4_000_000_000);
        flow.end_by(6_000_000_000);
        assert_eq!(flow.end_ns(), Some(4_000_000_000));
    }

    #[test]
    fn the_window_of_an_unpaced_flow_begins_with_its_first_measured_iteration() {
        let end = End { duration: Some(Duration::from_secs(2)), ..Default::default() };
        let flow = flow(2, end, WarmUp::Iterations(10));
        assert_eq!((flow.window_start_ns(), flow.end_ns()), (None, None));
        flow.measured_at(500);
        flow.measured_at(900);
        assert_eq!((flow.window_start_ns(), flow.end_ns()), (Some(500), Some(2_000_000_500)));
        assert!(flow.is_warm_up(9, 0) && !flow.is_warm_up(10, 0));
    }
}
