//! Queues of partitions that are polled by turns, and waited for all at once: what has come to any of them wakes who waits.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;

use super::event::Queue;
use super::group::Partition;

/// A consumer's.
#[derive(Default)]
pub(super) struct Kept {
    queues: HashMap<Partition, Watched>,
    arrivals: Arc<Arrivals>,
}

impl Kept {
    /// The queue is forwarded nowhere.
    pub(super) fn add(&mut self, partition: Partition, queue: Queue) {
        let arrivals = self.arrivals.clone();
        // SAFETY: the queue is live; `Watched` keeps what it calls, and ends that.
        unsafe { rd::rd_kafka_queue_cb_event_enable(queue.0, Some(came), Arc::as_ptr(&arrivals) as *mut c_void) };
        self.queues.insert(partition, Watched { queue, _arrivals: arrivals });
    }

    pub(super) fn forget(&mut self, goes: impl Fn(Partition) -> bool) {
        self.queues.retain(|partition, _| !goes(*partition));
    }

    /// Takes records of these partitions: waits for the first at most this long.
    ///
    /// # Safety
    /// `taken` has room for `most`; the queues' client is live.
    pub(super) unsafe fn take(
        &self,
        read: &[Partition],
        taken: &mut Vec<*mut rd::rd_kafka_message_t>,
        most: usize,
        wait: Duration,
    ) {
        let until = Instant::now() + wait;
        loop {
            // before the queues are looked at: what comes meanwhile is not missed
            self.arrivals.forget();
            for Watched { queue, .. } in read.iter().filter_map(|partition| self.queues.get(partition)) {
                let room = most - taken.len();
                if room == 0 {
                    return;
                }
                // SAFETY: as the caller says; librdkafka sets as many as it answers.
                unsafe {
                    let at = taken.as_mut_ptr().add(taken.len());
                    let count = rd::rd_kafka_consume_batch_queue(queue.0, 0, at, room).max(0) as usize;
                    taken.set_len(taken.len() + count);
                }
            }
            if !taken.is_empty() || !self.arrivals.wait(until) {
                return;
            }
        }
    }
}

/// A queue that tells when something comes to it.
struct Watched {
    queue: Queue,
    _arrivals: Arc<Arrivals>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: the queue is live. librdkafka calls back with the queue locked, so after this it does no more.
        unsafe { rd::rd_kafka_queue_cb_event_enable(self.queue.0, None, std::ptr::null_mut()) };
    }
}

/// Whether something has come.
#[derive(Default)]
struct Arrivals {
    has_come: Mutex<bool>,
    told: Condvar,
}

impl Arrivals {
    fn has_come(&self) -> MutexGuard<'_, bool> {
        self.has_come.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        *self.has_come() = true;
        self.told.notify_one();
    }

    fn forget(&self) {
        *self.has_come() = false;
    }

    /// Answers whether something has come by then.
    fn wait(&self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.told.wait_timeout_while(self.has_come(), left, |has_come| !*has_come);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

unsafe extern "C" fn came(_rk: *mut rd::rd_kafka_t, arrivals: *mut c_void) {
    // SAFETY: `add` passed it, and it lives as long as the queue is watched.
    unsafe { &*(arrivals as *const Arrivals) }.tell();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_the_waiting_is_not_missed() {
        let arrivals = Arrivals::default();
        assert!(!arrivals.wait(Instant::now()), "nothing has come");
        arrivals.tell();
        assert!(arrivals.wait(Instant::now()));
        arrivals.forget();
        assert!(!arrivals.wait(Instant::now()));
    }

    #[test]
    fn who_waits_is_woken() {
        let arrivals = Arc::new(Arrivals::default());
        let other = arrivals.clone();
        let teller = std::thread::spawn(move || other.tell());
        assert!(arrivals.wait(Instant::now() + Duration::from_secs(60)));
        teller.join().expect("it does not panic");
    }
}
