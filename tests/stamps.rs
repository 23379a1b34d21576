//! Stamps: how long a message takes from its sender to its reader, as khost and a client of the test's own see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::harness::guests::{Fixed, Guest, echoes, sends};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Output, Project, unique};

const STAMP_BYTES: usize = 22;

/// A flow `read` that reads `load`, and one that writes to it.
fn manifest(load: &Topic, read: &str, write: &str, run: &str) -> String {
    format!(
        "[scenario]\nname = \"tests/stamps\"\n\n\
         [topics.load]\nname = \"{}\"\naccess = [\"produce\", \"consume\"]\n\n\
         [flows.read]\nkind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{}\"\n{read}\n\n\
         [flows.write]\nkind = \"stream\"\nthreads = 1\n{write}\n\n[run]\n{run}\n",
        load.name,
        unique("group")
    )
}

fn guest() -> Guest {
    sends(&[Fixed::new(Some(b"key"), Some(b"value")).header("own", Some(b"x"))])
}

fn run(kafka: &Kafka, load: &Topic, read: &str, write: &str, more: &str) -> Output {
    Project::of(&guest(), &manifest(load, read, write, more)).run().brokers(kafka).json().output()
}

/// A figure of the flow `read` that is a duration.
fn figure(output: &Output, measure: &str, figure: &str) -> u64 {
    output.result().count_of(&format!("/flows/0/operations/0/measures/{measure}/{figure}"))
}

#[test]
fn every_record_has_its_figures_and_the_header_is_as_documented() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").config("message.timestamp.type", "LogAppendTime").create();
    let output =
        run(&kafka, &load, "handler = false\niterations = 300", "stamp = true\nrate = \"500/s\"\nmessages = 300", "");
    let result = output.exits(0).is_civil().result();
    let stamps = |field: &str| result.count_of(&format!("/flows/0/consume/end_to_end/{field}"));
    assert_eq!((stamps("own"), stamps("others"), stamps("unstamped"), stamps("left_out")), (300, 0, 0, 0));
    for measure in ["end-to-end", "since-intended"] {
        assert_eq!(figure(&output, measure, "count"), 300, "{measure}");
    }
    let (least, most) = (figure(&output, "end-to-end", "min_us"), figure(&output, "end-to-end", "max_us"));
    output.check(least > 0 && most < 60_000_000, &format!("{least} to {most} us"));
    let since = figure(&output, "since-intended", "min_us");
    output.check(since >= least, &format!("the wait is in it: {since} us, not below {least} us"));
    assert_eq!(result.count_of("/flows/1/stamp_bytes"), 29);
    assert_eq!(result.count_of("/flows/1/messages/bytes"), 300 * 8, "stamps are not its own bytes");

    let run_id = u64::from_str_radix(&result.text_of("/run_id"), 16).expect("hexadecimal");
    for record in load.records() {
        let names: Vec<&str> = record.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["own", "khost"]);
        let stamp = record.headers[1].1.as_deref().expect("a value");
        assert_eq!((stamp.len(), stamp[0], stamp[1]), (STAMP_BYTES, 1, 0));
        assert_eq!(stamp[2..10], run_id.to_be_bytes());
        let ago = now_us() - sent_us(stamp);
        assert!((0..600_000_000).contains(&ago), "{ago} us ago");
    }
}

fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is past 1970").as_micros() as i64
}

fn sent_us(stamp: &[u8]) -> i64 {
    i64::from_be_bytes(stamp[10..18].try_into().expect("eight bytes"))
}

#[test]
fn the_warm_up_is_the_senders_and_an_unpaced_flow_has_no_intended_time() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").create();
    let write = "stamp = true\nrate = \"500/s\"\nmessages = 200";
    let output = run(&kafka, &load, "handler = false", write, "warm-up = 100");
    let result = output.exits(0).is_civil().result();
    // the reader's own warm-up is its first 100 records: those of the writer's
    assert_eq!(result.count_of("/flows/0/consume/end_to_end/own"), 200);
    assert_eq!(figure(&output, "end-to-end", "count"), 200);

    let load = kafka.topic("in").create();
    let output = run(&kafka, &load, "handler = false\niterations = 100", "stamp = true\nmessages = 100", "");
    output.exits(0).is_civil();
    assert_eq!(figure(&output, "end-to-end", "count"), 100);
    assert!(!output.result().has("/flows/0/operations/0/measures/since-intended"), "nothing was intended");
}

#[test]
fn a_scenario_sees_no_stamp_and_its_answers_carry_their_own() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    for (stamp, headers) in [("false", vec!["own"]), ("true", vec!["own", "khost"])] {
        let plan = manifest(&load, &format!("iterations = 20\nstamp = {stamp}"), "stamp = true\nmessages = 20", "")
            .replace(
                "[flows.read]",
                &format!("[topics.seen]\nname = \"{}\"\naccess = [\"produce\"]\n\n[flows.read]", seen.name),
            );
        let output = Project::of(&echoes(guest(), ""), &plan).run().brokers(&kafka).json().output();
        output.exits(0).is_civil();
        let records = seen.records();
        let last = records.iter().rev().take(20);
        for record in last.clone() {
            let names: Vec<&str> = record.headers.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, headers, "{stamp}");
        }
        assert_eq!(last.count(), 20);
    }
}

