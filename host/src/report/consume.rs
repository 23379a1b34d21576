//! What came of a consume flow's readers: records, partitions and time by worker.

use std::collections::BTreeMap;

use serde::Serialize;

use super::document::FlowResult;
use super::numbers::{count, decimal, millis, percent, plural};
use super::paused::{self, PausedResult};
use super::terminal::Page;
use crate::kafka::ClientSettings;
use crate::load::{EndToEndFigures, FlowRecord, GroupRecord, ReaderRecord};
use crate::plan::{Dealer, Flow, FlowKind, Plan, format_bytes};

/// Workers whose partitions are all shown.
const MOST_WORKERS: usize = 16;

/// Of a consume flow.
#[derive(Debug, Serialize)]
pub struct ConsumeResult {
    /// Its consumer groups: each reads all of it.
    pub groups: Vec<GroupResult>,
    /// The topics that it reads, by their names in Kafka.
    pub topics: Vec<String>,
    /// Where it began: `latest`, `earliest`, `committed`, a time, an offset, or `-N` for N records before the end.
    pub from: String,
    /// Who dealt out the partitions to the workers: `group` or `khost`.
    pub assigned_by: &'static str,
    /// When what was handled was committed: `interval`, `batch` or `never`.
    pub commit: &'static str,
    /// Whether the scenario got the records; else they were only counted.
    pub handler: bool,
    /// Its records.
    pub records: Records,
    /// By worker, from 0.
    pub workers: Vec<ReaderResult>,
    /// What the stamps of its records came to, where they are looked for.
    pub end_to_end: Option<EndToEndFigures>,
    /// What its fetches brought, warm-up and what was thrown away included.
    pub fetch: FetchResult,
    /// What came of pausing partitions, where it does.
    pub paused: Option<PausedResult>,
    /// What its consumers may fetch ahead of the scenario.
    pub prefetch: Option<PrefetchResult>,
    /// What its consumers really hold, secrets masked.
    pub client: ClientSettings,
}

/// What fetches brought.
#[derive(Debug, Serialize)]
pub struct FetchResult {
    /// How many were answered.
    pub responses: u64,
    /// Bytes of the answers, headers of the protocol included.
    pub bytes: u64,
}

/// What consumers may fetch ahead.
#[derive(Debug, Serialize)]
pub struct PrefetchResult {
    /// Records that wait in a worker's client, in bytes.
    pub queued_bytes: u64,
    /// A fetch that comes on top of them, in bytes.
    pub fetch_bytes: u64,
    /// What all workers of the flow may take, in bytes.
    pub total_bytes: u64,
    /// Whether khost has lowered it to fit into the memory.
    pub lowered: bool,
    /// The memory that was left at the start, a container's limit regarded, in bytes.
    pub memory_bytes: Option<u64>,
}

/// One group of a consume flow.
#[derive(Debug, Serialize)]
pub struct GroupResult {
    /// Its name.
    pub name: String,
    /// Records that were handled, and did not fail; warm-up left out.
    pub handled: u64,
    /// Seconds until the last worker had its first partitions, before the load.
    pub join_s: Option<f64>,
    /// Assignments that workers got in the load.
    pub rebalances: u64,
    /// Seconds that workers were without partitions meanwhile, summed over them.
    pub rebalancing_s: f64,
    /// The longest of it.
    pub longest_rebalance_s: f64,
    /// How often a worker was thrown out, as `handle` took longer than `max.poll.interval.ms`.
    pub times_left: u64,
    /// Commits that were waited for.
    pub commits: CommitsResult,
    /// Records that were handed over more than once, warm-up included.
    pub repeated: u64,
    /// Offsets for which no record came: what compaction and transactions leave, and what was deleted before it was read.
    pub skipped_offsets: u64,
}

/// Commits of a group that commits after each batch.
#[derive(Debug, Serialize)]
pub struct CommitsResult {
    /// All of them.
    pub count: u64,
    /// Those that failed.
    pub failed: u64,
    /// How long one took on average, in microseconds.
    pub mean_us: Option<f64>,
}

/// Records that the scenario was given, or that were counted.
#[derive(Debug, Serialize)]
pub struct Records {
    /// That were handled, and did not fail.
    pub handled: u64,
    /// That failed, as the scenario says or by a trap.
    pub failed: u64,
    /// In the warm-up, handled or failed.
    pub warm_up: u64,
    /// Keys and values of those that count.
    pub bytes: u64,
    /// Megabytes (10⁶ bytes) of them a second.
    pub mb_per_s: Option<f64>,
    /// Mebibytes (2²⁰ bytes) of them a second.
    pub mib_per_s: Option<f64>,
}

