//! The summary that a person reads on the terminal.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::document::{FlowResult, OperationResult, RunResult};
use super::numbers::{count, decimal, millis, percent, plural};
use super::{consume, data, jobs, lag, requests, topics};
use crate::measure::{Distribution, MEASURES, Measure};

/// Partitions of a topic whose counts are all shown.
const MOST_PARTITIONS: usize = 16;

/// The whole summary, ending with the verdict. Lines are wrapped at `width` characters where one is given; rows of
/// tables are not.
pub fn text(result: &RunResult, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    let out = &mut page;
    let s = &result.scenario;
    let digest = s.digest.get(..19).unwrap_or(&s.digest);
    line(out, "scenario", &format!("{} {} ({digest}…), seed {}", s.name, s.version, result.seed));
    line(out, "cluster", &cluster(result));
    for flow in &result.flows {
        out.text.push('\n');
        flow_text(out, flow);
    }
    scenario_figures(out, result);
    topics::lines(&result.topics).iter().for_each(|text| line(out, "topic", text));
    out.text.push('\n');
    honesty(out, result);
    for warning in &result.warnings {
        line(out, "note", warning);
    }
    out.text.push('\n');
    verdict(out, result);
    page.text
}

/// What is printed, and how wide it may be.
pub(super) struct Page {
    pub(super) text: String,
    width: usize,
}

impl Page {
    pub(super) fn new(width: Option<usize>) -> Self {
        Page { text: String::new(), width: width.unwrap_or(usize::MAX) }
    }

    /// A name at the left, and what belongs to it.
    pub(super) fn line(&mut self, name: &str, text: &str) {
        line(self, name, text);
    }
}

/// The width of the names at the left, with the blank behind them.
const NAMES: usize = 14;

fn line(out: &mut Page, name: &str, text: &str) {
    let indent = " ".repeat(NAMES);
    let options = textwrap::Options::new(out.width.max(3 * NAMES)).subsequent_indent(&indent).break_words(false);
    let whole = format!("{name:<13} {text}");
    // blanks between words are all that may become a line's end
    let options = options.word_separator(textwrap::WordSeparator::AsciiSpace);
    let lines =
        if whole.chars().count() <= out.width { vec![whole.as_str().into()] } else { textwrap::wrap(&whole, options) };
    for line in lines {
        writeln!(out.text, "{}", line.trim_end()).expect("a String takes all");
    }
}

fn cluster(result: &RunResult) -> String {
    let c = &result.cluster;
    let topics: Vec<String> = c
        .cluster
        .topics
        .iter()
        .map(|t| {
            let created = if t.created && !c.embedded { ", created by this run" } else { "" };
            format!("{} ({}, replication {}{created})", t.name, plural(t.partitions.into(), "partition"), t.replication)
        })
        .collect();
    let who = match c.embedded {
        true => "the embedded broker (no --brokers given): figures of the generator, not of Kafka".to_owned(),
        false => {
            let kafka = c
                .cluster
                .kafka
                .map_or(String::new(), |release| format!(" of Kafka {release} (by the requests it speaks)"));
            format!("{}, {}{kafka}", c.bootstrap, plural(c.cluster.brokers.len() as u64, "broker"))
        }
    };
    format!("{who}; {}", topics.join(", "))
}

