//! The one error that a command ends with: a paragraph, a hint, an exit code.

use std::error::Error;
use std::fmt::{self, Display};

use crate::guest::LoadError;
use crate::kafka::{AddressError, ClientError, ConsumeError, PreflightError, ReadersError, SecurityError, TokenError};
use crate::load::RunError;
use crate::{data, package, plan};

/// Bad input.
const INPUT: u8 = 2;
/// Kafka can't be reached, or refused.
const KAFKA: u8 = 3;

/// Where the error itself knows of no next step.
const PLAN_HINT: &str = "docs/manifest.md lists what each setting takes; --dry-run shows the plan once it can be read";

/// Somebody ended it.
const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: u8,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Failure {
    /// Something the person can mend.
    pub(super) fn input(error: &dyn Error, hint: Option<String>) -> Self {
        Failure { code: INPUT, message: with_causes(error), hint }
    }

    /// A data set that can't be used.
    pub(super) fn data(name: &str, error: &data::Error) -> Self {
        Failure {
            code: INPUT,
            message: format!("the data set `{name}`: {}", with_causes(error)),
            hint: Some(error.hint(name)),
        }
    }

    fn kafka(error: &dyn Error, hint: Option<String>) -> Self {
        Failure { code: KAFKA, message: with_causes(error), hint }
    }

    /// What was asked for can't be done.
    pub(super) fn usage(message: &str, hint: &str) -> Self {
        Failure { code: INPUT, message: message.to_owned(), hint: Some(hint.to_owned()) }
    }

    /// The same, and what it is about.
    pub(super) fn about(self, what: &str) -> Self {
        Failure { message: format!("{what}: {}", self.message), ..self }
    }

    /// A file that can't be read.
    pub(super) fn unreadable(path: &std::path::Path, error: &std::io::Error, hint: &str) -> Self {
        Failure::usage(&format!("{} can't be read: {error}", path.display()), hint)
    }
}

/// The error and what caused it, each once.
fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    message
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<plan::Error> for Failure {
    fn from(error: plan::Error) -> Self {
        Failure::input(&error, Some(error.hint().unwrap_or(PLAN_HINT).to_owned()))
    }
}

impl From<package::Error> for Failure {
    fn from(error: package::Error) -> Self {
        Failure::input(&error, error.hint())
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Failure::input(&error, Some(error.hint().into()))
    }
}

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Self {
        Failure::input(&error, Some(error.hint()))
    }
}

impl From<SecurityError> for Failure {
    fn from(error: SecurityError) -> Self {
        Failure::input(&error, Some(error.hint.clone()))
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::File { .. } | TokenError::NotAFile { .. } => Failure::input(&error, Some(error.hint())),
            _ => Failure::kafka(&error, Some(error.hint())),
        }
    }
}

impl From<PreflightError> for Failure {
    fn from(error: PreflightError) -> Self {
        match error {
            PreflightError::Settings(_) => Failure::input(&error, Some(error.hint())),
            _ => Failure::kafka(&error, Some(error.hint())),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Client(ClientError::Token(error)) => error.into(),
            RunError::Readers(error @ ReadersError::Position { .. }) => {
                Failure::kafka(&error, Some(error.hint().into()))
            }
            RunError::Consumer { error: ConsumeError::Group { .. }, .. } => {
                Failure::kafka(&error, error.hint().map(str::to_owned))
            }
            RunError::Interrupted => Failure { code: INTERRUPTED, message: error.to_string(), hint: None },
            _ => Failure::input(&error, error.hint().map(str::to_owned)),
        }
    }
}
