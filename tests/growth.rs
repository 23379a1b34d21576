//! A topic that grows under a run: its new partitions are used within seconds, and the scenario is told of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::harness::guests::{Guest, manifest};
use crate::harness::running::Running;
use crate::harness::topics::{Record, Topic};
use crate::harness::{Kafka, Project};

/// Of the client's picture of its topics, which is 3 s old at most, and of a broker's own.
const SECONDS: Duration = Duration::from_secs(6);
const LIMIT: Duration = Duration::from_secs(30);

/// Sends one message an iteration to `load`: its key is the iteration's number in 8 bytes, its value the 4 bytes of `value`,
/// its partition that of `partition`. Both are expressions; `$p` is how many partitions there are, as far as `asks` goes.
pub(crate) fn sends(asks: &str, partition: &str, value: &str) -> Guest {
    Guest::new(&format!(
        "(local.set $p {asks})
         (i64.store (i32.const 256) (local.get $first))
         (i32.store (i32.const 264) {value})
         (memory.fill (i32.const 0) (i32.const 0) (i32.const 64))
         (i32.store (i32.const 0) (global.get $topic))
         (i32.store (i32.const 4) {partition})
         (i32.store (i32.const 8) (i32.const 1))
         (i32.store (i32.const 12) (i32.const 256))
         (i32.store (i32.const 16) (i32.const 8))
         (i32.store (i32.const 24) (i32.const 1))
         (i32.store (i32.const 28) (i32.const 264))
         (i32.store (i32.const 32) (i32.const 4))
         (i64.store (i32.const 48) (i64.const -1))
         (call $produce (i32.const 0) (i32.const 1))
         (i32.const 1)"
    ))
    .topic("load")
    .import("kafka", "produce", "(param i32 i32)")
    .import("kafka", "partition-count", "(param i32) (result i32)")
}

fn start(kafka: &Kafka, topic: &Topic, guest: &Guest) -> Running {
    let flow = "threads = 1\nbatch = 1\nrate = \"200/s\"";
    let project = Project::of(guest, &manifest(&topic.name, flow, "duration = \"60s\""));
    let khost = project.run().brokers(kafka).json().limit(LIMIT).start();
    topic.wait_for_messages(100);
    khost
}

/// Waits until it is so; answers how long that was.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LIMIT, "not in {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
    start.elapsed()
}

/// What `value` was: the count of partitions that the scenario was told.
pub(crate) fn told(record: &Record) -> i32 {
    i32::from_le_bytes(record.value.as_deref().unwrap().try_into().unwrap())
}

#[test]
fn keys_go_to_new_partitions_within_seconds() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("grows").partitions(2).create();
    let guest = sends("(i32.const 0)", "(i32.const -1)", "(i32.const 0)");
    let khost = start(&kafka, &topic, &guest);
    kafka.grow(&topic, 4);
    let took = wait_until("messages in new partitions", || topic.end_offsets()[2..].iter().all(|end| *end > 20));
    khost.interrupt();
    let output = khost.finish();
    let result = output.exits(130).result();
    output.check(took < SECONDS, &format!("new partitions in use within {SECONDS:?}, not {took:?}"));
    let spread: Vec<i64> = result.partitions().iter().map(|count| *count as i64).collect();
    assert_eq!(spread, topic.end_offsets(), "{output}");
    assert_eq!((result.acknowledged(), result.failed() + result.unknown()), (topic.count(), 0), "{output}");
    assert_eq!(result.acknowledged(), result.iterations(), "{output}");
}

#[test]
fn a_scenario_sees_new_partitions_and_can_send_to_them() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("counted").partitions(2).create();
    // to partition 3 as soon as there is one
    let last = "(select (i32.const 3) (i32.const -1) (i32.ge_u (local.get $p) (i32.const 4)))";
    let guest = sends("(call $partition-count (global.get $topic))", last, "(local.get $p)");
    let khost = start(&kafka, &topic, &guest);
    kafka.grow(&topic, 4);
    let took = wait_until("a scenario told of 4 partitions", || topic.records().iter().any(|record| told(record) == 4));
    khost.interrupt();
    let output = khost.finish();
    let result = output.exits(130).result();
    output.check(took < SECONDS, &format!("4 partitions told within {SECONDS:?}, not {took:?}"));
    assert_eq!((result.acknowledged(), result.failed() + result.unknown()), (topic.count(), 0), "{output}");
    let told: BTreeSet<(i32, i32)> = topic.records().iter().map(|record| (told(record), record.partition)).collect();
    // keys may lead to the new ones before the scenario is told
    let right = told.iter().all(|(count, partition)| matches!((count, partition), (2, _) | (4, 3)));
    assert!(right && told.contains(&(4, 3)), "{told:?}");
    assert_eq!(result.partitions().len(), 4, "{output}");
}

#[test]
fn a_partition_that_is_not_there_yet_takes_messages_once_it_is() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("awaited").partitions(2).create();
    // every other message by its key, the rest to partition 3
    let odd = "(select (i32.const 3) (i32.const -1) (i32.wrap_i64 (i64.and (local.get $first) (i64.const 1))))";
    let khost = start(&kafka, &topic, &sends("(i32.const 0)", odd, "(i32.const 0)"));
    kafka.grow(&topic, 4);
    let took = wait_until("messages in partition 3", || topic.end_offsets()[3] > 20);
    khost.interrupt();
    let output = khost.finish();
    output.exits(130).check(took < SECONDS, &format!("partition 3 in use within {SECONDS:?}, not {took:?}"));
    let result = output.result();
    assert!(result.failed() > 0, "{output}");
    assert_eq!(result.failures(), BTreeMap::from([("_UNKNOWN_PARTITION".into(), result.failed())]), "{output}");
    assert_eq!((result.acknowledged(), result.unknown()), (topic.count(), 0), "{output}");
    assert_eq!(result.acknowledged() + result.failed(), result.iterations(), "{output}");
}
