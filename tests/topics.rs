//! Topics: a mistyped one is found, a created one is waited for, an illegal one is refused.

use std::time::Duration;

use crate::harness::guests::{manifest, producer};
use crate::harness::{Kafka, Project, unique};

const SECONDS: Duration = Duration::from_secs(20);

#[test]
fn a_mistyped_topic_is_named_with_the_nearest() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("circulation").create();
    let typed = topic.name.replacen("circulation", "circulatoin", 1);
    let output = Project::of(&producer(1), &manifest(&typed, "", "iterations = 3")).run().brokers(&kafka).output();
    output
        .within(SECONDS)
        .explains(&[&typed, &topic.name])
        .check(matches!(output.code, Some(2 | 3)), "exit code 2 or 3");
}

#[test]
fn a_topic_just_created_loses_nothing() {
    let Some(kafka) = Kafka::shared() else { return };
    let name = unique("created");
    let creating = manifest(&name, "threads = 2", "iterations = 6000").replacen("access", "partitions = 60\naccess", 1);
    let output = Project::of(&producer(1), &creating).run().brokers(&kafka).json().output();
    let result = output.exits(0).result();
    let topic = kafka.existing(&name);
    assert_eq!((result.acknowledged(), result.failed(), topic.count()), (6000, 0, 6000));
    assert_eq!(topic.end_offsets().len(), 60);
}

#[test]
fn a_topic_just_created_on_three_brokers_loses_nothing() {
    let Some(kafka) = Kafka::own().nodes(3).start() else { return };
    let name = unique("created");
    let creating = manifest(&name, "threads = 2", "iterations = 6000").replacen(
        "access",
        "partitions = 60\nreplication = 3\naccess",
        1,
    );
    let output = Project::of(&producer(1), &creating).run().brokers(&kafka).json().output();
    let result = output.exits(0).result();
    assert_eq!((result.acknowledged(), result.failed(), kafka.existing(&name).count()), (6000, 0, 6000));
}

#[test]
fn a_topic_that_is_there_with_other_partitions_is_left_alone_and_said() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("there").partitions(3).create();
    let creating = manifest(&topic.name, "", "iterations = 30").replacen("access", "partitions = 5\naccess", 1);
    let output = Project::of(&producer(1), &creating).run().brokers(&kafka).output();
    output.exits(0).tells(&topic.name).tells("has 3 partitions, not 5");
    assert_eq!(topic.end_offsets().len(), 3);
}

#[test]
fn illegal_names_are_refused_by_khost_itself() {
    let long = "x".repeat(250);
    for name in ["a b!", "..", ".", long.as_str()] {
        let creating = manifest(name, "", "iterations = 3").replacen("access", "partitions = 1\naccess", 1);
        let project = Project::of(&producer(1), &creating);
        // Without brokers: the embedded one would take any name.
        project.run().output().exits(2).within(Duration::from_secs(3)).refuses(&["topics.load.name"]);
    }
}

#[test]
fn a_check_finds_a_mistyped_topic_and_refuses_an_illegal_one() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("reservation").create();
    let typed = topic.name.replacen("reservation", "resrevation", 1);
    let check = |arguments: &[&str]| Project::new().khost(&["check"]).brokers(&kafka).args(arguments).output();
    check(&["--write", &topic.name, "--read", &topic.name]).exits(0);
    for access in ["--write", "--read"] {
        check(&[access, &typed]).exits(3).within(Duration::from_secs(5)).explains(&[&typed, &topic.name]);
    }
    let long = "x".repeat(250);
    for name in ["a b!", "..", ".", "", long.as_str()] {
        check(&["--write", name]).exits(2).within(Duration::from_secs(3)).refuses(&["--write"]);
    }
}
