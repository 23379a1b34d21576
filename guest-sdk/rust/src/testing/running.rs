//! A worker of a test: runs iterations, handles records, and shows what came of it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::state::{Row, State, enter};
use super::{Record, Sent, record};
use crate::Batch;
use crate::batch::nanos;
use crate::run::Level;
use crate::worker::{self, Worker};

/// One worker of a flow, set up. [`Host`](super::Host) starts it.
pub struct Running {
    state: Rc<RefCell<State>>,
    worker: Box<dyn Worker>,
    out: Batch,
    next: u64,
}

/// What came of one call of the flow.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// How many iterations were run, or records handled: fewer than asked for say that nothing is left to do.
    pub ran: u32,
    /// What was sent, in its order.
    pub messages: Vec<Sent>,
    /// What failed.
    pub failures: Vec<Failure>,
}

/// An iteration or record that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its number within the call, from 0; `None` for the whole call.
    pub iteration: Option<u32>,
    /// Why.
    pub text: String,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a worker of `{}` after {} iterations", self.state.borrow().flow, self.next)
    }
}

impl Running {
    pub(crate) fn new(state: Rc<RefCell<State>>, worker: Box<dyn Worker>) -> Self {
        Running { state, worker, out: Batch::default(), next: 0 }
    }

    /// Runs the next `count` iterations in one call and answers what they sent.
    ///
    /// Panics when one of them fails; [`call`](Running::call) looks at failures.
    #[track_caller]
    pub fn iterate(&mut self, count: u32) -> Vec<Sent> {
        let call = self.call(count);
        assert!(call.failures.is_empty(), "iterations failed: {:?}", call.failures);
        call.messages
    }

    /// Runs the next `count` iterations in one call.
    pub fn call(&mut self, count: u32) -> Call {
        let first = self.next;
        self.next += count as u64;
        self.collect(|worker, out| worker.iterate(first, count, out))
    }

    /// Hands these records over in one call.
    pub fn handle(&mut self, records: &[Record]) -> Call {
        let records = record::batch(records, &self.state.borrow());
        self.collect(|worker, out| worker.handle(&records, out))
    }

    /// Ends the flow. Errors: what `teardown` returns.
    pub fn teardown(mut self) -> Result<(), String> {
        enter(&self.state, || self.worker.teardown()).map_err(|error| worker::text(&*error))
    }

    fn collect(&mut self, run: impl FnOnce(&mut dyn Worker, &mut Batch) -> u32) -> Call {
        let (worker, out) = (self.worker.as_mut(), &mut self.out);
        let ran = enter(&self.state, || {
            let ran = run(worker, out);
            out.produce();
            ran
        });
        let mut state = self.state.borrow_mut();
        Call { ran, messages: std::mem::take(&mut state.sent), failures: std::mem::take(&mut state.failures) }
    }

    /// Runs `call` as if the flow did.
    #[cfg(test)]
    pub(crate) fn within<T>(&self, call: impl FnOnce() -> T) -> T {
        enter(&self.state, call)
    }

    /// What [`run::now`](crate::run::now) would say.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.state.borrow().now)
    }

    /// Lets this much time pass.
    pub fn advance(&mut self, by: Duration) {
        self.state.borrow_mut().now += nanos(by);
    }

    /// From here on the run is ending: [`run::sleep`](crate::run::sleep) says so.
    pub fn end(&mut self) {
        self.state.borrow_mut().ending = true;
    }

    /// The lines of the log so far.
    pub fn logs(&self) -> Vec<(Level, String)> {
        self.state.borrow().logs.clone()
    }

    /// A counter's sum; 0 if there is none of this name. With labels its name is `items{tenant=diku}`.
    pub fn counter(&self, name: &str) -> u64 {
        self.row(name, |row| row.sum)
    }

    /// How often a check passed, and how often it failed.
    pub fn check(&self, name: &str) -> (usize, usize) {
        self.row(name, |row| {
            let passed = row.observed.iter().filter(|(_, ok)| *ok).count();
            (passed, row.observed.len() - passed)
        })
    }

    /// What an operation has observed: durations, and whether each was a success.
    pub fn observed(&self, name: &str) -> Vec<(Duration, bool)> {
        self.row(name, |row| row.observed.iter().map(|(duration, ok)| (Duration::from_nanos(*duration), *ok)).collect())
    }

    fn row<T: Default>(&self, name: &str, read: impl FnOnce(&Row) -> T) -> T {
        self.state.borrow().rows.iter().find(|row| row.name == name).map(read).unwrap_or_default()
    }
}
