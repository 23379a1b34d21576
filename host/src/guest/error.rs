//! What goes wrong with a guest: before the run, and in a call.

use thiserror::Error;

use super::contract::CONTRACT_VERSION;

/// Why a component can't be run at all.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It wants something that no scenario gets.
    #[error(
        "the scenario imports `{import}`: a scenario gets nothing but khost:scenario, so no files, sockets, clocks or random numbers of the system"
    )]
    Foreign {
        /// What it wants.
        import: String,
    },
    /// It was made for another contract.
    #[error("the scenario imports `{import}`, but this khost speaks khost:scenario@{CONTRACT_VERSION}")]
    Version {
        /// What it wants.
        import: String,
    },
    /// It wants a part of the contract that this khost lacks.
    #[error("the scenario imports `{import}`, which this khost does not have yet")]
    Missing {
        /// What it wants.
        import: String,
    },
    /// It does not export what a scenario must.
    #[error("the scenario does not export `{export}`")]
    Export {
        /// What is missing.
        export: String,
    },
    /// wasmtime does not take it.
    #[error("the scenario can't be compiled: {0}")]
    Compile(String),
    /// Its imports or exports have other types than the contract.
    #[error("the scenario does not fit the contract khost:scenario@{CONTRACT_VERSION}: {0}")]
    Types(String),
}

impl LoadError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            LoadError::Foreign { .. } => {
                "build it for wasm32-unknown-unknown (or with WASI stubbed), and use the SDK's clock, random numbers and log"
            }
            LoadError::Version { .. } => {
                "rebuild the scenario with the SDK of this khost, or use the khost that it was made for"
            }
            LoadError::Missing { .. } => "use a newer khost, or leave that part of the SDK out",
            LoadError::Export { .. } => {
                "a scenario exports khost:scenario/flow with setup, iterate, handle and teardown; the SDK's `flows!` does that"
            }
            LoadError::Compile(_) => "is the file whole, and was it made by a current toolchain?",
            LoadError::Types(_) => "rebuild the scenario with the SDK of this khost",
        }
    }
}

/// Why a call into a guest came to nothing.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum GuestError {
    /// The guest said so with `context.panic`.
    #[error("the scenario panicked: {0}")]
    Panic(String),
    /// It misused the contract.
    #[error("mistake in the scenario: {0}")]
    Mistake(String),
    /// It used more processor time than a call may.
    #[error("the scenario overran its time: a call may use {limit_ms} ms of processor time (limits.call-time)")]
    Overrun {
        /// The limit.
        limit_ms: u64,
    },
    /// It wanted more memory than it may have, and stopped.
    #[error("the scenario ran out of memory: an instance may have {} (limits.memory)", crate::plan::format_bytes(*.limit_bytes))]
    Memory {
        /// The limit.
        limit_bytes: u64,
    },
    /// WebAssembly stopped it.
    #[error("the scenario trapped: {0}")]
    Trap(String),
    /// `context.fail` for the whole call.
    #[error("the scenario says: {0}")]
    Failed(String),
    /// The guest ended the run.
    #[error("the scenario ended the run: {0}")]
    EndRun(String),
    /// khost stopped the call because the run is over.
    #[error("stopped, because the run is over")]
    Stopped,
}

/// The longest text of a guest that is kept, in bytes.
const LONGEST_TEXT: usize = 1_000;

/// A guest's text as a person may see it: cut where it is longer than anybody would read, and with control characters
/// written out, so that no stranger's scenario writes over a terminal.
pub(super) fn clip(text: &str) -> String {
    let at = (0..=LONGEST_TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let mut shown = String::with_capacity(at);
    for c in text[..at].chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if at < text.len() {
        shown.push_str(&format!("… ({} bytes in all)", text.len()));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(clip("a\nverdict passed\u{1b}[2J"), "a\\nverdict passed\\u{1b}[2J");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(clip("short"), "short");
        let cut = clip(&"é".repeat(600_000));
        assert!(cut.len() < 1_100 && cut.ends_with("(1200000 bytes in all)"), "{cut}");
    }
}
