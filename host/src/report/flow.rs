//! What came of one flow: its counts, rates and durations, and what a person should know of them.

use std::collections::BTreeMap;

use super::assemble::texts;
use super::document::*;
use super::explain::explain;
use super::jobs;
use super::numbers::plural;
use super::requests;
use super::topics;
use super::window::{Span, arrivals};
use crate::kafka::{Cluster, Code, STAMP_WIRE_BYTES};
use crate::load::{FlowRecord, Operation, Schedule};
use crate::measure::{Distribution, FailureCount, MEASURES, Measure, OperationInterval, Refuser};
use crate::plan::{After, Arrivals, Flow, FlowKind, Pace, Plan, Session, format_duration};

pub(super) fn flow_result(
    plan: &Plan,
    flow: &Flow,
    done: FlowRecord,
    ended_early_ns: Option<u64>,
    operations: &[Operation],
    cluster: &Cluster,
) -> FlowResult {
    let schedule = Schedule::new(flow.kind.pace());
    let span = Span::of(&schedule, flow, &done, ended_early_ns);
    let totals = done.totals;
    let counts = totals.whole();
    let window = span.map(|span| span.window());
    let (target_rate, achieved_rate) = span.map_or((None, None), |span| {
        span.rates(&schedule, &flow.kind, totals.iterations, totals.iterations + done.missed + done.cut)
    });
    let throughput = window.filter(|w| w.seconds > 0.0 && counts.acknowledged > 0).map(|w| Throughput {
        messages_per_s: counts.acknowledged as f64 / w.seconds,
        mb_per_s: counts.bytes as f64 / w.seconds / 1e6,
        mib_per_s: counts.bytes as f64 / w.seconds / f64::from(1 << 20),
    });
    let failure = |(&(by, code), count): (&(Refuser, i32), &FailureCount)| FailureLine {
        code,
        name: Code(code).name(),
        by: if by == Refuser::Client { "client" } else { "broker" },
        text: explain(by, code, &done.client_settings, &cluster.topics),
        count: count.measured,
        count_with_warm_up: count.all,
    };
    let wire = &done.wire;
    let share = |ns: u64| (totals.wall_ns > 0).then(|| ns as f64 / totals.wall_ns as f64);
    let (step_s, points) = totals.series.finish();
    FlowResult {
        name: flow.name.clone(),
        kind: match flow.kind {
            FlowKind::Stream(_) => "stream",
            FlowKind::Session(_) => "session",
            FlowKind::Consume(_) => "consume",
        },
        measured: flow.measured,
        after: flow.after.map(|after| match after {
            After::WarmUp => "warm-up".to_owned(),
            After::Flow(other) => plan.flows[other].name.clone(),
        }),
        began_at_s: done.began_ns.map(|ns| ns as f64 / 1e9),
        ends_run: flow.ends_run,
        keyed: totals.keyed,
        exhausted: done.exhausted,
        threads: flow.kind.workers(),
        clients: flow.kind.clients(),
        batch: match &flow.kind {
            FlowKind::Stream(stream) => stream.batch,
            FlowKind::Session(_) => 1,
            FlowKind::Consume(consume) => consume.max_records,
        },
        users: if let FlowKind::Session(session) = &flow.kind { Some(session.users) } else { None },
        users_change: arrivals(&flow.kind) == Some("closed") && flow.kind.has_stages(),
        arrivals: arrivals(&flow.kind),
        consume: None,
        pace: pace(&flow.kind),
        window,
        target_rate,
        achieved_rate,
        iterations: Iterations {
            ran: totals.iterations,
            failed: totals.iterations_failed,
            missed: done.missed,
            cut: done.cut,
            warm_up: totals.all_iterations - totals.iterations,
            failed_with_warm_up: totals.all_iterations_failed,
        },
        messages: Messages {
            sent: counts.acknowledged + counts.failed + counts.unknown,
            acknowledged: counts.acknowledged,
            failed: counts.failed,
            unknown: counts.unknown,
            bytes: counts.bytes,
            delayed_dropped: done.delayed_dropped,
            acknowledged_with_warm_up: totals.all_acknowledged,
            failed_with_warm_up: totals.all_failed,
        },
        requests_with_warm_up: requests::requests(&totals.all_requests),
        expectations_with_warm_up: requests::expectations(&totals.all_expectations),
        stamp_bytes: flow.stamp.then_some(STAMP_WIRE_BYTES),
        throughput,
        failures: totals.failures.iter().map(failure).collect(),
        failed_iterations: texts(done.failed_texts),
        jobs: jobs::results(&totals.jobs, operations),
        operations: totals
            .operations
            .iter()
            .map(|(number, one)| operation_result(&operations[*number as usize], one))
            .collect(),
        partitions: spread(&totals.partitions, cluster),
        series: SeriesResult { step_s, points },
        wire: WireResult {
            requests: wire.requests,
            request_bytes: wire.request_bytes,
            mean_request_bytes: (wire.requests > 0).then(|| wire.request_bytes as f64 / wire.requests as f64),
            mean_round_trip_us: (wire.responses > 0).then(|| wire.round_trip_us as f64 / wire.responses as f64),
            compression_ratio: (wire.request_bytes > 0 && totals.all_failed == 0)
                .then(|| totals.all_bytes as f64 / wire.request_bytes as f64),
        },
        workers: WorkerTime {
            guest: share(totals.guest_cpu_ns),
            blocked: share(totals.blocked_ns),
            waited: share(totals.waited_ns),
            idle: share(totals.idle_ns),
            blocked_s: totals.blocked_ns as f64 / 1e9,
        },
        client: done.client_settings,
    }
}

