//! This run, as a worker sees it: who it is, the parameters, time, the log, and the way out.
//!
//! Read parameters in `setup`: each call here but [`now`] and [`sleep`] may allocate.

mod clock;
mod log;
mod params;

use crate::host;

pub(crate) use clock::sleeps;
pub use clock::{now, sleep, unix_millis};
pub use log::{Level, info, log, warn};
pub use params::{Param, choice, param, param_list};

/// The flow's name in the manifest.
pub fn flow() -> String {
    host::flow()
}

/// This worker's number among the flow's workers on all hosts, from 0.
pub fn worker() -> u32 {
    host::worker()
}

/// How many workers the flow has on all hosts.
pub fn worker_count() -> u32 {
    host::worker_count()
}

/// The run's seed mixed with the flow, the worker, and how many instances this worker has had: a repeated run gives each
/// the same, and no two the same. For [`Rng::new`](crate::Rng::new).
pub fn seed() -> u64 {
    host::seed()
}

/// Differs in every run: put it where an older run's records must not be taken for this one's.
pub fn id() -> u64 {
    host::run_id()
}

/// Ends the whole run, as failed, with this reason in the report.
pub fn end_run(reason: &str) -> ! {
    host::end_run(reason)
}
