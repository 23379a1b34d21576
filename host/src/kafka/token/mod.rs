//! Tokens for SASL/OAUTHBEARER: where they come from (a file, a command, AWS), how long they live, and how clients get the
//! next one. A token endpoint (OIDC) is not asked: librdkafka is built without an HTTP client, and a command can.

mod command;
mod due;
mod error;
mod file;
mod jwt;
mod keeper;
mod msk;
mod region;

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

pub use error::{Refusal, TokenError};
pub use keeper::Keeper;

/// How long a command or AWS may take.
const LIMIT: Duration = Duration::from_secs(10);
/// A broker takes no larger SASL message (`sasl.server.max.receive.size`).
const MOST_BYTES: usize = 512 * 1024;

/// What a client shows to a broker.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    value: String,
    /// From when on no broker takes it.
    pub expires: SystemTime,
    /// Whom it speaks for, where that can be read from it.
    pub principal: Option<String>,
    /// SASL extensions: names (letters only) and values.
    pub extensions: Vec<(String, String)>,
}

impl Token {
    /// The secret itself.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("value", &"…")
            .field("expires", &self.expires)
            .field("principal", &self.principal)
            .field("extensions", &self.extensions.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish()
    }
}

/// Where tokens come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file that holds the token, and that somebody else keeps fresh.
    File(PathBuf),
    /// A command that prints the token, run by `sh -c`.
    Command(String),
    /// A request to AWS, signed here, that a broker of Amazon MSK takes for a token.
    MskIam(MskIam),
}

/// How tokens for Amazon MSK are signed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MskIam {
    /// The cluster's; else read from its broker's host name, else from the environment.
    pub region: Option<String>,
    /// A profile of AWS's shared files; else the default chain of credentials.
    pub profile: Option<String>,
    /// A role to assume with those credentials.
    pub role_arn: Option<String>,
    /// What the role's session is called in AWS's logs; `khost` else.
    pub role_session_name: Option<String>,
}

impl Source {
    /// Gets a token; waits for it, 10 s at most. `broker_host` is one of the cluster's, which may name its region.
    ///
    /// # Errors
    /// There is none, or one that no broker would take.
    pub fn fetch(&self, broker_host: Option<&str>) -> Result<Token, TokenError> {
        match self {
            Source::File(path) => file::read(path, SystemTime::now()),
            Source::Command(command) => command::run(command, LIMIT),
            Source::MskIam(msk) => msk::sign(msk, broker_host, LIMIT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let extensions = vec![("traceId".to_owned(), "secret-too".to_owned())];
        let token = Token {
            value: "secret".into(),
            expires: SystemTime::UNIX_EPOCH,
            principal: Some("alice".into()),
            extensions,
        };
        let shown = format!("{token:?} {token:#?}");
        assert!(shown.contains("alice") && shown.contains("traceId"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
