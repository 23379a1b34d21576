//! The run's clock, and the processor time that threads and the process have used.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Counts from the instant at which the load starts; before that it stands at 0. Monotonic, like librdkafka's own
/// clock. Clones are the same clock.
#[derive(Debug, Clone, Default)]
pub struct RunClock {
    base: Arc<OnceLock<Base>>,
}

/// When it started.
#[derive(Debug, Clone, Copy)]
struct Base {
    at: Instant,
    /// The same on the wall clock, in microseconds since the Unix epoch.
    wall_us: i64,
}

impl RunClock {
    /// Starts it, once for all clones; `at` may lie ahead.
    pub fn start(&self, at: Instant) {
        self.base.get_or_init(|| {
            let ahead = at.saturating_duration_since(Instant::now());
            let since = at.elapsed();
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Base { at, wall_us: (wall + ahead).saturating_sub(since).as_micros() as i64 }
        });
    }

    /// An instant of this clock as microseconds since the Unix epoch: what the wall clock said at the load's start, and this
    /// clock from there, so that it never goes back.
    #[inline]
    pub fn wall_us(&self, us: u64) -> i64 {
        self.base.get().map_or(0, |base| base.wall_us).saturating_add_unsigned(us)
    }

    /// Microseconds since the load's start.
    #[inline]
    pub fn now_us(&self) -> u64 {
        self.now().as_micros() as u64
    }

    /// Nanoseconds since the load's start.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now().as_nanos() as u64
    }

    #[inline]
    fn now(&self) -> Duration {
        self.base.get().map_or(Duration::ZERO, |base| Instant::now().saturating_duration_since(base.at))
    }
}

/// Processor time of the calling thread, user and system, in nanoseconds.
#[inline]
pub fn thread_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Processor time of this process, all threads, user and system, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn cpu_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec, and the clock is one that Linux always has.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_until_the_load_starts() {
        let clock = RunClock::default();
        let clone = clock.clone();
        assert_eq!(clock.now_ns(), 0);
        clone.start(Instant::now() + Duration::from_secs(3600));
        assert_eq!(clock.now_ns(), 0);
        let running = RunClock::default();
        running.start(Instant::now() - Duration::from_secs(5));
        assert!(running.now_us() >= 5_000_000);
    }

    #[test]
    fn it_tells_the_time_of_day_too() {
        let clock = RunClock::default();
        clock.start(Instant::now() - Duration::from_secs(5));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is past 1970").as_micros() as i64;
        assert!((now - clock.wall_us(clock.now_us())).abs() < 1_000_000);
    }

    #[test]
    fn a_thread_that_sleeps_uses_no_processor_time() {
        let before = thread_cpu_ns();
        std::thread::sleep(Duration::from_millis(30));
        assert!(thread_cpu_ns() - before < 20_000_000);
        assert!(process_cpu_ns() >= thread_cpu_ns());
    }
}
