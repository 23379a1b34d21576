//! Data on stdout. A reader that has gone away (`| head`) neither panics nor changes the exit code.

use std::io::{ErrorKind, Write, stdout};
use std::process::ExitCode;

/// Prints all of it, or as much as somebody reads. Answers false where it could not be written.
pub(super) fn print(text: &str) -> bool {
    let mut out = stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        eprintln!("error: the result can't be written to stdout: {error}");
        return false;
    }
    true
}

/// How wide stdout is, if it is a terminal.
pub(super) fn width() -> Option<usize> {
    terminal_size::terminal_size_of(stdout()).map(|(width, _)| width.0.into())
}

/// What clap says: help and version are no errors.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        eprint!("{error}");
        return ExitCode::from(2);
    }
    print(&error.to_string());
    ExitCode::SUCCESS
}
