//! Rights: what a principal lacks for a load is named before it, with the command that gives it; what it loses is counted.

use std::time::Duration;

use crate::harness::guests::{Guest, manifest, producer};
use crate::harness::kafka::access::{Operation, Resource};
use crate::harness::kafka::listeners::{ALICE, Listener};
use crate::harness::kafka::secured::Secured;
use crate::harness::khost::Khost;
use crate::harness::{Kafka, Output, Project, unique};

const PRINCIPAL: &str = "User:alice";
const SOON: Duration = Duration::from_secs(5);

/// As Alice.
fn as_alice(khost: Khost, kafka: &Secured) -> Khost {
    khost
        .args(["--brokers", &kafka.at(Listener::Sasl)])
        .kafka("security.protocol", "sasl_plaintext")
        .kafka("sasl.mechanism", "PLAIN")
        .kafka("sasl.username", ALICE.name)
        .env("KHOST_KAFKA_SASL_PASSWORD", ALICE.password)
}

/// Says who lacks what, and how it is given. Who lacks Describe lacks all, and who is given more can describe.
#[track_caller]
fn lacks(output: &Output, operations: &[&str], resource: &str, option: &str, kafka: &Secured) {
    let given: Vec<&&str> = operations.iter().filter(|one| **one != "Describe").collect();
    let given: String = given.iter().map(|operation| format!("--operation {operation} ")).collect();
    let command = format!("--allow-principal \"{PRINCIPAL}\" {given}{option}");
    let rights = if operations.len() == 1 { "right" } else { "rights" };
    let named = format!("{PRINCIPAL} lacks the {rights} {} on {resource}", operations.join(" and "));
    output.exits(3).within(SOON).explains(&[
        &named,
        &kafka.at(Listener::Sasl),
        "kafka-acls --bootstrap-server",
        &command,
    ]);
}