fn pace(kind: &FlowKind) -> String {
    if let FlowKind::Session(Session { arrivals: Arrivals::Closed { think_time, pace, stages }, .. }) = kind {
        let mut words: Vec<String> = stages
            .iter()
            .map(|stage| format!("{} to {} users in {}", stage.from, stage.to, format_duration(stage.length)))
            .collect();
        words.push(match (think_time, pace) {
            (_, Some(pace)) => format!("one every {} a user", format_duration(*pace)),
            (Some(think), _) if think.least == think.most => format!("think time {}", format_duration(think.most)),
            (Some(think), _) => {
                format!("think time {} to {}", format_duration(think.least), format_duration(think.most))
            }
            (None, None) => "no think time".into(),
        });
        return words.join(", ");
    }
    if let FlowKind::Consume(_) = kind {
        return "as records come".into();
    }
    match kind.pace() {
        Pace::Unpaced => "as fast as it goes".into(),
        Pace::Rate(rate) => rate.to_string(),
        Pace::Stages(stages) => {
            let text: Vec<_> = stages
                .iter()
                .map(|stage| format!("{} to {} in {}", stage.from, stage.to, format_duration(stage.length)))
                .collect();
            text.join(", ")
        }
    }
}

fn operation_result(operation: &Operation, one: &OperationInterval) -> OperationResult {
    let mut measures = BTreeMap::new();
    let mut with_failures = BTreeMap::new();
    for info in &MEASURES {
        let (good, bad) = (&one.good[info.measure as usize], &one.bad[info.measure as usize]);
        if let Some(d) = good.as_ref().and_then(|h| Distribution::of(h)) {
            measures.insert(info.name, d);
        }
        if let Some(bad) = bad {
            let mut all = bad.as_ref().clone();
            if let Some(good) = good {
                all.add(good.as_ref()).expect("all histograms have the same bounds");
            }
            with_failures.extend(Distribution::of(&all).map(|d| (info.name, d)));
        }
    }
    OperationResult {
        name: operation.name.clone(),
        labels: operation.labels.clone(),
        acknowledged: one.acknowledged,
        failed: one.failed,
        unknown: one.unknown,
        bytes: one.bytes,
        requests: requests::requests(&one.requests),
        expectations: requests::expectations(&one.expectations),
        measures,
        with_failures,
    }
}

