//! What scenarios count themselves: counters and checks. Atomics, so that a call takes no lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

type Labels = Vec<(String, String)>;

/// Two numbers: passes and failures of a check; a counter uses the first.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) passed: AtomicU64,
    pub(super) failed: AtomicU64,
}

/// Different ones of a run.
const MOST: usize = 1_000;

/// Name, labels, and what was counted under them.
type Entry = (String, Labels, Arc<Tally>);

/// All counters, or all checks, of a run.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<Vec<Entry>>);

impl Registry {
    /// The same for the same name and labels.
    pub(super) fn open(&self, name: &str, labels: Labels) -> Result<Arc<Tally>, String> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, tally)) = entries.iter().find(|(n, l, _)| n == name && *l == labels) {
            return Ok(tally.clone());
        }
        if entries.len() >= MOST {
            return Err(format!("it opens more than {MOST} counters or checks"));
        }
        let tally = Arc::new(Tally::default());
        entries.push((name.into(), labels, tally.clone()));
        Ok(tally)
    }

    pub(super) fn counters(&self) -> Vec<CounterFigures> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = |(name, labels, tally): &Entry| CounterFigures {
            name: name.clone(),
            labels: labels.clone(),
            value: tally.passed.load(Relaxed),
        };
        sorted(entries.iter().map(figures), |one| (one.name.clone(), one.labels.clone()))
    }

    pub(super) fn checks(&self) -> Vec<CheckFigures> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = |(name, labels, tally): &Entry| CheckFigures {
            name: name.clone(),
            labels: labels.clone(),
            passed: tally.passed.load(Relaxed),
            failed: tally.failed.load(Relaxed),
        };
        sorted(entries.iter().map(figures), |one| (one.name.clone(), one.labels.clone()))
    }
}

/// In the same order in every run: who opened them first is chance.
fn sorted<T, K: Ord>(figures: impl Iterator<Item = T>, by: impl FnMut(&T) -> K) -> Vec<T> {
    let mut figures: Vec<T> = figures.collect();
    figures.sort_by_key(by);
    figures
}

/// A counter's value; warm-up is left out.
#[derive(Debug, Clone, Serialize)]
pub struct CounterFigures {
    /// As the scenario named it.
    pub name: String,
    /// Names and values.
    pub labels: Vec<(String, String)>,
    /// The sum.
    pub value: u64,
}

/// A check's counts; warm-up is left out.
#[derive(Debug, Clone, Serialize)]
pub struct CheckFigures {
    /// As the scenario named it.
    pub name: String,
    /// Names and values.
    pub labels: Vec<(String, String)>,
    /// How often it held.
    pub passed: u64,
    /// How often it did not.
    pub failed: u64,
}