/// What a check needs of one resource is asked for in this order; with all of it, the check passes.
fn needs(kafka: &Secured, arguments: &[&str], resource: Resource<'_>, wanted: &[Operation]) {
    let check = || as_alice(Project::new().khost(&["check"]).args(arguments), kafka).output();
    let (kind, name) = match resource {
        Resource::Group(name) => ("group", name),
        Resource::Topic(name) => ("topic", name),
        other => panic!("{other:?}"),
    };
    let words: Vec<String> = wanted.iter().map(|operation| format!("{operation:?}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for (at, operation) in wanted.iter().enumerate() {
        let option = format!("--{kind} {name}");
        lacks(&check(), &words[at..], &format!("{kind} `{name}`"), &option, kafka);
        kafka.allow(PRINCIPAL, *operation, resource);
    }
    check().exits(0).prints(name).prints("verdict").prints(PRINCIPAL);
}

#[test]
fn a_right_that_is_missing_is_named_with_the_command_that_gives_it() {
    let Some(kafka) = Kafka::secured() else { return };
    for (option, operation) in [("--write", Operation::Write), ("--read", Operation::Read)] {
        let topic = kafka.topic("guarded").create();
        let resource = Resource::Topic(&topic.name);
        needs(&kafka, &[option, &topic.name], resource, &[Operation::Describe, operation]);
    }
    let group = unique("guarded");
    needs(&kafka, &["--group", &group], Resource::Group(&group), &[Operation::Describe, Operation::Read]);
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let Some(kafka) = Kafka::secured() else { return };
    let (topic, other, group) = (kafka.topic("guarded").create(), kafka.topic("guarded").create(), unique("guarded"));
    kafka.allow(PRINCIPAL, Operation::Describe, Resource::Topic(&other.name));
    let arguments = ["--write", &topic.name, "--read", &other.name, "--group", &group];
    as_alice(Project::new().khost(&["check"]).args(arguments), &kafka).output().exits(3).explains(&[
        &format!("Describe and Write on topic `{}`, Read on topic `{}`", topic.name, other.name),
        &format!("Describe and Read on group `{group}`"),
        &format!("--operation Write --topic {}", topic.name),
        &format!("--operation Read --topic {}", other.name),
        &format!("--operation Read --group {group}"),
    ]);
}

#[test]
fn a_topic_is_created_by_who_may_and_by_a_run_only() {
    let Some(kafka) = Kafka::secured() else { return };
    let name = unique("created");
    let creating = manifest(&name, "", "iterations = 30").replacen("access", "partitions = 3\naccess", 1);
    let project = Project::of(&producer(1), &creating);
    let check = || as_alice(project.khost(&["check", "scenario.wasm"]), &kafka).output();
    let run = || as_alice(project.run(), &kafka).json().output();
    let (resource, option) = (Resource::Topic(&name), format!("--topic {name}"));
    let lack = |output: &Output, operations: &[&str]| {
        lacks(output, operations, &format!("topic `{name}`"), &option, &kafka);
    };
    let partitions = || kafka.existing(&name).end_offsets().len();

    for output in [check(), run()] {
        lack(&output, &["Describe", "Write"]);
    }
    // who may write may describe
    kafka.allow(PRINCIPAL, Operation::Write, resource);
    for output in [check(), run()] {
        lack(&output, &["Create"]);
    }
    kafka.revoke(PRINCIPAL, Operation::Write, resource);
    for operation in [Operation::Create, Operation::Describe] {
        kafka.allow(PRINCIPAL, operation, resource);
    }
    for output in [check(), run()] {
        lack(&output, &["Write"]);
    }
    assert_eq!(partitions(), 0, "a topic that can't be written to is not created");
    kafka.allow(PRINCIPAL, Operation::Write, resource);
    check().exits(0).prints(&name).prints("not there yet");
    assert_eq!(partitions(), 0, "a check creates nothing");
    assert_eq!(run().exits(0).result().acknowledged(), 30);
    assert_eq!((partitions(), kafka.existing(&name).count()), (3, 30));
}

#[test]
fn a_right_that_is_revoked_in_mid_run_fails_the_rest_and_keeps_the_results() {
    let Some(kafka) = Kafka::secured() else { return };
    // with Describe left the topic stays known to the client; without, it is told that there is none
    for described in [true, false] {
        let topic = kafka.topic("revoked").create();
        let resource = Resource::Topic(&topic.name);
        kafka.allow(PRINCIPAL, Operation::Write, resource);
        if described {
            kafka.allow(PRINCIPAL, Operation::Describe, resource);
        }
        let plan = manifest(&topic.name, "rate = \"500/s\"", "duration = \"3s\"\ndrain = \"2s\"");
        let project = Project::of(&producer(1), &plan);
        let khost = as_alice(project.run(), &kafka).json().start();
        topic.wait_for_messages(300);
        kafka.revoke(PRINCIPAL, Operation::Write, resource);
        let output = khost.finish();
        let result = output.exits(1).within(Duration::from_secs(15)).is_civil().result();
        let failures = result.failures();
        output.check(failures.keys().eq(["TOPIC_AUTHORIZATION_FAILED"]), "that one code");
        output.check(
            failures.values().sum::<u64>() == result.failed() && result.failed() > 0,
            "all that failed, by code",
        );
        assert_eq!((result.verdict(), result.unknown()), ("failed".into(), 0), "{output}");
        assert_eq!(result.acknowledged(), topic.count(), "{output}");
        let all = result.acknowledged() + result.failed();
        output.check(result.acknowledged() >= 300 && (1450..=1550).contains(&all), "1500 messages in all");
    }
}

#[test]
fn a_consume_flow_needs_its_group_and_to_read_its_topics() {
    let Some(kafka) = Kafka::secured() else { return };
    let (topic, group) = (kafka.topic("guarded").create(), unique("guarded"));
    let plan = manifest(&topic.name, "", "duration = \"1s\"").replace("[\"produce\"]", "[\"consume\"]");
    let flow = format!("kind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{group}\"");
    let project = Project::of(&Guest::new("(i32.const 0)"), &plan.replace("kind = \"stream\"", &flow));
    let check = || as_alice(project.khost(&["check", "scenario.wasm"]), &kafka).output();
    let run = || as_alice(project.run(), &kafka).output();
    let (on_topic, on_group) = (format!("topic `{}`", topic.name), format!("group `{group}`"));
    for output in [check(), run()] {
        output.exits(3).explains(&[&format!("Read on {on_topic}"), &format!("Read on {on_group}")]);
    }
    kafka.allow(PRINCIPAL, Operation::Read, Resource::Topic(&topic.name));
    for output in [check(), run()] {
        lacks(&output, &["Describe", "Read"], &on_group, &format!("--group {group}"), &kafka);
    }
    kafka.allow(PRINCIPAL, Operation::Read, Resource::Group(&group));
    check().exits(0).prints(&group);
    run().exits(0).is_civil();
}

#[test]
fn a_group_that_may_not_be_read_with_any_more_ends_the_run_with_its_name() {
    let Some(kafka) = Kafka::secured() else { return };
    let (topic, group) = (kafka.topic("guarded").create(), unique("guarded"));
    let plan = manifest(&topic.name, "", "duration = \"10m\"").replace("[\"produce\"]", "[\"consume\"]");
    let flow = format!("kind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{group}\"");
    let guest = Guest::new("(i32.const 0)").handles("(local.get $count)");
    let project = Project::of(&guest, &plan.replace("kind = \"stream\"", &flow));
    kafka.allow(PRINCIPAL, Operation::Read, Resource::Topic(&topic.name));
    kafka.allow(PRINCIPAL, Operation::Read, Resource::Group(&group));
    let khost = as_alice(project.run(), &kafka).kafka("heartbeat.interval.ms", "500").json();
    let khost = khost.limit(Duration::from_secs(90)).start();
    khost.wait_for_stderr("records");
    kafka.revoke(PRINCIPAL, Operation::Read, Resource::Group(&group));
    let output = khost.finish();
    let reasons = output.exits(1).is_civil().result().reasons().join("\n").to_lowercase();
    let named = reasons.contains(&group) && reasons.contains("group authorization failed");
    output.check(named, "the group, and what it lacks");
}
