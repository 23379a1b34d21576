//! The result document: what `--format json` prints. Strict JSON; what does not exist is null, never 0. Counts and
//! durations leave the warm-up out where a field does not say otherwise. Fields are added, never changed, within a
//! schema version.

use std::collections::BTreeMap;

use serde::Serialize;

use super::consume::ConsumeResult;
use super::lag::LagResult;
use super::requests::{ChannelResult, Expectations, Requests};
use super::topics::{Growth, TopicResult};
use crate::kafka::{ClientSettings, Cluster};
use crate::load::{CheckFigures, CounterFigures};
use crate::measure::{Distribution, Machine, Point};

/// The document's `schema`.
pub const SCHEMA: &str = "khost/run/1";

/// One run.
#[derive(Debug, Serialize)]
pub struct RunResult {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// khost's version.
    pub khost: &'static str,
    /// Differs in every run, hexadecimal.
    pub run_id: String,
    /// The load's start: RFC 3339, UTC.
    pub started_at: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was run.
    pub scenario: Scenario,
    /// What the guests' random numbers started from.
    pub seed: u64,
    /// Against what.
    pub cluster: ClusterResult,
    /// From the load's start until the last worker was done, in seconds.
    pub load_s: f64,
    /// From then until nothing was outstanding, in seconds.
    pub drain_s: f64,
    /// By flow, in the plan's order.
    pub flows: Vec<FlowResult>,
    /// The scenario's own.
    pub counters: Vec<CounterFigures>,
    /// The scenario's own.
    pub checks: Vec<CheckFigures>,
    /// The data sets, in the manifest's order.
    pub data: Vec<DataResult>,
    /// What has changed about the topics, in the manifest's order; empty on the embedded broker.
    pub topics: Vec<TopicResult>,
    /// The channels, in the manifest's order.
    pub channels: Vec<ChannelResult>,
    /// The lag of consumer groups: those of consume flows, then those that the manifest names.
    pub lag: Vec<LagResult>,
    /// What the figures rest on.
    pub honesty: Honesty,
    /// Every setting with its value and where it came from.
    pub settings: Vec<SettingLine>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// `passed`, `failed` or `interrupted`.
    pub verdict: &'static str,
    /// The process's exit code.
    pub exit_code: u8,
    /// Why it did not pass, a sentence each.
    pub reasons: Vec<String>,
    /// When somebody ended it, in seconds since the load's start.
    pub interrupted_at_s: Option<f64>,
}

/// What was run.
#[derive(Debug, Serialize)]
pub struct Scenario {
    /// `namespace/name`.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// SHA-256 of the component with its manifest.
    pub digest: String,
}

/// Against what.
#[derive(Debug, Serialize)]
pub struct ClusterResult {
    /// A broker inside khost: the figures are the generator's.
    pub embedded: bool,
    /// Who was asked first.
    pub bootstrap: String,
    /// Brokers and topics as the cluster tells them.
    #[serde(flatten)]
    pub cluster: Cluster,
}

