//! The one schema of manifests and profiles. Everything may be absent, as a profile says only what differs.
//!
//! What may be left out of a manifest, and what it is then, is decided in `resolve`.

#[cfg(test)]
mod page;
mod read;
mod to_come;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ReadFrom;
use super::amount::{Bytes, Count, Length, Rate, Whole};
pub(super) use read::{ConfigTable, KafkaTable, Named, Text};
pub(super) use to_come::refuse_what_is_to_come;

/// A manifest, or a profile.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct Manifest {
    pub(super) scenario: ScenarioTable,
    /// Read by `params` before all else, as the rest may hold placeholders.
    #[serde(rename = "params")]
    _params: IgnoredAny,
    pub(super) kafka: KafkaTable,
    pub(super) topics: Named<TopicTable>,
    pub(super) data: Named<DataTable>,
    pub(super) channels: Named<ChannelTable>,
    pub(super) lag: Named<LagTable>,
    pub(super) flows: Named<FlowTable>,
    pub(super) run: RunTable,
    pub(super) limits: LimitsTable,
}

/// Who the scenario is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct ScenarioTable {
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) description: Option<String>,
}

/// A parameter that is more than a default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct ParameterTable {
    /// Read from the tree, as it may be anything.
    #[serde(rename = "default")]
    _default: IgnoredAny,
    #[serde(rename = "type")]
    pub(super) kind: Option<ParameterKind>,
    pub(super) help: Option<String>,
}

/// What a parameter's value is.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ParameterKind {
    Text,
    Integer,
    Float,
    Boolean,
    Duration,
    Size,
    Rate,
    List,
}

/// A topic.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct TopicTable {
    pub(super) name: Option<String>,
    pub(super) each: Option<Vec<Text>>,
    pub(super) partitions: Option<Whole<1, 1_000_000>>,
    pub(super) replication: Option<Whole<1, 1_000>>,
    pub(super) config: ConfigTable,
    pub(super) access: Option<Vec<Access>>,
    pub(super) holds: Option<HoldsTable>,
}

/// How much has to stay in a topic.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table such as { records = 1_000, size = 500 }")]
pub(super) struct HoldsTable {
    pub(super) records: Count,
    pub(super) size: Bytes,
}

/// What a scenario may do with a topic.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Access {
    Produce,
    Consume,
}

/// A data set.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct DataTable {
    pub(super) file: Option<String>,
    pub(super) format: Option<Format>,
    pub(super) delimiter: Option<String>,
    pub(super) order: Option<Order>,
}

/// How a data set's file is read.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    Csv,
    JsonLines,
    Raw,
}

/// Which row of a data set is next.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    Sequential,
    Random,
    Unique,
}

/// A way that replies come back. Where ids are, and what a failure is, are texts of a small language: `channel` reads it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct ChannelTable {
    pub(super) topics: Option<Vec<String>>,
    pub(super) request: Option<String>,
    pub(super) reply: Option<String>,
    pub(super) failure: Option<String>,
    pub(super) reply_topic: Option<String>,
    pub(super) reply_partition: Option<String>,
    pub(super) spring: Option<bool>,
    pub(super) keep: Option<Whole<0, 1_000>>,
}

/// A consumer group of the application, and what it reads.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct LagTable {
    pub(super) group: Option<String>,
    pub(super) topics: Option<Vec<String>>,
    pub(super) isolation: Option<Isolation>,
}

/// What a group gets to see of transactions, as Kafka names it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Isolation {
    ReadCommitted,
    ReadUncommitted,
}

