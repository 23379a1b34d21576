//! What became of requests, and of announced replies.

use serde::Serialize;

/// Counts that add up: `sent` is the sum of the others once nothing is pending any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Requests that were sent, or expectations that were announced.
    pub sent: u64,
    /// All that was expected came, and nothing of it was a failure.
    pub replied: u64,
    /// A reply was a failure, or the request was not acknowledged.
    pub failed: u64,
    /// Not all came in time.
    pub timed_out: u64,
    /// A request that was pending when the run was given up; an expectation that nobody waited for any more.
    pub unanswered: u64,
}

impl Asked {
    /// Adds another one's counts.
    pub fn add(&mut self, other: &Asked) {
        self.sent += other.sent;
        self.replied += other.replied;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.unanswered += other.unanswered;
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Asked::default()
    }
}
