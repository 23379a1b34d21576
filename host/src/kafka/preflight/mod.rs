//! What can be known of a cluster before the load: whether its brokers are where they say, let us in, know the topics,
//! and let this principal do what the plan will do. Creates the topics that the manifest gives partitions, and waits until
//! every broker knows them. Each broker is tried once: no retry storm, no account locked.

mod brokers;
mod clock;
mod error;
mod groups;
mod librdkafka;
mod rights;
mod sizes;
mod topics;

use std::collections::BTreeMap;

use serde::Serialize;

use super::{ClientSettings, Reach};
use crate::plan::Topic;
use brokers::Brokers;
pub use clock::Clock;
pub use error::PreflightError;
pub use rights::{Lack, Operation, Resource};
use topics::Found;

/// What is to be found out, and how to reach it.
pub struct Checks<'a> {
    /// The way to the cluster.
    pub reach: &'a Reach,
    /// The settings of each flow's clients, as the plan has them.
    pub settings: &'a [ClientSettings],
    /// The topics that will be written to or read.
    pub topics: &'a [Topic],
    /// The consumer groups that will be joined.
    pub groups: &'a [String],
    /// Other groups, of which is asked what they have committed.
    pub watched: &'a [String],
    /// Topics that are missing are created; else that is only tried.
    pub create: bool,
    /// The broker is khost's own: it has no rights to tell.
    pub embedded: bool,
}

/// What the cluster said of itself.
#[derive(Debug, Clone, Serialize)]
pub struct Cluster {
    /// Its brokers.
    pub brokers: Vec<Broker>,
    /// The release of the broker that answered first, judged by the requests that it speaks, such as `4.1 or newer`.
    pub kafka: Option<&'static str>,
    /// How clients are let in.
    pub security: Access,
    /// The controller's clock against ours; absent where the cluster does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// The plan's topics, in the plan's order.
    pub topics: Vec<TopicFacts>,
    /// The groups that may be joined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The groups whose lag may be told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watched_groups: Vec<String>,
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
    /// Its release, as with the cluster's.
    pub kafka: Option<&'static str>,
}

/// How clients are let in.
#[derive(Debug, Clone, Serialize)]
pub struct Access {
    /// `plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`.
    pub protocol: &'static str,
    /// The version of TLS that was agreed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<&'static str>,
    /// SASL's mechanism.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<&'static str>,
    /// Who the brokers take us for, unless they map names to others.
    pub principal: String,
}

/// One topic as it is in the cluster.
#[derive(Debug, Clone, Serialize)]
pub struct TopicFacts {
    /// Its name in Kafka.
    pub name: String,
    /// Its id, which another topic of the same name would not have; none where the brokers tell none.
    #[serde(skip)]
    pub id: Option<u128>,
    /// Whether it is there; else `khost run` would create it.
    pub exists: bool,
    /// How many.
    pub partitions: u32,
    /// Replicas of its first partition.
    pub replication: u32,
    /// Whether this run created it.
    pub created: bool,
    /// What this principal may do with it, of what the plan will do: `write`, `read`.
    pub rights: Vec<&'static str>,
    /// `cleanup.policy`, `max.message.bytes`, `message.timestamp.type`, `min.insync.replicas`; empty where the cluster
    /// does not tell.
    pub config: BTreeMap<String, String>,
}

impl TopicFacts {
    /// Whether the brokers said all that the plan needs to know.
    fn tells_rights(&self, topic: &Topic) -> bool {
        let wanted = usize::from(topic.produce) + usize::from(topic.consume);
        !self.exists || self.rights.len() == wanted
    }

    /// A record without a key would be refused.
    pub fn is_compacted(&self) -> bool {
        self.config.get("cleanup.policy").is_some_and(|policy| policy.split(',').any(|p| p.trim() == "compact"))
    }
}

/// Asks the cluster.
///
/// # Errors
/// The first thing that would keep the load from starting, within seconds.
pub fn preflight(checks: &Checks<'_>) -> Result<Cluster, PreflightError> {
    let mut brokers = Brokers::reach(checks)?;
    let mut warnings: Vec<String> = brokers.warnings().collect();
    let mut lacks = Vec::new();
    let mut found = Vec::new();
    for topic in checks.topics {
        match topics::find(&mut brokers, topic)? {
            Found::Lacks(operations) => lacks.push(Lack { resource: Resource::Topic(topic.name.clone()), operations }),
            one => found.push((topic, one)),
        }
    }
    let mut groups = Vec::new();
    // the embedded broker answers no questions about groups
    for group in checks.groups.iter().filter(|_| !checks.embedded) {
        match groups::lacks(&mut brokers, group)? {
            Some(operations) if operations.is_empty() => groups.push(group.clone()),
            Some(operations) => lacks.push(Lack { resource: Resource::Group(group.clone()), operations }),
            None => {}
        }
    }
    let mut watched = Vec::new();
    for group in checks.watched.iter().filter(|_| !checks.embedded) {
        match groups::is_described(&mut brokers, group)? {
            true => watched.push(group.clone()),
            false => {
                let operations = vec![Operation::Describe];
                lacks.push(Lack { resource: Resource::Group(group.clone()), operations });
            }
        }
    }
    if !lacks.is_empty() {
        let broker = brokers.any().1.address().to_string();
        return Err(PreflightError::Denied { principal: brokers.principal.clone(), lacks, broker });
    }
    let mut facts = Vec::new();
    for (topic, found) in found {
        let seen = match found {
            Found::There(seen) => seen,
            _ if checks.create => topics::make(&mut brokers, topic)?,
            _ => topics::to_come(topic),
        };
        warnings.extend(topics::other_partitions(topic, &seen));
        facts.push(seen);
    }
    topics::configs(&mut brokers, &mut facts)?;
    for (topic, facts) in checks.topics.iter().zip(&facts) {
        warnings.extend(topics::other_config(topic, facts));
        warnings.extend(sizes::check(topic, facts, checks.settings)?);
    }
    let told = facts.iter().zip(checks.topics).all(|(facts, topic)| facts.tells_rights(topic));
    if !checks.embedded && (!told || groups.len() < checks.groups.len()) {
        warnings
            .push("the brokers don't tell rights, as those of Kafka 2.3 and newer do: they show in the load".into());
    }
    let clock = clock::ask(&mut brokers);
    warnings.extend(checks.reach.security.warnings().map(str::to_owned));
    warnings.extend(clock.as_ref().and_then(Clock::warning));
    librdkafka::agrees(checks.reach)?;
    let (listed, access) = (brokers.list(), brokers.access(&checks.reach.security));
    Ok(Cluster {
        kafka: brokers.first_release(),
        brokers: listed,
        security: access,
        clock,
        topics: facts,
        groups,
        watched_groups: watched,
        warnings,
    })
}