/// One worker.
#[derive(Debug, Serialize)]
pub struct ReaderResult {
    /// The group that it is in.
    pub group: String,
    /// The partitions that it had last, by their topic's name in Kafka.
    pub partitions: BTreeMap<String, Vec<i32>>,
    /// Seconds until it had its first partitions, before the load.
    pub join_s: Option<f64>,
    /// Records that it handled, and that did not fail; warm-up left out.
    pub handled: u64,
    /// Records that failed; warm-up left out.
    pub failed: u64,
    /// The share of its time that it spent in `handle`, with all that it waited for there; warm-up included. None where
    /// records are only counted.
    pub busy: Option<f64>,
}

/// Of a flow; none of another kind.
pub(super) fn result(plan: &Plan, flow: &Flow, done: &FlowRecord) -> Option<ConsumeResult> {
    let (FlowKind::Consume(consume), Some(readers)) = (&flow.kind, &done.readers) else { return None };
    let name = |topic: usize| plan.topics[topic].name.clone();
    let of_group = |number: usize| {
        let workers = consume.workers as usize;
        &readers.workers[number * workers..(number + 1) * workers]
    };
    let worker = |(number, reader): (usize, &ReaderRecord)| {
        let mut partitions: BTreeMap<String, Vec<i32>> = BTreeMap::new();
        for (topic, partition) in &reader.partitions {
            partitions.entry(name(*topic)).or_default().push(*partition);
        }
        let busy = (consume.handler && reader.lived_ns > 0).then(|| reader.busy_ns as f64 / reader.lived_ns as f64);
        ReaderResult {
            group: readers.groups[number / consume.workers as usize].name.clone(),
            partitions,
            join_s: reader.joined_after.map(|joined| joined.as_secs_f64()),
            handled: reader.handled,
            failed: reader.failed,
            busy,
        }
    };
    let group = |(number, group): (usize, &GroupRecord)| GroupResult {
        name: group.name.clone(),
        handled: of_group(number).iter().map(|worker| worker.handled).sum(),
        join_s: of_group(number).iter().filter_map(|worker| worker.joined_after).max().map(|one| one.as_secs_f64()),
        rebalances: group.rebalances.count,
        rebalancing_s: group.rebalances.total.as_secs_f64(),
        longest_rebalance_s: group.rebalances.longest.as_secs_f64(),
        times_left: group.times_left,
        commits: CommitsResult {
            count: group.commits.count,
            failed: group.commits.failed,
            mean_us: (group.commits.count > 0)
                .then(|| group.commits.total.as_micros() as f64 / group.commits.count as f64),
        },
        repeated: group.offsets.repeated,
        skipped_offsets: group.offsets.skipped,
    };
    let totals = &done.totals;
    Some(ConsumeResult {
        groups: readers.groups.iter().enumerate().map(group).collect(),
        topics: consume.topics.iter().map(|at| name(*at)).collect(),
        from: consume.from.text(),
        assigned_by: match consume.dealer {
            Dealer::Group => "group",
            Dealer::Khost => "khost",
        },
        commit: consume.commit.name(),
        handler: consume.handler,
        records: Records {
            handled: totals.iterations - totals.iterations_failed,
            failed: totals.iterations_failed,
            warm_up: totals.all_iterations - totals.iterations,
            bytes: readers.workers.iter().map(|worker| worker.bytes).sum(),
            mb_per_s: None,
            mib_per_s: None,
        },
        workers: readers.workers.iter().enumerate().map(worker).collect(),
        end_to_end: readers.end_to_end,
        fetch: FetchResult { responses: done.wire.fetches, bytes: done.wire.fetched_bytes },
        paused: consume.pause.map(|pause| {
            paused::result(&pause, readers.groups.iter().map(|group| &group.pauses), done.wire.fetched_bytes)
        }),
        prefetch: done.prefetch.map(|prefetch| PrefetchResult {
            queued_bytes: prefetch.queued_bytes,
            fetch_bytes: prefetch.fetch_bytes,
            total_bytes: prefetch.total_bytes(),
            lowered: prefetch.lowered,
            memory_bytes: prefetch.memory_bytes,
        }),
        client: done.consumer_settings.clone(),
    })
}

