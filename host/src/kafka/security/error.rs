//! Why the settings of a connection can't be used.

use thiserror::Error;

/// A setting of TLS or SASL that can't be used: it names the setting, never a secret.
#[derive(Debug, Error)]
#[error("Kafka setting `{setting}`: {problem}")]
pub struct SecurityError {
    /// The setting's name.
    pub setting: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What to do next.
    pub hint: String,
}

impl SecurityError {
    pub(super) fn new(setting: &'static str, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        SecurityError { setting, problem: problem.into(), hint: hint.into() }
    }
}
