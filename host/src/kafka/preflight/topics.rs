//! The plan's topics in the cluster: those that are missing are created where the manifest gives partitions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::metadata::Metadata;

use super::{ANSWER, PreflightError, TopicFacts, admin};
use crate::kafka::{ClientSettings, Code};
use crate::plan::{Topic, nearest};

/// How long a topic just created may take to be known to every broker.
const SPREAD: Duration = Duration::from_secs(20);

/// Whether the topic had to be created.
pub(super) fn ensure(
    admin: &AdminClient<DefaultClientContext>,
    metadata: &Metadata,
    topic: &Topic,
) -> Result<bool, PreflightError> {
    if metadata.topics().iter().any(|known| known.name() == topic.name) {
        return Ok(false);
    }
    let Some(partitions) = topic.partitions else {
        let names = metadata.topics().iter().map(|t| t.name());
        return Err(PreflightError::MissingTopic {
            name: topic.name.clone(),
            key: topic.key.clone(),
            nearest: nearest(&topic.name, names).map(str::to_owned),
        });
    };
    let replication = TopicReplication::Fixed(topic.replication.map_or(-1, i32::from));
    let mut new = NewTopic::new(&topic.name, partitions as i32, replication);
    for (name, value) in &topic.config {
        new = new.set(name, value);
    }
    let options = AdminOptions::new().operation_timeout(Some(ANSWER)).request_timeout(Some(ANSWER));
    let fail = |reason: String| PreflightError::Create { name: topic.name.clone(), key: topic.key.clone(), reason };
    let results = pollster::block_on(admin.create_topics([&new], &options)).map_err(|error| fail(error.to_string()))?;
    match results.into_iter().next() {
        Some(Err((_, code))) if code != rdkafka::types::RDKafkaErrorCode::TopicAlreadyExists => {
            Err(fail(code.to_string()))
        }
        _ => Ok(true),
    }
}

/// Waits until each broker knows the topic with a leader for every partition.
pub(super) fn await_everywhere(
    metadata: &Metadata,
    settings: &ClientSettings,
    topic: &Topic,
) -> Result<(), PreflightError> {
    let until = Instant::now() + SPREAD;
    for broker in metadata.brokers() {
        let one = admin(&format!("{}:{}", broker.host(), broker.port()), settings)?;
        loop {
            let ready = one.inner().fetch_metadata(Some(&topic.name), ANSWER).is_ok_and(|seen| {
                seen.topics().first().is_some_and(|t| {
                    t.error().is_none()
                        && topic.partitions.is_none_or(|wanted| t.partitions().len() >= wanted as usize)
                        && t.partitions().iter().all(|p| p.leader() >= 0)
                })
            });
            if ready {
                break;
            }
            if Instant::now() > until {
                let reason =
                    format!("it was created, but broker {} does not know it after {} s", broker.id(), SPREAD.as_secs());
                return Err(PreflightError::Topic { name: topic.name.clone(), reason });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

pub(super) fn describe(
    admin: &AdminClient<DefaultClientContext>,
    topic: &Topic,
    created: bool,
) -> Result<TopicFacts, PreflightError> {
    let fail = |reason: String| PreflightError::Topic { name: topic.name.clone(), reason };
    let metadata = admin.inner().fetch_metadata(Some(&topic.name), ANSWER).map_err(|error| fail(error.to_string()))?;
    let seen = metadata.topics().first().ok_or_else(|| fail("the cluster does not tell of it".into()))?;
    if let Some(error) = seen.error() {
        return Err(fail(Code(error as i32).text()));
    }
    let leaderless: Vec<String> =
        seen.partitions().iter().filter(|p| p.leader() < 0).map(|p| p.id().to_string()).collect();
    if !leaderless.is_empty() {
        return Err(fail(format!("its partitions {} have no leader", leaderless.join(", "))));
    }
    Ok(TopicFacts {
        name: topic.name.clone(),
        partitions: seen.partitions().len() as u32,
        replication: seen.partitions().first().map_or(0, |p| p.replicas().len() as u32),
        created,
        config: BTreeMap::new(),
    })
}

/// What matters of each topic's configuration; an empty map where it is not told, for want of a right or of support.
pub(super) fn configs(admin: &AdminClient<DefaultClientContext>, topics: &[Topic]) -> Vec<BTreeMap<String, String>> {
    const WANTED: [&str; 5] =
        ["cleanup.policy", "compression.type", "max.message.bytes", "message.timestamp.type", "min.insync.replicas"];
    let resources: Vec<_> = topics.iter().map(|t| ResourceSpecifier::Topic(&t.name)).collect();
    let options = AdminOptions::new().request_timeout(Some(ANSWER));
    let answers = pollster::block_on(admin.describe_configs(&resources, &options)).unwrap_or_default();
    let mut found: Vec<_> = answers
        .into_iter()
        .map(|answer| {
            let Ok(resource) = answer else { return BTreeMap::new() };
            let entries = resource.entries.into_iter().filter(|e| WANTED.contains(&e.name.as_str()));
            entries.filter_map(|e| Some((e.name, e.value?))).collect()
        })
        .collect();
    found.resize(topics.len(), BTreeMap::new());
    found
}
