//! The plan's topics while the load runs, asked of the cluster now and then, on a connection of our own: whether they are
//! still those that the preflight saw, how many partitions they have, who leads them and who is in sync.

mod history;

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::connection::{Connection, Lasting};
use super::{Address, Cluster, Reach};
pub use history::{Change, TopicChange};
use history::{History, Seen};

/// From here on a client can ask not to create topics by asking.
const WITHOUT_CREATING: i16 = 4;

/// Looks after the topics of one run.
pub struct TopicWatch {
    asked: Lasting,
    names: Vec<String>,
    topics: Vec<History>,
}

impl TopicWatch {
    /// Of the topics that the preflight saw.
    pub fn new(reach: &Reach, cluster: &Cluster) -> Self {
        TopicWatch {
            asked: Lasting::new(reach, "changes of topics can't be watched"),
            names: cluster.topics.iter().map(|topic| topic.name.clone()).collect(),
            topics: cluster.topics.iter().map(|topic| History::new(topic.id, topic.partitions)).collect(),
        }
    }

    /// Asks once, and answers what has changed since the last time, by the topic's number in the plan. Nothing where no broker
    /// answers, which takes some seconds at most.
    pub fn look(&mut self) -> Vec<(usize, TopicChange)> {
        let names = &self.names;
        let Some(answer) = self.asked.ask(|connection| question(connection, names)) else { return Vec::new() };
        self.asked.know(answer.brokers.iter().filter_map(|broker| {
            let host = broker.host.trim_matches(['[', ']']).to_owned();
            Some(Address { host, port: u16::try_from(broker.port).ok()? })
        }));
        let mut changes = Vec::new();
        for one in &answer.topics {
            let number = self.names.iter().position(|name| one.name.as_ref().is_some_and(|its| its.as_str() == name));
            let Some(number) = number else { continue };
            let seen = Seen::of(one);
            changes.extend(self.topics[number].see(&seen).into_iter().map(|change| (number, change)));
        }
        changes
    }

    /// Whether a topic may be gone, which the next look tells.
    pub fn is_in_doubt(&self) -> bool {
        self.topics.iter().any(History::is_in_doubt)
    }

    /// Whether the last look was answered.
    pub fn is_answered(&self) -> bool {
        self.asked.is_open()
    }
}

fn question(connection: &Connection, names: &[String]) -> MetadataRequest {
    let version = connection.version::<MetadataRequest>().unwrap_or_default();
    let topic =
        |name: &String| MetadataRequestTopic::default().with_name(Some(TopicName(StrBytes::from_string(name.clone()))));
    MetadataRequest::default()
        .with_topics(Some(names.iter().map(topic).collect()))
        .with_allow_auto_topic_creation(version < WITHOUT_CREATING)
}
