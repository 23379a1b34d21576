//! From what people write (manifest, profile, command line) to the plan: what will run, and where each value came from.
//!
//! Everything here is pure: text in, values or one error out. Nothing of it knows Kafka, WebAssembly or the clock.

mod amount;
mod channel;
mod command_line;
mod connection;
mod consume;
mod decode;
mod error;
mod java;
mod kafka_names;
mod layers;
mod manifest;
mod origin;
mod params;
mod placeholders;
mod resolve;
mod show;
mod suggest;
mod tree;
mod value;
mod written;

pub use amount::{
    BadAmount, MAX_RATE_PER_SECOND, Rate, format_bytes, format_duration, parse_bytes, parse_count, parse_duration,
};
pub use channel::{Channel, FailureSign, ReadId, WriteId};
pub use connection::{Bytes, VARIABLES, setting_of_variable};
pub use consume::{Commit, Consume, Dealer, Deliver, EndToEnd, Pause, PauseEvery, PausedData, ReadFrom};
pub use error::Error;
pub use java::{
    Line as JavaProperty, Malformed as MalformedProperties, parse as parse_java_properties, rows as java_names,
};
pub use kafka_names::{
    canonical, for_consumers, for_producers, is_of_the_connection, is_own, is_secret, open_to_all as kafka_settings,
};
pub use origin::{Origin, Place, Setting};
pub use resolve::{Sources, Text, check_topic as check_topic_name, files_of_manifest, resolve};
pub use show::show;
pub use suggest::nearest;
pub use value::Value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What will run: the manifest with all that lies over it, resolved.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who the scenario says it is.
    pub scenario: Scenario,
    /// What the guests' random numbers start from.
    pub seed: u64,
    /// Every parameter with its value.
    pub params: BTreeMap<String, Value>,
    /// Every topic that the scenario may touch; one that the manifest repeats stands here once for each.
    pub topics: Vec<Topic>,
    /// The data sets, in the manifest's order.
    pub data: Vec<DataSet>,
    /// The ways that replies come back, in the manifest's order.
    pub channels: Vec<Channel>,
    /// The application's groups whose lag is told, in the manifest's order.
    pub lag: Vec<Lag>,
    /// The enabled flows, in the manifest's order.
    pub flows: Vec<Flow>,
    /// Its phases.
    pub run: Run,
    /// What a guest may use.
    pub limits: Limits,
    /// librdkafka's settings that hold for every client: the manifest's `[kafka]`, profiles, `-X`. Checked, and by the
    /// names that librdkafka keeps them by: `queue.buffering.max.ms`, not `linger.ms`.
    pub kafka: BTreeMap<String, String>,
    /// What a file of Java's clients leaves to defaults that are others here, for whoever sends messages.
    pub other_defaults: Option<String>,
    /// The brokers that a file of Java's clients names, as it names them.
    pub bootstrap: Option<String>,
    /// Every value with its dotted path and where it came from, for `--dry-run` and the report. Secrets are masked.
    pub settings: Vec<Setting>,
    /// What a person should know before the run, such as a setting that is overridden.
    pub warnings: Vec<String>,
}

/// The manifest's `[scenario]`.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// `namespace/name`, or a name alone.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// One line.
    pub description: String,
}

/// One Kafka topic that the scenario may touch.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// Its name in the manifest; empty for one that only the command line names.
    pub key: String,
    /// Which one of a repeated topic.
    pub each: Option<String>,
    /// Its name in Kafka.
    pub name: String,
    /// How many partitions it gets when khost creates it; absent: khost does not create it.
    pub partitions: Option<u32>,
    /// How many replicas when khost creates it; absent: the cluster's default.
    pub replication: Option<u16>,
    /// Topic settings when khost creates it.
    pub config: BTreeMap<String, String>,
    /// How much has to stay in it, if the manifest says so.
    pub holds: Option<Holds>,
    /// The scenario may write to it.
    pub produce: bool,
    /// The scenario may read from it.
    pub consume: bool,
}

/// What has to stay in a topic until the run is over: what one flow writes, another reads from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holds {
    /// So many records, in all partitions.
    pub records: u64,
    /// Of each: its key and value, in bytes.
    pub size: u64,
}

/// Rows that the scenario may read.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSet {
    /// Its name in the manifest.
    pub name: String,
    /// Where the rows are.
    pub file: DataFile,
    /// How they lie there.
    pub format: DataFormat,
    /// Which one is next.
    pub order: Order,
}

/// Whose file a data set is.
#[derive(Debug, Clone, PartialEq)]
pub enum DataFile {
    /// The manifest's: a path that stays in its folder, or what the packed scenario carries for it.
    OfManifest(String),
    /// The person's who runs the scenario: any path.
    Given(PathBuf),
}

