//! The lag of consumer groups, in records: of groups that stand still, have read all, or have committed nothing; whatever
//! transactions leave in a topic.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::harness::guests::{Guest, echoes, manifest, producer};
use crate::harness::kafka::access::{Operation, Resource};
use crate::harness::kafka::listeners::{ALICE, Listener};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Output, Project, unique};

const LIMIT: Duration = Duration::from_secs(20);

/// A stream on one topic, and the lag `service` of a group there.
fn watching(topic: &Topic, group: &str, flow: &str, run: &str) -> String {
    let plan = manifest(&topic.name, flow, run).replace("[\"produce\"]", "[\"produce\", \"consume\"]");
    format!("{plan}\n[lag.service]\ngroup = \"{group}\"\ntopics = [\"load\"]\n")
}

fn transactional(kafka: &Kafka) -> BaseProducer {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", kafka.bootstrap())
        .set("transactional.id", unique("transactions"))
        .set("linger.ms", "0")
        .create()
        .expect("a client");
    producer.init_transactions(LIMIT).expect("the broker answers");
    producer
}

/// Begins a transaction of so many records in partition 0, all of them written.
fn begin(producer: &BaseProducer, topic: &Topic, records: usize) {
    producer.begin_transaction().expect("none is open");
    for _ in 0..records {
        let record = BaseRecord::<(), str>::to(&topic.name).partition(0).payload("x");
        assert!(producer.send(record).is_ok(), "there is room");
    }
    producer.flush(LIMIT).expect("all are written");
}

/// The samples of the group at a place in the document.
fn series(output: &Output, at: usize) -> Vec<(f64, u64)> {
    let result = output.result();
    let points = result.list_of(&format!("/lag/{at}/series"));
    points.iter().map(|point| (point["at_s"].as_f64().unwrap(), point["records"].as_u64().unwrap())).collect()
}

#[test]
fn a_group_that_stands_still_falls_behind_at_the_rate() {
    let Some(kafka) = Kafka::shared() else { return };
    let (topic, group) = (kafka.topic("load").partitions(2).create(), unique("service"));
    topic.commit(&group, &[(0, 0), (1, 0)]);
    let plan = watching(&topic, &group, "rate = \"200/s\"", "duration = \"8s\"");
    let project = Project::of(&producer(1), &plan);
    let output = project.run().brokers(&kafka).json().output();
    let result = output.exits(0).is_civil().result();
    output.check(result.count_of("/lag/0/at_end") == 1_600, "what was written is left to read");
    output.check(result.count_of("/lag/0/max") == 1_600, "and was never more");
    let series = series(&output, 0);
    output.check(series.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1), "it only grows");
    let slope = result.number_of("/lag/0/grows_per_s");
    output.check((150.0..250.0).contains(&slope), &format!("200 records a second, not {slope}"));
    let each: Vec<u64> =
        result.list_of("/lag/0/partitions").iter().map(|one| one["at_end"].as_u64().unwrap()).collect();
    output.check(each.iter().map(|one| *one as i64).eq(topic.end_offsets()), "by partition");
    output.check(result.is_null("/lag/0/flow") && result.text_of("/lag/0/group") == group, "whose it is");
    let name = format!("service (group {group}): ");
    project.run().brokers(&kafka).set("run.duration", "1s").output().exits(0).prints(&name).prints("1,800 at the end");
}

