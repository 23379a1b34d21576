//! A broker inside this process, for trying things when none is named: librdkafka's mock cluster. It keeps 5 MiB a
//! partition and shares our processors, so its figures say something of the generator only.

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, DefaultProducerContext, Producer};
use rdkafka_sys::bindings as rd;

use crate::plan::{Topic, format_bytes};

/// Partitions of a topic for which the manifest names none.
const DEFAULT_PARTITIONS: i32 = 1;

/// What it keeps of each: then it drops the oldest.
const PARTITION_BYTES: u64 = 5 << 20;

/// What a record takes there beside its key and value: lengths and differences, and its part of a batch's head.
const BESIDE_A_RECORD: u64 = 12;

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

    /// Whether it would drop what has to stay in the topic: why, and what to do.
    pub fn is_too_small_for(topic: &Topic) -> Option<(String, String)> {
        let holds = topic.holds?;
        let partitions = topic.partitions.unwrap_or(DEFAULT_PARTITIONS as u32);
        let room = PARTITION_BYTES * u64::from(partitions);
        let a_record = holds.size.saturating_add(BESIDE_A_RECORD);
        let needed = holds.records.saturating_mul(a_record);
        (needed > room).then(|| {
            let message = format!(
                "topics.{}: {} records of {} have to stay in the topic, which are {}; the embedded broker keeps {} in its {partitions} \
                 partitions, and drops the oldest",
                topic.key,
                holds.records,
                format_bytes(holds.size),
                format_bytes(needed),
                format_bytes(room),
            );
            (message, format!("name a cluster with --brokers, or have no more than {} records", room / a_record))
        })
    }

    /// Where it listens: `host:port`.
    pub fn address(&self) -> String {
        self.cluster().bootstrap_servers()
    }

    fn cluster(&self) -> MockCluster<'_, DefaultProducerContext> {
        self.0.client().mock_cluster().expect("the client was made with one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Holds;

    fn topic(partitions: Option<u32>, holds: Option<Holds>) -> Topic {
        Topic {
            key: "load".into(),
            each: None,
            name: "load".into(),
            partitions,
            replication: None,
            config: Default::default(),
            holds,
            produce: true,
            consume: true,
        }
    }

    #[test]
    fn what_it_would_drop_is_refused() {
        let of = |records, partitions| topic(partitions, Some(Holds { records, size: 500 }));
        assert_eq!(Embedded::is_too_small_for(&topic(None, None)), None);
        assert_eq!(Embedded::is_too_small_for(&of(60_000, Some(6))), None);
        // 31,457,280 bytes in six partitions, 512 a record
        assert_eq!(Embedded::is_too_small_for(&of(61_440, Some(6))), None);
        let (message, hint) = Embedded::is_too_small_for(&of(61_441, Some(6))).expect("it is too small");
        assert!(message.starts_with("topics.load: 61441 records of 500B"), "{message}");
        assert!(hint.ends_with("no more than 61440 records"), "{hint}");
        assert!(Embedded::is_too_small_for(&of(61_440, None)).is_some());
        assert!(Embedded::is_too_small_for(&of(u64::MAX, Some(6))).is_some());
    }
}
