//! A token from a command: `sh -c`, nothing on stdin, the token on the first line of stdout. The command is ended after
//! its time, and with it, then or at its own end, all that it started and left in its process group.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use super::{MOST_BYTES, Token, TokenError, jwt};

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How long its output may take to be read once it has ended.
const REST: Duration = Duration::from_millis(500);
/// What is told of its stderr, in characters.
const MOST_SAID: usize = 200;

/// Runs it.
pub(super) fn run(command: &str, limit: Duration) -> Result<Token, TokenError> {
    let until = Instant::now() + limit;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    // SAFETY: between fork and exec only a system call is made.
    unsafe { shell.pre_exec(end_with_khost) };
    let mut running = Running { child: shell.spawn().map_err(TokenError::Run)?, reaped: false };
    let printed = reader(running.child.stdout.take().expect("it is piped")).map_err(TokenError::Run)?;
    let said = reader(running.child.stderr.take().expect("it is piped")).map_err(TokenError::Run)?;
    while !running.has_ended() {
        if Instant::now() >= until {
            return Err(TokenError::CommandTime { limit });
        }
        std::thread::sleep(LOOK);
    }
    let status = running.end().map_err(TokenError::Run)?;
    if !status.success() {
        return Err(TokenError::Command { status, said: last_line(&said.recv_timeout(REST).unwrap_or_default()) });
    }
    let printed = printed.recv_timeout(REST).map_err(|_| TokenError::CommandTime { limit })?;
    let line = printed.split(|byte| *byte == b'\n').next().unwrap_or_default();
    jwt::token(line, SystemTime::now())
        .map_err(|refusal| TokenError::Refused { from: "the token command".into(), refusal })
}

/// Has this process end when the thread that started it does: a signal that ends khost leaves no command behind.
fn end_with_khost() -> io::Result<()> {
    // SAFETY: it only says which signal this process gets.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A command in a process group of its own, which ends with it.
struct Running {
    child: Child,
    reaped: bool,
}

impl Running {
    /// Whether it has ended. It is not reaped yet, so its number, which is its group's too, is nobody else's.
    fn has_ended(&self) -> bool {
        // SAFETY: all zeroes are a value of this plain C structure.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: `info` is live; while the child runs, its pid stays zero.
        let result = unsafe { libc::waitid(libc::P_PID, self.child.id() as libc::id_t, &mut info, flags) };
        // SAFETY: waitid fills in a child's.
        result != 0 || unsafe { info.si_pid() } != 0
    }

    /// Ends it where it still runs, and all that is left of its group.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // SAFETY: it has no preconditions; the group is ours until its leader is reaped.
        unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
        self.reaped = true;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            // a child of ours, so there is nothing that can fail
            let _ = self.end();
        }
    }
}

/// Reads all that comes, and keeps as much as a token may have.
fn reader(mut pipe: impl Read + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = channel();
    let read = move || {
        let mut bytes = Vec::new();
        let most = MOST_BYTES as u64 + 16;
        // what can't be read counts as the end; a command that failed says so by its status
        let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
        // nobody waits for it after the command's time
        let _ = sender.send(bytes);
    };
    std::thread::Builder::new().name("khost-token-io".into()).spawn(read)?;
    Ok(receiver)
}

/// The last line with something on it, cut short; what would move a terminal's cursor is left out.
fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|character| !character.is_control()).take(MOST_SAID).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::token::Refusal;

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn the_first_line_of_its_output() {
        assert_eq!(run("echo abc; echo more; echo noise >&2", LIMIT).unwrap().value(), "abc");
        assert_eq!(run("printf abc", LIMIT).unwrap().value(), "abc");
        assert_eq!(run("printf 'abc\\r\\n'", LIMIT).unwrap().value(), "abc");
    }

    #[test]
    fn nothing_is_on_its_stdin() {
        assert_eq!(run("cat; echo abc", LIMIT).unwrap().value(), "abc");
    }

    #[test]
    fn a_command_that_fails_tells_its_last_words() {
        let command = "echo geheim; echo first >&2; printf '\\033[31mdenied\\n\\n' >&2; exit 3";
        let error = run(command, LIMIT).unwrap_err();
        assert_eq!(error.to_string(), "the token command failed (exit status: 3): [31mdenied");
        assert!(!format!("{error:?}").contains("geheim"));
        assert_eq!(run("exit 1", LIMIT).unwrap_err().to_string(), "the token command failed (exit status: 1)");
        let long = run("head -c 3000 /dev/zero | tr '\\0' x >&2; exit 1", LIMIT).unwrap_err();
        assert!(matches!(long, TokenError::Command { said, .. } if said == "x".repeat(MOST_SAID)));
        assert!(run("no-such-command", LIMIT).unwrap_err().to_string().contains("no-such-command"));
    }

    #[test]
    fn what_is_no_token_is_refused_and_not_shown() {
        let refusal = |command: &str| match run(command, LIMIT) {
            Err(error @ TokenError::Refused { refusal, .. }) => {
                assert!(!format!("{error} {error:?}").contains("geheim"));
                refusal
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(refusal("true"), Refusal::Empty);
        assert_eq!(refusal("echo; echo geheim"), Refusal::Empty);
        assert_eq!(refusal("echo 'geheim geheim'"), Refusal::Character { byte: b' ', at: 7 });
        assert_eq!(refusal("head -c 2000000 /dev/zero | tr '\\0' x"), Refusal::TooLong);
    }

    #[test]
    fn it_ends_after_its_time_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let command = format!("sleep 60 & echo $! >{0}; (sleep 60; true) & echo $! >>{0}; wait", pids.display());
        let start = Instant::now();
        let error = run(&command, Duration::from_millis(300)).unwrap_err();
        assert_eq!(error.to_string(), "the token command did not end within 300ms");
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_gone(&pids, 2);
    }

    #[test]
    fn what_it_leaves_behind_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let command = format!("sleep 60 & echo $! >{}; echo abc", pids.display());
        let start = Instant::now();
        assert_eq!(run(&command, LIMIT).unwrap().value(), "abc");
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_gone(&pids, 1);
    }

    /// An orphan is reaped by whoever adopts it, or stays a zombie where nobody does.
    fn assert_gone(pids: &std::path::Path, count: usize) {
        let pids = std::fs::read_to_string(pids).unwrap();
        assert_eq!(pids.lines().count(), count);
        let is_there =
            |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        let until = Instant::now() + Duration::from_secs(5);
        while pids.lines().any(is_there) {
            assert!(Instant::now() < until, "still there");
            std::thread::sleep(LOOK);
        }
    }
}