impl ConsumeResult {
    /// Sets rates of bytes by the rate of records.
    pub(super) fn set_rates(&mut self, records_per_s: Option<f64>) {
        let records = &mut self.records;
        let all = records.handled + records.failed;
        let bytes_per_s = records_per_s.filter(|_| all > 0).map(|rate| rate * records.bytes as f64 / all as f64);
        records.mb_per_s = bytes_per_s.map(|bytes| bytes / 1e6);
        records.mib_per_s = bytes_per_s.map(|bytes| bytes / f64::from(1 << 20));
    }
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
    if let Some(stamps) = consume.end_to_end.as_ref().filter(|stamps| stamps.negative > 0) {
        warnings.push(format!(
            "flow `{}`: {} came before they were sent by the sender's clock, by {} ms at most: the clocks differ, and end-to-end is as \
             wrong",
            flow.name,
            plural(stamps.negative, "record"),
            millis(stamps.smallest_us.unwrap_or(0).unsigned_abs() as f64)
        ));
    }
    for group in &consume.groups {
        if group.times_left > 0 {
            warnings.push(format!(
                "flow `{}` left its group `{}` {} times: handle took longer than max.poll.interval.ms, {} ms",
                flow.name,
                group.name,
                group.times_left,
                consume.client.get("max.poll.interval.ms").map_or("?", String::as_str)
            ));
        }
        if group.commits.failed > 0 {
            warnings.push(format!(
                "flow `{}`: {} of {} in its group `{}` failed: after an abrupt end their records are read again",
                flow.name,
                count(group.commits.failed),
                plural(group.commits.count, "commit"),
                group.name
            ));
        }
        if group.repeated > 0 {
            warnings.push(format!(
                "flow `{}`: {} came more than once in its group `{}`",
                flow.name,
                plural(group.repeated, "record"),
                group.name
            ));
        }
    }
    if let Some(prefetch) = consume.prefetch.as_ref().filter(|prefetch| prefetch.lowered) {
        warnings.push(format!(
            "flow `{}`: what its consumers fetch ahead is lowered to {} in all, to fit into the memory: they may wait for \
             fetches more often",
            flow.name,
            format_bytes(prefetch.total_bytes)
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
    let verb = if consume.handler { "handled" } else { "counted" };
    let failed = if consume.handler { format!(", {} failed", count(records.failed)) } else { String::new() };
    out.line("records", &format!("{} {verb}{rate}{failed}{cut}", count(records.handled)));
    if let (Some(mb), Some(mib)) = (records.mb_per_s, records.mib_per_s) {
        out.line("read", &format!("{} MB/s ({} MiB/s) of keys and values", decimal(mb), decimal(mib)));
    }
    if let Some(stamps) = &consume.end_to_end {
        out.line("stamps", &stamps_text(stamps));
    }
    if let Some(paused) = &consume.paused {
        paused::text(out, paused);
    }
    for group in &consume.groups {
        group_text(out, group, consume.groups.len() > 1);
    }
    for (number, worker) in consume.workers.iter().enumerate().take(MOST_WORKERS) {
        let partitions: Vec<String> =
            worker.partitions.iter().map(|(topic, list)| format!("{topic} {list:?}")).collect();
        let partitions = if partitions.is_empty() { "no partition".to_owned() } else { partitions.join(", ") };
        let busy = worker.busy.map_or(String::new(), |busy| format!(", busy for {} of its time", percent(busy)));
        let handled = count(worker.handled + worker.failed);
        out.line("", &format!("worker {number}: {handled}{busy}; {partitions}"));
    }
    if consume.workers.len() > MOST_WORKERS {
        out.line("", &format!("and {} more workers", consume.workers.len() - MOST_WORKERS));
    }
}

fn stamps_text(stamps: &EndToEndFigures) -> String {
    let mut text = format!("{} of this run", count(stamps.own));
    if stamps.others > 0 {
        let smallest =
            stamps.smallest_us.map_or(String::new(), |us| format!(", the smallest {} ms", millis_signed(us)));
        text += &format!(", {} of others on wall clocks{smallest}", count(stamps.others));
    }
    for (number, what) in [
        (stamps.negative, "below 0 and in no percentile"),
        (stamps.left_out, "of other runs left out"),
        (stamps.unstamped, "without a stamp"),
    ] {
        if number > 0 {
            text += &format!(", {} {what}", count(number));
        }
    }
    text
}

fn millis_signed(us: i64) -> String {
    let sign = if us < 0 { "-" } else { "" };
    format!("{sign}{}", millis(us.unsigned_abs() as f64))
}

/// What is worth a line of a group; where there is only one, its records stand there already.
fn group_text(out: &mut Page, group: &GroupResult, among_others: bool) {
    let mut facts = Vec::new();
    if among_others {
        facts.push(format!("{} handled", count(group.handled)));
    }
    if let Some(join_s) = group.join_s {
        facts.push(format!("joined in {} s", decimal(join_s)));
    }
    if group.rebalances > 0 {
        facts.push(format!(
            "{} in the load, {} s without partitions, {} s the longest",
            plural(group.rebalances, "new assignment"),
            decimal(group.rebalancing_s),
            decimal(group.longest_rebalance_s)
        ));
    }
    if let Some(mean_us) = group.commits.mean_us {
        facts.push(format!("{}, {} ms on average", plural(group.commits.count, "commit"), millis(mean_us)));
    }
    if group.skipped_offsets > 0 {
        facts.push(format!("{} without a record", plural(group.skipped_offsets, "offset")));
    }
    if !facts.is_empty() {
        let name = if among_others { group.name.as_str() } else { "group" };
        out.line("", &format!("{name}: {}", facts.join("; ")));
    }
}