fn flow_text(out: &mut Page, flow: &FlowResult) {
    let clients = plural(flow.clients.into(), "client");
    let of = match (flow.users, flow.arrivals) {
        _ if flow.consume.is_some() => {
            let groups = flow.consume.as_ref().map_or(&[][..], |consume| consume.groups.as_slice());
            let who = match groups {
                [one] => format!("group {}", one.name),
                groups => format!("{} groups", groups.len()),
            };
            format!("{who}, {}", plural(flow.threads.into(), "worker"))
        }
        (Some(users), Some("closed")) => {
            let most = if flow.users_change { "at most " } else { "" };
            format!("{most}{}, {clients}", plural(users.into(), "user"))
        }
        (Some(users), Some(arrivals)) => format!("{arrivals}, at most {}, {clients}", plural(users.into(), "user")),
        _ => {
            format!("{}, {clients}, batch {}", plural(flow.threads.into(), "thread"), count(flow.batch.into()))
        }
    };
    let window = flow.window.map_or("nothing was measured".to_owned(), |w| {
        let warm_up = if flow.iterations.warm_up > 0 {
            format!(" after a warm-up of {}", plural(flow.iterations.warm_up, flow.rounds()))
        } else {
            String::new()
        };
        format!("measured over {} s{warm_up}", decimal(w.seconds))
    });
    let measured = if flow.measured { "" } else { ", not measured: beside what the run is about" };
    line(out, "flow", &format!("{} ({}, {}, {of}{measured}): {window}", flow.name, flow.kind, flow.pace));
    if let Some(consume) = &flow.consume {
        consume::text(out, flow, consume);
    }
    let m = &flow.messages;
    let mut messages = format!(
        "{} acknowledged, {} failed, {} unknown of {} sent",
        count(m.acknowledged),
        count(m.failed),
        count(m.unknown),
        count(m.sent)
    );
    if m.acknowledged_with_warm_up != m.acknowledged {
        write!(messages, "; {} acknowledged with the warm-up", count(m.acknowledged_with_warm_up))
            .expect("a String takes all");
    }
    if m.delayed_dropped > 0 {
        write!(messages, "; {} delayed ones dropped at the end", count(m.delayed_dropped)).expect("a String takes all");
    }
    let answers = flow.consume.is_none() || m.sent > 0;
    if answers {
        line(out, "messages", &messages);
    }
    if let Some(t) = &flow.throughput {
        let mean = m.bytes as f64 / m.acknowledged.max(1) as f64;
        let text = format!(
            "{} messages/s, {} MB/s ({} MiB/s), {} bytes a message",
            decimal(t.messages_per_s),
            decimal(t.mb_per_s),
            decimal(t.mib_per_s),
            decimal(mean)
        );
        line(out, "throughput", &text);
    }
    if let Some(bytes) = flow.stamp_bytes {
        line(
            out,
            "",
            &format!("each carries a stamp of {bytes} bytes beside: {} MB", decimal((bytes * m.sent) as f64 / 1e6)),
        );
    }
    let i = &flow.iterations;
    if let (Some(target), Some(achieved)) = (flow.target_rate, flow.achieved_rate) {
        let missed = if i.missed > 0 { format!(", {} due but never begun", count(i.missed)) } else { String::new() };
        line(
            out,
            "rate",
            &format!(
                "{}/s asked for, {}/s achieved ({:.2} %){missed}",
                decimal(target),
                decimal(achieved),
                achieved / target * 100.0
            ),
        );
    }
    if flow.users.is_some() {
        let rate = flow.achieved_rate.map_or(String::new(), |rate| format!(" ({}/s)", decimal(rate)));
        let cut = if i.cut > 0 { format!(", {} more cut short by the end", count(i.cut)) } else { String::new() };
        line(out, "iterations", &format!("{}{rate}, {} of them failed{cut}", count(i.ran), count(i.failed)));
    } else if i.failed > 0 && flow.consume.is_none() {
        line(out, "iterations", &format!("{} of {} failed", count(i.failed), count(i.ran)));
    }
    out.text.push('\n');
    if !flow.jobs.is_empty() {
        rows(out, &jobs::table(flow));
    }
    let measures = measures(flow);
    if measures.row_count() > 0 {
        rows(out, &measures);
    }
    if let Some(table) = requests::table(flow, operation_name) {
        rows(out, &table);
    }
    for failure in &flow.failures {
        line(
            out,
            "failure",
            &format!(
                "{} × {} ({}, by the {}{}): {}",
                count(failure.count_with_warm_up),
                failure.name,
                failure.code,
                failure.by,
                match failure.count_with_warm_up - failure.count {
                    0 => String::new(),
                    n => format!(", {} of them in the warm-up", count(n)),
                },
                failure.text
            ),
        );
    }
    for text in &flow.failed_iterations {
        line(out, "scenario says", &format!("{} × {}", count(text.count), text.text));
    }
    for spread in &flow.partitions {
        let counts: Vec<String> = spread.messages.iter().take(MOST_PARTITIONS).map(|n| count(*n)).collect();
        let more = if spread.messages.len() > MOST_PARTITIONS { ", …" } else { "" };
        let above =
            spread.above_mean.map_or(String::new(), |a| format!("; the fullest is {} above the mean", percent(a)));
        let grown = topics::grown(spread);
        line(out, "partitions", &format!("{}: {}{more}{above}{grown}", spread.topic, counts.join(", ")));
    }
    let client = |name: &str| flow.client.get(name).map_or("?", String::as_str);
    let number = |name: &str| client(name).parse().map_or_else(|_| client(name).to_owned(), count);
    let settings = format!(
        "acks={}, idempotence={}, linger {} ms, batch.size {}, compression {}, queue {} messages / {} KiB, partitioner {}",
        if client("acks") == "-1" { "all" } else { client("acks") },
        client("enable.idempotence"),
        client("linger.ms"),
        number("batch.size"),
        client("compression.type"),
        number("queue.buffering.max.messages"),
        number("queue.buffering.max.kbytes"),
        client("partitioner")
    );
    if answers {
        line(out, "client", &settings);
    }
    let w = &flow.wire;
    if let (Some(bytes), Some(trip)) = (w.mean_request_bytes, w.mean_round_trip_us) {
        let ratio = w
            .compression_ratio
            .map_or(String::new(), |r| format!(", {} bytes of keys and values for each byte sent", decimal(r)));
        line(
            out,
            "produce",
            &format!(
                "{} requests of {} bytes, {} ms of round trip on average{ratio}",
                count(w.requests),
                decimal(bytes),
                millis(trip)
            ),
        );
    }
    let share = |share: Option<f64>| share.map_or("n/a".into(), percent);
    let time = format!(
        "{} in the guest, {} waiting for the client's queue ({} s), {} waiting in its calls, {} idle",
        share(flow.workers.guest),
        share(flow.workers.blocked),
        decimal(flow.workers.blocked_s),
        share(flow.workers.waited),
        share(flow.workers.idle)
    );
    line(out, "workers' time", &time);
}

