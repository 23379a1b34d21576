//! Why there is no token, and what to do about it. No message holds a token, nor the command that prints one.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_seconds;
use thiserror::Error;

use crate::plan::format_duration;

/// Why there is no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The file can't be read.
    #[error("the token file {} can't be read: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// It is a folder, a pipe or a device.
    #[error("the token file {} is not a regular file", .path.display())]
    NotAFile {
        /// Which.
        path: PathBuf,
    },
    /// The command can't be started or waited for.
    #[error("the token command can't be run: {0}")]
    Run(#[source] io::Error),
    /// The command failed.
    #[error("the token command failed ({status}){}", if .said.is_empty() { String::new() } else { format!(": {said}") })]
    Command {
        /// Its end.
        status: ExitStatus,
        /// The last line of its stderr, cut short.
        said: String,
    },
    /// The command was ended.
    #[error("the token command did not end within {}", format_duration(*limit))]
    CommandTime {
        /// How long it had.
        limit: Duration,
    },
    /// What a file or a command gave is no token, or an old one.
    #[error("{from}: {refusal}")]
    Refused {
        /// Who gave it, such as `the token command`.
        from: String,
        /// Why it is of no use.
        refusal: Refusal,
    },
    /// Amazon MSK: nothing tells the region.
    #[error("the AWS region of the cluster is not known{}", .host.as_ref().map_or(String::new(), |host| format!(": `{host}` does not name it")))]
    Region {
        /// The broker that was looked at.
        host: Option<String>,
    },
    /// Amazon MSK: there are no credentials where AWS's tools look for them.
    #[error("no AWS credentials were found: {0}")]
    NoCredentials(String),
    /// Amazon MSK: there are credentials, but they can't be used.
    #[error("the AWS credentials can't be used: {0}")]
    Credentials(String),
    /// Amazon MSK: no credentials came in time.
    #[error("AWS gave no credentials within {}", format_duration(*limit))]
    CredentialsTime {
        /// How long it had.
        limit: Duration,
    },
    /// Amazon MSK: the request can't be signed.
    #[error("the token for Amazon MSK can't be signed: {0}")]
    Sign(String),
    /// A client does not take it.
    #[error("librdkafka does not take the token: {0}")]
    Client(String),
}

/// Why a text is no token that a broker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Nothing is there.
    #[error("no token is there, the text is empty")]
    Empty,
    /// More than a broker takes.
    #[error("the text is longer than {} KiB, which no broker takes for a token", super::MOST_BYTES / 1024)]
    TooLong,
    /// It can't be sent: RFC 7628 has a bearer token of letters, digits and `-._~+/`, with `=` at its end.
    #[error("a token can't hold `{}`, as this text does at byte {at}", .byte.escape_ascii())]
    Character {
        /// Which.
        byte: u8,
        /// Where, counted from 1.
        at: usize,
    },
    /// It is too old.
    #[error("the token expired at {}", format_rfc3339_seconds(*.at))]
    Expired {
        /// When.
        at: SystemTime,
    },
}

impl TokenError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            TokenError::File { .. } => "correct the path, or let this user read it; whoever writes it must do so before khost starts",
            TokenError::NotAFile { .. } => "name a regular file: it is read again before the token expires; or let a command print the token",
            TokenError::Run(_) => "it is run by `sh -c`, so sh must be in PATH",
            TokenError::Command { .. } => "try it as khost runs it: sh -c '…' < /dev/null must print the token on its first line, and end with 0",
            TokenError::CommandTime { .. } => "it must not ask for anything, as nobody answers; try it as khost runs it: sh -c '…' < /dev/null",
            TokenError::Refused { refusal, .. } => refusal.hint(),
            TokenError::Region { .. } => "set the region beside the other settings of MSK IAM, or AWS_REGION",
            TokenError::NoCredentials(_) => "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), name a profile, or run where AWS gives a role; `aws configure export-credentials --format env` prints those of the AWS CLI",
            TokenError::Credentials(_) => "try the same with the AWS CLI: aws sts get-caller-identity; for a profile with SSO or credential_process, put in the environment what `aws configure export-credentials --format env` prints",
            TokenError::CredentialsTime { .. } => "name a profile or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; outside of AWS, AWS_EC2_METADATA_DISABLED=true ends the search at once",
            TokenError::Sign(_) => "is the region one of AWS's, such as eu-west-1?",
            TokenError::Client(_) => "tokens need sasl.mechanism = OAUTHBEARER, and security.protocol = sasl_ssl or sasl_plaintext",
        }
        .into()
    }
}

impl Refusal {
    fn hint(self) -> &'static str {
        match self {
            Refusal::Empty | Refusal::TooLong => "the token must stand there by itself, on one line",
            Refusal::Character { byte: b'{' | b'"', .. } => {
                "give the token itself, not the JSON around it: … | jq -r .access_token"
            }
            Refusal::Character { byte: b' ', .. } => "give the token itself, without `Bearer` before it",
            Refusal::Character { .. } => "the token must stand there by itself, on one line, as it was issued",
            Refusal::Expired { .. } => "get a new one; if it is new, look at this machine's clock",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_and_what_next() {
        let refused = |refusal| TokenError::Refused { from: "the token command".into(), refusal };
        let json = refused(Refusal::Character { byte: b'{', at: 1 });
        assert_eq!(json.to_string(), "the token command: a token can't hold `{`, as this text does at byte 1");
        assert!(json.hint().contains("jq"));
        let old = refused(Refusal::Expired { at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000) });
        assert_eq!(old.to_string(), "the token command: the token expired at 2023-11-14T22:13:20Z");
        let line = refused(Refusal::Character { byte: b'\n', at: 7 });
        assert!(line.to_string().contains("`\\n`"), "{line}");
        let region = TokenError::Region { host: Some("localhost".into()) };
        assert_eq!(region.to_string(), "the AWS region of the cluster is not known: `localhost` does not name it");
        assert!(region.hint().contains("AWS_REGION"));
    }
}
