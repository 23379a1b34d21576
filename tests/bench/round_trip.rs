//! A request through khost, to an application that it plays itself, beside a hand-written ping-pong: `cargo bench --bench
//! round_trip`.
//!
//! Both send with the same settings. `KHOST_BENCH_ROUNDS` makes it shorter. Exits with 1 when khost's median is beyond its bound.

#[allow(dead_code, unused_imports, reason = "a benchmark needs little of it")]
#[path = "../harness/mod.rs"]
mod harness;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use harness::kafka::application::{Answer, Application, header};
use harness::topics::Topic;
use harness::{Kafka, Project, scenarios};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

const ID: &str = "correlation-id";
const PAIRS: usize = 5;
const WARM_UP: u64 = 200;
/// What khost may take longer, at the median.
const MOST_US: i64 = 300;

fn main() -> ExitCode {
    let rounds = std::env::var("KHOST_BENCH_ROUNDS").map_or(2_000, |text| text.parse().expect("a number"));
    let Some(kafka) = Kafka::own().fast().start() else { return ExitCode::SUCCESS };
    let (to, replies) = (kafka.topic("requests").create(), kafka.topic("replies").create());
    let answers = replies.name.clone();
    let _application =
        Application::start(&kafka, &to, move |_, request| vec![Answer::to(&answers).header(ID, header(request, ID))]);
    let mut differences: Vec<i64> = Vec::new();
    for pair in 1..=PAIRS {
        let (native, khost) = (native(&kafka, &to, &replies, rounds), khost(&kafka, rounds));
        println!("pair {pair}: native {native} us, khost {khost} us at the median");
        differences.push(khost as i64 - native as i64);
    }
    differences.sort_unstable();
    let median = differences[PAIRS / 2];
    println!("khost takes {median} us longer; at most {MOST_US} are allowed");
    if median <= MOST_US { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A user of `scenarios/request-reply`, and the application that it plays itself, which answers at once.
fn khost(kafka: &Kafka, rounds: u64) -> u64 {
    let scenario = scenarios::built("request-reply");
    let khost = Project::new().khost(&["run"]).arg(scenario).brokers(kafka).kafka("linger.ms", "0").kafka("acks", "1");
    let settings = [
        ("flows.users.users", "1".to_owned()),
        ("flows.app.workers", "1".to_owned()),
        ("run.warm-up", WARM_UP.to_string()),
        ("flows.users.iterations", rounds.to_string()),
    ];
    let khost = settings.iter().fold(khost, |khost, (path, value)| khost.set(path, value));
    let params = [("partitions", "1"), ("service-time", "0s"), ("size", "4")];
    let khost = params.iter().fold(khost, |khost, (name, value)| khost.param(name, value));
    khost.json().output().exits(0).result().measure("service", "p50_us")
}

fn native(kafka: &Kafka, to: &Topic, replies: &Topic, rounds: u64) -> u64 {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", kafka.bootstrap()).set("linger.ms", "0").set("acks", "1");
    config.set("group.id", "khost-bench").set("enable.auto.commit", "false");
    let producer: BaseProducer = config.create().expect("a client");
    let consumer: BaseConsumer = config.create().expect("a client");
    let mut from = TopicPartitionList::new();
    let end = replies.end_offsets()[0];
    from.add_partition_offset(&replies.name, 0, Offset::Offset(end)).expect("a valid offset");
    consumer.assign(&from).expect("a valid assignment");
    let mut took: Vec<Duration> = Vec::new();
    for round in 0..WARM_UP + rounds {
        let id = round.to_string();
        let headers = OwnedHeaders::new().insert(Header { key: ID, value: Some(&id) });
        let began = Instant::now();
        let record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(&to.name).headers(headers).payload(b"ping");
        producer.send(record).map_err(|(error, _)| error).expect("there is room");
        let reply = consumer.poll(Duration::from_secs(10)).expect("a reply in time");
        reply.expect("a record");
        if round >= WARM_UP {
            took.push(began.elapsed());
        }
        producer.poll(Duration::ZERO);
    }
    took.sort_unstable();
    took[took.len() / 2].as_micros() as u64
}
