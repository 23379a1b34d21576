//! What all workers of a run share. Taken by reference on the hot path; nothing here locks there.

use std::collections::HashSet;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use super::counters::Registry;
use super::data::Data;
use super::log::Log;
use super::operations::Operations;
use super::stop::Stop;
use super::timestamps::Timestamps;
use crate::kafka::{Ids, Line, PartitionCounts};
use crate::measure::RunClock;
use crate::plan::Topic;

/// One run's.
pub(super) struct Shared {
    pub(super) run_id: u64,
    pub(super) clock: RunClock,
    pub(super) stop: Stop,
    pub(super) topics: Vec<Topic>,
    /// How many partitions they have.
    pub(super) partitions: Arc<PartitionCounts>,
    pub(super) operations: Operations,
    pub(super) counters: Registry,
    pub(super) checks: Registry,
    pub(super) bodies: Bodies,
    pub(super) data: Data,
    /// What makes requests' ids.
    pub(super) ids: Arc<Ids>,
    /// The channels, in the plan's order.
    pub(super) lines: Vec<Arc<Line>>,
    pub(super) log: Log,
    pub(super) traps: Traps,
    pub(super) timestamps: Timestamps,
}

/// What guests did wrong, by text.
#[derive(Debug, Default)]
pub(super) struct Traps {
    pub(super) count: AtomicU32,
    pub(super) overruns: AtomicU32,
    pub(super) texts: Texts,
}

/// Different texts, with how often each came; bounded.
#[derive(Debug, Default)]
pub(super) struct Texts(Mutex<Vec<(String, u64)>>);

/// Different texts that are kept.
const MOST_TEXTS: usize = 20;

impl Texts {
    pub(super) fn add(&self, text: &str) {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let others = MOST_TEXTS - 1;
        let at = texts.iter().position(|(known, _)| known == text).unwrap_or(texts.len().min(others));
        match texts.get_mut(at) {
            Some((_, count)) => *count += 1,
            None => texts.push((if at == others { "other texts" } else { text }.into(), 1)),
        }
    }

    pub(super) fn list(&self) -> Vec<(String, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Bytes that guests share with khost. The same bytes of many workers are kept once, until the run is over.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    known: Mutex<HashSet<Arc<[u8]>>>,
}

impl Bodies {
    pub(super) fn keep(&self, bytes: &[u8]) -> Arc<[u8]> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(body) = known.get(bytes) {
            return body.clone();
        }
        let body: Arc<[u8]> = bytes.into();
        known.insert(body.clone());
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_are_kept_once() {
        let bodies = Bodies::default();
        let (a, b, c) = (bodies.keep(b"same"), bodies.keep(b"same"), bodies.keep(b"other"));
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &c));
    }

    #[test]
    fn texts_are_bounded_and_their_counts_add_up() {
        let texts = Texts::default();
        (0..100).for_each(|n| texts.add(&format!("text {n}")));
        texts.add("text 0");
        let list = texts.list();
        assert!(list.len() <= MOST_TEXTS);
        assert_eq!(list.iter().map(|(_, n)| n).sum::<u64>(), 101);
        assert_eq!(list[0], ("text 0".into(), 2));
    }
}
