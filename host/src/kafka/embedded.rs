//! A broker inside this process, for trying things when none is named: librdkafka's mock cluster. It keeps 5 MiB a
//! partition and shares our processors, so its figures say something of the generator only.

use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use crate::plan::Topic;

/// Partitions of a topic for which the manifest names none.
const DEFAULT_PARTITIONS: i32 = 1;

/// It lives as long as this.
pub struct Embedded(MockCluster<'static, DefaultProducerContext>);

impl Embedded {
    /// Starts it, with these topics.
    ///
    /// # Errors
    /// It needs a free port on 127.0.0.1.
    pub fn start<'t>(topics: impl Iterator<Item = &'t Topic>) -> Result<Self, KafkaError> {
        let cluster = MockCluster::new(1)?;
        for topic in topics {
            let partitions = topic.partitions.map_or(DEFAULT_PARTITIONS, |p| p as i32);
            cluster.create_topic(&topic.name, partitions, 1)?;
        }
        Ok(Embedded(cluster))
    }

    /// Where it listens: `host:port`.
    pub fn address(&self) -> String {
        self.0.bootstrap_servers()
    }
}
