//! A rate is that of the whole flow, exact over the run, and evenly spread: read from the instants at which messages were sent.

use std::time::Duration;

use crate::harness::guests::{manifest, producer};
use crate::harness::turn::alone;
use crate::harness::{Kafka, Output, Project};

/// Runs at this rate; answers when messages were sent, in milliseconds from the first.
fn sent(kafka: &Kafka, flow: &str, duration: &str) -> (Output, Vec<i64>) {
    let topic = kafka.topic("rate").partitions(4).create();
    let project = Project::of(&producer(1), &manifest(&topic.name, flow, &format!("duration = \"{duration}\"")));
    let output = project.run().brokers(kafka).json().output();
    let acknowledged = output.exits(0).result().acknowledged();
    let mut instants = Vec::with_capacity(acknowledged as usize);
    topic.each(|message| instants.push(rdkafka::Message::timestamp(message).to_millis().expect("a timestamp")));
    assert_eq!(instants.len() as u64, acknowledged, "{output}");
    instants.sort_unstable();
    let first = instants.first().copied().unwrap_or_default();
    (output, instants.into_iter().map(|at| at - first).collect())
}

/// For low rates: so many messages, each in its turn.
#[track_caller]
fn is_even(output: &Output, sent: &[i64], count: usize, gap: Duration, tolerance: Duration) {
    output.check(sent.len().abs_diff(count) <= 1, &format!("{count} messages, one more or less, not {}", sent.len()));
    let (gap, tolerance) = (gap.as_millis() as i64, tolerance.as_millis() as i64);
    let even = sent.windows(2).all(|pair| (pair[1] - pair[0] - gap).abs() <= tolerance);
    output.check(even, &format!("one message every {gap} ms, not at {sent:?}"));
}

/// For high rates: the count within 0.5 %, and few tenths of a second with much more or less than their share.
#[track_caller]
fn is_steady(output: &Output, sent: &[i64], count: usize, seconds: usize) {
    output.check(
        sent.len().abs_diff(count) <= count / 200,
        &format!("{count} messages within 0.5 %, not {}", sent.len()),
    );
    let mut tenths = vec![0usize; seconds * 10];
    for at in sent {
        let tenth = (*at as usize / 100).min(tenths.len() - 1);
        tenths[tenth] += 1;
    }
    let share = count / tenths.len();
    // A busy machine may stand still for tenths and catch up; a second's messages at once, again and again, is no such thing.
    let off = tenths.iter().filter(|tenth| tenth.abs_diff(share) > share / 4).count();
    let worst = tenths.iter().max().copied().unwrap_or_default();
    output.check(off <= tenths.len() / 4, &format!("{share} messages in a tenth of a second, not {tenths:?}"));
    output.check(worst <= share * 6, &format!("no burst, as in {tenths:?}"));
    let achieved = output.result().achieved_rate();
    let target = count as f64 / seconds as f64;
    output.check((achieved / target - 1.0).abs() <= 0.005, &format!("a rate of {target} within 0.5 %, not {achieved}"));
}

#[test]
fn one_a_second_from_four_threads() {
    let Some(kafka) = Kafka::shared() else { return };
    let (output, sent) = sent(&kafka, "threads = 4\nrate = \"1/s\"", "6s");
    is_even(&output, &sent, 6, Duration::from_secs(1), Duration::from_millis(250));
}

#[test]
fn one_in_ten_seconds() {
    let Some(kafka) = Kafka::shared() else { return };
    let (output, sent) = sent(&kafka, "rate = \"0.1/s\"", "21s");
    is_even(&output, &sent, 2, Duration::from_secs(10), Duration::from_millis(250));
}

#[test]
fn seven_a_second_from_three_threads() {
    let Some(kafka) = Kafka::shared() else { return };
    let (output, sent) = sent(&kafka, "threads = 3\nrate = \"7/s\"", "6s");
    is_even(&output, &sent, 42, Duration::from_micros(142_857), Duration::from_millis(120));
}

#[test]
fn ninety_a_minute() {
    let Some(kafka) = Kafka::shared() else { return };
    let (output, sent) = sent(&kafka, "threads = 2\nrate = \"90/m\"", "6s");
    is_even(&output, &sent, 9, Duration::from_micros(666_667), Duration::from_millis(250));
}

#[test]
fn fifteen_hundred_a_second() {
    let _alone = alone();
    let Some(kafka) = Kafka::shared() else { return };
    let (output, sent) = sent(&kafka, "threads = 2\nrate = \"1500/s\"", "4s");
    is_steady(&output, &sent, 6_000, 4);
}

#[test]
fn a_hundred_thousand_a_second() {
    let _alone = alone();
    let Some(kafka) = Kafka::shared() else { return };
    let (output, sent) = sent(&kafka, "threads = 2\nclients = 1\nbatch = 1000\nrate = \"100k/s\"", "3s");
    is_steady(&output, &sent, 300_000, 3);
}

#[test]
fn stages_go_from_one_rate_to_the_next() {
    let _alone = alone();
    let Some(kafka) = Kafka::shared() else { return };
    let stages = "rate = \"500/s\"\nstages = [{ for = \"2s\", rate = \"500/s\" }, { for = \"2s\", rate = \"1500/s\" }]";
    let (output, sent) = sent(&kafka, stages, "4s");
    let within = |from: i64, to: i64| sent.iter().filter(|at| (from..to).contains(*at)).count();
    let (level, ramp) = (within(0, 2000), within(2000, 5000));
    output.check(level.abs_diff(1000) <= 50, &format!("1000 messages at 500/s in two seconds, not {level}"));
    output.check(ramp.abs_diff(2000) <= 100, &format!("2000 messages from 500/s to 1500/s in two seconds, not {ramp}"));
}
