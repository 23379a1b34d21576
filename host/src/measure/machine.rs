//! The machine that the generator runs on: what it may use of it, and how busy it is.

use std::fs::read_to_string;
use std::path::Path;

use serde::Serialize;

/// What this process may use. Read before the load.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Processors of the machine that are online.
    pub processors: u32,
    /// Processors that this process may run on (its affinity).
    pub affinity: u32,
    /// A container's quota, in processors; absent without one.
    pub cpu_quota: Option<f64>,
    /// A container's memory limit, in bytes; absent without one.
    pub memory_limit_bytes: Option<u64>,
    /// The machine's memory, in bytes.
    pub memory_bytes: u64,
    /// The kernel's release.
    pub kernel: String,
}

impl Machine {
    /// Asks the system.
    pub fn read() -> Self {
        let cgroup = CgroupFolder::of_this_process();
        let status = |name: &str, key: &str| {
            let text = read_to_string(name).ok()?;
            text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse::<u64>().ok())
        };
        Machine {
            // SAFETY: sysconf only reads.
            processors: unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as u32,
            affinity: affinity(),
            cpu_quota: cgroup.cpu_quota(),
            memory_limit_bytes: cgroup.memory_limit(),
            memory_bytes: status("/proc/meminfo", "MemTotal:").unwrap_or(0) * 1024,
            kernel: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().into(),
        }
    }

    /// How many processors this process can keep busy: its affinity, and a quota where there is one.
    pub fn usable(&self) -> f64 {
        self.cpu_quota.unwrap_or(f64::MAX).min(self.affinity as f64)
    }

    /// The same as a number of threads: rounded down, at least 1.
    pub fn usable_threads(&self) -> u32 {
        (self.usable() as u32).max(1)
    }
}

fn affinity() -> u32 {
    // SAFETY: the set is plain data for which all zeroes is valid, and its size is passed along.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) {
            0 => libc::CPU_COUNT(&set).max(1) as u32,
            _ => std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        }
    }
}

/// How busy the machine and this container were up to now; two of them make a share.
#[derive(Debug, Clone, Copy, Default)]
pub struct Busy {
    busy_ticks: u64,
    all_ticks: u64,
    throttled_us: Option<u64>,
}

impl Busy {
    /// Asks the system.
    pub fn now() -> Self {
        let stat = read_to_string("/proc/stat").unwrap_or_default();
        let (busy_ticks, all_ticks) = ticks(&stat).unwrap_or_default();
        Busy { busy_ticks, all_ticks, throttled_us: CgroupFolder::of_this_process().throttled_us() }
    }

    /// The share of all processors' time between `earlier` and this that was in use by anybody, 0 to 1.
    pub fn share_since(&self, earlier: &Busy) -> Option<f64> {
        let all = self.all_ticks.checked_sub(earlier.all_ticks).filter(|all| *all > 0)?;
        Some(self.busy_ticks.saturating_sub(earlier.busy_ticks) as f64 / all as f64)
    }

    /// How long the container's quota held this process back between `earlier` and this, in seconds.
    pub fn throttled_since(&self, earlier: &Busy) -> Option<f64> {
        Some(self.throttled_us?.saturating_sub(earlier.throttled_us?) as f64 / 1e6)
    }
}

/// Busy and all ticks of `/proc/stat`'s first line; idle and iowait are not busy.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|t| t.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    Some((all - ticks.get(3)? - ticks.get(4)?, all))
}

/// The control group that this process is in (version 2; of version 1 the processor quota and memory limit).
pub(super) struct CgroupFolder {
    /// Version 2: its folder and all above it.
    folders: Vec<String>,
    /// The same of version 1's memory.
    of_memory: Vec<String>,
}

impl CgroupFolder {
    /// Its folder and all above it: a limit of any of them holds.
    pub(super) fn of_this_process() -> Self {
        let text = read_to_string("/proc/self/cgroup").unwrap_or_default();
        let ancestors = |root: &str, path: &str| {
            Path::new(path).ancestors().map(|at| format!("{root}{}", at.display())).collect::<Vec<_>>()
        };
        CgroupFolder {
            folders: ancestors("/sys/fs/cgroup", group_of(&text, "").unwrap_or("/")),
            of_memory: ancestors("/sys/fs/cgroup/memory", group_of(&text, "memory").unwrap_or("/")),
        }
    }

