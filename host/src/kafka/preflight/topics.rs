//! The plan's topics in the cluster: those that are missing are created where the manifest gives partitions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{CreateTopicsRequest, DescribeConfigsRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::brokers::{Brokers, about, ask, failed};
use super::rights::{self, Operation, Resource};
use super::{PreflightError, TopicFacts};
use crate::kafka::Code;
use crate::plan::{Topic, nearest};

/// How long a topic just created may take to be known to every broker.
const SPREAD: Duration = Duration::from_secs(20);
/// How long the cluster may take to create one, and its answer to come.
const CREATE: Duration = Duration::from_secs(10);
const CREATE_ANSWER: Duration = Duration::from_secs(13);
/// A topic that somebody has just created, or whose leader moves, gets this long.
const SETTLE: Duration = Duration::from_secs(1);

const NONE: i16 = 0;
const UNKNOWN_TOPIC: i16 = 3;
const LEADER_NOT_AVAILABLE: i16 = 5;
const TOPIC_DENIED: i16 = 29;
const CLUSTER_DENIED: i16 = 31;
const ALREADY_EXISTS: i16 = 36;
/// Kafka's resource type of a topic.
const TOPIC: i8 = 2;

/// What matters of a topic's configuration.
const WANTED: [&str; 5] =
    ["cleanup.policy", "compression.type", "max.message.bytes", "message.timestamp.type", "min.insync.replicas"];

/// The topic, which may have to be created (`really`, or only tried); the plan's rights to it are there.
pub(super) fn ensure(brokers: &mut Brokers, topic: &Topic, really: bool) -> Result<TopicFacts, PreflightError> {
    let seen = look_twice(brokers, topic)?;
    let (seen, created) = match seen.error_code {
        NONE | LEADER_NOT_AVAILABLE => (seen, false),
        UNKNOWN_TOPIC if topic.partitions.is_some() => {
            // a broker tells the rights to a topic that is not there yet, too
            allowed(brokers, topic, &seen)?;
            create(brokers, topic, really)?;
            if !really {
                return Ok(to_come(topic));
            }
            await_everywhere(brokers, topic)?;
            (look(brokers, &topic.name)?, true)
        }
        UNKNOWN_TOPIC => return Err(missing(brokers, topic)),
        TOPIC_DENIED => return Err(denied(brokers, Operation::Describe, topic)),
        code => return Err(unusable(topic, Code(code.into()).text())),
    };
    let allowed = allowed(brokers, topic, &seen)?;
    let leaderless: Vec<String> =
        seen.partitions.iter().filter(|p| p.leader_id.0 < 0).map(|p| p.partition_index.to_string()).collect();
    if !leaderless.is_empty() {
        return Err(unusable(topic, format!("its partitions {} have no leader", leaderless.join(", "))));
    }
    Ok(TopicFacts {
        name: topic.name.clone(),
        partitions: seen.partitions.len() as u32,
        replication: seen.partitions.first().map_or(0, |p| p.replica_nodes.len() as u32),
        created,
        rights: allowed,
        config: BTreeMap::new(),
    })
}

/// What the plan will do with the topic, as far as the broker says that this principal may.
fn allowed(
    brokers: &mut Brokers,
    topic: &Topic,
    seen: &MetadataResponseTopic,
) -> Result<Vec<&'static str>, PreflightError> {
    let mut allowed = Vec::new();
    for (wanted, operation, word) in
        [(topic.produce, Operation::Write, "write"), (topic.consume, Operation::Read, "read")]
    {
        if wanted {
            let (principal, broker) = (brokers.principal.clone(), brokers.any().1.address().to_string());
            let resource = Resource::Topic(topic.name.clone());
            if rights::check(seen.topic_authorized_operations, operation, &principal, resource, &broker)? {
                allowed.push(word);
            }
        }
    }
    Ok(allowed)
}

/// Fills in what matters of each topic's configuration; it stays empty where it is not told, for want of a right or of
/// support.
pub(super) fn configs(brokers: &mut Brokers, topics: &mut [TopicFacts]) -> Result<(), PreflightError> {
    let (id, connection) = brokers.any();
    if topics.is_empty() || connection.version::<DescribeConfigsRequest>().is_none() {
        return Ok(());
    }
    let resource = |topic: &TopicFacts| {
        DescribeConfigsResource::default()
            .with_resource_type(TOPIC)
            .with_resource_name(StrBytes::from_string(topic.name.clone()))
            .with_configuration_keys(Some(WANTED.map(StrBytes::from_static_str).to_vec()))
    };
    let request = DescribeConfigsRequest::default().with_resources(topics.iter().map(resource).collect());
    let answer = ask((id, connection), &request)?;
    for result in answer.results.iter().filter(|result| result.error_code == NONE) {
        let Some(topic) = topics.iter_mut().find(|topic| topic.name == *result.resource_name) else { continue };
        let entries =
            result.configs.iter().filter_map(|entry| Some((entry.name.to_string(), entry.value.as_ref()?.to_string())));
        topic.config.extend(entries);
    }
    Ok(())
}

/// Says so where a topic that was there has other partitions than the manifest says.
pub(super) fn other_partitions(topic: &Topic, seen: &TopicFacts) -> Option<String> {
    let wanted = topic.partitions.filter(|wanted| *wanted != seen.partitions && seen.partitions > 0)?;
    Some(format!(
        "topic `{}` has {} partitions, not {wanted} as the manifest says; khost does not change topics",
        topic.name, seen.partitions
    ))
}

