//! Calls that wait for their messages' deliveries.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::errors::NO_ANSWER;
use super::replies::{Entry, Line};

/// What became of one message that a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// 0, or why not.
    pub code: i32,
    /// -1 if unknown.
    pub partition: i32,
    /// -1 if unknown.
    pub offset: i64,
    /// Handed over to acknowledged, in nanoseconds.
    pub latency_ns: u64,
}

impl Acknowledgement {
    /// Nothing is known yet.
    pub const PENDING: Acknowledgement = Acknowledgement { code: NO_ANSWER, partition: -1, offset: -1, latency_ns: 0 };
}

/// One waiting call.
#[derive(Debug, Default)]
pub struct Delivery {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    answers: Vec<Acknowledgement>,
    missing: usize,
}

impl Delivery {
    /// A call that waits for `count` messages.
    pub fn new(count: usize) -> Arc<Self> {
        let state = State { answers: vec![Acknowledgement::PENDING; count], missing: count };
        Arc::new(Delivery { state: Mutex::new(state), arrived: Condvar::new() })
    }

    /// Says what became of one of them.
    pub fn answer(&self, index: usize, answer: Acknowledgement) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.answers[index] = answer;
        state.missing -= 1;
        if state.missing == 0 {
            self.arrived.notify_all();
        }
    }

    /// Whether all are known.
    pub fn is_complete(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).missing == 0
    }

    /// What is known of each.
    pub fn answers(&self) -> Vec<Acknowledgement> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).answers.clone()
    }

    /// Waits until all are known, the time is up, or `stop` says so; it is asked every 50 ms.
    pub fn wait(&self, timeout: Duration, stop: impl Fn() -> bool) -> Vec<Acknowledgement> {
        let until = Instant::now() + timeout;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.missing > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stop() {
                break;
            }
            let slice = left.min(Duration::from_millis(50));
            state = self.arrived.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.answers.clone()
    }
}

/// The places of waiting messages of one client: what a message's tag points to.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    taken: Vec<Option<Waiter>>,
    free: Vec<u32>,
}

/// Who waits for what becomes of a message.
#[derive(Debug, Clone)]
pub(super) enum Waiter {
    /// A call, for its delivery; the message is its `index`th.
    Call { delivery: Arc<Delivery>, index: usize, operation: u32 },
    /// A request, which fails with it.
    Request { line: Arc<Line>, entry: Entry, operation: u32 },
}

impl Waiter {
    /// Says what became of the message.
    pub(super) fn answer(self, answer: Acknowledgement) -> Settled {
        match self {
            Waiter::Call { delivery, index, operation } => {
                delivery.answer(index, answer);
                Settled { operation, is_request: false }
            }
            Waiter::Request { line, entry, operation } => {
                if answer.code != 0 {
                    line.book.refuse(entry, answer.code);
                }
                Settled { operation, is_request: true }
            }
        }
    }
}

/// What a message was for of which it is known what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// The operation's number in the run.
    pub operation: u32,
    /// Its durations are those of its replies, and recorded with them.
    pub is_request: bool,
}

impl Waiting {
    /// A place for it; none when `most` are taken.
    pub(super) fn add(&self, waiter: Waiter, most: u32) -> Option<u32> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = places.free.pop() {
            places.taken[at as usize] = Some(waiter);
            return Some(at);
        }
        let at = places.taken.len() as u32;
        (at < most).then(|| {
            places.taken.push(Some(waiter));
            at
        })
    }

    /// Frees a place.
    pub(super) fn take(&self, at: u32) -> Option<Waiter> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let waiter = places.taken.get_mut(at as usize)?.take();
        if waiter.is_some() {
            places.free.push(at);
        }
        waiter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_messages() {
        let delivery = Delivery::new(2);
        let waiting = Waiting::default();
        let place = |index| waiting.add(Waiter::Call { delivery: delivery.clone(), index, operation: 0 }, 2);
        let (first, second) = (place(0).expect("free"), place(1).expect("free"));
        assert!(place(2).is_none(), "no more places than allowed");
        for (at, offset) in [(second, 8), (first, 7)] {
            let waiter = waiting.take(at).expect("taken once");
            waiter.answer(Acknowledgement { code: 0, partition: 0, offset, latency_ns: 1 });
        }
        let answers = delivery.wait(Duration::from_secs(10), || false);
        assert_eq!(answers.iter().map(|a| a.offset).collect::<Vec<_>>(), [7, 8]);
        assert!(waiting.take(first).is_none());
    }

    #[test]
    fn a_call_gives_up_when_told() {
        let answers = Delivery::new(1).wait(Duration::from_secs(60), || true);
        assert_eq!(answers, [Acknowledgement::PENDING]);
    }
}
