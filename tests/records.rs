//! Records arrive as the guest made them, or fail for a reason that is named.

use std::time::Duration;

use crate::harness::guests::{Fixed, manifest, sends};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Output, Project};

fn send(kafka: &Kafka, topic: &Topic, messages: &[Fixed], arguments: &[&str]) -> Output {
    let project = Project::of(&sends(messages), &manifest(&topic.name, "threads = 1", "iterations = 1"));
    project.run().brokers(kafka).json().args(arguments).output()
}

#[test]
fn null_and_empty_differ_in_keys_values_and_headers() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("nulls").create();
    let payloads = [None, Some(&b""[..]), Some(&b"x"[..]), Some(&b"\0\xff\xfe\x80\n"[..])];
    let messages: Vec<Fixed> = payloads
        .iter()
        .flat_map(|key| {
            payloads.iter().map(move |value| {
                Fixed::new(*key, *value).header("null", None).header("empty", Some(b"")).header("x", *value)
            })
        })
        .collect();
    send(&kafka, &topic, &messages, &[]).exits(0);
    let records = topic.records();
    assert_eq!(records.len(), messages.len());
    for (record, message) in records.iter().zip(&messages) {
        assert_eq!((&record.key, &record.value, &record.headers), (&message.key, &message.value, &message.headers));
    }
}

#[test]
fn partitions_and_timestamps_are_the_guests() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("placed").partitions(3).create();
    let messages: Vec<Fixed> =
        (0..3).map(|p| Fixed::new(None, Some(b"x")).partition(p).timestamp(1_700_000_000_000 + i64::from(p))).collect();
    send(&kafka, &topic, &messages, &[]).exits(0);
    let placed: Vec<_> = topic.records().iter().map(|r| (r.partition, r.timestamp)).collect();
    assert_eq!(placed, [(0, 1_700_000_000_000), (1, 1_700_000_000_001), (2, 1_700_000_000_002)]);
}

#[test]
fn a_compacted_topic_wants_keys_and_takes_tombstones() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("compacted").partitions(4).config("cleanup.policy", "compact").create();
    let messages = [(None, Some(&b"v"[..])), (Some(&b""[..]), Some(b"v")), (Some(b"k"), None), (Some(b"k"), Some(b""))];
    let fixed: Vec<Fixed> = (0..).zip(messages).map(|(p, (key, value))| Fixed::new(key, value).partition(p)).collect();
    let output = send(&kafka, &topic, &fixed, &[]);
    let result = output.exits(1).within(Duration::from_secs(20)).tells("compact").tells("key").result();
    assert_eq!((result.acknowledged(), result.failed(), result.unknown()), (3, 1, 0));
    let arrived: Vec<_> = topic.records().into_iter().map(|r| (r.partition, r.key, r.value)).collect();
    let expected: Vec<_> = (0..).zip(&fixed).skip(1).map(|(p, f)| (p, f.key.clone(), f.value.clone())).collect();
    assert_eq!(arrived, expected);
}

#[test]
fn a_message_beyond_the_clients_limit_names_that_limit() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("large").create();
    let output = send(&kafka, &topic, &[Fixed::new(None, Some(&vec![b'x'; 1_040_000]))], &[]);
    let result = output.exits(1).is_civil().tells("message.max.bytes").tells("1000000").result();
    assert_eq!((result.acknowledged(), result.failed(), topic.count()), (0, 1, 0));
}

const BIG_CLIENT: [&str; 4] = ["-X", "message.max.bytes=4000000", "-X", "compression.type=lz4"];

#[test]
fn a_large_message_that_compresses_arrives() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("letters").create();
    let value = vec![b'x'; 3_000_000];
    send(&kafka, &topic, &[Fixed::new(None, Some(&value))], &BIG_CLIENT).exits(0);
    assert_eq!(topic.records()[0].value.as_deref(), Some(&value[..]));
}

#[test]
fn a_message_beyond_the_topics_limit_names_that_limit() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("noise").config("max.message.bytes", "1048588").create();
    let output = send(&kafka, &topic, &[Fixed::new(None, Some(&noise(3_000_000)))], &BIG_CLIENT);
    let result = output.exits(1).is_civil().tells("max.message.bytes").tells("1048588").result();
    assert_eq!((result.acknowledged(), result.failed(), topic.count()), (0, 1, 0));
    assert_eq!(result.failures().get("MSG_SIZE_TOO_LARGE"), Some(&1));
}

#[test]
fn one_message_too_large_among_a_thousand_fails_alone() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("among").create();
    let mut messages: Vec<Fixed> = (0..1000_u32).map(|i| Fixed::new(None, Some(&i.to_le_bytes()))).collect();
    messages[499] = Fixed::new(None, Some(&noise(1_040_000)));
    let output = send(&kafka, &topic, &messages, &[]);
    let result = output.exits(1).is_civil().says_not("queue is full").result();
    assert_eq!((result.acknowledged(), result.failed(), result.unknown(), topic.count()), (999, 1, 0, 999));
    let arrived: Vec<u32> = topic
        .records()
        .iter()
        .map(|r| u32::from_le_bytes(r.value.as_deref().and_then(|v| v.try_into().ok()).expect("a number")))
        .collect();
    assert!(arrived.iter().copied().eq((0..1000).filter(|i| *i != 499)), "in their order");
}

/// Bytes that don't compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}
