//! Messages that are waited for (`deliver`), and messages that wait (`produce-after`).

use crate::harness::guests::{Fixed, Guest, manifest, manifest_with_topic, sends_by};
use crate::harness::{Kafka, Project};

/// Delivers both messages of an iteration, and traps unless both are acknowledged, in their order.
fn delivers(timeout_ns: u64) -> Guest {
    let messages = [Fixed::new(Some(b"a"), Some(b"first")), Fixed::new(Some(b"b"), Some(b"second"))];
    // an acknowledgement is 24 bytes: code, partition, offset, latency
    let call = move |at, count| {
        format!(
            "(call $deliver (i32.const {at}) (i32.const {count}) (i64.const {timeout_ns}) (i32.const 64))
             (if (i32.ne (i32.load offset=4 (i32.const 64)) (i32.const {count})) (then unreachable))
             (local.set $p (i32.load (i32.const 64)))
             (if (i32.load (local.get $p)) (then unreachable))
             (if (i32.load offset=24 (local.get $p)) (then unreachable))
             (if (i64.lt_s (i64.load offset=8 (local.get $p)) (i64.const 0)) (then unreachable))
             (if (i64.eqz (i64.load offset=16 (local.get $p))) (then unreachable))"
        )
    };
    sends_by(&messages, call).import("kafka", "deliver", "(param i32 i32 i64 i32)")
}

#[test]
fn a_delivery_is_acknowledged_before_the_guest_goes_on() {
    let Some(kafka) = Kafka::shared() else { return };
    for flow in ["threads = 1", "threads = 3\nclients = 2", "threads = 1\nrate = \"200/s\""] {
        let topic = kafka.topic("delivered").partitions(2).create();
        let project = Project::of(&delivers(10_000_000_000), &manifest(&topic.name, flow, "iterations = 60"));
        let result = project.run().brokers(&kafka).kafka("linger.ms", "0").json().output().exits(0).result();
        assert_eq!((result.acknowledged(), result.iterations()), (120, 60), "{flow}");
        assert_eq!(topic.end_offsets().iter().sum::<i64>(), 120, "{flow}");
    }
}

#[test]
fn a_delivery_within_setup_is_reported_too() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("setup").create();
    let mut guest =
        Guest::new("(local.get $count)").topic("load").import("kafka", "deliver", "(param i32 i32 i64 i32)");
    let mut message = [0_u8; 64];
    message[4..8].copy_from_slice(&(-1_i32).to_le_bytes());
    message[48..56].copy_from_slice(&(-1_i64).to_le_bytes());
    message[56..60].copy_from_slice(&(-1_i32).to_le_bytes());
    let at = guest.data(&message);
    let guest = guest.setup(&format!(
        "(i32.store (i32.const {at}) (global.get $topic))
         (call $deliver (i32.const {at}) (i32.const 1) (i64.const 10000000000) (i32.const 64))
         (if (i32.load (i32.load (i32.const 64))) (then unreachable))"
    ));
    let project = Project::of(&guest, &manifest(&topic.name, "threads = 1", "iterations = 1"));
    project.run().brokers(&kafka).output().exits(0);
    assert_eq!(topic.end_offsets().iter().sum::<i64>(), 1);
}

/// Sends one message an iteration, so long from now.
fn delays(delay_ns: u64) -> Guest {
    let call =
        move |at, count| format!("(call $produce-after (i64.const {delay_ns}) (i32.const {at}) (i32.const {count}))");
    sends_by(&[Fixed::new(Some(b"k"), Some(b"late")).header("h", Some(b"v"))], call).import(
        "kafka",
        "produce-after",
        "(param i64 i32 i32)",
    )
}

#[test]
fn a_delayed_message_is_sent_when_it_is_due() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("delayed").create();
    let run = "duration = \"3s\"";
    let project = Project::of(&delays(100_000_000), &manifest(&topic.name, "threads = 1\nrate = \"20/s\"", run));
    let result = project.run().brokers(&kafka).json().output().exits(0).result();
    let arrived = topic.records();
    // the last ones may still be waiting at the end: those are dropped, and counted
    assert_eq!(arrived.len() as u64, result.acknowledged());
    assert_eq!(result.acknowledged() + result.delayed_dropped(), result.iterations());
    assert!(result.acknowledged() > 0, "{}", result.delayed_dropped());
    assert!(arrived.iter().all(|record| record.headers == [("h".to_owned(), Some(b"v".to_vec()))]));
}

#[test]
fn what_is_still_delayed_at_the_end_is_dropped_and_counted() {
    let guest = delays(3_600_000_000_000);
    let project = Project::of(&guest, &manifest_with_topic(1, "threads = 2", "iterations = 50"));
    let result = project.run().json().output().exits(0).result();
    assert_eq!((result.acknowledged(), result.delayed_dropped()), (0, 50));
}
