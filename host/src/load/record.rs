//! What a run comes to: what the report is made of.

use std::time::Duration;

use super::counters::{CheckFigures, CounterFigures};
use super::data::DataFigures;
use super::operations::Operation;
use super::prefetch::Prefetch;
use super::readers::ReadersRecord;
use super::stop::Ended;
use super::timestamps::OddTimestamps;
use super::topics::TopicRecord;
use crate::kafka::{ClientSettings, LagRecord, ReplyCounts, WireFigures};
use crate::measure::FlowTotals;

/// What came of a run.
pub struct RunRecord {
    /// By flow, in the plan's order.
    pub flows: Vec<FlowRecord>,
    /// By their numbers.
    pub operations: Vec<Operation>,
    /// The scenario's own.
    pub counters: Vec<CounterFigures>,
    /// The scenario's own.
    pub checks: Vec<CheckFigures>,
    /// By data set, in the plan's order.
    pub data: Vec<DataFigures>,
    /// What has changed about the topics, in the plan's order; empty on the embedded broker.
    pub topics: Vec<TopicRecord>,
    /// What was read, by channel, in the plan's order.
    pub channels: Vec<ReplyCounts>,
    /// The lag of groups: those of the consume flows, then those that the plan names, in the plan's order.
    pub lag: Vec<LagRecord>,
    /// Why it ended before its plan was done, drain included.
    pub ended: Option<Ended>,
    /// When the load ended, in nanoseconds since its start, if that was before its plan was done.
    pub ended_early_ns: Option<u64>,
    /// Processor time of the process during the load, in nanoseconds.
    pub load_cpu_ns: u64,
    /// From the load's start until the last worker was done.
    pub load: Duration,
    /// From then until nothing was outstanding.
    pub drain: Duration,
    /// Processor time of the process from the load's start to the drain's end, in nanoseconds.
    pub cpu_ns: u64,
    /// The share of the machine's processors that were busy during the load, 0 to 1.
    pub machine_busy: Option<f64>,
    /// How long a container's quota held the process back, in seconds.
    pub throttled_s: Option<f64>,
    /// Traps of guests, overruns among them.
    pub traps: u32,
    /// Calls that took too long.
    pub overruns: u32,
    /// What the traps said, with how often.
    pub trap_texts: Vec<(String, u64)>,
    /// Messages whose timestamps can't be meant.
    pub timestamps: Vec<OddTimestamps>,
    /// Guests' log lines that were left out.
    pub log_lines_dropped: u64,
    /// What librdkafka complained of, with how often.
    pub complaints: Vec<(String, u64)>,
}

/// What came of a flow.
pub struct FlowRecord {
    /// Counts and durations.
    pub totals: FlowTotals,
    /// What went over the network.
    pub wire: WireFigures,
    /// What its producers hold.
    pub client_settings: ClientSettings,
    /// When it began, in nanoseconds since the load's start; none if it never did.
    pub began_ns: Option<u64>,
    /// What its consumers hold; empty for other kinds of flow.
    pub consumer_settings: ClientSettings,
    /// A consume flow's: what its consumers may fetch ahead.
    pub prefetch: Option<Prefetch>,
    /// What came of its consumers.
    pub readers: Option<ReadersRecord>,
    /// When the window began, in nanoseconds since the load's start; none if nothing was measured.
    pub window_start_ns: Option<u64>,
    /// When the schedule ended by plan, likewise.
    pub end_ns: Option<u64>,
    /// Iterations that were due and never began.
    pub missed: u64,
    /// Iterations of a session that were begun, and that the end cut short.
    pub cut: u64,
    /// A worker said that it had nothing left to do.
    pub exhausted: bool,
    /// Delayed messages that were dropped at the end.
    pub delayed_dropped: u64,
    /// What failed iterations said, with how often.
    pub failed_texts: Vec<(String, u64)>,
}
