//! The plan's topics in the cluster: those that are missing are created where the manifest gives partitions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{CreateTopicsRequest, DescribeConfigsRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::brokers::{Brokers, about, ask, failed};
use super::rights::Operation;
use super::{PreflightError, TopicFacts};
use crate::kafka::Code;
use crate::plan::{Topic, nearest};

/// How long a topic just created may take to be known to every broker.
const SPREAD: Duration = Duration::from_secs(20);
/// How long the cluster may take to create one, and its answer to come.
const CREATE_LIMIT: Duration = Duration::from_secs(10);
const CREATE_ANSWER: Duration = Duration::from_secs(13);
/// A topic that somebody has just created, or whose leader moves, gets this long.
const SETTLE: Duration = Duration::from_secs(1);

const NONE: i16 = 0;
const UNKNOWN_TOPIC: i16 = ResponseError::UnknownTopicOrPartition.code();
const LEADER_NOT_AVAILABLE: i16 = ResponseError::LeaderNotAvailable.code();
const TOPIC_DENIED: i16 = ResponseError::TopicAuthorizationFailed.code();
const CLUSTER_DENIED: i16 = ResponseError::ClusterAuthorizationFailed.code();
const ALREADY_EXISTS: i16 = ResponseError::TopicAlreadyExists.code();
/// Kafka's resource type of a topic.
const TOPIC: i8 = 2;

/// What matters of a topic's configuration.
const WANTED: [&str; 5] =
    ["cleanup.policy", "compression.type", "max.message.bytes", "message.timestamp.type", "min.insync.replicas"];

/// How a topic was found.
pub(super) enum Found {
    /// It is there, and may be used.
    There(TopicFacts),
    /// It is not there, and may be created.
    ToCome,
    /// The principal lacks this.
    Lacks(Vec<Operation>),
}

/// Looks for a topic, and changes nothing: one that is missing and ours to create is tried only.
pub(super) fn find(brokers: &mut Brokers, topic: &Topic) -> Result<Found, PreflightError> {
    let seen = look_twice(brokers, topic)?;
    match seen.error_code {
        NONE | LEADER_NOT_AVAILABLE => {
            let (_, lacks) = rights(topic, &seen);
            if lacks.is_empty() { Ok(Found::There(facts(topic, &seen, false)?)) } else { Ok(Found::Lacks(lacks)) }
        }
        UNKNOWN_TOPIC if topic.partitions.is_some() => {
            // a broker tells the rights to a topic that is not there yet, too
            let (_, mut lacks) = rights(topic, &seen);
            if create(brokers, topic, Create::Tried)? == Created::Denied {
                lacks.push(Operation::Create);
            }
            Ok(if lacks.is_empty() { Found::ToCome } else { Found::Lacks(lacks) })
        }
        UNKNOWN_TOPIC => Err(missing(brokers, topic)),
        TOPIC_DENIED => {
            let wanted = wanted(topic).map(|(operation, _)| operation);
            Ok(Found::Lacks([Operation::Describe].into_iter().chain(wanted).collect()))
        }
        code => Err(unusable(topic, Code(code.into()).text())),
    }
}

/// Creates a topic that was found to be missing, and waits until every broker knows it.
pub(super) fn make(brokers: &mut Brokers, topic: &Topic) -> Result<TopicFacts, PreflightError> {
    if create(brokers, topic, Create::Really)? == Created::Denied {
        let reason = "the right Create was there a moment ago, and is no more".to_owned();
        return Err(PreflightError::Create { name: topic.name.clone(), key: topic.key.clone(), reason });
    }
    await_everywhere(brokers, topic)?;
    let seen = look(brokers, &topic.name)?;
    facts(topic, &seen, true)
}

/// A topic that is not there, and stays so.
pub(super) fn to_come(topic: &Topic) -> TopicFacts {
    TopicFacts {
        name: topic.name.clone(),
        id: None,
        exists: false,
        partitions: 0,
        replication: 0,
        created: false,
        rights: Vec::new(),
        config: BTreeMap::new(),
    }
}

fn facts(topic: &Topic, seen: &MetadataResponseTopic, created: bool) -> Result<TopicFacts, PreflightError> {
    let leaderless: Vec<String> =
        seen.partitions.iter().filter(|p| p.leader_id.0 < 0).map(|p| p.partition_index.to_string()).collect();
    if !leaderless.is_empty() {
        return Err(unusable(topic, format!("its partitions {} have no leader", leaderless.join(", "))));
    }
    Ok(TopicFacts {
        name: topic.name.clone(),
        id: Some(seen.topic_id.as_u128()).filter(|id| *id != 0),
        exists: true,
        partitions: seen.partitions.len() as u32,
        replication: seen.partitions.first().map_or(0, |p| p.replica_nodes.len() as u32),
        created,
        rights: rights(topic, seen).0,
        config: BTreeMap::new(),
    })
}

/// What the plan will do with a topic.
fn wanted(topic: &Topic) -> impl Iterator<Item = (Operation, &'static str)> {
    let all = [(topic.produce, Operation::Write, "write"), (topic.consume, Operation::Read, "read")];
    all.into_iter().filter_map(|(wanted, operation, word)| wanted.then_some((operation, word)))
}

/// What of that the broker says is allowed, and what it says is not.
fn rights(topic: &Topic, seen: &MetadataResponseTopic) -> (Vec<&'static str>, Vec<Operation>) {
    let told = |(operation, word): (Operation, _)| (operation, word, operation.is_in(seen.topic_authorized_operations));
    let told: Vec<_> = wanted(topic).map(told).collect();
    let allowed = told.iter().filter(|(.., is_in)| *is_in == Some(true)).map(|(_, word, _)| *word).collect();
    let lacks = told.iter().filter(|(.., is_in)| *is_in == Some(false)).map(|(operation, ..)| *operation).collect();
    (allowed, lacks)
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
    let wanted = topic.partitions.filter(|wanted| *wanted != seen.partitions && seen.exists)?;
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

/// Whether a topic is created, or only the cluster asked whether it would be.
#[derive(Clone, Copy, PartialEq)]
enum Create {
    Really,
    Tried,
}

/// What came of it.
#[derive(PartialEq)]
enum Created {
    Done,
    Denied,
}

fn create(brokers: &mut Brokers, topic: &Topic, how: Create) -> Result<Created, PreflightError> {
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
        .with_timeout_ms(CREATE_LIMIT.as_millis() as i32)
        .with_validate_only(how == Create::Tried);
    let (id, connection) = brokers.controller();
    let answer = connection.ask_within(&request, CREATE_ANSWER).map_err(|error| failed(id, connection, error))?;
    let Some(result) = answer.topics.first() else { return Ok(Created::Done) };
    match result.error_code {
        NONE | ALREADY_EXISTS => Ok(Created::Done),
        TOPIC_DENIED | CLUSTER_DENIED => Ok(Created::Denied),
        code => {
            let words = result.error_message.as_ref().map(|words| words.to_string());
            let reason = words.unwrap_or_else(|| Code(code.into()).text());
            Err(PreflightError::Create { name: topic.name.clone(), key: topic.key.clone(), reason })
        }
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

fn unusable(topic: &Topic, reason: String) -> PreflightError {
    PreflightError::Topic { name: topic.name.clone(), reason }
}