#[test]
fn another_run_s_stamps_are_read_where_that_is_asked_for() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").create();
    let write = |stamp: &str| run(&kafka, &load, "enabled = false", &format!("stamp = {stamp}\nmessages = 50"), "");
    write("true").exits(0);
    write("false").exits(0);
    let read = "handler = false\nfrom = \"earliest\"\nuntil = \"end\"";
    let output = run(&kafka, &load, &format!("{read}\nend-to-end = true"), "enabled = false", "");
    let result = output.exits(0).is_civil().result();
    let stamps = |field: &str| result.count_of(&format!("/flows/0/consume/end_to_end/{field}"));
    assert_eq!((stamps("own"), stamps("others"), stamps("unstamped")), (0, 50, 50));
    assert_eq!(stamps("negative") + figure(&output, "end-to-end", "count"), 50, "each is in one of them");
    assert!(result.has("/flows/0/consume/end_to_end/smallest_us"));
    // who reads its own run's only leaves them out, and says so
    let output = run(&kafka, &load, read, "stamp = true\nmessages = 1\nafter = \"read\"", "");
    assert_eq!(output.exits(0).result().count_of("/flows/0/consume/end_to_end/left_out"), 50);
}

#[test]
fn groups_are_told_apart() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").partitions(2).create();
    let write = "stamp = true\nrate = \"200/s\"\nmessages = 100";
    let output = run(&kafka, &load, "handler = false\ngroups = 2\nworkers = 2", write, "");
    let result = output.exits(0).is_civil().result();
    let operations = result.list_of("/flows/0/operations");
    let counts: Vec<_> = operations
        .iter()
        .filter(|one| one["labels"][0][0] == "group")
        .map(|one| one["measures"]["end-to-end"]["count"].as_u64())
        .collect();
    assert_eq!(counts, [Some(100), Some(100)], "{operations:?}");
}

/// What waits behind a stopped broker is late, and nothing of it is left out.
#[test]
fn a_broker_that_stops_shows_in_end_to_end() {
    let Some(kafka) = Kafka::own().start() else { return };
    let load = kafka.topic("in").create();
    let write = "stamp = true\nrate = \"1000/s\"\nmessages = 6_000";
    let plan = manifest(&load, "handler = false\niterations = 6_000", write, "");
    let running = Project::of(&guest(), &plan).run().brokers(&kafka).json().start();
    load.wait_for_messages(1_000);
    kafka.node(0).pause();
    thread::sleep(Duration::from_secs(2));
    kafka.node(0).resume();
    let output = running.finish();
    output.exits(0).is_civil();
    assert_eq!(figure(&output, "end-to-end", "count"), 6_000);
    let most = figure(&output, "since-intended", "max_us");
    output.check(most >= 1_500_000, &format!("the longest took {most} us"));
    let p99 = figure(&output, "since-intended", "p99_us");
    output.check(p99 >= 1_000_000, &format!("p99 is {p99} us"));
}

/// A figure, for a quiet machine: `cargo test --release -- stamps:: --include-ignored --nocapture`.
#[test]
#[ignore = "a figure that a busy machine changes"]
fn an_independent_client_sees_the_same_median() {
    let Some(kafka) = Kafka::own().start() else { return };
    let load = kafka.topic("in").create();
    let done = Arc::new(AtomicBool::new(false));
    let client: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", kafka.bootstrap())
        .set("group.id", unique("independent"))
        .create()
        .expect("a client");
    let mut from = TopicPartitionList::new();
    from.add_partition_offset(&load.name, 0, Offset::Beginning).expect("an offset");
    client.assign(&from).expect("it is assigned");
    let ended = done.clone();
    let independent = thread::spawn(move || {
        let mut took = Vec::new();
        while !ended.load(Ordering::Relaxed) {
            let Some(Ok(message)) = client.poll(Duration::from_millis(100)) else { continue };
            let headers = message.headers().expect("a stamp");
            let stamp =
                headers.iter().find(|header| header.key == "khost").and_then(|header| header.value).expect("a stamp");
            took.push(now_us() - sent_us(stamp));
        }
        took.sort_unstable();
        took
    });
    let write = "stamp = true\nrate = \"1000/s\"\nmessages = 20_000";
    let output = run(&kafka, &load, "handler = false\niterations = 20_000", write, "");
    output.exits(0).is_civil();
    thread::sleep(Duration::from_secs(1));
    done.store(true, Ordering::Relaxed);
    let took = independent.join().expect("it ends");
    assert_eq!(took.len(), 20_000);
    let (theirs, ours) = (took[10_000], figure(&output, "end-to-end", "p50_us") as i64);
    println!("p50 end-to-end: khost {ours} us, an independent client {theirs} us");
    assert!((theirs - ours).abs() * 10 <= theirs, "within 10 %: {ours} and {theirs}");
}