/// Says so where a topic that was there has other settings than the manifest says.
pub(super) fn other_config(topic: &Topic, seen: &TopicFacts) -> Vec<String> {
    let both = topic.config.iter().filter_map(|(name, wanted)| Some((name, wanted, seen.config.get(name)?)));
    let other = both.filter(|(_, wanted, seen)| wanted != seen).map(|(name, wanted, seen)| {
        format!(
            "topic `{}` has {name} = {seen}, not {wanted} as the manifest says; khost does not change topics",
            topic.name
        )
    });
    other.collect()
}

/// Looks again for a moment where that may help: at a topic that is not there and not ours to create, and at a partition
/// without a leader.
fn look_twice(brokers: &mut Brokers, topic: &Topic) -> Result<MetadataResponseTopic, PreflightError> {
    let until = Instant::now() + SETTLE;
    loop {
        let seen = look(brokers, &topic.name)?;
        let settled = match seen.error_code {
            NONE => seen.partitions.iter().all(|partition| partition.leader_id.0 >= 0),
            UNKNOWN_TOPIC => topic.partitions.is_some(),
            code => code != LEADER_NOT_AVAILABLE,
        };
        if settled || Instant::now() >= until {
            return Ok(seen);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn look(brokers: &mut Brokers, name: &str) -> Result<MetadataResponseTopic, PreflightError> {
    let (id, connection) = brokers.any();
    look_at(id, connection, name)
}

fn look_at(
    id: i32,
    connection: &mut crate::kafka::connection::Connection,
    name: &str,
) -> Result<MetadataResponseTopic, PreflightError> {
    let request = about(connection, Some(&[name]));
    let answer = connection.ask(&request).map_err(|error| failed(id, connection, error))?;
    // a broker that leaves the topic out does not know it
    Ok(answer
        .topics
        .into_iter()
        .next()
        .unwrap_or_else(|| MetadataResponseTopic::default().with_error_code(UNKNOWN_TOPIC)))
}

fn missing(brokers: &mut Brokers, topic: &Topic) -> PreflightError {
    let (_, connection) = brokers.any();
    let request = about(connection, None);
    // a cluster with so many topics that it takes too long gets no help with the spelling
    let all = connection.ask(&request).map(|answer| answer.topics).unwrap_or_default();
    let names: Vec<String> = all.iter().filter_map(|topic| Some(topic.name.as_ref()?.to_string())).collect();
    PreflightError::MissingTopic {
        name: topic.name.clone(),
        key: topic.key.clone(),
        nearest: nearest(&topic.name, names.iter().map(String::as_str)).map(str::to_owned),
    }
}

fn create(brokers: &mut Brokers, topic: &Topic, really: bool) -> Result<(), PreflightError> {
    let config = |(name, value): (&String, &String)| {
        CreatableTopicConfig::default()
            .with_name(StrBytes::from_string(name.clone()))
            .with_value(Some(StrBytes::from_string(value.clone())))
    };
    let new = CreatableTopic::default()
        .with_name(TopicName(StrBytes::from_string(topic.name.clone())))
        .with_num_partitions(topic.partitions.map_or(-1, |count| count as i32))
        .with_replication_factor(topic.replication.map_or(-1, |count| count as i16))
        .with_configs(topic.config.iter().map(config).collect());
    let request = CreateTopicsRequest::default()
        .with_topics(vec![new])
        .with_timeout_ms(CREATE.as_millis() as i32)
        .with_validate_only(!really);
    let (id, connection) = brokers.controller();
    let answer = connection.ask_within(&request, CREATE_ANSWER).map_err(|error| failed(id, connection, error))?;
    let Some(result) = answer.topics.first() else { return Ok(()) };
    match result.error_code {
        NONE | ALREADY_EXISTS => Ok(()),
        TOPIC_DENIED | CLUSTER_DENIED => Err(denied(brokers, Operation::Create, topic)),
        code => {
            let words = result.error_message.as_ref().map(|words| words.to_string());
            let reason = words.unwrap_or_else(|| Code(code.into()).text());
            Err(PreflightError::Create { name: topic.name.clone(), key: topic.key.clone(), reason })
        }
    }
}

/// A topic that a run would create.
fn to_come(topic: &Topic) -> TopicFacts {
    TopicFacts {
        name: topic.name.clone(),
        partitions: 0,
        replication: 0,
        created: false,
        rights: Vec::new(),
        config: BTreeMap::new(),
    }
}

/// Waits until each broker knows the topic with a leader for every partition.
fn await_everywhere(brokers: &mut Brokers, topic: &Topic) -> Result<(), PreflightError> {
    let until = Instant::now() + SPREAD;
    for id in brokers.ids() {
        let Some(connection) = brokers.get(id) else { continue };
        loop {
            let seen = look_at(id, connection, &topic.name)?;
            let complete = topic.partitions.is_none_or(|wanted| seen.partitions.len() >= wanted as usize);
            if seen.error_code == NONE && complete && seen.partitions.iter().all(|p| p.leader_id.0 >= 0) {
                break;
            }
            if Instant::now() > until {
                let reason = format!("it was created, but broker {id} does not know it after {} s", SPREAD.as_secs());
                return Err(unusable(topic, reason));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

fn denied(brokers: &mut Brokers, operation: Operation, topic: &Topic) -> PreflightError {
    let broker = brokers.any().1.address().to_string();
    rights::denied(operation, &brokers.principal, Resource::Topic(topic.name.clone()), &broker)
}

fn unusable(topic: &Topic, reason: String) -> PreflightError {
    PreflightError::Topic { name: topic.name.clone(), reason }
}
