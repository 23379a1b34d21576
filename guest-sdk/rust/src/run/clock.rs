//! Time, as khost tells it: a component has no clock of its own.

use std::cell::Cell;
use std::time::Duration;

use crate::batch::nanos;
use crate::{Error, Result, host};

/// Now on khost's monotonic clock, for differences.
pub fn now() -> Duration {
    Duration::from_nanos(host::now())
}

/// Milliseconds since the Unix epoch.
pub fn unix_millis() -> i64 {
    host::unix_millis()
}

/// Waits. In a stream this holds up the worker's whole schedule.
///
/// Errors: [`Error::ENDING`] when the run ends meanwhile; hand it on with `?`.
pub fn sleep(duration: Duration) -> Result<(), Error> {
    SLEEPS.set(true);
    if host::sleep(nanos(duration)) { Ok(()) } else { Err(Error::ENDING) }
}

thread_local! {
    static SLEEPS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this worker has ever slept. One that does takes time between its records, so the messages of one are not to wait
/// for the next.
pub(crate) fn sleeps() -> bool {
    SLEEPS.get()
}
