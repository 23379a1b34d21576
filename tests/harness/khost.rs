//! One call of the real `khost` binary.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use super::cgroup::{self, MemoryLimit};
use super::kafka::Kafka;
use super::output::Output;
use super::project::Folder;
use super::running::Running;

const BINARY: &str = env!("CARGO_BIN_EXE_khost");

/// A call that is being put together.
pub(crate) struct Khost {
    folder: PathBuf,
    kept: Option<Rc<Folder>>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    limit: Duration,
    first_line_only: bool,
    terminal: bool,
    cpu: Option<usize>,
    group: Option<CString>,
}

impl Khost {
    pub(super) fn new(folder: &Path) -> Khost {
        Khost {
            folder: folder.into(),
            kept: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            limit: Duration::from_secs(120),
            first_line_only: false,
            terminal: false,
            cpu: None,
            group: None,
        }
    }

    /// The folder stays as long as this call.
    pub(super) fn keeping(mut self, folder: Rc<Folder>) -> Self {
        self.kept = Some(folder);
        self
    }

    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(crate) fn args(self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        arguments.into_iter().fold(self, Khost::arg)
    }

    pub(crate) fn brokers(self, kafka: &Kafka) -> Self {
        self.args(["--brokers", kafka.bootstrap()])
    }

    /// A setting of librdkafka's: `-X name=value`.
    pub(crate) fn kafka(self, name: &str, value: &str) -> Self {
        self.arg("-X").arg(format!("{name}={value}"))
    }

    pub(crate) fn set(self, path: &str, value: &str) -> Self {
        self.arg("--set").arg(format!("{path}={value}"))
    }

    pub(crate) fn param(self, name: &str, value: &str) -> Self {
        self.arg("--param").arg(format!("{name}={value}"))
    }

    /// Results on stdout as the JSON document.
    pub(crate) fn json(self) -> Self {
        self.args(["--format", "json"])
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// How long it may take, else it is killed and the test fails.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Its stdout is closed after the first line, as `| head -1` does.
    pub(crate) fn first_line_only(mut self) -> Self {
        self.first_line_only = true;
        self
    }

    /// Its stderr is a terminal.
    pub(crate) fn on_terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// It may run on this CPU only.
    pub(crate) fn on_cpu(mut self, cpu: usize) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// It runs within this limit, as in a container.
    pub(crate) fn within(mut self, limit: &MemoryLimit) -> Self {
        self.group = Some(CString::new(limit.door().into_os_string().into_encoded_bytes()).expect("a path"));
        self
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn output(self) -> Output {
        self.start().finish()
    }

    /// Starts it.
    #[track_caller]
    pub(crate) fn start(self) -> Running {
        let mut command = Command::new(BINARY);
        command.current_dir(&self.folder).args(&self.arguments);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("KHOST_")) {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cpu) = self.cpu {
            // SAFETY: between fork and exec only a system call is made, on memory of this closure's own.
            unsafe { command.pre_exec(move || pin_to(cpu)) };
        }
        if let Some(door) = self.group {
            // SAFETY: between fork and exec only system calls are made, on memory of this closure's own.
            unsafe { command.pre_exec(move || cgroup::enter(&door)) };
        }
        let terminal = self.terminal.then(|| {
            let (ours, theirs) = open_terminal().expect("a pseudo-terminal");
            command.stderr(theirs);
            ours
        });
        Running::spawn(command, self.kept, self.limit, terminal, self.first_line_only)
    }
}

/// A terminal's two sides: what is written to the second can be read from the first.
fn open_terminal() -> std::io::Result<(File, OwnedFd)> {
    let (mut ours, mut theirs) = (-1, -1);
    let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: two integers to write to and a size to read; the other pointers may be null.
    let done = unsafe { libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), &size) };
    if done != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: both were just opened, and nobody else has them.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    // Another test's child must not keep this terminal open.
    for side in [&ours, &theirs] {
        // SAFETY: a plain system call on a descriptor that is open.
        unsafe { libc::fcntl(side.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok((File::from(ours), theirs))
}

fn pin_to(cpu: usize) -> std::io::Result<()> {
    // SAFETY: the set is plain data, zero is an empty one, and the call reads it only.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
