//! How a run comes to its end: one place that everybody asks.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

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
const CLOSING: u8 = 2;
const OVER: u8 = 3;

/// Shared by all of a run. It only moves forward: running, ending (nothing new begins), closing (consumers
/// stop, too), over (nothing waits any more).
#[derive(Debug, Default)]
pub struct Stop {
    state: AtomicU8,
    why: Mutex<Option<Ended>>,
    sleepers: Mutex<Vec<Thread>>,
}

impl Stop {
    /// Nothing new begins from now on.
    pub fn end(&self) {
        if self.state.fetch_max(ENDING, Ordering::AcqRel) < ENDING {
            self.wake();
        }
    }

    /// The same, with a reason; the first one counts.
    pub fn end_because(&self, why: Ended) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.end();
    }

    /// Consumers stop: what the run has sent is through.
    pub fn close(&self) {
        if self.state.fetch_max(CLOSING, Ordering::AcqRel) < CLOSING {
            self.wake();
        }
    }

    /// Nothing waits from now on, whatever is still open.
    pub fn give_up(&self) {
        if self.state.fetch_max(OVER, Ordering::AcqRel) < OVER {
            self.wake();
        }
    }

    /// The calling thread will be woken out of [`Stop::sleep`] when the run ends.
    pub fn enlist(&self) {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner).push(std::thread::current());
    }

    /// Sleeps without waking in between, as thousands of threads do it: an enlisted thread's. It answers true after
    /// `duration`, and false as soon as the run is ending or `leaves` says so, which is asked when somebody calls
    /// [`Stop::wake`].
    pub fn sleep(&self, duration: Duration, leaves: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        loop {
            if self.is_ending() || leaves() {
                return false;
            }
            let left = duration.saturating_sub(began.elapsed());
            if left.is_zero() {
                return true;
            }
            std::thread::park_timeout(left);
        }
    }

    /// Makes enlisted threads that sleep look around.
    pub fn wake(&self) {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Thread::unpark);
    }

    /// Whether nothing new may begin.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.state.load(Ordering::Acquire) != RUNNING
    }

    /// Whether consumers are to stop.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.state.load(Ordering::Acquire) >= CLOSING
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
    fn who_sleeps_is_woken_by_the_end() {
        let stop = Stop::default();
        stop.enlist();
        assert!(stop.sleep(Duration::from_millis(1), || false));
        assert!(!stop.sleep(Duration::from_secs(60), || true));
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                stop.enlist();
                stop.sleep(Duration::from_secs(60), || false)
            });
            std::thread::sleep(Duration::from_millis(20));
            stop.end();
            assert!(!sleeper.join().expect("no panic"));
        });
        assert!(!stop.sleep(Duration::from_secs(60), || false));
    }

    #[test]
    fn it_only_moves_forward_and_the_first_reason_counts() {
        let stop = Stop::default();
        assert!(!stop.is_ending());
        stop.end_because(Ended::Interrupted);
        stop.end_because(Ended::Failed("later".into()));
        assert!(stop.is_ending() && !stop.is_closing());
        stop.close();
        assert!(stop.is_ending() && stop.is_closing() && !stop.is_over());
        stop.give_up();
        stop.end();
        assert!(stop.is_over());
        assert_eq!(stop.why(), Some(Ended::Interrupted));
    }
}
