//! What khost takes to read a topic, beside `rdkafka_performance` and `kafka-consumer-perf-test`, in turns on the same broker:
//! `cargo bench --bench consumer`.
//!
//! All read the same topic to its end: values of 500 bytes under random keys of 16. Processor time is the process's, without what
//! the same call takes for an empty topic; the rate is what each program says of itself. Nobody commits.
//! `KHOST_BENCH_MESSAGES` and `KHOST_BENCH_PAIRS` make it shorter. Exits with 1 when khost is beyond its bounds.

mod figures;
#[allow(dead_code, unused_imports, reason = "a benchmark needs little of it")]
#[path = "../harness/mod.rs"]
mod harness;
mod peers;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use figures::{median, number};
use harness::kafka::Brokers;
use harness::topics::Topic;
use harness::{Kafka, Project, scenarios, unique};
use peers::{Took, took};

/// Of both programs that are made of librdkafka: what `rdkafka_performance` sets for itself.
const FETCH: [&str; 2] = ["-X", "queued.min.messages=1000000"];
const PARTITIONS: i32 = 12;
const COUNTED: &str = "khost, counted";
const HANDLED: &str = "khost, handled";
const NATIVE: &str = "rdkafka_performance";
/// The same, taking records in batches as large as khost's.
const BATCHES: &str = "rdkafka_performance -B";
const JAVA: &str = "kafka-consumer-perf-test";
const VARIANTS: [&str; 5] = [NATIVE, COUNTED, HANDLED, BATCHES, JAVA];
/// What is compared by processor time, and the most that khost may cost.
const COMPARED: [(&str, &str, Option<f64>); 4] =
    [(COUNTED, NATIVE, Some(1.1)), (HANDLED, NATIVE, Some(1.35)), (COUNTED, BATCHES, None), (HANDLED, BATCHES, None)];

fn main() -> ExitCode {
    let (messages, pairs) = (number("KHOST_BENCH_MESSAGES", 5_000_000), number("KHOST_BENCH_PAIRS", 5));
    let Some(bench) = Bench::start(messages) else { return ExitCode::SUCCESS };
    let start_ups = VARIANTS.map(|name| median((0..pairs).map(|_| bench.run(name, &bench.empty).cpu_ns as f64)));
    let mut runs = VARIANTS.map(|name| (name, Vec::new()));
    for pair in 1..=pairs {
        for ((name, runs), start_up) in runs.iter_mut().zip(start_ups) {
            let ran = bench.measured(name, start_up);
            println!("pair {pair}: {name:24} {:5.0} ns a record, {:9.0} records/s", ran.cpu_ns, ran.per_second);
            runs.push(ran);
        }
    }
    let of = |name: &str| &runs.iter().find(|(known, _)| *known == name).expect("a variant").1;
    for (name, start_up) in VARIANTS.into_iter().zip(start_ups) {
        let cpu = median(of(name).iter().map(|ran| ran.cpu_ns));
        println!(
            "median: {name:24} {cpu:5.0} ns a record, {:9.0} records/s; start-up {:4.0} ms",
            rate(of(name)),
            start_up / 1e6
        );
    }
    let mut beyond = false;
    for (khost, peer, bound) in COMPARED {
        let ratio = median(of(khost).iter().zip(of(peer)).map(|(khost, peer)| khost.cpu_ns / peer.cpu_ns));
        let at_most = bound.map_or(String::new(), |bound| format!(" (at most {bound})"));
        println!("{khost} / {peer:22}: {ratio:.3} of its processor time{at_most}");
        beyond |= bound.is_some_and(|bound| ratio > bound);
    }
    for khost in [COUNTED, HANDLED] {
        let ratio = rate(of(khost)) / rate(of(JAVA));
        println!("{khost} / {JAVA}: {ratio:.2} of its rate (at least 1)");
        beyond |= ratio < 1.0;
    }
    ExitCode::from(u8::from(beyond))
}

/// What a run came to.
struct Ran {
    /// By record.
    cpu_ns: f64,
    per_second: f64,
}

struct Bench {
    kafka: Brokers<Box<Kafka>>,
    project: Project,
    native: PathBuf,
    messages: u64,
    full: Topic,
    empty: Topic,
}

impl Bench {
    /// Builds what is measured, and fills the topic.
    fn start(messages: u64) -> Option<Bench> {
        let kafka = Kafka::own().fast().start()?;
        let sdk = scenarios::folder().with_file_name("guest-sdk").join("rust");
        let cargo = include_str!("drain/guest.toml").replace("SDK", sdk.to_str().expect("a path of ours"));
        let project = Project::new()
            .file("drain/Cargo.toml", cargo)
            .file("drain/src/lib.rs", include_str!("drain/guest.rs"))
            .file("drain/scenario.toml", include_str!("drain/scenario.toml"));
        project.khost(&["run", "drain", "--dry-run"]).limit(Duration::from_secs(900)).output().exits(0);
        let native = peers::rdkafka_performance(&project.path("drain")).unwrap_or_else(|error| panic!("{error}"));
        let full = fill(&kafka, &project, messages);
        let empty = kafka.topic("empty").partitions(PARTITIONS).create();
        Some(Bench { kafka, project, native, messages, full, empty })
    }

