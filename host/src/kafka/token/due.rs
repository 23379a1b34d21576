//! When the next token is due: after four fifths of the last one's life, or after a failure.

use std::time::{Duration, SystemTime};

/// The part of its life after which a token is replaced.
const FRESH: f64 = 0.8;
/// The least time between two tries, and the first after a failure.
const LEAST: Duration = Duration::from_secs(1);
/// The most between two tries after failures.
const MOST: Duration = Duration::from_secs(10);

/// When to get a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// The time.
    pub(super) at: SystemTime,
    /// How many tries in a row have failed.
    failures: u32,
}

impl Due {
    /// A try that begins now.
    pub(super) fn start() -> Self {
        Due { at: SystemTime::now(), failures: 0 }
    }

    /// The try after this one, which begins now.
    pub(super) fn next(self) -> Self {
        Due { at: SystemTime::now(), ..self }
    }

    /// The try gave a token that lives until then.
    pub(super) fn got(self, expires: SystemTime) -> Self {
        let life = expires.duration_since(self.at).unwrap_or_default();
        Due { at: self.at + life.mul_f64(FRESH).max(LEAST), failures: 0 }
    }

    /// It gave none: again after 1, 2, 4 … 10 s, and when the last token expires.
    pub(super) fn failed(self, expires: SystemTime) -> Self {
        let again = self.at + LEAST.saturating_mul(1 << self.failures.min(10)).min(MOST);
        let at = if expires > self.at { again.min(expires.max(self.at + LEAST)) } else { again };
        Due { at, failures: self.failures + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn four_fifths_of_a_life() {
        let due = Due { at: seconds(100.0), failures: 3 };
        assert_eq!(due.got(seconds(1_100.0)), Due { at: seconds(900.0), failures: 0 });
        assert_eq!(due.got(seconds(100.1)).at, seconds(101.0));
        assert_eq!(due.got(seconds(50.0)).at, seconds(101.0));
    }

    #[test]
    fn failures_are_tried_again_ever_later_and_at_the_end() {
        let mut due = Due { at: seconds(0.0), failures: 0 };
        let mut waits = Vec::new();
        for _ in 0..7 {
            let next = due.failed(seconds(1_000_000.0));
            waits.push(next.at.duration_since(due.at).unwrap().as_secs());
            due = next;
        }
        assert_eq!(waits, [1, 2, 4, 8, 10, 10, 10]);
        let late = Due { at: seconds(100.0), failures: 6 };
        assert_eq!(late.failed(seconds(105.0)).at, seconds(105.0));
        assert_eq!(late.failed(seconds(100.2)).at, seconds(101.0));
        assert_eq!(late.failed(seconds(99.0)).at, seconds(110.0));
        assert_eq!(Due { at: seconds(0.0), failures: u32::MAX - 1 }.failed(seconds(0.0)).at, seconds(10.0));
    }
}
