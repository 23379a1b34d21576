//! Whose turn it is in a session flow: each iteration is taken once, by the user who runs it. Pure but for a lock, which
//! is taken once an iteration.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::draws::Draws;
use super::flow::FlowRun;
use super::schedule::Schedule;

/// One iteration, for one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// When it is meant to begin, in nanoseconds since the load's start.
    pub(super) due_ns: u64,
    /// It is left out of the figures.
    pub(super) warm_up: bool,
    /// There are none after it.
    pub(super) last: bool,
}

/// When the iterations of an open load are due, in order, counted from the flow's beginning.
#[derive(Debug, Clone)]
pub(super) enum Instants {
    /// The schedule's own: this number is next.
    Uniform(u64),
    /// At random: a Poisson process whose rate is the schedule's. Arrival n is due where the schedule has reached the sum
    /// of n draws of mean 1.
    Poisson { reached: f64, draws: Draws },
}

impl Instants {
    pub(super) fn poisson(seed: u64) -> Self {
        Instants::Poisson { reached: 0.0, draws: Draws::new(seed) }
    }

    /// None when the schedule has ended.
    pub(super) fn next(&mut self, schedule: &Schedule) -> Option<u64> {
        match self {
            Instants::Uniform(number) => {
                *number += 1;
                schedule.due_ns(*number - 1)
            }
            Instants::Poisson { reached, draws } => {
                *reached += draws.exponential();
                schedule.reaches_ns(*reached)
            }
        }
    }
}

/// A flow's.
#[derive(Debug)]
pub(super) struct Turns {
    state: Mutex<State>,
    used_up: AtomicBool,
}

#[derive(Debug)]
struct State {
    instants: Instants,
    /// Turns taken, warm-up included, and without it.
    taken: u64,
    measured: u64,
}

impl State {
    fn next_due_ns(&mut self, flow: &FlowRun) -> Option<u64> {
        Some(flow.began_ns().saturating_add(self.instants.next(&flow.schedule)?))
    }
}

impl Turns {
    /// `instants` are those of an open load.
    pub(super) fn new(instants: Instants) -> Self {
        Turns { state: Mutex::new(State { instants, taken: 0, measured: 0 }), used_up: AtomicBool::new(false) }
    }

    /// The next iteration of an open load; none when there are no more.
    pub(super) fn next(&self, flow: &FlowRun) -> Option<Turn> {
        let mut state = self.state();
        if self.are_used_up() {
            return None;
        }
        let due_ns = state.next_due_ns(flow);
        let turn = due_ns.and_then(|due_ns| self.take(&mut state, flow, due_ns));
        if turn.is_none_or(|turn| flow.end_ns().is_some_and(|end| turn.due_ns >= end)) {
            self.used_up.store(true, Relaxed);
            return None;
        }
        turn
    }

    /// An iteration for a user who is ready for it since `ready_ns`; none when they are used up.
    pub(super) fn claim(&self, flow: &FlowRun, ready_ns: u64) -> Option<Turn> {
        let mut state = self.state();
        self.take(&mut state, flow, ready_ns)
    }

    fn take(&self, state: &mut State, flow: &FlowRun, due_ns: u64) -> Option<Turn> {
        let warm_up = flow.is_warm_up(state.taken, due_ns);
        let left = flow.end.iterations.map(|most| most.saturating_sub(state.measured));
        if !warm_up && left == Some(0) {
            self.used_up.store(true, Relaxed);
            return None;
        }
        state.taken += 1;
        let last = !warm_up && left == Some(1);
        if !warm_up {
            state.measured += 1;
            flow.measured_at(due_ns);
        }
        if last {
            self.used_up.store(true, Relaxed);
        }
        Some(Turn { due_ns, warm_up, last })
    }

    /// A turn that its user did not use: the scenario had nothing left to do, or the run's end comes before it.
    pub(super) fn give_back(&self, turn: Turn) {
        if !turn.warm_up {
            self.state().measured -= 1;
        }
    }

    /// Whether nobody gets another one.
    pub(super) fn are_used_up(&self) -> bool {
        self.used_up.load(Relaxed)
    }

    /// Measured turns that were taken.
    pub(super) fn measured(&self) -> u64 {
        self.state().measured
    }