#[test]
fn a_group_that_has_read_all_has_no_lag_past_aborted_transactions() {
    let Some(kafka) = Kafka::shared() else { return };
    let (topic, other) = (kafka.topic("load").create(), kafka.topic("other").create());
    let group = unique("service");
    let transactions = transactional(&kafka);
    begin(&transactions, &topic, 5);
    transactions.commit_transaction(LIMIT).expect("it is open");
    // the last record that it got is the fifth
    topic.commit(&group, &[(0, 5)]);
    for _ in 0..3 {
        begin(&transactions, &topic, 4);
        transactions.abort_transaction(LIMIT).expect("it is open");
    }
    assert_eq!(topic.end_offsets(), [21], "five records, a marker, and three times four records and a marker");
    let plan = watching(&other, &group, "rate = \"20/s\"", "duration = \"8s\"")
        .replace("[flows", &format!("[topics.read]\nname = \"{}\"\naccess = [\"consume\"]\n\n[flows", topic.name))
        .replace("topics = [\"load\"]", "topics = [\"read\"]");
    let project = Project::of(&producer(1), &plan);
    let output = project.run().brokers(&kafka).json().output();
    output.exits(0).is_civil();
    let samples = series(&output, 0);
    output.check(samples[0].1 == 16, "offsets count until it is looked at");
    output.check(samples.last().is_some_and(|last| last.1 == 0), "and then records");
    output.check(output.result().count_of("/lag/0/at_end") == 0, "it has read all");

    // three records more, and an open transaction behind them
    begin(&transactions, &topic, 3);
    transactions.commit_transaction(LIMIT).expect("it is open");
    begin(&transactions, &topic, 7);
    let run = |isolation: &str| {
        let output =
            project.run().brokers(&kafka).json().set("run.duration", "1s").set("lag.service.isolation", isolation);
        let output = output.output();
        output.exits(0).result().count_of("/lag/0/at_end")
    };
    assert_eq!(run("read_committed"), 3);
    assert_eq!(run("read_uncommitted"), 12 + 3 + 7, "aborted ones and open ones are records there");
    transactions.abort_transaction(LIMIT).expect("it is open");
}

#[test]
fn a_group_without_commits_has_no_lag_that_is_known() {
    let Some(kafka) = Kafka::shared() else { return };
    let (topic, group) = (kafka.topic("load").partitions(2).create(), unique("service"));
    let plan = watching(&topic, &group, "rate = \"50/s\"", "duration = \"2s\"");
    let project = Project::of(&producer(1), &plan);
    let run = || project.run().brokers(&kafka).json().output();
    let output = run();
    let result = output.exits(0).is_civil().result();
    for figure in ["max", "at_end", "grows_per_s", "partitions/0/at_end", "partitions/1/at_end"] {
        output.check(result.is_null(&format!("/lag/0/{figure}")), figure);
    }
    output.check(result.list_of("/lag/0/series").is_empty(), "no samples");
    let told = format!("n/a for 2 of 2 partitions: the group `{group}` has committed nothing");
    output.check(result.warnings().iter().filter(|text| text.contains(&told)).count() == 1, "it is told once");
    // of one partition it is known
    topic.commit(&group, &[(1, 0)]);
    let output = run();
    let result = output.exits(0).result();
    let end = topic.end_offsets()[1] as u64;
    output.check(result.count_of("/lag/0/at_end") == end, "that one's");
    output.check(result.is_null("/lag/0/partitions/0/at_end"), "and not the other's");
}

#[test]
fn a_flows_own_group_is_done_at_the_end() {
    let Some(kafka) = Kafka::shared() else { return };
    let (topic, seen) = (kafka.topic("load").partitions(2).create(), kafka.topic("seen").create());
    let flows = "kind = \"consume\"\ntopics = [\"load\"]\nworkers = 2\niterations = 900";
    let plan = format!(
        "{}\n[topics.seen]\nname = \"{}\"\naccess = [\"produce\"]\n[flows.app]\n{flows}\n",
        manifest(&topic.name, "rate = \"300/s\"\niterations = 900", "")
            .replace("[\"produce\"]", "[\"produce\", \"consume\"]"),
        seen.name
    );
    let output = Project::of(&echoes(producer(1), ""), &plan).run().brokers(&kafka).json().output();
    let result = output.exits(0).is_civil().result();
    output.check(result.text_of("/lag/0/flow") == "app" && result.text_of("/lag/0/name") == "app", "whose it is");
    output.check(result.count_of("/lag/0/at_end") == 0, "all was handled");
    output.check(result.count_of("/lag/0/by_commit_at_end") == 0, "and is committed");
    output.check(!result.list_of("/lag/0/series").is_empty(), "samples");
    output.check(result.list_of("/lag/0/partitions").len() == 2, "partitions");
}