    fn measured(&self, name: &str, start_up_ns: f64) -> Ran {
        let took = self.run(name, &self.full);
        let per_second = match name {
            COUNTED | HANDLED => self.rate_of_khost(&took.stdout),
            NATIVE | BATCHES => self.rate_of_native(&(took.stdout + &took.stderr)),
            _ => self.rate_of_java(&took.stdout),
        };
        Ran { cpu_ns: (took.cpu_ns as f64 - start_up_ns) / self.messages as f64, per_second }
    }

    fn run(&self, name: &str, topic: &Topic) -> Took {
        let is_empty = topic.name == self.empty.name;
        took(match name {
            COUNTED => self.khost(topic, "false"),
            HANDLED => self.khost(topic, "true"),
            NATIVE => self.native(topic, &[]),
            BATCHES => self.native(topic, &["-B", "500"]),
            _ => return self.java(topic, is_empty),
        })
    }

    fn khost(&self, topic: &Topic, handler: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_khost"));
        command.arg("run").arg(self.project.path("drain/drain.wasm")).args(["--brokers", self.kafka.bootstrap()]);
        command.args(["--param", &format!("topic={}", topic.name), "--set", &format!("flows.drain.handler={handler}")]);
        command.args(FETCH).args(["--format", "json"]);
        command
    }

    fn rate_of_khost(&self, stdout: &str) -> f64 {
        let result: serde_json::Value = serde_json::from_str(stdout).expect("khost prints JSON");
        let flow = &result["flows"][0];
        assert_eq!(flow["consume"]["records"]["handled"], self.messages, "{result:#}");
        flow["achieved_rate"].as_f64().expect("a rate")
    }

    fn native(&self, topic: &Topic, more: &[&str]) -> Command {
        let mut command = Command::new(&self.native);
        command.args(["-G", &unique("native"), "-t", &topic.name, "-b", self.kafka.bootstrap(), "-e"]).args(more);
        command.args(FETCH).args(["-X", "enable.auto.commit=false", "-X", "enable.auto.offset.store=false"]);
        command
    }

    /// `% 5000000 messages (2500000000 bytes) consumed in 2554ms: 782837 msgs/s (391.42 MB/s)`
    fn rate_of_native(&self, said: &str) -> f64 {
        let line = said.lines().rev().find(|line| line.contains("messages (")).expect(said);
        assert_eq!(line.split(' ').nth(1), Some(self.messages.to_string().as_str()), "{said}");
        number_before(line, " msgs/s")
    }

    /// Of an empty topic it waits for a second.
    fn java(&self, topic: &Topic, is_empty: bool) -> Took {
        let mut command = peers::consumer_perf_test(&self.kafka).expect("a Kafka of ours has its jars");
        command.args(["--bootstrap-server", self.kafka.bootstrap(), "--topic", &topic.name, "--hide-header"]);
        command.args(["--group", &unique("java"), "--command-property", "enable.auto.commit=false"]);
        command.args([
            "--num-records",
            &self.messages.to_string(),
            "--timeout",
            if is_empty { "1000" } else { "60000" },
        ]);
        took(command)
    }

    /// `start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, MB/s, records/s`, of which the last is without the rebalance.
    fn rate_of_java(&self, stdout: &str) -> f64 {
        let line = stdout.lines().last().expect("it prints a line");
        let cells: Vec<&str> = line.split(", ").collect();
        // it ends behind the poll that brings the last record
        assert_eq!(cells.get(4), Some(&self.messages.to_string().as_str()), "{stdout}");
        cells[9].parse().expect(stdout)
    }
}

/// A topic of so many records.
fn fill(kafka: &Kafka, project: &Project, messages: u64) -> Topic {
    let prefix = unique("full");
    let khost = project.khost(&["run"]).arg(scenarios::built("random-keys")).brokers(kafka).kafka("linger.ms", "5");
    let partitions = PARTITIONS.to_string();
    let params = [
        ("prefix", prefix.as_str()),
        ("partitions", &partitions),
        ("min-size", "500"),
        ("max-size", "500"),
        ("bodies", "copied"),
    ];
    let khost = params.into_iter().fold(khost, |khost, (name, value)| khost.param(name, value));
    let khost = khost.set("run.warm-up", "0").set("run.messages", &messages.to_string());
    khost.limit(Duration::from_secs(600)).output().exits(0);
    let topic = kafka.existing(&format!("{prefix}random-keys"));
    assert_eq!(topic.count(), messages);
    topic
}

fn rate(runs: &[Ran]) -> f64 {
    median(runs.iter().map(|ran| ran.per_second))
}

fn number_before(text: &str, unit: &str) -> f64 {
    let (before, _) = text.split_once(unit).expect(text);
    before.rsplit(' ').next().expect("a word").parse().expect(text)
}
