//! What came of a consume flow's readers: records, partitions and time by worker.

use std::collections::BTreeMap;

use serde::Serialize;

use super::document::FlowResult;
use super::numbers::{count, decimal, percent, plural};
use super::terminal::Page;
use crate::kafka::ClientSettings;
use crate::load::{FlowRecord, ReaderRecord};
use crate::plan::{Flow, FlowKind, Plan};

/// Workers whose partitions are all shown.
const MOST_WORKERS: usize = 16;

/// Of a consume flow.
#[derive(Debug, Serialize)]
pub struct ConsumeResult {
    /// Its consumer group.
    pub group: String,
    /// The topics that it reads, by their names in Kafka.
    pub topics: Vec<String>,
    /// Where it began: `latest`, `earliest` or `committed`.
    pub from: &'static str,
    /// Its records.
    pub records: Records,
    /// By worker, from 0.
    pub workers: Vec<ReaderResult>,
    /// How often a worker was thrown out of its group, as `handle` took longer than `max.poll.interval.ms`.
    pub times_left_group: u64,
    /// What its consumers really hold, secrets masked.
    pub client: ClientSettings,
}

/// Records that the scenario was given.
#[derive(Debug, Serialize)]
pub struct Records {
    /// That were handled, and did not fail.
    pub handled: u64,
    /// That failed, as the scenario says or by a trap.
    pub failed: u64,
    /// In the warm-up, handled or failed.
    pub warm_up: u64,
}

/// One worker.
#[derive(Debug, Serialize)]
pub struct ReaderResult {
    /// The partitions that it had last, by their topic's name in Kafka.
    pub partitions: BTreeMap<String, Vec<i32>>,
    /// Records that it handled, and that did not fail; warm-up left out.
    pub handled: u64,
    /// Records that failed; warm-up left out.
    pub failed: u64,
    /// The share of its time that it spent in `handle`, with all that it waited for there; warm-up included.
    pub busy: Option<f64>,
}

/// Of a flow; none of another kind.
pub(super) fn result(plan: &Plan, flow: &Flow, done: &FlowRecord) -> Option<ConsumeResult> {
    let (FlowKind::Consume(consume), Some(readers)) = (&flow.kind, &done.readers) else { return None };
    let name = |topic: usize| plan.topics[topic].name.clone();
    let worker = |reader: &ReaderRecord| {
        let mut partitions: BTreeMap<String, Vec<i32>> = BTreeMap::new();
        for (topic, partition) in &reader.partitions {
            partitions.entry(name(*topic)).or_default().push(*partition);
        }
        let busy = (reader.lived_ns > 0).then(|| reader.busy_ns as f64 / reader.lived_ns as f64);
        ReaderResult { partitions, handled: reader.handled, failed: reader.failed, busy }
    };
    let totals = &done.totals;
    Some(ConsumeResult {
        group: consume.group.clone(),
        topics: consume.topics.iter().map(|at| name(*at)).collect(),
        from: consume.from.name(),
        records: Records {
            handled: totals.iterations - totals.iterations_failed,
            failed: totals.iterations_failed,
            warm_up: totals.all_iterations - totals.iterations,
        },
        workers: readers.workers.iter().map(worker).collect(),
        times_left_group: readers.times_left,
        client: done.consumer_settings.clone(),
    })
}

/// What a person should know who reads its figures.
pub(super) fn warnings(flow: &FlowResult, embedded: bool) -> Vec<String> {
    let Some(consume) = &flow.consume else { return Vec::new() };
    let mut warnings = Vec::new();
    if flow.measured && flow.iterations.ran == 0 {
        warnings.push(format!("flow `{}` handled no record that counts", flow.name));
    }
    let idle: Vec<String> = (0..).zip(&consume.workers).filter(|(_, w)| w.partitions.is_empty()).map(number).collect();
    if !idle.is_empty() {
        warnings.push(format!(
            "flow `{}`: {} of {} had no partition, so nothing to do: {}",
            flow.name,
            idle.len(),
            plural(consume.workers.len() as u64, "worker"),
            idle.join(", ")
        ));
    }
    if consume.times_left_group > 0 {
        warnings.push(format!(
            "flow `{}` left its group {} times: handle took longer than max.poll.interval.ms, {} ms",
            flow.name,
            consume.times_left_group,
            consume.client.get("max.poll.interval.ms").map_or("?", String::as_str)
        ));
    }
    if embedded {
        warnings.push(format!(
            "flow `{}` reads on the embedded broker, which keeps 5 MiB a partition and drops the oldest: a reader that falls \
             behind further than that misses records",
            flow.name
        ));
    }
    warnings
}

fn number((number, _): (usize, &ReaderResult)) -> String {
    number.to_string()
}

/// Its lines on the terminal.
pub(super) fn text(out: &mut Page, flow: &FlowResult, consume: &ConsumeResult) {
    let records = &consume.records;
    let rate = flow.achieved_rate.map_or(String::new(), |rate| format!(" ({}/s)", decimal(rate)));
    let cut = match flow.iterations.cut {
        0 => String::new(),
        cut => format!(", {} more cut short by the end", count(cut)),
    };
    let text = format!("{} handled{rate}, {} failed{cut}", count(records.handled), count(records.failed));
    out.line("records", &text);
    for (number, worker) in consume.workers.iter().enumerate().take(MOST_WORKERS) {
        let partitions: Vec<String> =
            worker.partitions.iter().map(|(topic, list)| format!("{topic} {list:?}")).collect();
        let partitions = if partitions.is_empty() { "no partition".to_owned() } else { partitions.join(", ") };
        let busy = worker.busy.map_or("n/a".to_owned(), percent);
        let handled = count(worker.handled + worker.failed);
        out.line("", &format!("worker {number}: {handled}, busy for {busy} of its time; {partitions}"));
    }
    if consume.workers.len() > MOST_WORKERS {
        out.line("", &format!("and {} more workers", consume.workers.len() - MOST_WORKERS));
    }
}