fn spread(partitions: &[Vec<u64>], cluster: &Cluster) -> Vec<PartitionSpread> {
    let used = partitions.iter().zip(&cluster.topics).filter(|(counts, _)| !counts.is_empty());
    used.map(|(counts, topic)| {
        let mut messages = counts.clone();
        messages.resize(messages.len().max(topic.partitions as usize), 0);
        let above_mean = topics::above_mean(&messages);
        PartitionSpread { topic: topic.name.clone(), above_mean, messages, grown: Vec::new() }
    })
    .collect()
}

/// What a person should know who reads a flow's figures, or compares them with those of Java's clients.
pub(super) fn flow_warnings(flow: &FlowResult) -> Vec<String> {
    let mut warnings = Vec::new();
    if flow.began_at_s.is_none() {
        let after = match flow.after.as_deref() {
            None | Some("warm-up") => "the warm-up was over".to_owned(),
            Some(other) => format!("flow `{other}` had ended"),
        };
        warnings.push(format!("flow `{}` never began: the run was over before {after}", flow.name));
        return warnings;
    }
    if flow.exhausted {
        let ran = flow.iterations.ran;
        let ran = plural(ran, flow.rounds());
        warnings.push(format!("flow `{}`: the scenario had nothing left to do after {ran}", flow.name));
    }
    if !flow.measured {
        // nobody reads its figures
        return warnings;
    }
    if flow.users.is_some() && flow.iterations.ran == 0 {
        warnings.push(format!("flow `{}` ran no iteration that counts", flow.name));
    } else if flow.users.is_none() && flow.consume.is_none() && flow.messages.sent == 0 {
        warnings.push(format!("flow `{}` sent no message that counts", flow.name));
    }
    if let (Some(target), Some(achieved)) = (flow.target_rate, flow.achieved_rate)
        && achieved < target * 0.995
    {
        let held = achieved / target * 100.0;
        warnings.push(format!(
            "flow `{}` held only {held:.1} % of its rate: read {}",
            flow.name,
            if flow.users.is_some() {
                "iteration: it counts from when they were due"
            } else {
                "wait and response, not service"
            }
        ));
    }
    if flow.iterations.missed > 0 {
        let missed = flow.iterations.missed;
        warnings.push(format!(
            "flow `{}`: {missed} iterations were due and never began: no percentile has them",
            flow.name
        ));
    }
    if flow.iterations.cut > 0 {
        warnings.push(format!(
            "flow `{}`: the end cut {} {}s short: no percentile has them",
            flow.name,
            flow.iterations.cut,
            flow.rounds()
        ));
    }
    if flow.is_behind() {
        warnings.push(format!("flow `{}`: acknowledgements fell behind the rate", flow.name));
    }
    let service = flow.operations.iter().filter_map(|o| o.measures.get(Measure::Service.info().name));
    let longest_mean_s = service.map(|d| d.mean_us / 1e6).fold(0.0, f64::max);
    let is_stream = flow.users.is_none() && flow.consume.is_none();
    if is_stream && flow.target_rate.is_none() && flow.window.is_some_and(|w| w.seconds < longest_mean_s) {
        warnings.push(format!(
            "flow `{}`: the window is shorter than the latency: run longer for a throughput to trust",
            flow.name
        ));
    }
    let partitioner = flow.client.get("partitioner").map_or("consistent_random", String::as_str);
    if flow.keyed && !partitioner.starts_with("murmur2") {
        warnings.push(format!(
            "flow `{}`: partitioner {partitioner} places keys differently from Java's clients (-X partitioner=murmur2_random is as theirs)",
            flow.name
        ));
    }
    warnings
}