/// A flow.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct FlowTable {
    pub(super) kind: Option<Kind>,
    pub(super) enabled: Option<bool>,
    pub(super) measured: Option<bool>,
    pub(super) stamp: Option<bool>,
    pub(super) after: Option<String>,
    pub(super) ends_run: Option<bool>,
    pub(super) threads: Option<Whole<1, 1_024>>,
    pub(super) clients: Option<Clients>,
    pub(super) rate: Option<FlowRate>,
    pub(super) stages: Option<Vec<StageTable>>,
    pub(super) users: Option<Users>,
    pub(super) think_time: Option<Think>,
    pub(super) pace: Option<Length>,
    pub(super) max_users: Option<Users>,
    pub(super) arrivals: Option<ArrivalsKind>,
    pub(super) batch: Option<Whole<1, 100_000>>,
    pub(super) topics: Option<Vec<Text>>,
    pub(super) group: Option<String>,
    pub(super) groups: Option<Whole<1, 1_024>>,
    pub(super) workers: Option<Whole<1, 1_024>>,
    pub(super) assigned_by: Option<AssignedBy>,
    pub(super) instance_ids: Option<String>,
    pub(super) from: Option<From>,
    pub(super) until: Option<Until>,
    pub(super) commit: Option<CommitWhen>,
    pub(super) isolation: Option<Isolation>,
    pub(super) handler: Option<bool>,
    pub(super) deliver: Option<Vec<Part>>,
    pub(super) end_to_end: Option<bool>,
    pub(super) pause: Option<Share>,
    pub(super) pause_every: Option<PauseEvery>,
    pub(super) paused_data: Option<PausedData>,
    pub(super) max_records: Option<Whole<1, 100_000>>,
    pub(super) max_bytes: Option<Bytes>,
    pub(super) messages: Option<Count>,
    pub(super) iterations: Option<Count>,
    pub(super) duration: Option<Length>,
    pub(super) kafka: KafkaTable,
}

/// The kinds of flow.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Stream,
    Session,
    Consume,
}

/// Where a consumer begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct From(pub(super) ReadFrom);

/// Where a consumer ends, if it does not go by time or count.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Until {
    End,
}

/// Who deals out a consumer's partitions.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AssignedBy {
    Group,
    Khost,
}

/// When a consumer commits.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CommitWhen {
    Interval,
    Batch,
    Never,
}

/// A share of a consumer's partitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share(pub(super) f64);

/// When a consumer pauses other partitions: after each poll, or after a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PauseEvery {
    Poll,
    Time(Length),
}

/// What becomes of fetched records of a paused partition.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PausedData {
    Discard,
    Keep,
}

/// A part of a record.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Part {
    Key,
    Headers,
    Value,
}

/// How many users.
pub(super) type Users = Whole<1, 100_000>;

/// How long a user waits between two iterations: from, to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Think(pub(super) std::time::Duration, pub(super) std::time::Duration);

/// How the iterations of an open session come.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ArrivalsKind {
    Uniform,
    Poisson,
}

/// How many producers the workers of a flow share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Clients {
    Shared(u32),
    /// One each.
    Dedicated,
}

/// A flow's own rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FlowRate {
    Paced(Rate),
    Unpaced,
}

/// A stage of a flow: goes to `rate`, or to so many `users`, in the time `for`.
#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a stage such as { for = \"1m\", rate = \"100/s\" }"
)]
pub(super) struct StageTable {
    #[serde(rename = "for")]
    pub(super) length: Length,
    pub(super) rate: Option<Rate>,
    pub(super) users: Option<Whole<0, 100_000>>,
}

/// The run's phases.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct RunTable {
    pub(super) warm_up: Option<WarmUp>,
    pub(super) messages: Option<Count>,
    pub(super) iterations: Option<Count>,
    pub(super) duration: Option<Length>,
    pub(super) drain: Option<Length>,
    pub(super) seed: Option<Count>,
}

/// What is left out at the start: a count of iterations, or a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum WarmUp {
    Iterations(u64),
    Time(std::time::Duration),
}

/// What a guest may use.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct LimitsTable {
    pub(super) memory: Option<Bytes>,
    pub(super) call_time: Option<Length>,
    pub(super) traps: Option<Whole<0, { u32::MAX }>>,
}
