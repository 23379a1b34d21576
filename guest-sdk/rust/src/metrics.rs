//! What the scenario itself wants in the report. Opened in `setup`, copied freely.
//!
//! Labels, `&[("tenant", "diku")]`, split a row of the report: one for each combination.

use std::time::Duration;

use crate::batch::nanos;
use crate::bindings::khost::scenario::metrics::Label;
use crate::host;

fn labels(labels: &[(&str, &str)]) -> Vec<Label> {
    labels.iter().map(|(name, value)| Label { name: name.to_string(), value: value.to_string() }).collect()
}

/// What messages and durations count towards, instead of the flow: a row of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation(pub(crate) u32);

impl Operation {
    /// By the name that the report shows. The same name and labels give the same row.
    pub fn open(name: &str, by: &[(&str, &str)]) -> Self {
        Operation(host::open_operation(name, &labels(by)))
    }

    /// Records one duration, such as that of a transaction of several steps, as a success or a failure.
    pub fn observe(self, duration: Duration, ok: bool) {
        host::observe(self.0, nanos(duration), ok);
    }
}

/// A sum in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counter(u32);

impl Counter {
    /// By the name that the report shows.
    pub fn open(name: &str, by: &[(&str, &str)]) -> Self {
        Counter(host::open_counter(name, &labels(by)))
    }

    /// Adds to the sum.
    pub fn add(self, amount: u64) {
        host::add(self.0, amount);
    }
}

/// Something that should hold: passes and failures, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Check(u32);

impl Check {
    /// By the name that the report shows, such as `the reply is about the item`.
    pub fn open(name: &str, by: &[(&str, &str)]) -> Self {
        Check(host::open_check(name, &labels(by)))
    }

    /// Counts a pass or a failure, and hands `ok` on. A failed check does not fail the iteration.
    pub fn that(self, ok: bool) -> bool {
        host::check(self.0, ok);
        ok
    }
}
