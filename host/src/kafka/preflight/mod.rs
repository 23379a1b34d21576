//! What can be known of a cluster before the load: whether it answers, whether its brokers are where they say, whether
//! the topics are there. Creates those that the manifest gives partitions, and waits until every broker knows them.

mod answer;
mod error;
mod topics;

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::admin::AdminClient;
use rdkafka::client::DefaultClientContext;
use rdkafka::config::{ClientConfig, FromClientConfig, RDKafkaLogLevel};
use serde::Serialize;

use super::{Addresses, ClientSettings};
use crate::plan::Topic;
use answer::{first_answer, reach_any, reach_brokers};
pub use error::PreflightError;
use topics::{await_everywhere, configs, describe, ensure};

/// How long the cluster may take to answer.
const ANSWER: Duration = Duration::from_secs(6);

/// What the cluster said of itself.
#[derive(Debug, Clone, Serialize)]
pub struct Cluster {
    /// Its brokers.
    pub brokers: Vec<Broker>,
    /// The release of the broker that answered first, judged by the requests that it speaks, such as `4.1 or newer`.
    pub kafka: Option<&'static str>,
    /// The plan's topics, in the plan's order.
    pub topics: Vec<TopicFacts>,
    /// What a person should know before the run.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// One broker, as the cluster advertises it.
#[derive(Debug, Clone, Serialize)]
pub struct Broker {
    /// Its number.
    pub id: i32,
    /// `host:port`.
    pub address: String,
}

/// One topic as it is in the cluster.
#[derive(Debug, Clone, Serialize)]
pub struct TopicFacts {
    /// Its name in Kafka.
    pub name: String,
    /// How many.
    pub partitions: u32,
    /// Replicas of its first partition.
    pub replication: u32,
    /// Whether this run created it.
    pub created: bool,
    /// `cleanup.policy`, `max.message.bytes`, `message.timestamp.type`, `min.insync.replicas`; empty where the cluster
    /// does not tell.
    pub config: BTreeMap<String, String>,
}

impl TopicFacts {
    /// A record without a key would be refused.
    pub fn is_compacted(&self) -> bool {
        self.config.get("cleanup.policy").is_some_and(|policy| policy.split(',').any(|p| p.trim() == "compact"))
    }
}

/// Asks the cluster; `embedded` says that it is khost's own. `settings` are librdkafka's without `bootstrap.servers`.
///
/// # Errors
/// The first thing that would keep the load from starting, within seconds.
pub fn preflight(
    addresses: &Addresses,
    settings: &ClientSettings,
    topics: &[Topic],
    embedded: bool,
) -> Result<Cluster, PreflightError> {
    reach_any(addresses)?;
    let (metadata, kafka) = first_answer(addresses, settings)?;
    reach_brokers(addresses, &metadata)?;
    let admin = admin(&addresses.to_string(), settings)?;
    let mut created = Vec::new();
    for topic in topics {
        created.push(ensure(&admin, &metadata, topic)?);
    }
    let mut facts = Vec::new();
    let mut warnings = Vec::new();
    for (topic, created) in topics.iter().zip(created) {
        if created {
            await_everywhere(&metadata, settings, topic)?;
        }
        let seen = describe(&admin, topic, created)?;
        if let Some(wanted) = topic.partitions
            && wanted != seen.partitions
        {
            warnings.push(format!(
                "topic `{}` has {} partitions, not {wanted} as the manifest says; khost does not change topics",
                topic.name, seen.partitions
            ));
        }
        facts.push(seen);
    }
    // librdkafka's mock cluster can't describe topics
    if !embedded {
        facts.iter_mut().zip(configs(&admin, topics)).for_each(|(facts, config)| facts.config = config);
        for (topic, facts) in topics.iter().zip(&facts) {
            let seen = |name: &String| facts.config.get(name);
            let other = topic.config.iter().filter_map(|(name, wanted)| Some((name, wanted, seen(name)?)));
            warnings.extend(other.filter(|(_, wanted, seen)| wanted != seen).map(|(name, wanted, seen)| {
                format!(
                    "topic `{}` has {name} = {seen}, not {wanted} as the manifest says; khost does not change topics",
                    topic.name
                )
            }));
        }
    }
    let brokers = metadata
        .brokers()
        .iter()
        .map(|b| Broker { id: b.id(), address: format!("{}:{}", b.host(), b.port()) })
        .collect();
    Ok(Cluster { brokers, kafka, topics: facts, warnings })
}

fn admin(bootstrap: &str, settings: &ClientSettings) -> Result<AdminClient<DefaultClientContext>, PreflightError> {
    AdminClient::from_config(&config(bootstrap, settings)).map_err(|error| PreflightError::Settings(error.to_string()))
}

/// Settings of the message path are no business of these clients; some of them they would only warn about.
fn config(bootstrap: &str, settings: &ClientSettings) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, value) in settings.iter().filter(|(name, _)| is_connection(name)) {
        config.set(name, value);
    }
    config.set("bootstrap.servers", bootstrap).set("socket.connection.setup.timeout.ms", "3000");
    config.set_log_level(RDKafkaLogLevel::Error);
    config
}

fn is_connection(name: &str) -> bool {
    [
        "ssl.",
        "sasl.",
        "security.",
        "socket.",
        "broker.address.",
        "client.id",
        "client.dns",
        "enable.ssl",
        "resolve.",
        "https.",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}
