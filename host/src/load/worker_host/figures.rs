//! What one worker's instance has opened of the scenario's own figures. A text as error is a mistake of the scenario.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::guest::Labels;
use crate::load::counters::Tally;
use crate::load::shared::Shared;

/// Operations, counters and checks.
#[derive(Default)]
pub(super) struct OpenFigures {
    operations: u32,
    counters: Vec<Arc<Tally>>,
    checks: Vec<Arc<Tally>>,
}

impl OpenFigures {
    /// Forgets what the last instance opened.
    pub(super) fn reset(&mut self) {
        *self = OpenFigures::default();
    }

    pub(super) fn open_operation(
        &mut self,
        shared: &Shared,
        flow: usize,
        name: &str,
        labels: Labels,
    ) -> Result<u32, String> {
        let handle = shared.operations.open(flow, name, labels)?;
        self.operations = self.operations.max(handle);
        Ok(handle)
    }

    #[inline]
    pub(super) fn check_operation(&self, operation: u32) -> Result<(), String> {
        if operation > self.operations {
            return Err(format!("{operation} is no operation that was opened"));
        }
        Ok(())
    }

    pub(super) fn open_counter(&mut self, shared: &Shared, name: &str, labels: Labels) -> Result<u32, String> {
        self.counters.push(shared.counters.open(name, labels)?);
        Ok(self.counters.len() as u32)
    }

    pub(super) fn add(&self, counter: u32, amount: u64, counts: bool) -> Result<(), String> {
        let tally = tally(&self.counters, counter, "counter")?;
        if counts {
            tally.passed.fetch_add(amount, Relaxed);
        }
        Ok(())
    }

    pub(super) fn open_check(&mut self, shared: &Shared, name: &str, labels: Labels) -> Result<u32, String> {
        self.checks.push(shared.checks.open(name, labels)?);
        Ok(self.checks.len() as u32)
    }

    pub(super) fn check(&self, check: u32, ok: bool, counts: bool) -> Result<(), String> {
        let tally = tally(&self.checks, check, "check")?;
        if counts {
            if ok { &tally.passed } else { &tally.failed }.fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

fn tally<'t>(list: &'t [Arc<Tally>], handle: u32, what: &str) -> Result<&'t Tally, String> {
    let tally = handle.checked_sub(1).and_then(|at| list.get(at as usize));
    tally.map(Arc::as_ref).ok_or_else(|| format!("{handle} is no {what} that was opened"))
}
