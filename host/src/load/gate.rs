//! Where a flow's workers wait, set up and ready, until the flow begins.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::stop::Stop;

/// One flow's.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    /// The flow begins then.
    Begins(Instant),
    /// It never does.
    Never,
}

impl Gate {
    /// Lets all through. The start may lie ahead: the end of the warm-up, or as it takes a while until thousands of
    /// threads are awake.
    pub(super) fn open(&self, start: Instant) {
        self.set(State::Begins(start));
    }

    /// Sends those away who still wait.
    pub(super) fn close(&self) {
        self.set(State::Never);
    }

    /// Only what waits changes.
    fn set(&self, state: State) {
        let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == State::Waiting {
            *known = state;
            self.changed.notify_all();
        }
    }

    /// Waits no longer than this to be told; answers whether it is known when the flow begins, or that it never does.
    pub(super) fn is_decided_within(&self, at_most: Duration) -> bool {
        let known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |state: &mut State| *state == State::Waiting;
        let waited = self.changed.wait_timeout_while(known, at_most, waits);
        *waited.unwrap_or_else(PoisonError::into_inner).0 != State::Waiting
    }

    /// How far ahead the start is, if it is known and lies ahead.
    pub(super) fn is_ahead_by(&self) -> Duration {
        match *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Begins(start) => start.saturating_duration_since(Instant::now()),
            State::Waiting | State::Never => Duration::ZERO,
        }
    }

    /// Waits for the start; answers false where there is none, as the run ends before, or `leaves` says so. The calling
    /// thread is enlisted with `stop`, which wakes it.
    pub(super) fn wait(&self, stop: &Stop, leaves: impl Fn() -> bool) -> bool {
        let known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |state: &mut State| *state == State::Waiting;
        let state = *self.changed.wait_while(known, waits).unwrap_or_else(PoisonError::into_inner);
        match state {
            State::Begins(start) => {
                let ahead = start.saturating_duration_since(Instant::now());
                ahead == Duration::ZERO || stop.sleep(ahead, leaves)
            }
            State::Waiting | State::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn who_waits_begins_at_the_start_and_never_where_there_is_none() {
        let (gate, stop) = (Gate::default(), Stop::default());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| (gate.wait(&stop, || false), Instant::now()));
            let start = Instant::now() + Duration::from_millis(30);
            gate.open(start);
            let (begins, at) = waiter.join().expect("no panic");
            assert!(begins && at >= start);
        });
        // what is open stays so
        gate.close();
        assert!(gate.wait(&stop, || false));
        let closed = Gate::default();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| closed.wait(&stop, || false));
            closed.close();
            assert!(!waiter.join().expect("no panic"));
        });
        closed.open(Instant::now());
        assert!(!closed.wait(&stop, || false));
    }

    #[test]
    fn the_end_of_the_run_wakes_who_waits_for_a_start_that_lies_ahead() {
        let (gate, stop) = (Gate::default(), Stop::default());
        gate.open(Instant::now() + HOUR);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                stop.enlist();
                gate.wait(&stop, || false)
            });
            stop.end();
            assert!(!waiter.join().expect("no panic"));
        });
    }
}
