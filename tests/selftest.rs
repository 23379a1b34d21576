//! The harness on its own: what it says of a topic is what is in it.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};

use crate::harness::Kafka;
use crate::harness::topics::Topic;

#[test]
fn what_is_read_back_is_what_was_sent() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("selftest").partitions(3).config("cleanup.policy", "compact").create();
    let producer: ThreadedProducer<DefaultProducerContext> =
        ClientConfig::new().set("bootstrap.servers", kafka.bootstrap()).create().unwrap();
    let full: BaseRecord<'_, [u8], [u8]> =
        BaseRecord::to(&topic.name).partition(0).key(&b"k"[..]).payload(&b"v"[..]).timestamp(5);
    let null: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(&topic.name).partition(2).key(&b"k"[..]);
    let empty: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(&topic.name).partition(2).key(&b""[..]).payload(&b""[..]);
    for record in [full, null, empty] {
        producer.send(record).unwrap();
    }
    producer.flush(Duration::from_secs(10)).unwrap();
    assert_eq!(topic.end_offsets(), [1, 0, 2]);
    assert_eq!(topic.count(), 3);
    let records = topic.records();
    let seen: Vec<_> = records.iter().map(|r| (r.partition, r.offset, r.key.as_deref(), r.value.as_deref())).collect();
    assert_eq!(
        seen,
        [
            (0, 0, Some(&b"k"[..]), Some(&b"v"[..])),
            (2, 0, Some(&b"k"[..]), None),
            (2, 1, Some(&b""[..]), Some(&b""[..]))
        ]
    );
    assert_eq!(records[0].timestamp, 5);
    if let Some(offsets) = kafka.offsets_by_java(&topic) {
        assert_eq!(offsets, [1, 0, 2]);
    }
}

#[test]
fn a_broker_that_was_stopped_or_killed_comes_back_with_its_data() {
    // A killed one may come back when the controller has given it up.
    let Some(kafka) = Kafka::own().property("broker.session.timeout.ms", "2500").start() else { return };
    let topic = kafka.topic("own").create();
    send(&kafka, &topic);
    kafka.node(0).stop();
    kafka.node(0).restart();
    topic.wait_for_messages(1);
    send(&kafka, &topic);
    kafka.node(0).kill();
    kafka.node(0).restart();
    topic.wait_for_messages(2);
}

fn send(kafka: &Kafka, topic: &Topic) {
    let producer: ThreadedProducer<DefaultProducerContext> =
        ClientConfig::new().set("bootstrap.servers", kafka.bootstrap()).create().unwrap();
    producer.send(BaseRecord::<[u8], [u8]>::to(&topic.name).payload(b"x")).unwrap();
    producer.flush(Duration::from_secs(30)).unwrap();
}