    /// Iterations of an open load that were due before `until_ns` and that nobody took.
    pub(super) fn left_behind(&self, flow: &FlowRun, until_ns: u64) -> u64 {
        let mut state = self.state();
        let most = flow.end.iterations.map_or(u64::MAX, |most| most.saturating_sub(state.measured));
        let mut left = 0;
        while left < most && state.next_due_ns(flow).is_some_and(|due| due < until_ns) {
            left += 1;
        }
        left
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::{Arrivals, End, FlowKind, Pace, Rate, Session, Stage, WarmUp};

    fn instants(schedule: &Schedule, seed: u64, count: usize) -> Vec<u64> {
        let mut instants = Instants::poisson(seed);
        (0..count).map_while(|_| instants.next(schedule)).collect()
    }

    fn rate(text: &str) -> Rate {
        Rate::parse(text).expect(text)
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_variance_of_an_exponential_distribution() {
        let schedule = Schedule::Even(rate("1000/s"));
        let due = instants(&schedule, 1, 200_000);
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        let short = gaps.iter().filter(|gap| **gap < 0.1).count() as f64 / gaps.len() as f64;
        assert!((short - (1.0 - (-0.1f64).exp())).abs() < 0.005, "{short} are shorter than a tenth of the mean");
    }

    #[test]
    fn the_same_seed_has_the_same_arrivals() {
        let schedule = Schedule::Even(rate("7/s"));
        assert_eq!(instants(&schedule, 9, 1_000), instants(&schedule, 9, 1_000));
        assert_ne!(instants(&schedule, 9, 10), instants(&schedule, 10, 10));
    }

    #[test]
    fn poisson_arrivals_follow_stages() {
        let stage = |from, to| Stage { length: Duration::from_secs(100), from: rate(from), to: rate(to) };
        let schedule = Schedule::new(&Pace::Stages(vec![stage("0/s", "200/s"), stage("200/s", "200/s")]));
        let due = instants(&schedule, 3, 1_000_000);
        let within = |from: u64, to: u64| due.iter().filter(|ns| (from..to).contains(&(*ns / 1_000_000_000))).count();
        for (from, to, expected) in [(0, 50, 2_500), (50, 100, 7_500), (100, 200, 20_000)] {
            let count = within(from, to);
            assert!(count.abs_diff(expected) < expected / 10, "{count} arrivals from {from} s to {to} s");
        }
        assert!(due.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    fn flow(arrivals: Arrivals, end: End, warm_up: WarmUp) -> FlowRun {
        let session = Session { users: 2, arrivals, clients: 1 };
        FlowRun::new(0, "users", &FlowKind::Session(session), &end, warm_up, 0)
    }

    #[test]
    fn users_share_the_iterations_of_their_flow() {
        let closed = Arrivals::Closed { think_time: None, pace: None, stages: Vec::new() };
        let end = End { iterations: Some(3), ..End::default() };
        let flow = flow(closed, end, WarmUp::Iterations(2));
        let turns = flow.turns.as_ref().expect("a session has turns");
        let taken: Vec<_> = (10..20).map_while(|ready| turns.claim(&flow, ready)).collect();
        let turn = |due_ns, warm_up, last| Turn { due_ns, warm_up, last };
        let expected = [
            turn(10, true, false),
            turn(11, true, false),
            turn(12, false, false),
            turn(13, false, false),
            turn(14, false, true),
        ];
        assert_eq!(taken, expected);
        assert!(turns.are_used_up());
        assert_eq!(flow.window_start_ns(), Some(12));
    }

    #[test]
    fn an_open_load_ends_with_its_time_and_what_nobody_took_is_counted() {
        let open = || Arrivals::Open { pace: Pace::Rate(rate("10/s")), poisson: false };
        let end = End { duration: Some(Duration::from_secs(1)), ..End::default() };
        let by_time = flow(open(), end, WarmUp::Time(Duration::from_secs(1)));
        let turns = by_time.turns.as_ref().expect("a session has turns");
        let taken: Vec<_> = std::iter::from_fn(|| turns.next(&by_time)).collect();
        assert_eq!((taken.len(), taken.iter().filter(|turn| turn.warm_up).count()), (20, 10));
        let end = End { iterations: Some(8), ..End::default() };
        let by_count = flow(open(), end, WarmUp::None);
        let turns = by_count.turns.as_ref().expect("a session has turns");
        assert_eq!((0..5).filter_map(|_| turns.next(&by_count)).count(), 5);
        assert_eq!(turns.left_behind(&by_count, 650_000_000), 2);
    }
}
