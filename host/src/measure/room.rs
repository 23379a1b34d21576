//! How many more threads, mappings and how much memory the system has for this process.

use std::fs::{read_dir, read_to_string};

use super::machine::CgroupFolder;

/// A limit of the system, and how much of it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// As people know it, such as `ulimit -u`.
    pub name: &'static str,
    /// The most there can be.
    pub most: u64,
    /// How much of that is taken already.
    pub used: u64,
}

impl Limit {
    /// How much is left.
    pub fn left(&self) -> u64 {
        self.most.saturating_sub(self.used)
    }
}

/// What is left of the system. What it does not tell is not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// Limits of threads: any of them holds.
    pub threads: Vec<Limit>,
    /// Of mappings of this process.
    pub maps: Option<Limit>,
    /// Of the address space of this process, in bytes.
    pub address_space: Option<Limit>,
    /// Memory that is free or can be made free, in bytes.
    pub memory_bytes: Option<u64>,
}

impl Room {
    /// Asks the system.
    pub fn read() -> Self {
        let number = |path: &str| read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let loadavg = read_to_string("/proc/loadavg").unwrap_or_default();
        let all_threads = loadavg.split('/').nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0);
        let system = |name, path: &str| Some(Limit { name, most: number(path)?, used: all_threads });
        let cgroup = CgroupFolder::of_this_process();
        let threads = [
            system("kernel.threads-max", "/proc/sys/kernel/threads-max"),
            system("kernel.pid_max", "/proc/sys/kernel/pid_max"),
            rlimit(libc::RLIMIT_NPROC).filter(|_| !is_privileged()).map(|most| Limit {
                name: "ulimit -u",
                most,
                used: threads_of_user(),
            }),
            cgroup.threads().map(|(most, used)| Limit { name: "the control group's pids.max", most, used }),
        ];
        let status = |key: &str| value(&read_to_string("/proc/self/status").unwrap_or_default(), key);
        let available =
            value(&read_to_string("/proc/meminfo").unwrap_or_default(), "MemAvailable:").map(|kib| kib << 10);
        Room {
            threads: threads.into_iter().flatten().collect(),
            maps: number("/proc/sys/vm/max_map_count").map(|most| Limit {
                name: "vm.max_map_count",
                most,
                used: read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count() as u64),
            }),
            address_space: rlimit(libc::RLIMIT_AS).map(|most| Limit {
                name: "ulimit -v",
                most,
                used: status("VmSize:").unwrap_or(0) << 10,
            }),
            memory_bytes: available.into_iter().chain(cgroup.memory_limit()).min(),
        }
    }
}

/// The number behind a key, as `/proc` writes them.
fn value(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse().ok())
}

/// A limit of this process; none where there is none.
fn rlimit(which: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit to write to.
    let known = unsafe { libc::getrlimit(which, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// The kernel holds those who administer it to no number of threads.
fn is_privileged() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const SYS_RESOURCE: u64 = 1 << 24;
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    effective.is_some_and(|capabilities| capabilities & (SYS_ADMIN | SYS_RESOURCE) != 0)
}

/// Threads of all processes of this process's user.
fn threads_of_user() -> u64 {
    // SAFETY: it only reads.
    let user = u64::from(unsafe { libc::getuid() });
    let processes = read_dir("/proc").into_iter().flatten().flatten();
    let status = processes.filter_map(|entry| read_to_string(entry.path().join("status")).ok());
    status.filter(|text| value(text, "Uid:") == Some(user)).filter_map(|text| value(&text, "Threads:")).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_its_limits() {
        let room = Room::read();
        let maps = room.maps.expect("Linux has it");
        assert!(maps.most > 1_000 && maps.used > 10, "{maps:?}");
        assert!(room.threads.len() >= 2 && room.threads.iter().all(|limit| limit.left() > 0), "{:?}", room.threads);
        assert!(room.memory_bytes.expect("Linux has it") > 1 << 20);
        assert!(threads_of_user() > 0);
    }
}