impl fmt::Display for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfManifest(path) => f.write_str(path),
            Self::Given(path) => path.display().fmt(f),
        }
    }
}

/// How rows lie in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum DataFormat {
    /// Cells, below a header with their names.
    Csv {
        /// Between the cells.
        delimiter: u8,
    },
    /// One JSON text a line.
    JsonLines,
    /// Messages, as they are.
    Raw {
        /// Between them; none is a line break, with or without a carriage return before it.
        delimiter: Option<Vec<u8>>,
    },
}

/// Which row of a data set is next; all workers share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As in the file, and from the first again after the last.
    Sequential,
    /// In an order that the seed gives: each row once, then in another order again.
    Random,
    /// As in the file, each row once.
    Unique,
}

impl Order {
    /// As the manifest has it.
    pub fn name(self) -> &'static str {
        ["sequential", "random", "unique"][self as usize]
    }
}

/// A consumer group of the application, whose lag is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Lag {
    /// Its name in the manifest.
    pub name: String,
    /// The group.
    pub group: String,
    /// The topics that it reads, by their number in the plan.
    pub topics: Vec<usize>,
    /// It sees nothing of transactions that are open or aborted.
    pub read_committed: bool,
}

/// One kind of traffic.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its name in the manifest.
    pub name: String,
    /// What kind, with that kind's settings.
    pub kind: FlowKind,
    /// Whether its figures are in the totals.
    pub measured: bool,
    /// Whether each of its messages carries a stamp: when it was sent, and when it was meant to be.
    pub stamp: bool,
    /// librdkafka's settings that hold for this flow's clients, over the plan's, by the same names.
    pub kafka: BTreeMap<String, String>,
    /// What it waits for; without, it begins with the run.
    pub after: Option<After>,
    /// Whether the run ends with it.
    pub ends_run: bool,
    /// When it stops.
    pub end: End,
}

/// What a flow waits for before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The end of the warm-up.
    WarmUp,
    /// The end of the flow of this number in the plan.
    Flow(usize),
}

/// The kinds of flow that this khost runs.
#[derive(Debug, Clone)]
pub enum FlowKind {
    /// Messages at a rate, or as fast as it goes.
    Stream(Stream),
    /// Virtual users who wait.
    Session(Session),
    /// Reads topics in a consumer group, and may answer what it reads.
    Consume(Consume),
}

/// The most iterations of a job.
const MOST_OF_A_JOB: u64 = 20;

impl FlowKind {
    /// How many instances of the scenario it has, each on a thread of its own.
    pub fn workers(&self) -> u32 {
        match self {
            FlowKind::Stream(stream) => stream.threads,
            FlowKind::Session(session) => session.users,
            FlowKind::Consume(consume) => consume.all_workers(),
        }
    }

    /// Producers that the workers share: worker `w` uses producer `w % clients`.
    pub fn clients(&self) -> u32 {
        match self {
            FlowKind::Stream(stream) => stream.clients,
            FlowKind::Session(session) => session.clients,
            FlowKind::Consume(_) => 1,
        }
    }

    /// Whether what ends so is a job: a few iterations, each of which counts for itself.
    pub fn is_job(&self, end: &End) -> bool {
        let is_closed = matches!(self, FlowKind::Session(Session { arrivals: Arrivals::Closed { .. }, .. }));
        is_closed && end.iterations.is_some_and(|iterations| iterations <= MOST_OF_A_JOB)
    }

    /// Whether its rate, or the number of its users, goes through stages, with which it ends.
    pub fn has_stages(&self) -> bool {
        match self {
            FlowKind::Session(Session { arrivals: Arrivals::Closed { stages, .. }, .. }) => !stages.is_empty(),
            _ => matches!(self.pace(), Pace::Stages(_)),
        }
    }

    /// When its iterations are due, as far as a schedule says so: that of closed users is their own.
    pub fn pace(&self) -> &Pace {
        match self {
            FlowKind::Stream(Stream { pace, .. })
            | FlowKind::Session(Session { arrivals: Arrivals::Open { pace, .. }, .. }) => pace,
            FlowKind::Session(Session { arrivals: Arrivals::Closed { .. }, .. }) | FlowKind::Consume(_) => {
                &Pace::Unpaced
            }
        }
    }
}

/// A stream's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    /// Workers, each on a thread of its own.
    pub threads: u32,
    /// Producers that the workers share: worker `w` uses producer `w % clients`. At most `threads`.
    pub clients: u32,
    /// When its iterations are due.
    pub pace: Pace,
    /// The most iterations of one call of the guest.
    pub batch: u32,
}

