//! What became of requests and announced replies: for the document, the verdict and the terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::document::{FlowResult, OperationResult, RunResult};
use super::numbers::count;
use crate::kafka::ReplyCounts;
use crate::measure::Asked;
use crate::plan::Plan;

/// Requests: `sent` = `replied` + `failed` + `timed_out` + `unanswered`.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Requests {
    /// Handed to the client.
    pub sent: u64,
    /// A reply came, and it was no failure.
    pub replied: u64,
    /// The reply was a failure, or the request was not acknowledged.
    pub failed: u64,
    /// No reply came in time.
    pub timed_out: u64,
    /// Pending when the run was given up.
    pub unanswered: u64,
}

/// Announced replies: `announced` = `complete` + `failed` + `timed_out` + `given_up`.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Expectations {
    /// Calls of `expect`.
    pub announced: u64,
    /// All replies came, and none was a failure.
    pub complete: u64,
    /// All came, and some were failures.
    pub failed: u64,
    /// A `wait` for it ended without them.
    pub timed_out: u64,
    /// Not waited for to the end.
    pub given_up: u64,
}

/// A channel: replies by what they were to it, warm-up included.
#[derive(Debug, Serialize)]
pub struct ChannelResult {
    /// Its name in the manifest.
    pub name: String,
    /// In Kafka.
    pub topics: Vec<String>,
    /// What was read.
    #[serde(flatten)]
    pub replies: ReplyCounts,
}

pub(super) fn requests(asked: &Asked) -> Option<Requests> {
    let Asked { sent, replied, failed, timed_out, unanswered } = *asked;
    (!asked.is_empty()).then_some(Requests { sent, replied, failed, timed_out, unanswered })
}

pub(super) fn expectations(asked: &Asked) -> Option<Expectations> {
    let Asked { sent, replied, failed, timed_out, unanswered } = *asked;
    (!asked.is_empty()).then_some(Expectations {
        announced: sent,
        complete: replied,
        failed,
        timed_out,
        given_up: unanswered,
    })
}

pub(super) fn channels(plan: &Plan, read: &[ReplyCounts]) -> Vec<ChannelResult> {
    let channel = |(channel, replies): (&crate::plan::Channel, &ReplyCounts)| ChannelResult {
        name: channel.name.clone(),
        topics: channel.topics.iter().map(|number| plan.topics[*number].name.clone()).collect(),
        replies: *replies,
    };
    plan.channels.iter().zip(read).map(channel).collect()
}

/// Why requests keep a run from passing; the warm-up's count as well.
pub(super) fn reasons(flow: &FlowResult) -> Vec<String> {
    let asked = [
        flow.requests_with_warm_up.map(|r| ("request", [r.failed, r.timed_out, r.unanswered])),
        flow.expectations_with_warm_up.map(|e| ("expectation", [e.failed, e.timed_out, 0])),
    ];
    let mut reasons = Vec::new();
    for (what, counts) in asked.into_iter().flatten() {
        for (number, fate) in counts.into_iter().zip(["failed", "timed out", "unanswered when the run was given up"]) {
            if number > 0 {
                let plural = if number == 1 { "" } else { "s" };
                reasons.push(format!("flow `{}`: {number} {what}{plural} {fate}", flow.name));
            }
        }
    }
    reasons
}

/// Rows whose durations are those of two things.
pub(super) fn warnings(flow: &FlowResult) -> impl Iterator<Item = String> + '_ {
    let is_mixed = |one: &&OperationResult| {
        let messages = one.acknowledged + one.failed + one.unknown;
        one.requests.is_some_and(|requests| messages > requests.sent)
    };
    flow.operations.iter().filter(is_mixed).map(|one| {
        format!(
            "flow `{}`: `{}` has requests and other messages, so its durations mix replies with acknowledgements: an operation of their own tells them apart",
            flow.name, one.name
        )
    })
}

/// Channels in which nothing was read although something was asked.
pub(super) fn silent(channels: &[ChannelResult], flows: &[FlowResult]) -> Vec<String> {
    let asks = |flow: &FlowResult| flow.requests_with_warm_up.is_some() || flow.expectations_with_warm_up.is_some();
    if !flows.iter().any(asks) {
        return Vec::new();
    }
    let is_silent = |channel: &&ChannelResult| channel.replies == ReplyCounts::default();
    let silent = channels.iter().filter(is_silent);
    silent
        .map(|channel| {
            let topics = channel.topics.join(", ");
            format!("channel `{}`: no reply was read in {topics}: is the application running?", channel.name)
        })
        .collect()
}

/// A table of a flow's requests and expectations by operation; none where there are none.
pub(super) fn table(flow: &FlowResult, name: impl Fn(&OperationResult) -> String) -> Option<Table> {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(["operation", "", "sent", "replied", "failed", "timed out", "unanswered"]);
    let mut any = false;
    let mut row = |name: String, what: &str, counts: [u64; 5]| {
        any = true;
        table.add_row([name, what.to_owned()].into_iter().chain(counts.map(count)));
    };
    for one in &flow.operations {
        if let Some(r) = one.requests {
            row(name(one), "requests", [r.sent, r.replied, r.failed, r.timed_out, r.unanswered]);
        }
        if let Some(e) = one.expectations {
            row(name(one), "expectations", [e.announced, e.complete, e.failed, e.timed_out, e.given_up]);
        }
    }
    for column in 2..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    any.then_some(table)
}

/// A line for each channel that something was read in.
pub(super) fn lines(result: &RunResult) -> Vec<String> {
    let line = |channel: &ChannelResult| {
        let r = &channel.replies;
        let odd = [
            (r.early, "early"),
            (r.late, "late"),
            (r.duplicate, "duplicate"),
            (r.foreign, "foreign"),
            (r.old, "of earlier runs"),
            (r.without_id, "without an id"),
        ];
        let odd: Vec<String> =
            odd.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))).collect();
        (r.matched > 0 || !odd.is_empty()).then(|| {
            let matched = format!("{}: {} matched", channel.name, count(r.matched));
            if odd.is_empty() { matched } else { format!("{matched}; {}", odd.join(", ")) }
        })
    };
    result.channels.iter().filter_map(line).collect()
}
