//! A broker inside this process, for trying things when none is named: librdkafka's mock cluster. It keeps 5 MiB a
//! partition and shares our processors, so its figures say something of the generator only.

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, DefaultProducerContext, Producer};
use rdkafka_sys::bindings as rd;

use crate::plan::Topic;

/// Partitions of a topic for which the manifest names none.
const DEFAULT_PARTITIONS: i32 = 1;

/// How long a new group waits for more members. For one who comes later it waits until its session timeout is nearly over.
const GROUP_DELAY_MS: i32 = 300;

/// It lives as long as this.
pub struct Embedded(BaseProducer<DefaultProducerContext>);

impl Embedded {
    /// Starts it, with these topics.
    ///
    /// # Errors
    /// It needs a free port on 127.0.0.1.
    pub fn start<'t>(topics: impl Iterator<Item = &'t Topic>) -> Result<Self, KafkaError> {
        let embedded = Embedded(ClientConfig::new().set("test.mock.num.brokers", "1").create()?);
        // SAFETY: the client is live, and the cluster is its own as long as it lives.
        unsafe {
            let cluster = rd::rd_kafka_handle_mock_cluster(embedded.0.client().native_ptr());
            rd::rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, GROUP_DELAY_MS);
        }
        let cluster = embedded.cluster();
        for topic in topics {
            let partitions = topic.partitions.map_or(DEFAULT_PARTITIONS, |p| p as i32);
            cluster.create_topic(&topic.name, partitions, 1)?;
        }
        drop(cluster);
        Ok(embedded)
    }

    /// Where it listens: `host:port`.
    pub fn address(&self) -> String {
        self.cluster().bootstrap_servers()
    }

    fn cluster(&self) -> MockCluster<'_, DefaultProducerContext> {
        self.0.client().mock_cluster().expect("the client was made with one")
    }
}
