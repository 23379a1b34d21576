//! glibc's allocator, as the message path needs it. librdkafka allocates a message on the thread that sends it and frees
//! it on the one that takes its report, and a buffer of up to a megabyte for each request; by default the allocator gives
//! such memory back to the system at once and fetches it again, page by page, which costs processor time.

use std::sync::Once;

/// Requests' buffers come from the heap, not from mappings of their own.
const MMAP_THRESHOLD: i32 = 32 << 20;
/// A heap keeps what was freed at its end.
const TRIM_THRESHOLD: i32 = 512 << 20;
/// A heap grows by this much at a time.
const TOP_PAD: i32 = 64 << 20;

/// Once for the process.
pub(super) fn tune() {
    static ONCE: Once = Once::new();
    #[cfg(target_env = "gnu")]
    ONCE.call_once(|| {
        // SAFETY: mallopt only sets the allocator's parameters.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD);
            libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_THRESHOLD);
            libc::mallopt(libc::M_TOP_PAD, TOP_PAD);
        }
    });
}
