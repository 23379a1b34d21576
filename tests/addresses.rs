//! The list of brokers, as people write it.

use std::time::Duration;

use crate::harness::guests::{manifest, producer};
use crate::harness::{Kafka, Output, Project};

const AT_ONCE: Duration = Duration::from_secs(3);

fn run(topic: &str, brokers: &str) -> Output {
    let project = Project::of(&producer(1), &manifest(topic, "", "iterations = 3"));
    project.run().args(["--brokers", brokers]).output()
}

#[test]
fn an_entry_that_cannot_be_read_is_named() {
    let bad = [
        ("SASL_SSL://127.0.0.1:1,127.0.0.1:2", "SASL_SSL"),
        ("127.0.0.1:1 127.0.0.1:2", "127.0.0.1:1 127.0.0.1:2"),
        ("localhost", "localhost"),
        ("127.0.0.1:9o92", "9o92"),
        ("::1:19092", "::1:19092"),
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("127.0.0.1:65536", "65536"),
        ("127.0.0.1:", "127.0.0.1:"),
        (":9092", ":9092"),
        ("127.0.0.1:1,127.0.0.1:9o92", "9o92"),
        ("http://127.0.0.1:1", "http"),
    ];
    for (list, entry) in bad {
        run("t", list).exits(2).within(AT_ONCE).explains(&[entry]);
    }
    for empty in ["", " ", ",", " , "] {
        run("t", empty).exits(2).within(AT_ONCE).explains(&["empty"]);
    }
}

#[test]
fn odd_but_clear_spellings_are_taken() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("addresses").create();
    let address = kafka.bootstrap().split(',').next().expect("one at least").to_owned();
    let spellings = [
        format!("{address}, {address},"),
        format!("PLAINTEXT://{address}"),
        format!(" {address} "),
        format!("127.0.0.1:1,{address}"),
    ];
    for list in &spellings {
        run(&topic.name, list).exits(0).is_civil();
    }
    assert_eq!(topic.count(), 3 * spellings.len() as u64);
}

#[test]
fn a_name_whose_first_address_is_closed_is_no_trouble() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("localhost").create();
    let Some(port) = kafka.bootstrap().strip_prefix("127.0.0.1:") else { return };
    let output = run(&topic.name, &format!("localhost:{port}"));
    output.exits(0).within(Duration::from_secs(15)).check(output.stderr.lines().count() < 20, "no line a second");
    assert_eq!(topic.count(), 3);
}

#[test]
fn an_ipv6_address_without_a_broker_is_said_to_be_closed() {
    run("t", "[::1]:1").exits(3).within(Duration::from_secs(20)).explains(&["[::1]:1"]);
}

#[test]
fn a_broker_that_advertises_a_host_that_does_not_resolve_is_named() {
    let Some(kafka) = Kafka::shared() else { return };
    let Some(address) = kafka.misadvertised() else { return };
    let topic = kafka.topic("astray").create();
    let port = address.rsplit(':').next().unwrap_or_default();
    let output = run(&topic.name, &address);
    output.exits(3).within(Duration::from_secs(20)).explains(&[
        &address,
        &format!("kafka.invalid:{port}"),
        "advertise",
        "resolve",
    ]);
    assert_eq!(topic.count(), 0);
}

#[test]
fn a_check_says_of_addresses_what_a_run_does() {
    let check = |brokers: &str| Project::new().khost(&["check", "--brokers", brokers]).output();
    check("SASL_SSL://127.0.0.1:1").exits(2).within(AT_ONCE).explains(&["SASL_SSL"]);
    check("127.0.0.1:1").exits(3).within(AT_ONCE).explains(&["127.0.0.1:1"]);
    let Some(kafka) = Kafka::shared() else { return };
    let Some(address) = kafka.misadvertised() else { return };
    let port = address.rsplit(':').next().unwrap_or_default();
    let output = check(&address);
    output.exits(3).within(Duration::from_secs(5)).explains(&[&address, &format!("kafka.invalid:{port}"), "advertise"]);
}
