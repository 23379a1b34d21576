//! Guests' log lines, at a rate that a person can read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::guest::Level;

/// Lines that may come at once.
const BURST: f64 = 50.0;
/// Lines a second after that.
const PER_SECOND: f64 = 10.0;

/// One line.
#[derive(Debug, Clone)]
pub struct LogLine {
    /// How much it matters.
    pub level: Level,
    /// Whose it is: the flow's name.
    pub flow: String,
    /// Which worker.
    pub worker: u32,
    /// The text.
    pub text: String,
}

/// The run's log: a token bucket before the one who prints.
#[derive(Debug)]
pub(super) struct Log {
    lines: Sender<LogLine>,
    tokens: Mutex<(f64, Instant)>,
    dropped: AtomicU64,
}

impl Log {
    pub(super) fn new(lines: Sender<LogLine>) -> Self {
        Log { lines, tokens: Mutex::new((BURST, Instant::now())), dropped: AtomicU64::new(0) }
    }

    pub(super) fn line(&self, line: LogLine) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (left, since) = *tokens;
        let left = (left + (now - since).as_secs_f64() * PER_SECOND).min(BURST);
        if left < 1.0 {
            *tokens = (left, now);
            self.dropped.fetch_add(1, Relaxed);
            return;
        }
        *tokens = (left - 1.0, now);
        // the run prints until its end; a line after that is of no interest
        let _ = self.lines.send(line);
    }

    /// How many lines were left out.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_counted() {
        let (sender, lines) = std::sync::mpsc::channel();
        let log = Log::new(sender);
        for n in 0..1_000 {
            log.line(LogLine { level: Level::Info, flow: "f".into(), worker: 0, text: n.to_string() });
        }
        let shown = lines.try_iter().count() as u64;
        assert!((50..=200).contains(&shown), "{shown}");
        assert_eq!(shown + log.dropped(), 1_000);
    }
}