    fn smallest<T: PartialOrd>(&self, file: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let values = self.folders.iter().filter_map(|folder| parse(&read_to_string(format!("{folder}/{file}")).ok()?));
        values.reduce(|a, b| if b < a { b } else { a })
    }

    fn cpu_quota(&self) -> Option<f64> {
        self.smallest("cpu.max", quota_v2).or_else(|| {
            let read =
                |name: &str| read_to_string(format!("/sys/fs/cgroup/cpu/{name}")).ok()?.trim().parse::<f64>().ok();
            Some(read("cpu.cfs_quota_us")?).filter(|q| *q > 0.0).and_then(|q| Some(q / read("cpu.cfs_period_us")?))
        })
    }

    pub(super) fn memory_limit(&self) -> Option<u64> {
        self.smallest("memory.max", |text| text.trim().parse().ok()).or_else(|| {
            let read =
                |folder: &String| read_to_string(format!("{folder}/memory.limit_in_bytes")).ok()?.trim().parse().ok();
            // version 1 writes "no limit" as a number near the largest
            self.of_memory.iter().filter_map(read).filter(|limit: &u64| *limit < 1 << 60).min()
        })
    }

    /// The most threads of the group, and how many there are.
    pub(super) fn threads(&self) -> Option<(u64, u64)> {
        let limits = self.folders.iter().filter_map(|folder| {
            let number = |file: &str| read_to_string(format!("{folder}/{file}")).ok()?.trim().parse::<u64>().ok();
            Some((number("pids.max")?, number("pids.current")?))
        });
        limits.min_by_key(|(most, used)| most.saturating_sub(*used))
    }

    fn throttled_us(&self) -> Option<u64> {
        let stat = read_to_string(format!("{}/cpu.stat", self.folders.first()?)).ok()?;
        stat.lines().find_map(|line| line.strip_prefix("throttled_usec ")?.trim().parse().ok())
    }
}

/// The path of a process's group, as `/proc/self/cgroup` has it: of version 2 by no name, of version 1 by a controller's.
fn group_of<'t>(text: &'t str, controller: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|one| one == controller).then_some(path)
    })
}

/// `cpu.max` holds "QUOTA PERIOD" in microseconds, or "max PERIOD".
fn quota_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_in_both_versions() {
        let text = "5:cpu,cpuacct:/a\n4:memory:/b/c\n0::/d\n";
        assert_eq!((group_of(text, ""), group_of(text, "memory")), (Some("/d"), Some("/b/c")));
        assert_eq!((group_of(text, "cpuacct"), group_of("0::/\n", "memory")), (Some("/a"), None));
    }

    #[test]
    fn a_quota_is_in_processors() {
        assert_eq!(quota_v2("150000 100000\n"), Some(1.5));
        assert_eq!(quota_v2("max 100000\n"), None);
    }

    #[test]
    fn threads_follow_quota_and_affinity() {
        let mut m = Machine { affinity: 16, cpu_quota: Some(1.5), ..Machine::read() };
        assert_eq!((m.usable(), m.usable_threads()), (1.5, 1));
        m.cpu_quota = None;
        assert_eq!(m.usable_threads(), 16);
        m.cpu_quota = Some(0.2);
        assert_eq!(m.usable_threads(), 1);
    }

    #[test]
    fn ticks_of_proc_stat() {
        assert_eq!(ticks("cpu  10 0 20 60 10 0 0 0 0 0\ncpu0 1 2"), Some((30, 100)));
        assert!(ticks("nothing").is_none());
        let before = Busy::now();
        let share = Busy { busy_ticks: before.busy_ticks + 30, all_ticks: before.all_ticks + 100, ..before }
            .share_since(&before);
        assert_eq!(share, Some(0.3));
    }
}
