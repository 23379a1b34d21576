//! What a finished `khost` said, and assertions on it that show all of it when they fail.

use std::fmt;
use std::time::Duration;

use super::result::RunResult;

/// A call that has ended. `code` is `None` after a signal.
pub(crate) struct Output {
    pub(crate) command: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    /// The most memory that it had, of what was seen every few milliseconds.
    pub(crate) peak_bytes: u64,
}

impl Output {
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        self.check(self.code == Some(code), &format!("exit code {code}"))
    }

    /// On stderr, whatever the case of its letters.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        self.check(contains(&self.stderr, text), &format!("{text:?} on stderr"))
    }

    #[track_caller]
    pub(crate) fn says_not(&self, text: &str) -> &Self {
        self.check(!contains(&self.stderr, text), &format!("no {text:?} on stderr"))
    }

    /// On stdout, whatever the case of its letters.
    #[track_caller]
    pub(crate) fn prints(&self, text: &str) -> &Self {
        self.check(contains(&self.stdout, text), &format!("{text:?} on stdout"))
    }

    /// On either stream, whatever the case of its letters.
    #[track_caller]
    pub(crate) fn tells(&self, text: &str) -> &Self {
        self.check(
            contains(&self.stdout, text) || contains(&self.stderr, text),
            &format!("{text:?} on stdout or stderr"),
        )
    }

    #[track_caller]
    pub(crate) fn within(&self, limit: Duration) -> &Self {
        self.check(self.took <= limit, &format!("an end within {limit:?}"))
    }

    /// Neither a panic, nor a stack trace, nor more than a person reads.
    #[track_caller]
    pub(crate) fn is_civil(&self) -> &Self {
        self.check(self.code.is_some(), "an exit code, no signal")
            .check(!contains(&self.stderr, "panicked at"), "no panic")
            .check(!contains(&self.stderr, "stack backtrace"), "no stack trace")
            .check(self.stderr.len() + self.stdout.len() < 64 * 1024, "less than 64 KiB of output")
    }

    /// One error of one paragraph at the end of stderr, `error: …` with these words in it, and a next step: a `hint:` line.
    #[track_caller]
    pub(crate) fn explains(&self, words: &[&str]) -> &Self {
        self.refuses(words)
            .check(self.stderr.lines().any(|line| line.trim_start().starts_with("hint:")), "a `hint:` line")
    }

    /// The same, where the error itself says all: what else it could be, or that it can't be had.
    #[track_caller]
    pub(crate) fn refuses(&self, words: &[&str]) -> &Self {
        self.is_civil();
        let errors = self.stderr.lines().filter(|line| line.starts_with("error:")).count();
        self.check(errors == 1, "one line that begins with `error:`");
        let paragraph = &self.stderr[self.stderr.find("error:").unwrap_or(0)..];
        let lines: Vec<&str> = paragraph.trim_end().lines().collect();
        self.check(lines.len() <= 8 && lines.iter().all(|line| !line.trim().is_empty()), "one paragraph");
        for word in words {
            self.check(contains(paragraph, word), &format!("{word:?} in the error"));
        }
        self
    }

    /// The result document of a run with `--format json`.
    #[track_caller]
    pub(crate) fn result(&self) -> RunResult {
        match serde_json::from_str(&self.stdout) {
            Ok(document) => RunResult::new(document),
            Err(error) => panic!("stdout is no JSON document ({error})\n{self}"),
        }
    }

    #[track_caller]
    pub(crate) fn check(&self, holds: bool, wanted: &str) -> &Self {
        assert!(holds, "wanted: {wanted}\n{self}");
        self
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {}\ncode {:?} after {:.2?}", self.command, self.code, self.took)?;
        writeln!(f, "--- stdout\n{}--- stderr\n{}---", Excerpt(&self.stdout), Excerpt(&self.stderr))
    }
}

/// The first and the last of a long text.
struct Excerpt<'t>(&'t str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SIDE: usize = 6_000;
        let text = self.0;
        if text.len() <= 2 * SIDE {
            return f.write_str(text);
        }
        let (head, tail) = (text.floor_char_boundary(SIDE), text.ceil_char_boundary(text.len() - SIDE));
        write!(f, "{}\n… {} bytes …\n{}", &text[..head], tail - head, &text[tail..])
    }
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}
