//! Why a load can't start, and what to do about it.

use thiserror::Error;

use super::ANSWER;

/// Why the load can't start.
#[derive(Debug, Error)]
pub enum PreflightError {
    /// No address accepts a connection.
    #[error("no broker can be reached: {reasons}")]
    Unreachable {
        /// By address.
        reasons: String,
    },
    /// Something listens, but no cluster answers.
    #[error("{addresses} accepts connections, but no Kafka cluster answered within {} s{}", ANSWER.as_secs(), listed(.complaints))]
    Silent {
        /// Who was asked.
        addresses: String,
        /// What librdkafka said.
        complaints: Vec<String>,
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
    /// A topic is not there, and not khost's to create.
    #[error("topic `{name}` (in the manifest: `{key}`) does not exist{}", .nearest.as_ref().map_or(String::new(), |n| format!("; the nearest name is `{n}`")))]
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
        /// The broker's or librdkafka's words.
        reason: String,
    },
    /// A topic can't be used.
    #[error("topic `{name}` can't be used: {reason}")]
    Topic {
        /// In Kafka.
        name: String,
        /// The broker's or librdkafka's words.
        reason: String,
    },
    /// librdkafka does not take the settings.
    #[error("the Kafka settings can't be used: {0}")]
    Settings(String),
}

fn listed(complaints: &[String]) -> String {
    if complaints.is_empty() { String::new() } else { format!(": {}", complaints.join("; ")) }
}

impl PreflightError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            PreflightError::Unreachable { .. } => "check --brokers, that the broker runs, and that a firewall lets you through".into(),
            PreflightError::Silent { .. } => {
                "is it a Kafka listener that is alive, and does it speak this security.protocol? (-X security.protocol=plaintext, ssl, sasl_ssl, …)".into()
            }
            PreflightError::Advertised { .. } => {
                "set advertised.listeners of that broker to an address that this machine reaches, or make the name resolve here".into()
            }
            PreflightError::MissingTopic { key, .. } => format!(
                "create it, correct its name (--set topics.{key}.name=… or --param prefix=…), or let khost create it: --set topics.{key}.partitions=12"
            ),
            PreflightError::Create { key, .. } => format!(
                "correct topics.{key}.partitions, .replication or .config, create it with your own tools, or ask for the right to"
            ),
            PreflightError::Topic { .. } => "look at the topic with kafka-topics --describe".into(),
            PreflightError::Settings(_) => "correct the setting in [kafka], the profile or -X".into(),
        }
    }
}
