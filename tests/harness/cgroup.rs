//! A control group with a memory limit, as a container has it.

use std::fs;
use std::io::Error;
use std::path::{Path, PathBuf};

use super::unique;

/// A group beneath this process's own. It is removed when it is dropped; its processes have ended by then.
pub(crate) struct MemoryLimit {
    folder: PathBuf,
}

impl MemoryLimit {
    /// None, with a printed line, where the system lets nobody make one.
    pub(crate) fn of(bytes: u64) -> Option<MemoryLimit> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let path =
            |prefix: &str| groups.lines().find_map(|line| line.split_once(prefix)).map(|(_, path)| path.to_owned());
        let tried = [
            (path(":memory:"), "/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            (path("0::"), "/sys/fs/cgroup", "memory.max"),
        ];
        let made = tried.into_iter().find_map(|(path, root, file)| {
            let folder = Path::new(&format!("{root}{}", path?)).join(unique("khost-test"));
            fs::create_dir(&folder).ok()?;
            let limit = MemoryLimit { folder };
            fs::write(limit.folder.join(file), bytes.to_string()).ok()?;
            Some(limit)
        });
        if made.is_none() {
            println!("skipped: no control group with a memory limit can be made here");
        }
        made
    }

    /// Where a process's number is written to be in it.
    pub(super) fn door(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Puts the calling process into a group: for between fork and exec, where only system calls are made.
pub(super) fn enter(door: &std::ffi::CStr) -> std::io::Result<()> {
    // SAFETY: plain system calls; `0` stands for the calling process.
    let written = unsafe {
        let file = libc::open(door.as_ptr(), libc::O_WRONLY);
        let written = libc::write(file, c"0".as_ptr().cast(), 1);
        libc::close(file);
        written
    };
    if written == 1 { Ok(()) } else { Err(Error::last_os_error()) }
}