fn rows(out: &mut Page, table: &Table) {
    // the table pads every cell, so its rows begin and end with blanks
    for row in table.lines() {
        let row = row.strip_prefix(' ').unwrap_or(&row).trim_end();
        writeln!(out.text, "{row}").expect("a String takes all");
    }
    out.text.push('\n');
}

/// What of a job its durations say better one by one.
const OF_JOBS: [Measure; 3] = [Measure::Iteration, Measure::Lateness, Measure::Observed];

fn measures(flow: &FlowResult) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header([
        "operation",
        "measure (ms)",
        "count",
        "mean",
        "p50",
        "p75",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "max",
        "> 1 s",
    ]);
    let mut row = |operation: &str, name: &str, d: Option<&Distribution>| {
        let mut cells = vec![operation.to_owned(), name.to_owned()];
        match d {
            None => cells.extend(["n/a"; 10].map(str::to_owned)),
            Some(d) => {
                let us = [
                    d.mean_us,
                    d.p50_us as f64,
                    d.p75_us as f64,
                    d.p90_us as f64,
                    d.p95_us as f64,
                    d.p99_us as f64,
                    d.p999_us as f64,
                    d.max_us as f64,
                ];
                cells.push(count(d.count));
                cells.extend(us.map(millis));
                cells.push(count(d.above_1s));
            }
        }
        table.add_row(cells);
    };
    for operation in &flow.operations {
        let name = operation_name(operation);
        let shown = |measure: &Measure| flow.jobs.is_empty() || !OF_JOBS.contains(measure);
        for info in MEASURES.iter().filter(|info| shown(&info.measure)) {
            let d = operation.measures.get(info.name);
            let is_expected = ["service", "wait", "response"].contains(&info.name) && operation.acknowledged > 0;
            if d.is_some() || is_expected {
                row(&name, info.name, d);
            }
            if let Some(d) = operation.with_failures.get(info.name) {
                row(&name, &format!("{} with failures", info.name), Some(d));
            }
        }
    }
    for column in 2..12 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn operation_name(operation: &OperationResult) -> String {
    let labels: Vec<String> = operation.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if labels.is_empty() { operation.name.clone() } else { format!("{} ({})", operation.name, labels.join(", ")) }
}

