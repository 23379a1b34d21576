//! What arrived in a topic, read with rdkafka's consumer: another way than any of khost's own.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

const LIMIT: Duration = Duration::from_secs(20);

/// A topic of a test.
#[derive(Clone)]
pub(crate) struct Topic {
    pub(crate) name: String,
    bootstrap: String,
}

/// A record as it lies in the topic. `None` is Kafka's null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// Milliseconds since the Unix epoch.
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Topic {
    pub(super) fn new(bootstrap: &str, name: &str) -> Topic {
        Topic { name: name.into(), bootstrap: bootstrap.into() }
    }

    /// Messages by partition, by the broker's end offsets.
    pub(crate) fn end_offsets(&self) -> Vec<i64> {
        let client = self.client();
        let partitions = self.partitions(&client).len() as i32;
        let start = Instant::now();
        let end = |partition| loop {
            // A leader may just have moved.
            match client.fetch_watermarks(&self.name, partition, Duration::from_secs(2)) {
                Ok((_, end)) => return end,
                Err(error) if start.elapsed() > LIMIT => panic!("{} partition {partition}: {error}", self.name),
                Err(_) => {}
            }
        };
        (0..partitions).map(end).collect()
    }

    /// Messages in all partitions.
    pub(crate) fn count(&self) -> u64 {
        self.end_offsets().iter().sum::<i64>() as u64
    }

    /// Waits until there are so many.
    #[track_caller]
    pub(crate) fn wait_for_messages(&self, count: u64) {
        let start = Instant::now();
        while self.count() < count {
            assert!(start.elapsed() < 2 * LIMIT, "{} has {} messages, not {count}", self.name, self.count());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// All records: partition by partition, each in its order.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        self.each(|message| records.push(Record::from(message)));
        records.sort_by_key(|record| (record.partition, record.offset));
        records
    }

    /// Shows every record, none is kept: for topics of many.
    pub(crate) fn each(&self, mut look: impl FnMut(&BorrowedMessage<'_>)) {
        let client = self.client();
        let mut open = self.partitions(&client).len();
        let mut from = TopicPartitionList::new();
        for partition in 0..open {
            from.add_partition_offset(&self.name, partition as i32, Offset::Beginning).expect("a valid offset");
        }
        client.assign(&from).expect("a valid assignment");
        while open > 0 {
            match client.poll(LIMIT).expect("records or the end within the limit") {
                Ok(message) => look(&message),
                Err(KafkaError::PartitionEOF(_)) => open -= 1,
                Err(error) => panic!("reading {}: {error}", self.name),
            }
        }
    }

    /// A group says how far it is here.
    pub(crate) fn commit(&self, group: &str, offsets: &[(i32, i64)]) {
        let mut list = TopicPartitionList::new();
        for (partition, offset) in offsets {
            list.add_partition_offset(&self.name, *partition, Offset::Offset(*offset)).expect("a valid offset");
        }
        self.client_of(group).commit(&list, CommitMode::Sync).expect("it is committed");
    }

    /// What a group has committed here, by partition.
    pub(crate) fn committed(&self, group: &str) -> Vec<Option<i64>> {
        let mut list = TopicPartitionList::new();
        list.add_partition_range(&self.name, 0, self.end_offsets().len() as i32 - 1);
        let offsets = self.client_of(group).committed_offsets(list, LIMIT).expect("the broker answers");
        let offset = |offset| if let Offset::Offset(at) = offset { Some(at) } else { None };
        offsets.elements().iter().map(|one| offset(one.offset())).collect()
    }

    /// Waits until so many of its partitions have a leader.
    pub(super) fn wait_for_leaders(&self, count: usize) {
        let client = self.client();
        let start = Instant::now();
        while self.partitions(&client).values().filter(|leader| **leader >= 0).count() < count {
            assert!(start.elapsed() < 2 * LIMIT, "{} has no leaders", self.name);
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Leaders by partition.
    fn partitions(&self, client: &BaseConsumer) -> BTreeMap<i32, i32> {
        let metadata = client.fetch_metadata(Some(&self.name), LIMIT).expect("the broker answers");
        metadata.topics().iter().flat_map(|topic| topic.partitions()).map(|p| (p.id(), p.leader())).collect()
    }

    fn client(&self) -> BaseConsumer {
        self.client_of("khost-tests")
    }

    fn client_of(&self, group: &str) -> BaseConsumer {
        ClientConfig::new()
            .set("bootstrap.servers", &self.bootstrap)
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .set("fetch.message.max.bytes", "8388608")
            .set("fetch.wait.max.ms", "10")
            .set("check.crcs", "true")
            .create()
            .expect("a client")
    }
}

impl From<&BorrowedMessage<'_>> for Record {
    fn from(message: &BorrowedMessage<'_>) -> Record {
        let headers = message.headers().map(|headers| {
            headers.iter().map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec))).collect()
        });
        Record {
            partition: message.partition(),
            offset: message.offset(),
            timestamp: message.timestamp().to_millis().unwrap_or(-1),
            key: message.key().map(<[u8]>::to_vec),
            value: message.payload().map(<[u8]>::to_vec),
            headers: headers.unwrap_or_default(),
        }
    }
}