/// One flow.
#[derive(Debug, Serialize)]
pub struct FlowResult {
    /// Its name in the manifest.
    pub name: String,
    /// `stream`, `session` or `consume`.
    pub kind: &'static str,
    /// Whether it is what the run is about; `measured = false` in the manifest says that it is not.
    pub measured: bool,
    /// What it waited for: `warm-up` or a flow; null if it began with the run.
    pub after: Option<String>,
    /// When it began, in seconds since the load's start; null if it never did.
    pub began_at_s: Option<f64>,
    /// Whether the run was to end with it.
    pub ends_run: bool,
    /// Whether the partitioner placed any message by its key.
    pub keyed: bool,
    /// Whether a worker's scenario had nothing left to do before the flow's end.
    pub exhausted: bool,
    /// Workers: a stream's threads, a session's users, a group's members.
    pub threads: u32,
    /// Producers that they share.
    pub clients: u32,
    /// The most iterations of a call.
    pub batch: u32,
    /// The most users at once; null for a stream.
    pub users: Option<u32>,
    /// Whether the number of a closed session's users changes over time.
    pub users_change: bool,
    /// How a session's iterations come: `closed` (its users begin them), `uniform` or `poisson`; null for a stream.
    pub arrivals: Option<&'static str>,
    /// Its rate in words, or how long closed users wait.
    pub pace: String,
    /// The stretch of time that the figures are of; null if nothing was measured.
    pub window: Option<Window>,
    /// Iterations a second that were asked for, of stages on average over the window; null for an unpaced flow.
    pub target_rate: Option<f64>,
    /// Iterations a second that were begun, over the window's schedule.
    pub achieved_rate: Option<f64>,
    /// Of a consume flow: what came of its readers; null for other kinds.
    pub consume: Option<ConsumeResult>,
    /// Its iterations; of a consume flow, records.
    pub iterations: Iterations,
    /// Its messages.
    pub messages: Messages,
    /// Its requests, warm-up included; null without any.
    pub requests_with_warm_up: Option<Requests>,
    /// Its announced replies, likewise.
    pub expectations_with_warm_up: Option<Expectations>,
    /// What each message's stamp takes on the wire beside the message, in bytes; none where they carry none. `bytes` are without.
    pub stamp_bytes: Option<u64>,
    /// Acknowledged messages over the window.
    pub throughput: Option<Throughput>,
    /// Why messages failed.
    pub failures: Vec<FailureLine>,
    /// What failed iterations said.
    pub failed_iterations: Vec<TextCount>,
    /// Of a job, by operation: each duration of its own; empty for other flows.
    pub jobs: Vec<JobResult>,
    /// By operation.
    pub operations: Vec<OperationResult>,
    /// By topic.
    pub partitions: Vec<PartitionSpread>,
    /// By second, warm-up included.
    pub series: SeriesResult,
    /// What its clients really hold, secrets masked.
    pub client: ClientSettings,
    /// What went over the network, warm-up included.
    pub wire: WireResult,
    /// What its workers did with their time, in shares of it, warm-up included.
    pub workers: WorkerTime,
}

/// Seconds since the load's start.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Window {
    /// The end of the warm-up.
    pub start_s: f64,
    /// The last acknowledgement, or the schedule's end if that is later.
    pub end_s: f64,
    /// Its length.
    pub seconds: f64,
    /// When the last iteration was due or began; what comes after is waiting for acknowledgements.
    pub schedule_end_s: f64,
}

impl FlowResult {
    /// What one of its rounds is called.
    pub(super) fn rounds(&self) -> &'static str {
        if self.consume.is_some() { "record" } else { "iteration" }
    }

    /// Whether it held its rate in sending, but not in what came back: messages failed, or acknowledgements were still
    /// coming in when the schedule had long ended.
    pub(super) fn is_behind(&self) -> bool {
        let lost = self.messages.acknowledged as f64 <= self.messages.sent as f64 * 0.99;
        let late =
            self.window.is_some_and(|w| w.end_s - w.schedule_end_s > 0.5 + 0.05 * (w.schedule_end_s - w.start_s));
        self.target_rate.is_some() && self.messages.sent > 0 && (lost || late)
    }
}

/// Iterations.
#[derive(Debug, Serialize)]
pub struct Iterations {
    /// That ran.
    pub ran: u64,
    /// Of these: that failed, as the scenario says or by a trap.
    pub failed: u64,
    /// That were due and never began.
    pub missed: u64,
    /// Of a session: that began, and that the run's end cut short.
    pub cut: u64,
    /// That ran in the warm-up.
    pub warm_up: u64,
    /// That failed, warm-up included.
    pub failed_with_warm_up: u64,
}

