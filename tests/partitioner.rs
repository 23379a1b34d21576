//! Which partition a key goes to: librdkafka's way or Java's, and the report says which.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::guests::{Fixed, manifest, sends};
use crate::harness::topics::{Record, Topic};
use crate::harness::{Kafka, Output, Project};

const PARTITIONS: i32 = 15;
const JAVA: [&str; 2] = ["-X", "partitioner=murmur2_random"];

fn send(kafka: &Kafka, keys: &[Vec<u8>], iterations: u32, arguments: &[&str]) -> (Output, Topic) {
    let topic = kafka.topic("keys").partitions(PARTITIONS).config("max.message.bytes", "4000000").create();
    let messages: Vec<Fixed> = keys.iter().map(|key| Fixed::new(Some(key), Some(b"v"))).collect();
    let project = Project::of(&sends(&messages), &manifest(&topic.name, "", &format!("iterations = {iterations}")));
    let output = project.run().brokers(kafka).json().args(["-X", "message.max.bytes=4000000"]).args(arguments).output();
    output.exits(0);
    (output, topic)
}

/// Partitions by key.
fn placed(records: Vec<Record>) -> BTreeMap<Vec<u8>, i32> {
    records.into_iter().map(|record| (record.key.expect("a key"), record.partition)).collect()
}

#[test]
fn with_murmur2_random_every_key_lands_where_java_puts_it() {
    let Some(kafka) = Kafka::shared() else { return };
    let text: Vec<Vec<u8>> = (0..100).map(|i| format!("customer-{i}-é").into_bytes()).collect();
    let binary = [b"".to_vec(), b"\x00\xff\xfe\x80".to_vec(), vec![0xa5; 1 << 20]];
    let keys: Vec<Vec<u8>> = text.iter().cloned().chain(binary).collect();
    let (output, topic) = send(&kafka, &keys, 1, &JAVA);
    assert_eq!(output.result().client("partitioner"), "murmur2_random");
    let ours = placed(topic.records());
    let computed: BTreeMap<_, _> = keys.iter().map(|key| (key.clone(), java_partition(key))).collect();
    assert_eq!(ours, computed);

    let theirs = kafka.topic("java").partitions(PARTITIONS).create();
    let lines: String = text.iter().map(|key| format!("{}|v\n", String::from_utf8_lossy(key))).collect();
    let arguments = ["--bootstrap-server", kafka.bootstrap(), "--topic", &theirs.name];
    let parse = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=|"];
    let arguments: Vec<&str> = arguments.into_iter().chain(parse).collect();
    if kafka.java_tool("org.apache.kafka.tools.ConsoleProducer", &arguments, lines.as_bytes()).is_some() {
        let theirs = placed(theirs.records());
        assert_eq!(theirs.len(), text.len());
        assert!(theirs.iter().all(|(key, partition)| ours.get(key) == Some(partition)), "{theirs:?}\n{ours:?}");
    }
}

#[test]
fn empty_keys_are_spread_by_default_and_not_as_java_does_it() {
    let Some(kafka) = Kafka::shared() else { return };
    let (output, topic) = send(&kafka, &[Vec::new()], 10_000, &[]);
    assert!(used(&topic).len() > 1, "{:?}", topic.end_offsets());
    assert_eq!(output.result().client("partitioner"), "consistent_random");

    let (_, topic) = send(&kafka, &[Vec::new()], 10_000, &JAVA);
    assert_eq!(used(&topic), BTreeSet::from([java_partition(b"")]));
}

fn used(topic: &Topic) -> BTreeSet<i32> {
    topic.records().iter().map(|record| record.partition).collect()
}

#[test]
fn the_summary_says_that_the_default_places_keys_differently() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("keys").create();
    let project = Project::of(&sends(&[Fixed::new(Some(b"k"), None)]), &manifest(&topic.name, "", "iterations = 1"));
    project.run().brokers(&kafka).output().exits(0).prints("consistent_random").prints("differently from Java");
}

/// Kafka's `BuiltInPartitioner.partitionForKey`.
fn java_partition(key: &[u8]) -> i32 {
    (murmur2(key) & 0x7fff_ffff) as i32 % PARTITIONS
}

/// Kafka's `Utils.murmur2`.
fn murmur2(data: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut h = 0x9747_b28c ^ data.len() as u32;
    let (words, rest) = data.as_chunks::<4>();
    for word in words {
        let k = u32::from_le_bytes(*word).wrapping_mul(M);
        h = h.wrapping_mul(M) ^ (k ^ k >> 24).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        h = (h ^ u32::from_le_bytes(last)).wrapping_mul(M);
    }
    h = (h ^ h >> 13).wrapping_mul(M);
    h ^ h >> 15
}
