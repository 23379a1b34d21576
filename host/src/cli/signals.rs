//! INT and TERM: the first ends the load and drains, the second gives up at once.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use signal_hook::consts::{SIGINT, SIGTERM};

static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

/// Counts them from now on.
pub(super) fn listen() -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        // SAFETY: the handler only counts, which is safe within a signal handler.
        unsafe { signal_hook::low_level::register(signal, count_one) }?;
    }
    Ok(())
}

fn count_one() {
    INTERRUPTS.fetch_add(1, Relaxed);
}

/// How many came.
pub(super) fn count() -> usize {
    INTERRUPTS.load(Relaxed)
}
