//! What khost counts is what the broker holds, whoever shares which producer.

use std::collections::HashSet;

use rdkafka::message::Message;

use crate::harness::guests::{Stamp, manifest, producer};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Output, Project, scenarios, unique};

#[test]
fn acknowledged_messages_are_those_in_the_topic() {
    random_keys(20_000, 200_000);
}

#[test]
#[ignore = "the same with three million messages takes a minute"]
fn acknowledged_messages_are_those_in_the_topic_among_millions() {
    random_keys(100_000, 3_000_000);
}

fn random_keys(warm_up: u64, messages: u64) {
    let Some(kafka) = Kafka::shared() else { return };
    let (output, topic) =
        run_random_keys(&kafka, &[&format!("run.warm-up={warm_up}"), &format!("run.messages={messages}")]);
    let result = output.exits(0).result();
    assert_eq!(result.acknowledged(), messages);
    assert_eq!(result.all_acknowledged(), warm_up + messages);
    assert_eq!((result.failed(), result.unknown()), (0, 0));
    assert_eq!(topic.count(), warm_up + messages);
    if let Some(offsets) = kafka.offsets_by_java(&topic) {
        assert_eq!(offsets, topic.end_offsets());
    }

    let (mut keys, mut bytes, mut shortest, mut longest) = (HashSet::new(), 0, usize::MAX, 0);
    topic.each(|message| {
        let size = message.payload_len();
        keys.insert(u128::from_le_bytes(message.key().expect("a key").try_into().expect("16 bytes")));
        bytes += size;
        shortest = shortest.min(size);
        longest = longest.max(size);
    });
    let mean = bytes as f64 / (warm_up + messages) as f64;
    assert_eq!(keys.len() as u64, warm_up + messages, "keys are distinct");
    assert!(shortest == 250 && longest == 750, "{shortest} to {longest} bytes");
    assert!((mean - 500.0).abs() < 2.0, "{mean} bytes on average");
}

#[test]
fn threads_that_share_producers_lose_no_count() {
    let Some(kafka) = Kafka::shared() else { return };
    for clients in ["1", "2", "4", "dedicated"] {
        let settings = [
            "run.warm-up=0",
            "run.messages=50_000",
            "flows.write.threads=4",
            &format!("flows.write.clients={clients}"),
        ];
        let (output, topic) = run_random_keys(&kafka, &settings);
        let result = output.exits(0).result();
        assert_eq!((result.acknowledged(), topic.count()), (50_000, 50_000), "{clients} clients");
        let spread: Vec<u64> = topic.end_offsets().iter().map(|offset| *offset as u64).collect();
        assert_eq!(result.partitions(), spread, "{clients} clients");
    }
}

#[test]
fn every_iteration_arrives_once() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("once").partitions(5).create();
    let project = Project::of(
        &producer(3),
        &manifest(&topic.name, "threads = 4\nclients = 2\nbatch = 64", "iterations = 10_001"),
    );
    let output = project.run().brokers(&kafka).json().output();
    assert_eq!(output.exits(0).result().iterations(), 10_001);

    let records = topic.records();
    let mut stamps: Vec<Stamp> = records.iter().map(|r| Stamp::read(r.value.as_ref().expect("a value"))).collect();
    stamps.sort_unstable();
    assert_eq!(stamps.len(), 30_003);
    let mut expected = Stamp { worker: 0, iteration: 0, message: 0 };
    for stamp in stamps {
        if stamp.worker != expected.worker {
            expected = Stamp { worker: expected.worker + 1, iteration: 0, message: 0 };
        }
        assert_eq!(stamp, expected, "a worker's iterations are numbered from 0 without a gap");
        expected.message = (stamp.message + 1) % 3;
        expected.iteration += u64::from(expected.message == 0);
    }
}

#[test]
fn equal_seeds_send_equal_messages() {
    let Some(kafka) = Kafka::shared() else { return };
    let settings = ["run.warm-up=0", "run.messages=1000", "flows.write.threads=1", "flows.write.clients=1"];
    let sent = |seed: &str| {
        let (output, topic) = run_random_keys_with(&kafka, &settings, &["--seed", seed]);
        output.exits(0);
        let mut pairs: Vec<_> = topic.records().into_iter().map(|r| (r.key, r.value)).collect();
        pairs.sort_unstable();
        pairs
    };
    let first = sent("7");
    assert_eq!(first, sent("7"));
    assert_ne!(first, sent("8"));
}

fn run_random_keys(kafka: &Kafka, settings: &[&str]) -> (Output, Topic) {
    run_random_keys_with(kafka, settings, &[])
}

fn run_random_keys_with(kafka: &Kafka, settings: &[&str], arguments: &[&str]) -> (Output, Topic) {
    let scenario = scenarios::built("random-keys");
    let project = Project::new();
    let prefix = unique("counts");
    let mut khost = project
        .khost(&["run"])
        .arg(scenario)
        .brokers(kafka)
        .json()
        .param("prefix", &format!("{prefix}-"))
        .args(arguments);
    for setting in settings {
        khost = khost.args(["--set", setting]);
    }
    (khost.output(), kafka.existing(&format!("{prefix}-random-keys")))
}
