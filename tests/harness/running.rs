//! A `khost` process that runs, and what it has said so far.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::output::Output;
use super::project::Folder;

/// Dropping it kills the process.
pub(crate) struct Running {
    child: Child,
    shown: String,
    started: Instant,
    deadline: Instant,
    peak_bytes: u64,
    stdout: Stream,
    stderr: Stream,
    _folder: Option<Rc<Folder>>,
}

impl Running {
    #[track_caller]
    pub(super) fn spawn(
        mut command: Command,
        folder: Option<Rc<Folder>>,
        limit: Duration,
        terminal: Option<File>,
        first_line_only: bool,
    ) -> Running {
        let shown = format!("{command:?}");
        let started = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{shown}: {error}"));
        let stdout = Stream::read(child.stdout.take().expect("it is piped"), first_line_only);
        // Until the command is dropped, we hold the other side of its terminal too, and would never read its end.
        drop(command);
        let stderr = match terminal {
            Some(ours) => Stream::read(ours, false),
            None => Stream::read(child.stderr.take().expect("it is piped"), false),
        };
        Running { child, shown, started, deadline: started + limit, peak_bytes: 0, stdout, stderr, _folder: folder }
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal(libc::SIGINT);
    }

    pub(crate) fn terminate(&self) {
        self.signal(libc::SIGTERM);
    }

    /// Ends it without a word.
    pub(crate) fn kill(self) {
        self.signal(libc::SIGKILL);
        self.end();
    }

    /// Waits until stderr has this text; fails when the process ends without, or at the limit.
    #[track_caller]
    pub(crate) fn wait_for_stderr(&self, text: &str) {
        if !self.stderr.wait_for(text, self.deadline) {
            panic!("{}\nnever said {text:?} on stderr, but:\n{}", self.shown, self.stderr.text());
        }
    }

    /// Waits for its end; past the limit it is killed, and the test fails.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Output {
        let status = self.wait();
        let output = self.output(status);
        assert!(status.is_some(), "killed after {:.1?}\n{output}", output.took);
        output
    }

    /// Waits for its end; past the limit it is killed, and has no code.
    pub(crate) fn end(mut self) -> Output {
        let status = self.wait();
        self.output(status)
    }

    fn output(&mut self, status: Option<ExitStatus>) -> Output {
        let took = self.started.elapsed();
        Output {
            command: std::mem::take(&mut self.shown),
            code: status.and_then(|status| status.code()),
            stdout: self.stdout.join(),
            stderr: self.stderr.join(),
            took,
            peak_bytes: self.peak_bytes,
        }
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        while Instant::now() < self.deadline {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return Some(status);
            }
            self.peak_bytes = self.peak_bytes.max(self.most_memory());
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }

    /// The most memory that the process has had so far, as the kernel keeps it.
    fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        kib.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() << 10
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: a plain system call; the child is not waited for before `finish`, which takes `self`.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Default)]
struct Said {
    bytes: Vec<u8>,
    ended: bool,
}

/// A stream that a thread of its own reads, so that the process never waits for us.
struct Stream {
    said: Arc<(Mutex<Said>, Condvar)>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn read(pipe: impl Read + Send + 'static, first_line_only: bool) -> Stream {
        let said = Arc::new((Mutex::new(Said::default()), Condvar::new()));
        let shared = Arc::clone(&said);
        let reader = thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                shared.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.append(&mut line);
                shared.1.notify_all();
                if first_line_only {
                    break;
                }
            }
            let mut said = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            // A terminal ends with an error, maybe within a line.
            said.bytes.append(&mut line);
            said.ended = true;
            drop(said);
            shared.1.notify_all();
        });
        Stream { said, reader: Some(reader) }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.said.0.lock().unwrap_or_else(PoisonError::into_inner).bytes).into_owned()
    }

    fn wait_for(&self, text: &str, deadline: Instant) -> bool {
        let mut said = self.said.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if String::from_utf8_lossy(&said.bytes).contains(text) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if said.ended || left.is_zero() {
                return false;
            }
            said = self.said.1.wait_timeout(said, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn join(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        self.text()
    }
}
