//! How a run comes to its end: one place that everybody asks.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// Why a run ended before its plan was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By a signal.
    Interrupted,
    /// By something that fails the run.
    Failed(String),
}

const RUNNING: u8 = 0;
const ENDING: u8 = 1;
const OVER: u8 = 2;

/// Shared by all of a run. It only moves forward: running, ending (nothing new begins), over (nothing waits any more).
#[derive(Debug, Default)]
pub struct Stop {
    state: AtomicU8,
    why: Mutex<Option<Ended>>,
}

impl Stop {
    /// Nothing new begins from now on.
    pub fn end(&self) {
        self.state.fetch_max(ENDING, Ordering::AcqRel);
    }

    /// The same, with a reason; the first one counts.
    pub fn end_because(&self, why: Ended) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.end();
    }

    /// Nothing waits from now on, whatever is still open.
    pub fn give_up(&self) {
        self.state.fetch_max(OVER, Ordering::AcqRel);
    }

    /// Whether nothing new may begin.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.state.load(Ordering::Acquire) != RUNNING
    }

    /// Whether nothing may wait.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == OVER
    }

    /// Why it ended early.
    pub fn why(&self) -> Option<Ended> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_only_moves_forward_and_the_first_reason_counts() {
        let stop = Stop::default();
        assert!(!stop.is_ending());
        stop.end_because(Ended::Interrupted);
        stop.end_because(Ended::Failed("later".into()));
        assert!(stop.is_ending() && !stop.is_over());
        stop.give_up();
        stop.end();
        assert!(stop.is_over());
        assert_eq!(stop.why(), Some(Ended::Interrupted));
    }
}
