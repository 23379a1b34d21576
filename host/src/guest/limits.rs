//! What an instance may use, and the account of one call.

use wasmtime::{ResourceLimiter, Result};

use crate::measure::thread_cpu_ns;

/// What an instance may use.
#[derive(Debug, Clone, Copy)]
pub struct GuestLimits {
    /// Linear memory, in bytes.
    pub memory_bytes: u64,
    /// Processor time of a call, in nanoseconds; `setup` and `teardown` may use twice as much.
    pub call_ns: u64,
}

/// `setup` fills pools and starts a language's runtime; it may take longer than a call on the message path.
pub(super) const SETUP_FACTOR: u64 = 2;

/// The processor time of the current call. Time that the host works for the guest is not the guest's.
#[derive(Debug, Default)]
pub(super) struct Account {
    began_ns: u64,
    host_ns: u64,
    limit_ns: u64,
}

impl Account {
    pub(super) fn begin(&mut self, limit_ns: u64) {
        *self = Account { began_ns: thread_cpu_ns(), host_ns: 0, limit_ns };
    }

    /// The host worked since `from_ns` of the thread's processor time.
    pub(super) fn host_worked_since(&mut self, from_ns: u64) {
        self.host_ns += thread_cpu_ns() - from_ns;
    }

    /// What the guest itself has used.
    pub(super) fn guest_ns(&self) -> u64 {
        (thread_cpu_ns() - self.began_ns).saturating_sub(self.host_ns)
    }

    pub(super) fn is_overrun(&self) -> bool {
        self.guest_ns() > self.limit_ns
    }
}

/// Keeps an instance's memory within its limit, and remembers that it wanted more.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) limit_bytes: u64,
    /// Of all linear memories: a component may have several.
    pub(super) used_bytes: u64,
    /// In the current call.
    pub(super) refused: bool,
}

/// Entries of a table; plenty for any language's indirect calls.
const MOST_TABLE_ENTRIES: usize = 1_000_000;

impl ResourceLimiter for Memory {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let wanted = self.used_bytes - current as u64 + desired as u64;
        let granted = wanted <= self.limit_bytes;
        if granted {
            self.used_bytes = wanted;
        }
        self.refused |= !granted;
        Ok(granted)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        Ok(desired <= MOST_TABLE_ENTRIES)
    }
}
