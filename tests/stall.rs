//! A broker that stops for two seconds, twice: latency counts from the intended time, whatever the client's queue hides.

use std::thread::sleep;
use std::time::Duration;

use crate::harness::guests::{Stamp, manifest, producer};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Output, Project};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_stalled_broker_shows_in_service_or_in_wait_and_always_in_response() {
    let Some(kafka) = Kafka::own().start() else { return };

    let (output, topic) = run(&kafka, &[]);
    let result = output.exits(0).result();
    let (service, response) = late(&output);
    output.check(service >= 1800, &format!("service above 1 s for at least 1800 messages, not {service}"));
    output.check(response >= 1800, &format!("response above 1 s for at least 1800 messages, not {response}"));
    assert_eq!(result.acknowledged(), topic.count());
    agrees(&output, response, &topic);

    let (output, topic) = run(&kafka, &["-X", "queue.buffering.max.messages=100"]);
    let (service, response) = late(&output);
    output.exits(0).check(service <= 200, &format!("service above 1 s for at most 200 messages, not {service}"));
    output.check(response >= 1800, &format!("response above 1 s for at least 1800 messages, not {response}"));
    agrees(&output, response, &topic);
}

/// Ten seconds of 1000 messages a second, in which the broker stops from 2 to 4 s and from 6 to 8 s.
fn run(kafka: &Kafka, arguments: &[&str]) -> (Output, Topic) {
    let topic = kafka.topic("stall").config("message.timestamp.type", "LogAppendTime").create();
    let project = Project::of(&producer(1), &manifest(&topic.name, "rate = \"1000/s\"", "duration = \"10s\""));
    let khost = project.run().brokers(kafka).json().args(arguments).start();
    topic.wait_for_messages(1);
    for _ in 0..2 {
        sleep(2 * SECOND);
        kafka.node(0).pause();
        sleep(2 * SECOND);
        kafka.node(0).resume();
    }
    let output = khost.finish();
    let result = output.result();
    let (acknowledged, rate) = (result.acknowledged(), result.achieved_rate());
    output.check((9950..=10_050).contains(&acknowledged), "10,000 messages within 0.5 %");
    output.check((995.0..=1005.0).contains(&rate), &format!("a rate of 1000 within 0.5 %, not {rate}"));
    output.check(result.failed() + result.unknown() == 0, "none lost");
    (output, topic)
}

/// Messages whose service and whose response took more than a second.
fn late(output: &Output) -> (u64, u64) {
    let result = output.result();
    (result.above_a_second("service"), result.above_a_second("response"))
}

/// Compares with the broker's own clock: iteration n was due n milliseconds after the first, and was appended when it was.
fn agrees(output: &Output, response: u64, topic: &Topic) {
    let mut appended: Vec<(u64, i64)> = topic
        .records()
        .iter()
        .map(|r| (Stamp::read(r.value.as_ref().expect("a value")).iteration, r.timestamp))
        .collect();
    appended.sort_unstable();
    let start = appended[0].1;
    let late = appended.iter().filter(|(iteration, at)| at - (start + *iteration as i64) > 1000).count() as u64;
    output.check(
        late.abs_diff(response) <= 100,
        &format!("about as many late messages as the broker saw, {late}, not {response}"),
    );
}