fn scenario_figures(out: &mut Page, result: &RunResult) {
    let labelled = |name: &str, labels: &[(String, String)]| {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if labels.is_empty() { name.to_owned() } else { format!("{name} ({})", labels.join(", ")) }
    };
    for counter in &result.counters {
        line(out, "counter", &format!("{}: {}", labelled(&counter.name, &counter.labels), count(counter.value)));
    }
    for check in &result.checks {
        let text = format!(
            "{}: {} passed, {} failed",
            labelled(&check.name, &check.labels),
            count(check.passed),
            count(check.failed)
        );
        line(out, "check", &text);
    }
    requests::lines(result).iter().for_each(|text| line(out, "replies", text));
    for group in &result.lag {
        line(out, "lag", &lag::line(group));
    }
    for set in &result.data {
        line(out, "data", &data::line(set));
    }
}

fn honesty(out: &mut Page, result: &RunResult) {
    let h = &result.honesty;
    line(out, "limited by", &h.limited_by.sentence);
    let mut cpu = format!("{} s of khost's processor time", decimal(h.cpu_s));
    if let (Some(per_message), Some(guest)) = (h.cpu_ns_per_message, h.guest_share_of_cpu) {
        let reads = result.flows.iter().any(|flow| flow.consume.is_some());
        let what = if reads { "a message or record" } else { "a message" };
        write!(cpu, ", {} µs {what}, {} of it in the guest", decimal(per_message / 1e3), percent(guest))
            .expect("a String takes all");
    }
    if let (Some(share), Some(busy)) = (h.cpu_use, h.machine_busy) {
        write!(cpu, "; khost used {} of what it may, the machine was {} busy", percent(share), percent(busy))
            .expect("a String takes all");
    }
    line(out, "cpu", &cpu);
    for throttle in &h.broker_throttle {
        line(
            out,
            "throttled",
            &format!(
                "broker {} held the client back {} times for {} ms",
                throttle.broker,
                count(throttle.count),
                count(throttle.total_ms)
            ),
        );
    }
    if let Some(seconds) = h.throttled_s {
        line(out, "throttled", &format!("the container's quota held khost back for {} s", decimal(seconds)));
    }
    if h.traps > 0 {
        line(out, "traps", &format!("{} ({} of them overruns)", count(h.traps.into()), count(h.overruns.into())));
        for text in &h.trap_texts {
            line(out, "", &format!("{} × {}", count(text.count), text.text));
        }
    }
    for text in &h.complaints {
        line(out, "librdkafka", &format!("{} × {}", count(text.count), text.text));
    }
    if h.log_lines_dropped > 0 {
        line(out, "log", &format!("{} lines of the scenario were left out", count(h.log_lines_dropped)));
    }
    let m = &h.machine;
    let quota = m.cpu_quota.map_or("no quota".into(), |q| format!("a quota of {}", decimal(q)));
    let memory =
        m.memory_limit_bytes.map_or(String::new(), |limit| format!(", a memory limit of {} MiB", count(limit >> 20)));
    let environment = format!(
        "khost {}, librdkafka {}, {} processors ({} usable, {quota}), {} MiB of memory{memory}, Linux {}",
        result.khost,
        h.librdkafka,
        m.processors,
        m.affinity,
        count(m.memory_bytes >> 20),
        m.kernel
    );
    line(out, "environment", &environment);
}

fn verdict(out: &mut Page, result: &RunResult) {
    let o = &result.outcome;
    for reason in &o.reasons {
        line(out, "because", reason);
    }
    match o.interrupted_at_s {
        Some(at) => line(out, "verdict", &format!("interrupted at {} s", decimal(at))),
        None => line(out, "verdict", o.verdict),
    }
}
