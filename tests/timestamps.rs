//! Timestamps that a scenario gives: odd ones are told of and sent, refused ones counted, and no figure is made of them.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::harness::guests::{Fixed, echoes, manifest, sends};
use crate::harness::{Kafka, Project, unique};

const IN_2001: i64 = 1_000_000_000_000;

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_millis() as i64
}

fn at(timestamps: &[i64]) -> Vec<Fixed> {
    timestamps.iter().map(|at| Fixed::new(None, Some(b"x")).timestamp(*at)).collect()
}

const ONCE: (&str, &str) = ("threads = 1", "iterations = 1");

#[test]
fn odd_timestamps_are_sent_and_told_of_once() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("stamps").config("message.timestamp.after.max.ms", "9223372036854775807").create();
    let before = now_ms();
    let (seconds, micros) = (before / 1_000, before * 1_000);
    let project = Project::of(
        &sends(&at(&[seconds, seconds + 1, micros, 0, 0, IN_2001, -1])),
        &manifest(&topic.name, ONCE.0, ONCE.1),
    );
    let output = project.run().brokers(&kafka).json().output();
    let result = output.exits(0).is_civil().result();
    let arrived: Vec<i64> = topic.records().iter().map(|record| record.timestamp).collect();
    assert_eq!(arrived[..6], [seconds, seconds + 1, micros, 1, 1, IN_2001]);
    output.check(arrived[6] >= before, "-1 is the time of sending");
    for (times, value, looks) in [("3 times", seconds.to_string(), "seconds"), ("2 times", "0".into(), "1970")] {
        let text = format!("a message to `{}` has the timestamp {value}", topic.name);
        let notes: Vec<String> = result.warnings().into_iter().filter(|note| note.contains(&text)).collect();
        let told = notes.len() == 1 && notes[0].contains(&format!("flow `write`, {times}")) && notes[0].contains(looks);
        output.check(told, &format!("one note: {text}"));
        output.check(output.stderr.matches(&text).count() == 1, &format!("at once, and once: {text}"));
    }
}

#[test]
fn a_negative_timestamp_is_a_mistake_of_the_scenario() {
    let plan = manifest(&unique("stamps"), ONCE.0, ONCE.1).replacen("access", "partitions = 1\naccess", 1);
    let output = Project::of(&sends(&at(&[-2])), &plan).run().output();
    output.exits(1).is_civil().prints("the timestamp -2").prints("milliseconds since the Unix epoch");
}

#[test]
fn timestamps_that_a_broker_refuses_are_counted_under_its_code() {
    let Some(kafka) = Kafka::shared() else { return };
    for (setting, timestamp) in
        [("message.timestamp.before.max.ms", IN_2001), ("message.timestamp.after.max.ms", now_ms() + 86_400_000)]
    {
        let topic = kafka.topic("stamps").config(setting, "3600000").create();
        let plan = manifest(&topic.name, ONCE.0, ONCE.1);
        let output = Project::of(&sends(&at(&[timestamp])), &plan).run().brokers(&kafka).json().output();
        let result = output.exits(1).is_civil().tells(setting).result();
        assert_eq!(
            result.failures().into_iter().collect::<Vec<_>>(),
            [("INVALID_TIMESTAMP".to_owned(), 1)],
            "{output}"
        );
        assert_eq!((result.failed(), topic.count()), (1, 0), "{output}");
    }
}

/// What a handler gets is what the broker stores; durations come from khost's own clock.
#[test]
fn a_handler_gets_the_brokers_timestamp_and_no_figure_is_made_of_it() {
    let Some(kafka) = Kafka::shared() else { return };
    for kind in ["CreateTime", "LogAppendTime"] {
        let load = kafka.topic("in").config("message.timestamp.type", kind).create();
        let seen = kafka.topic("seen").create();
        // sends on each record's timestamp, 8 bytes
        let guest = echoes(sends(&at(&[IN_2001; 5])), "").handles(
            "(loop $all
               (local.set $r (i32.add (local.get $records) (i32.mul (local.get $i) (i32.const 48))))
               (local.set $p (i32.add (i32.const 1048576) (i32.mul (local.get $i) (i32.const 64))))
               (memory.fill (local.get $p) (i32.const 0) (i32.const 64))
               (i32.store (local.get $p) (global.get $seen))
               (i32.store offset=4 (local.get $p) (i32.const -1))
               (i32.store offset=24 (local.get $p) (i32.const 1))
               (i32.store offset=28 (local.get $p) (i32.add (local.get $r) (i32.const 16)))
               (i32.store offset=32 (local.get $p) (i32.const 8))
               (i64.store offset=48 (local.get $p) (i64.const -1))
               (i32.store offset=56 (local.get $p) (local.get $i))
               (br_if $all (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))
             (call $produce (i32.const 1048576) (local.get $count))
             (local.get $count)",
        );
        let plan = format!(
            "[scenario]\nname = \"tests/stamps\"\n\n\
             [topics.load]\nname = \"{}\"\naccess = [\"produce\", \"consume\"]\n\n\
             [topics.seen]\nname = \"{}\"\naccess = [\"produce\"]\n\n\
             [flows.app]\nkind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{}\"\niterations = 5\n\n\
             [flows.write]\nkind = \"stream\"\nthreads = 1\nrate = \"5/s\"\niterations = 1\n",
            load.name,
            seen.name,
            unique("group")
        );
        let before = now_ms();
        let output = Project::of(&guest, &plan).run().brokers(&kafka).json().output();
        let result = output.exits(0).is_civil().result();
        let handled: Vec<i64> = seen
            .records()
            .iter()
            .map(|record| i64::from_le_bytes(record.value.as_deref().unwrap().try_into().unwrap()))
            .collect();
        assert_eq!(handled.len(), 5);
        match kind {
            "CreateTime" => assert_eq!(handled, [IN_2001; 5]),
            _ => assert!(handled.iter().all(|at| (before..=now_ms()).contains(at)), "{handled:?} since {before}"),
        }
        let hour_us = 3_600_000_000;
        for flow in 0..2 {
            for measure in ["service", "response"] {
                let longest = result.count_of(&format!("/flows/{flow}/operations/0/measures/{measure}/max_us"));
                output.check(longest < hour_us, &format!("{measure} of khost's own clock, not {longest} us"));
            }
        }
    }
}