#[test]
fn the_embedded_broker_tells_it_too() {
    let plan = format!(
        "{}\n[topics.seen]\npartitions = 1\naccess = [\"produce\"]\n\
         [flows.app]\nkind = \"consume\"\ntopics = [\"load\"]\niterations = 300\n\
         [lag.service]\ngroup = \"nobody\"\ntopics = [\"load\"]\n",
        manifest("khost-lag", "rate = \"300/s\"\niterations = 300", "")
            .replace("access = [\"produce\"]", "partitions = 2\naccess = [\"produce\", \"consume\"]")
    );
    let output = Project::of(&echoes(producer(1), ""), &plan).run().json().output();
    let result = output.exits(0).is_civil().result();
    output.check(result.count_of("/lag/0/at_end") == 0, "the flow's own");
    output.check(result.text_of("/lag/1/name") == "service" && result.is_null("/lag/1/at_end"), "nobody's is n/a");
}

#[test]
fn names_that_are_wrong_are_refused() {
    let plan = manifest("khost-lag", "iterations = 1", "").replace("access", "partitions = 1\naccess");
    let lag = |lines: &str| format!("{plan}\n[topics.read]\naccess = [\"consume\"]\n[lag.service]\n{lines}\n");
    let refused = |lines: &str, words: &[&str]| {
        let project = Project::of(&Guest::new("(i32.const 0)"), &lag(lines));
        project.run().output().exits(2).explains(words);
    };
    refused(
        "topics = [\"read\"]",
        &["lag.service", "nobody has named its consumer `group`", "--set lag.service.group"],
    );
    refused("group = \"g\"\ntopics = [\"raed\"]", &["scenario.toml:", "no topic", "did you mean `read`?"]);
    refused("group = \"g\"\ntopics = [\"load\"]", &["scenario.toml:", "does not grant reading"]);
    refused("group = \"g\"\ntopics = [\"read\"]\nfrom = \"latest\"", &["scenario.toml:", "unknown key `from`"]);
}

#[test]
fn a_foreign_group_has_to_be_described_and_not_read() {
    let Some(kafka) = Kafka::secured() else { return };
    let (topic, group) = (kafka.topic("guarded").create(), unique("service"));
    for operation in [Operation::Write, Operation::Read] {
        kafka.allow("User:alice", operation, Resource::Topic(&topic.name));
    }
    let plan = watching(&topic, &group, "rate = \"10/s\"", "duration = \"1s\"");
    let project = Project::of(&producer(1), &plan);
    let as_alice = |arguments: &[&str]| {
        let khost = project.khost(arguments).args(["--brokers", &kafka.at(Listener::Sasl)]);
        let khost = khost.kafka("security.protocol", "sasl_plaintext").kafka("sasl.mechanism", "PLAIN");
        khost.kafka("sasl.username", ALICE.name).env("KHOST_KAFKA_SASL_PASSWORD", ALICE.password).output()
    };
    for command in ["check", "run"] {
        let lacks = format!("lacks the right Describe on group `{group}`");
        as_alice(&[command, "scenario.wasm"])
            .exits(3)
            .explains(&[&lacks, &format!("--operation Describe --group {group}")]);
    }
    kafka.allow("User:alice", Operation::Describe, Resource::Group(&group));
    as_alice(&["check", "scenario.wasm"]).exits(0).prints(&format!("{group}: describe allowed"));
    as_alice(&["run", "scenario.wasm"]).exits(0).prints(&format!("service (group {group}): n/a"));
}
