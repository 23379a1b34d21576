//! Why a load can't start, and what to do about it.

use thiserror::Error;

use super::rights::{self, Lack};
use crate::kafka::connection::BrokerError;
use crate::kafka::token::TokenError;

/// Why the load can't start.
#[derive(Debug, Error)]
pub enum PreflightError {
    /// None of the addresses has a broker.
    #[error("no broker can be reached: {}", told(.failed))]
    Nobody {
        /// By address.
        failed: Vec<(String, BrokerError)>,
    },
    /// A broker answers, and there is something between us.
    #[error("{}{address} {error}", .id.map_or(String::new(), |id| format!("broker {id} at ")))]
    Broker {
        /// Which, as far as the cluster has told.
        id: Option<i32>,
        /// Where.
        address: String,
        /// What.
        error: BrokerError,
    },
    /// A broker is not where it says.
    #[error("the cluster answered at {bootstrap}, but its broker {id} advertises {address}, which {reason}")]
    Advertised {
        /// Who was asked.
        bootstrap: String,
        /// Which broker.
        id: i32,
        /// Where it says that it is.
        address: String,
        /// Why it can't be reached there.
        reason: String,
    },
    /// khost's own questions were answered, librdkafka's were not.
    #[error("{addresses} answers khost, but not librdkafka: {}", .complaints.join("; "))]
    Librdkafka {
        /// Who was asked.
        addresses: String,
        /// What librdkafka said.
        complaints: Vec<String>,
    },
    /// There is no token to log in with.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The principal may not do what the plan will do.
    #[error("{principal} lacks {} (so says the broker at {broker})", rights::words(.lacks))]
    Denied {
        /// Who.
        principal: String,
        /// What, and to what.
        lacks: Vec<Lack>,
        /// Which broker says so.
        broker: String,
    },
    /// A topic is not there, and not khost's to create.
    #[error("topic `{name}`{} does not exist{}", in_manifest(.key), .nearest.as_ref().map_or(String::new(), |n| format!("; the nearest name is `{n}`")))]
    MissingTopic {
        /// In Kafka.
        name: String,
        /// In the manifest.
        key: String,
        /// A topic that does exist.
        nearest: Option<String>,
    },
    /// Creating a topic failed.
    #[error("topic `{name}` can't be created: {reason}")]
    Create {
        /// In Kafka.
        name: String,
        /// In the manifest.
        key: String,
        /// The broker's words.
        reason: String,
    },
    /// A topic can't be used.
    #[error("topic `{name}` can't be used: {reason}")]
    Topic {
        /// In Kafka.
        name: String,
        /// The broker's words.
        reason: String,
    },
    /// A consumer group can't be used.
    #[error("consumer group `{name}` can't be used: {reason}")]
    Group {
        /// Its name.
        name: String,
        /// The broker's words.
        reason: String,
    },
    /// librdkafka does not take the settings.
    #[error("the Kafka settings can't be used: {0}")]
    Settings(String),
}

fn in_manifest(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(" (in the manifest: `{key}`)") }
}

fn told(failed: &[(String, BrokerError)]) -> String {
    let each: Vec<String> = failed.iter().map(|(address, error)| format!("{address} {error}")).collect();
    each.join("; ")
}

impl PreflightError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            PreflightError::Nobody { failed } => {
                let unlike = |(_, error): &&(String, BrokerError)| !matches!(error, BrokerError::Unreachable(_));
                let telling = failed.iter().find(unlike).or_else(|| failed.first());
                telling.map_or_else(|| "name a broker with --brokers".into(), |(_, error)| error.hint())
            }
            PreflightError::Broker { error, .. } => error.hint(),
            PreflightError::Librdkafka { .. } => {
                "a setting may mean something to librdkafka only: --dry-run lists all that are set".into()
            }
            PreflightError::Token(error) => error.hint(),
            PreflightError::Advertised { reason, .. } if reason.contains("within") => {
                "does a firewall drop what is sent there? Or set advertised.listeners of that broker to an address that this machine reaches".into()
            }
            PreflightError::Advertised { .. } => {
                "set advertised.listeners of that broker to an address that this machine reaches, or make the name resolve here".into()
            }
            PreflightError::Denied { principal, .. } if !principal.starts_with("User:") => {
                "an admin of the cluster can give it, by kafka-acls to the principal that the token names; on Amazon MSK, by an IAM policy".into()
            }
            PreflightError::Denied { principal, lacks, broker } => {
                format!("an admin of the cluster can: {}", rights::commands(lacks, principal, broker))
            }
            PreflightError::MissingTopic { key, .. } if key.is_empty() => "create it, or correct its name".into(),
            PreflightError::MissingTopic { key, .. } => format!(
                "create it, correct its name (--set topics.{key}.name=… or --param prefix=…), or let khost create it: --set topics.{key}.partitions=12"
            ),
            PreflightError::Create { key, .. } => format!(
                "correct topics.{key}.partitions, .replication or .config, create it with your own tools, or ask for the right to"
            ),
            PreflightError::Topic { .. } => "look at the topic with kafka-topics --describe".into(),
            PreflightError::Group { .. } => "look at the group with kafka-consumer-groups --describe".into(),
            PreflightError::Settings(_) => "correct the setting in [kafka], the profile or -X".into(),
        }
    }
}
