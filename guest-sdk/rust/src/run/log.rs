//! The log. khost limits its rate: it is for what is rare, not for each message.

use std::fmt::Display;

use crate::host;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Each step.
    Trace,
    /// For whoever writes the scenario.
    Debug,
    /// For whoever runs it.
    Info,
    /// Something is odd, and the run goes on.
    Warn,
    /// Something went wrong.
    Error,
}

/// Writes a line.
pub fn log(level: Level, text: impl Display) {
    host::log(level, &text.to_string());
}

/// Writes a line at [`Level::Info`].
pub fn info(text: impl Display) {
    log(Level::Info, text);
}

/// Writes a line at [`Level::Warn`].
pub fn warn(text: impl Display) {
    log(Level::Warn, text);
}