/// A session's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The most users at once, each on a thread of its own.
    pub users: u32,
    /// What begins an iteration.
    pub arrivals: Arrivals,
    /// Producers that the users share: user `u` uses producer `u % clients`. At most `users`.
    pub clients: u32,
}

/// What begins a session's iterations.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// A user begins its next one itself, when the last one is done. Of the two at most one is there.
    Closed {
        /// How long it waits before.
        think_time: Option<ThinkTime>,
        /// From the start of one to the start of the next, unless the first takes longer.
        pace: Option<Duration>,
        /// How many of the users go round, over time; without any, all do.
        stages: Vec<UserStage>,
    },
    /// A schedule does, whatever the users are at; where all of them are busy, the iteration waits for one.
    Open {
        /// It is paced.
        pace: Pace,
        /// Whether they come at random, at the pace on average.
        poisson: bool,
    },
}

/// A stretch of time in which the number of users goes linearly from `from` to `to`.
#[derive(Debug, Clone, PartialEq)]
pub struct UserStage {
    /// How long; never zero.
    pub length: Duration,
    /// How many at its start.
    pub from: u32,
    /// How many at its end.
    pub to: u32,
}

/// A stretch of time, drawn anew each time: each between the two is as likely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThinkTime {
    /// The shortest.
    pub least: Duration,
    /// The longest.
    pub most: Duration,
}

/// When iterations are due.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// As fast as it goes: an iteration has no intended time.
    Unpaced,
    /// Evenly, at this rate of the whole flow.
    Rate(Rate),
    /// From one rate to the next, from the start of the run, warm-up included. After the last, nothing is due.
    Stages(Vec<Stage>),
}

/// A stretch of time in which the rate goes linearly from `from` to `to`, of which at most one is zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// How long; never zero.
    pub length: Duration,
    /// The rate at its start.
    pub from: Rate,
    /// The rate at its end.
    pub to: Rate,
}

/// What ends a flow; the first that comes. Warm-up is not in it. Where there is nothing, the flow goes on until the run
/// ends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct End {
    /// After this many measured messages.
    pub messages: Option<u64>,
    /// After this many measured iterations, or records.
    pub iterations: Option<u64>,
    /// This long after the warm-up; of a flow that waits for something, after its own beginning.
    pub duration: Option<Duration>,
    /// This long after the run's warm-up, whenever the flow began.
    pub run_duration: Option<Duration>,
    /// A consume flow: where the partitions ended when it began.
    pub at_ends: bool,
}

/// The run's phases.
#[derive(Debug, Clone)]
pub struct Run {
    /// What is left out of the figures at the start.
    pub warm_up: WarmUp,
    /// How long to wait at the end for what is on its way.
    pub drain: Duration,
}

/// What is left out of the figures at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmUp {
    /// Nothing.
    None,
    /// The first iterations of each flow.
    Iterations(u64),
    /// The first stretch of time.
    Time(Duration),
}

impl Plan {
    /// Which flows the run is about, in their order: those that are measured, and of these an application that it plays only
    /// where there is nothing else.
    pub fn subject(&self) -> Vec<bool> {
        let reads = |flow: &Flow| matches!(flow.kind, FlowKind::Consume(_));
        let only_reads = self.flows.iter().filter(|flow| flow.measured).all(reads);
        let subject: Vec<bool> = self.flows.iter().map(|flow| flow.measured && (only_reads || !reads(flow))).collect();
        if subject.contains(&true) { subject } else { vec![true; subject.len()] }
    }

    /// The consumer groups of its flows, each once.
    pub fn groups(&self) -> Vec<String> {
        let mut groups: Vec<String> = Vec::new();
        for flow in &self.flows {
            let FlowKind::Consume(consume) = &flow.kind else { continue };
            groups.extend(consume.groups.clone());
        }
        groups.sort();
        groups.dedup();
        groups
    }

    /// The application's groups whose lag is told, each once, those of its own flows left out.
    pub fn watched_groups(&self) -> Vec<String> {
        let own = self.groups();
        let mut groups: Vec<String> = Vec::new();
        for lag in self.lag.iter().filter(|lag| !own.contains(&lag.group)) {
            if !groups.contains(&lag.group) {
                groups.push(lag.group.clone());
            }
        }
        groups
    }
}

/// What one instance of a guest may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Linear memory, in bytes.
    pub memory_bytes: u64,
    /// Processor time of one call into the guest.
    pub call_time: Duration,
    /// How many traps the run survives.
    pub traps: u32,
}