/// Messages: `sent` = `acknowledged` + `failed` + `unknown`.
#[derive(Debug, Serialize)]
pub struct Messages {
    /// Handed to the client.
    pub sent: u64,
    /// Acknowledged by the broker.
    pub acknowledged: u64,
    /// Refused, timed out or never sent.
    pub failed: u64,
    /// Sent, and nothing heard of: nobody knows whether they arrived.
    pub unknown: u64,
    /// Keys and values of the acknowledged ones.
    pub bytes: u64,
    /// Delayed ones that were dropped at the end.
    pub delayed_dropped: u64,
    /// Acknowledged with the warm-up: what the run left in Kafka.
    pub acknowledged_with_warm_up: u64,
    /// Failed or unknown with the warm-up.
    pub failed_with_warm_up: u64,
}

/// Acknowledged messages over the window. MB = 10^6 bytes, MiB = 2^20, of keys and values.
#[derive(Debug, Serialize)]
pub struct Throughput {
    /// Messages a second.
    pub messages_per_s: f64,
    /// Megabytes a second.
    pub mb_per_s: f64,
    /// Mebibytes a second.
    pub mib_per_s: f64,
}

/// Why messages failed.
#[derive(Debug, Serialize)]
pub struct FailureLine {
    /// librdkafka's, or khost's own above 10000.
    pub code: i32,
    /// The code's name.
    pub name: String,
    /// `client` if it did not take the message, `broker` otherwise.
    pub by: &'static str,
    /// What it means here.
    pub text: String,
    /// How many, without the warm-up.
    pub count: u64,
    /// How many with it.
    pub count_with_warm_up: u64,
}

/// A text, and how often it came.
#[derive(Debug, Serialize)]
pub struct TextCount {
    /// As it was said, cut where it is very long.
    pub text: String,
    /// How often.
    pub count: u64,
}

/// The runs of a job, of one operation.
#[derive(Debug, Serialize)]
pub struct JobResult {
    /// The flow, or what the scenario named.
    pub operation: String,
    /// Names and values.
    pub labels: Vec<(String, String)>,
    /// How long each took, in seconds, to the microsecond, in the order in which they were over.
    pub durations_s: Vec<f64>,
    /// How many failed.
    pub failed: u64,
    /// Which of the durations are those of failed ones, counted from 0.
    pub failed_runs: Vec<usize>,
    /// How many more there were, of which no duration was kept.
    pub not_kept: u64,
}

/// What numbers count towards.
#[derive(Debug, Serialize)]
pub struct OperationResult {
    /// The flow, or what the scenario named.
    pub name: String,
    /// Names and values.
    pub labels: Vec<(String, String)>,
    /// Acknowledged messages.
    pub acknowledged: u64,
    /// Failed messages.
    pub failed: u64,
    /// Messages of which nothing was heard.
    pub unknown: u64,
    /// Keys and values of the acknowledged ones.
    pub bytes: u64,
    /// Requests, by what became of them; null without any.
    pub requests: Option<Requests>,
    /// Announced replies, likewise.
    pub expectations: Option<Expectations>,
    /// Durations of what went well, by the measure's name.
    pub measures: BTreeMap<&'static str, Distribution>,
    /// The same with those of what failed, up to the failure; only where something failed.
    pub with_failures: BTreeMap<&'static str, Distribution>,
}

/// Acknowledged messages by partition.
#[derive(Debug, Serialize)]
pub struct PartitionSpread {
    /// The topic's name in Kafka.
    pub topic: String,
    /// By partition, from 0.
    pub messages: Vec<u64>,
    /// The largest over the mean, minus 1; null without messages.
    pub above_mean: Option<f64>,
    /// When partitions were added.
    pub grown: Vec<Growth>,
}

/// Figures over time.
#[derive(Debug, Serialize)]
pub struct SeriesResult {
    /// Seconds that a point stands for.
    pub step_s: u64,
    /// In order; quiet stretches have none.
    pub points: Vec<Point>,
}

