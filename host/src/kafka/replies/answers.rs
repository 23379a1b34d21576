//! Calls that wait for replies: what came for each of their requests or tickets, and who is woken by it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A header's name and value; `None` is null.
pub(super) type Header = (Box<[u8]>, Option<Box<[u8]>>);

/// A reply that a guest gets to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The topic's number in the plan.
    pub topic: usize,
    /// From 0.
    pub partition: i32,
    /// Its place in the partition.
    pub offset: i64,
    /// Milliseconds since the Unix epoch, as the broker stores it.
    pub timestamp: i64,
    /// `None` is Kafka's null.
    pub key: Option<Box<[u8]>>,
    /// `None` is Kafka's null.
    pub value: Option<Box<[u8]>>,
    /// Names and values, in their order.
    pub headers: Vec<Header>,
}

/// What came for one request or ticket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Nothing more will come; then `code` says why.
    pub done: bool,
    /// 0, or why not all came.
    pub code: i32,
    /// How many replies came.
    pub count: u32,
    /// How many of them are failures.
    pub failed: u32,
    /// To the last of them, in nanoseconds.
    pub latency_ns: u64,
    /// The last ones.
    pub replies: VecDeque<Reply>,
}

/// Those of one waiting call, or of one call's tickets.
#[derive(Debug, Default)]
pub struct Answers {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    each: Vec<Answer>,
    /// The caller is woken when so many more are done.
    wake_after: usize,
}

impl Answers {
    /// Of `count` requests.
    pub fn new(count: usize) -> Arc<Self> {
        let state = State { each: vec![Answer::default(); count], wake_after: count };
        Arc::new(Answers { state: Mutex::new(state), arrived: Condvar::new() })
    }

    /// A place for one more.
    pub fn add(&self) -> usize {
        let mut state = self.lock();
        state.each.push(Answer::default());
        state.each.len() - 1
    }

    /// Changes one of them; wakes the caller where that was what it waits for.
    pub(super) fn change(&self, at: usize, change: impl FnOnce(&mut Answer)) {
        let mut state = self.lock();
        change(&mut state.each[at]);
        if state.each[at].done {
            state.wake_after = state.wake_after.saturating_sub(1);
            if state.wake_after == 0 {
                self.arrived.notify_all();
            }
        }
    }

    /// Waits until `least` of those at `places` are done, or the time is up; answers whether they are.
    pub fn wait(&self, places: &[usize], least: usize, until: Instant) -> bool {
        let mut state = self.lock();
        loop {
            let done = places.iter().filter(|at| state.each[**at].done).count();
            if done >= least {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state.wake_after = least - done;
            state = self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What came for one; of one that is done, the replies are gone from here.
    pub fn take(&self, at: usize) -> Answer {
        let one = &mut self.lock().each[at];
        if !one.done {
            return one.clone();
        }
        Answer { replies: std::mem::take(&mut one.replies), ..one.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_waits_is_woken_when_enough_are_done() {
        let answers = Answers::new(3);
        let done = |at| answers.change(at, |one| (one.done, one.count) = (true, 1));
        std::thread::scope(|scope| {
            let waiting = &answers;
            let until = Instant::now() + Duration::from_secs(60);
            let two = scope.spawn(move || waiting.wait(&[0, 2], 2, until));
            done(1);
            done(0);
            assert!(!answers.wait(&[0, 2], 2, Instant::now()));
            done(2);
            assert!(two.join().expect("no panic"));
        });
        assert_eq!(answers.add(), 3);
        assert!(!answers.wait(&[3], 1, Instant::now() + Duration::from_millis(5)));
        assert_eq!(answers.take(1).count, 1);
    }
}
