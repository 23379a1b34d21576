//! INT and TERM: the first ends the load and drains, the second gives up the drain, the third ends the process.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use signal_hook::consts::{SIGINT, SIGTERM};

/// So many of them end the process, whatever it waits for.
const AT_ONCE: usize = 3;

static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

/// Counts them from now on.
pub(super) fn listen() -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        // SAFETY: the handler only counts, or ends the process; both are safe within a signal handler.
        unsafe { signal_hook::low_level::register(signal, count_one) }?;
    }
    Ok(())
}

fn count_one() {
    if INTERRUPTS.fetch_add(1, Relaxed) + 1 >= AT_ONCE {
        // SAFETY: _exit may be called within a signal handler.
        unsafe { libc::_exit(130) }
    }
}

/// How many came.
pub(super) fn count() -> usize {
    INTERRUPTS.load(Relaxed)
}
