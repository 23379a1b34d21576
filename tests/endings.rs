//! A run that is stopped early tells what it measured, within seconds, and says how it ended.

use std::time::Duration;

use crate::harness::guests::{manifest, producer};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Project};

const SOON: Duration = Duration::from_secs(10);

fn a_minute(topic: &Topic) -> Project {
    Project::of(
        &producer(1),
        &manifest(&topic.name, "threads = 2\nrate = \"500/s\"", "duration = \"60s\"\ndrain = \"3s\""),
    )
}

#[test]
fn an_interrupted_run_reports_what_it_measured() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("interrupted").create();
    let khost = a_minute(&topic).run().brokers(&kafka).json().start();
    topic.wait_for_messages(500);
    khost.interrupt();
    let output = khost.finish();
    let result = output.exits(130).within(SOON).is_civil().result();
    assert_eq!(result.verdict(), "interrupted");
    assert_eq!((result.acknowledged(), result.failed() + result.unknown()), (topic.count(), 0));
}

#[test]
fn a_terminated_run_says_so_in_its_summary() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("terminated").create();
    let khost = a_minute(&topic).run().brokers(&kafka).start();
    topic.wait_for_messages(500);
    khost.terminate();
    khost.finish().exits(130).within(SOON).is_civil().prints("interrupted").prints("write");
}

#[test]
fn an_interrupted_run_ends_even_when_the_broker_is_gone() {
    let Some(kafka) = Kafka::own().start() else { return };
    let topic = kafka.topic("gone").create();
    let project = a_minute(&topic);

    let khost = project.run().brokers(&kafka).json().start();
    topic.wait_for_messages(500);
    kafka.node(0).pause();
    std::thread::sleep(Duration::from_millis(500));
    khost.interrupt();
    let output = khost.finish();
    kafka.node(0).resume();
    let result = output.exits(130).within(SOON).is_civil().result();
    assert!(result.unknown() > 0, "{output}");

    let before = topic.count();
    let khost = project.run().brokers(&kafka).set("run.drain", "60s").json().start();
    topic.wait_for_messages(before + 500);
    kafka.node(0).pause();
    std::thread::sleep(Duration::from_millis(500));
    khost.interrupt();
    std::thread::sleep(Duration::from_millis(500));
    khost.interrupt();
    let output = khost.finish();
    kafka.node(0).resume();
    output.exits(130).within(SOON).is_civil().result();
}

#[test]
fn a_broker_that_dies_fails_the_run_and_not_khost() {
    let Some(kafka) = Kafka::own().start() else { return };
    let topic = kafka.topic("dies").create();
    let project =
        Project::of(&producer(1), &manifest(&topic.name, "rate = \"500/s\"", "duration = \"4s\"\ndrain = \"2s\""));
    let khost = project.run().brokers(&kafka).json().start();
    topic.wait_for_messages(200);
    kafka.node(0).kill();
    let output = khost.finish();
    let result = output.exits(1).within(Duration::from_secs(15)).is_civil().result();
    assert!(result.failed() + result.unknown() > 0, "{output}");
    assert!((1950..=2050).contains(&(result.acknowledged() + result.failed() + result.unknown())), "{output}");
}