/// What went over the network.
#[derive(Debug, Serialize)]
pub struct WireResult {
    /// Produce requests.
    pub requests: u64,
    /// Their bytes.
    pub request_bytes: u64,
    /// Mean bytes of one; null without requests.
    pub mean_request_bytes: Option<f64>,
    /// Mean time from a request to its response, in microseconds; null without responses.
    pub mean_round_trip_us: Option<f64>,
    /// Bytes of keys and values for each byte of requests: above 1 where compression won; null where a message failed.
    pub compression_ratio: Option<f64>,
}

/// Shares of the workers' time.
#[derive(Debug, Serialize)]
pub struct WorkerTime {
    /// Processor time in the guest's own code.
    pub guest: Option<f64>,
    /// Waiting for room in the client's queue.
    pub blocked: Option<f64>,
    /// The guest waited in `deliver`, `request`, `wait` or `sleep`.
    pub waited: Option<f64>,
    /// Nothing was due.
    pub idle: Option<f64>,
    /// Seconds that workers waited for room, summed.
    pub blocked_s: f64,
}

/// A data set, warm-up included.
#[derive(Debug, Serialize)]
pub struct DataResult {
    /// Its name in the manifest.
    pub name: String,
    /// Its file.
    pub file: String,
    /// `sequential`, `random` or `unique`.
    pub order: &'static str,
    /// Rows that it has.
    pub rows: u64,
    /// Empty messages of a raw file, which are no rows.
    pub skipped: u64,
    /// Rows that the scenario got in this order; those that came again count again.
    pub handed_out: u64,
    /// When the scenario first got fewer rows than it asked for, in seconds since the load's start; null if it never did.
    pub exhausted_at_s: Option<f64>,
}

/// What the figures rest on.
#[derive(Debug, Serialize)]
pub struct Honesty {
    /// What limited the run.
    pub limited_by: LimitedBy,
    /// Processor time of khost, load and drain, in seconds.
    pub cpu_s: f64,
    /// The same for each message that was sent and each record that a consume flow read, warm-up included, in nanoseconds.
    pub cpu_ns_per_message: Option<f64>,
    /// The share of it in the guests' own code.
    pub guest_share_of_cpu: Option<f64>,
    /// khost's processor time over that which it could have had, during the load.
    pub cpu_use: Option<f64>,
    /// The share of the machine's processors that anybody kept busy during the load.
    pub machine_busy: Option<f64>,
    /// How long a container's quota held khost back, in seconds; null without a quota.
    pub throttled_s: Option<f64>,
    /// How long brokers held clients back for a quota of theirs.
    pub broker_throttle: Vec<BrokerThrottle>,
    /// Traps of guests, overruns among them.
    pub traps: u32,
    /// Calls that took too long.
    pub overruns: u32,
    /// What traps said.
    pub trap_texts: Vec<TextCount>,
    /// What librdkafka complained of.
    pub complaints: Vec<TextCount>,
    /// Guests' log lines that were left out.
    pub log_lines_dropped: u64,
    /// Where khost ran.
    pub machine: Machine,
    /// librdkafka's version.
    pub librdkafka: String,
}

/// What limited the run.
#[derive(Debug, Serialize)]
pub struct LimitedBy {
    /// `schedule`, `users`, `records`, `guest`, `generator-cpu`, `client-queue`, `broker` or `nothing`.
    pub what: &'static str,
    /// One sentence.
    pub sentence: String,
}

/// Of one broker.
#[derive(Debug, Serialize)]
pub struct BrokerThrottle {
    /// Its number.
    pub broker: i32,
    /// Responses that told the client to wait.
    pub count: u64,
    /// Milliseconds, summed.
    pub total_ms: u64,
}

/// One setting.
#[derive(Debug, Serialize)]
pub struct SettingLine {
    /// Its dotted path.
    pub path: String,
    /// Its value as text.
    pub value: String,
    /// Where it came from.
    pub origin: String,
}
