//! khost's processor time by message beside a native librdkafka loop's, in pairs on the same broker: `cargo bench --bench producer`.
//!
//! Both send with the same settings values of 500 bytes under random keys of 16. `KHOST_BENCH_MESSAGES` and `KHOST_BENCH_PAIRS`
//! make it shorter. Exits with 1 when khost is beyond its bounds.

mod figures;
#[allow(dead_code, unused_imports, reason = "a benchmark needs little of it")]
#[path = "../harness/mod.rs"]
mod harness;
mod native;

use std::process::{Command, ExitCode};
use std::time::Duration;

use figures::{median, number};
use harness::kafka::Brokers;
use harness::{Kafka, Project, scenarios};
use native::{Bodies, Ran};

const SETTINGS: [(&str, &str); 5] = [
    ("acks", "1"),
    ("linger.ms", "5"),
    ("batch.size", "65536"),
    ("queue.buffering.max.messages", "1000000"),
    ("queue.buffering.max.kbytes", "1000000"),
];
const BODY_BYTES: usize = 500;
/// What is compared, pair by pair, and the most that khost may cost: with the same copied bodies, with bodies that both
/// make anew for each message, and with bodies that khost shares beside a loop that copies.
const COMPARED: [(&str, &str, Option<f64>); 4] = [
    ("khost, copied", "native, copied", Some(1.15)),
    ("khost, fresh", "native, fresh", Some(1.15)),
    ("khost, repeated", "native, copied", Some(1.0)),
    ("khost, repeated", "native, shared", None),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, bodies, brokers, topic, messages] = arguments.as_slice()
        && word == "native"
    {
        return native_process(bodies, brokers, topic, messages.parse().expect("a number"));
    }
    let (messages, pairs) = (number("KHOST_BENCH_MESSAGES", 3_000_000), number("KHOST_BENCH_PAIRS", 5));
    let Some(bench) = Bench::start(messages) else { return ExitCode::SUCCESS };

    let names =
        ["native, copied", "khost, copied", "native, fresh", "khost, fresh", "native, shared", "khost, repeated"];
    let mut variants = names.map(|name| (name, Vec::new()));
    for pair in 1..=pairs {
        for (name, runs) in &mut variants {
            let ran = match name.split_once(", ").expect("two words") {
                ("native", bodies) => bench.native(bodies),
                (_, bodies) => bench.khost(bodies),
            };
            println!(
                "pair {pair}: {name:15} {:5.0} ns a message, {:7.0} messages/s",
                ran.cpu_ns_per_message, ran.messages_per_second
            );
            runs.push(ran);
        }
    }
    for (name, runs) in &variants {
        let cpu = median(runs.iter().map(|ran| ran.cpu_ns_per_message));
        let rate = median(runs.iter().map(|ran| ran.messages_per_second));
        println!("median: {name:15} {cpu:5.0} ns a message, {rate:7.0} messages/s");
    }
    let runs = |name: &str| &variants.iter().find(|(known, _)| *known == name).expect("a variant").1;
    let mut beyond = false;
    for (khost, native, bound) in COMPARED {
        let pairs = runs(khost).iter().zip(runs(native));
        let ratio = median(pairs.map(|(khost, native)| khost.cpu_ns_per_message / native.cpu_ns_per_message));
        let at_most = bound.map_or(String::new(), |bound| format!(" (at most {bound})"));
        println!("{khost:15} / {native:14}: {ratio:.3}{at_most}");
        beyond |= bound.is_some_and(|bound| ratio > bound);
    }
    ExitCode::from(u8::from(beyond))
}

struct Bench {
    kafka: Brokers<Box<Kafka>>,
    project: Project,
    messages: u64,
}

impl Bench {
    fn start(messages: u64) -> Option<Bench> {
        let kafka = Kafka::own().fast().property("log.segment.delete.delay.ms", "1000").start()?;
        // What is built and compiled once is so before anything is measured.
        scenarios::built("random-keys");
        Some(Bench { kafka, project: Project::new(), messages })
    }

    /// The loop in a process of its own, so that its processor time is nobody else's.
    fn native(&self, bodies: &str) -> Ran {
        let topic = self.kafka.topic("bench").partitions(12).create();
        let output = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["native", bodies, self.kafka.bootstrap(), &topic.name, &self.messages.to_string()])
            .output()
            .expect("this program runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let mut numbers = text.split_whitespace().map(|number| number.parse().expect("a number"));
        let mut next = || numbers.next().expect("two numbers");
        let ran = Ran { cpu_ns_per_message: next(), messages_per_second: next() };
        self.kafka.delete(&topic);
        ran
    }

    fn khost(&self, bodies: &str) -> Ran {
        let prefix = harness::unique("bench");
        let mut khost = self.project.khost(&["run"]).arg(scenarios::built("random-keys")).brokers(&self.kafka).json();
        for (name, value) in SETTINGS {
            khost = khost.kafka(name, value);
        }
        let size = BODY_BYTES.to_string();
        let params = [
            ("prefix", prefix.as_str()),
            ("min-size", &size),
            ("max-size", &size),
            ("bodies", bodies),
            // one body, as the native loop has it
            ("pool-size", &size),
            ("partitions", "12"),
        ];
        khost = params.into_iter().fold(khost, |khost, (name, value)| khost.param(name, value));
        let run = [
            ("run.warm-up", "0"),
            ("run.messages", &self.messages.to_string()),
            ("flows.write.threads", "1"),
            ("flows.write.clients", "1"),
        ];
        khost = run.into_iter().fold(khost, |khost, (path, value)| khost.set(path, value));
        let output = khost.limit(Duration::from_secs(600)).output();
        let result = output.exits(0).result();
        self.kafka.delete(&self.kafka.existing(&format!("{prefix}random-keys")));
        Ran { cpu_ns_per_message: result.cpu_ns_per_message(), messages_per_second: result.messages_per_second() }
    }
}

fn native_process(bodies: &str, brokers: &str, topic: &str, messages: u64) -> ExitCode {
    let bodies = match bodies {
        "shared" => Bodies::Shared,
        "fresh" => Bodies::Fresh,
        _ => Bodies::Copied,
    };
    let settings: Vec<(&str, &str)> = [("bootstrap.servers", brokers)].into_iter().chain(SETTINGS).collect();
    let ran = native::run(topic, &settings, messages, BODY_BYTES, bodies);
    println!("{} {}", ran.cpu_ns_per_message, ran.messages_per_second);
    ExitCode::SUCCESS
}
