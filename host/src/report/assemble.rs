//! From a run's record to its result document.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::consume;
use super::data;
use super::document::*;
use super::explain::explain;
use super::jobs;
use super::limited_by::{Signs, limited_by};
use super::numbers::plural;
use super::requests;
use crate::kafka::{Cluster, Code};
use crate::load::{Ended, FlowRecord, Operation, RunRecord, Schedule};
use crate::measure::{Distribution, FailureCount, MEASURES, Machine, Measure, OperationInterval, Refuser};
use crate::plan::{After, Arrivals, Flow, FlowKind, Pace, Plan, Session, format_duration};

/// What is known besides the record.
pub struct Facts<'a> {
    /// What was to run.
    pub plan: &'a Plan,
    /// SHA-256 of the scenario.
    pub digest: &'a str,
    /// What the preflight saw.
    pub cluster: Cluster,
    /// Whether the broker was khost's own.
    pub embedded: bool,
    /// Who was asked first.
    pub bootstrap: &'a str,
    /// Differs in every run.
    pub run_id: u64,
    /// The load's start.
    pub started: SystemTime,
    /// Where khost ran.
    pub machine: Machine,
}

/// Makes the document.
pub fn assemble(facts: Facts<'_>, record: RunRecord) -> RunResult {
    let plan = facts.plan;
    let mut warnings = plan.warnings.clone();
    warnings.extend(plan.other_defaults.clone());
    warnings.extend(facts.cluster.warnings.iter().cloned());
    let throttle: BTreeMap<i32, BrokerThrottle> = throttle(&record);
    let load_s = record.load.as_secs_f64();
    let load_cpu_s = record.load_cpu_ns as f64 / 1e9;
    let cpu_s = record.cpu_ns as f64 / 1e9;
    let all_sent: u64 = record.flows.iter().map(|flow| flow.totals.all_sent).sum();
    let guest_ns: u64 = record.flows.iter().map(|flow| flow.totals.guest_cpu_ns).sum();
    let cpu_use = (load_s > 0.0).then(|| load_cpu_s / (load_s * facts.machine.usable()));
    let others_busy = record.machine_busy.map(|busy| {
        let own = load_cpu_s / (load_s * f64::from(facts.machine.processors)).max(f64::MIN_POSITIVE);
        (busy - own).max(0.0)
    });
    let mut flows = Vec::new();
    for (flow, done) in plan.flows.iter().zip(record.flows) {
        let read = consume::result(plan, flow, &done);
        let result = flow_result(plan, flow, done, record.ended_early_ns, &record.operations, &facts.cluster);
        flows.push(FlowResult { consume: read, ..result });
    }
    for flow in &flows {
        warnings.extend(flow_warnings(flow));
        warnings.extend(consume::warnings(flow, facts.embedded));
        warnings.extend(requests::warnings(flow));
    }
    let channels = requests::channels(plan, &record.channels);
    warnings.extend(requests::silent(&channels, &flows));
    let data = data::results(plan, &record.data);
    warnings.extend(data.iter().filter_map(data::warning));
    let honesty = Honesty {
        limited_by: limit_of(
            &flows,
            Busyness { cpu_use, machine: record.machine_busy, others: others_busy },
            &throttle,
            facts.cluster.brokers.len(),
        ),
        cpu_s,
        cpu_ns_per_message: (all_sent > 0).then(|| record.cpu_ns as f64 / all_sent as f64),
        guest_share_of_cpu: (record.cpu_ns > 0).then(|| guest_ns as f64 / record.cpu_ns as f64),
        cpu_use,
        machine_busy: record.machine_busy,
        throttled_s: facts.machine.cpu_quota.and(record.throttled_s),
        broker_throttle: throttle.into_values().collect(),
        traps: record.traps,
        overruns: record.overruns,
        trap_texts: texts(record.trap_texts),
        complaints: texts(record.complaints),
        log_lines_dropped: record.log_lines_dropped,
        machine: facts.machine,
        librdkafka: rdkafka::util::get_rdkafka_version().1,
    };
    let out_of_rows = data::reasons(plan, &flows, &data, &record.data);
    let outcome = outcome(plan, &flows, out_of_rows, record.ended, record.load.as_secs_f64());
    RunResult {
        schema: SCHEMA,
        khost: env!("CARGO_PKG_VERSION"),
        run_id: format!("{:016x}", facts.run_id),
        started_at: humantime::format_rfc3339_millis(facts.started).to_string(),
        outcome,
        scenario: Scenario {
            name: plan.scenario.name.clone(),
            version: plan.scenario.version.clone(),
            digest: format!("sha256:{}", facts.digest),
        },
        seed: plan.seed,
        cluster: ClusterResult { embedded: facts.embedded, bootstrap: facts.bootstrap.into(), cluster: facts.cluster },
        load_s: record.load.as_secs_f64(),
        drain_s: record.drain.as_secs_f64(),
        flows,
        counters: record.counters,
        checks: record.checks,
        data,
        channels,
        honesty,
        settings: plan.settings.iter().map(setting_line).collect(),
        warnings,
    }
}

fn setting_line(setting: &crate::plan::Setting) -> SettingLine {
    SettingLine { path: setting.path(), value: setting.value.clone(), origin: setting.origin.to_string() }
}

fn texts(list: Vec<(String, u64)>) -> Vec<TextCount> {
    list.into_iter().map(|(text, count)| TextCount { text, count }).collect()
}

fn throttle(record: &RunRecord) -> BTreeMap<i32, BrokerThrottle> {
    let mut sum: BTreeMap<i32, BrokerThrottle> = BTreeMap::new();
    for (broker, throttle) in record.flows.iter().flat_map(|flow| &flow.wire.throttled) {
        let one = sum.entry(*broker).or_insert(BrokerThrottle { broker: *broker, count: 0, total_ms: 0 });
        one.count += throttle.count;
        one.total_ms += throttle.total_ms;
    }
    sum
}

fn outcome(plan: &Plan, flows: &[FlowResult], out_of_rows: Vec<String>, ended: Option<Ended>, load_s: f64) -> Outcome {
    let mut reasons = Vec::new();
    if let Some(Ended::Failed(why)) = &ended {
        reasons.push(why.clone());
    }
    for (flow, result) in plan.flows.iter().zip(flows) {
        let mut count = |n: u64, what: &str| {
            if n > 0 {
                reasons.push(format!("flow `{}`: {n} {what}", flow.name));
            }
        };
        let m = &result.messages;
        count(m.failed, if m.failed == 1 { "message failed" } else { "messages failed" });
        count(m.unknown, "sent, but nothing was heard of them");
        let in_warm_up = m.failed_with_warm_up.saturating_sub(m.failed + m.unknown);
        count(in_warm_up, "failed in the warm-up");
        let warm_up_failed = result.iterations.failed_with_warm_up - result.iterations.failed;
        let rounds = result.rounds();
        count(warm_up_failed, &format!("of the warm-up's {rounds}s failed"));
        let failed = result.iterations.failed;
        count(failed, &format!("{rounds}{} failed", if failed == 1 { "" } else { "s" }));
        reasons.extend(requests::reasons(result));
    }
    reasons.extend(out_of_rows);
    let interrupted = ended == Some(Ended::Interrupted);
    let (verdict, exit_code) = match (interrupted, reasons.is_empty()) {
        (true, _) => ("interrupted", 130),
        (false, false) => ("failed", 1),
        (false, true) => ("passed", 0),
    };
    Outcome { verdict, exit_code, reasons, interrupted_at_s: interrupted.then_some(load_s) }
}

fn flow_result(
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

/// When a flow's schedule began and ended, in nanoseconds since the load's start.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// When the flow began: the schedule counts from then.
    began_ns: u64,
    start_ns: u64,
    /// By plan; where the run ended early or nothing says so, when the last iteration returned.
    planned_ns: u64,
    last_iteration_ns: u64,
    /// When the last iteration of an open session began: what comes after is waiting, not load.
    last_begun_ns: u64,
    last_ns: u64,
}

impl Span {
    fn of(schedule: &Schedule, flow: &Flow, done: &FlowRecord, ended_early_ns: Option<u64>) -> Option<Self> {
        let totals = &done.totals;
        let (began_ns, start_ns) = (done.began_ns?, done.window_start_ns?);
        let last_iteration_ns = totals.last_iteration_us * 1_000;
        let last_ns = last_iteration_ns.max(totals.last_acknowledged_us * 1_000);
        let before = schedule.count_within(start_ns.saturating_sub(began_ns)).unwrap_or(0);
        let since_load = |ns: u64| began_ns + ns;
        // at random, a count of iterations says nothing of the time
        let is_even = schedule.is_paced() && arrivals(&flow.kind) != Some("poisson");
        let after = |iterations: u64| schedule.due_ns(before + iterations).map(since_load).filter(|_| is_even);
        let by_iterations = flow.end.iterations.and_then(after);
        // iterations may send several messages, so only those that ran tell when the messages were to be through
        let by_messages =
            flow.end.messages.filter(|messages| totals.sent >= *messages).and_then(|_| after(totals.iterations));
        let ends =
            done.end_ns.into_iter().chain(schedule.end_ns().map(since_load)).chain(by_iterations).chain(by_messages);
        // a load that ended early ended then, whether iterations were due or not
        let planned_ns = ends.chain(ended_early_ns.map(|ns| ns.max(last_iteration_ns))).min();
        let planned_ns = planned_ns.filter(|_| !done.exhausted).unwrap_or(last_iteration_ns);
        // what an unpaced flow sent in its warm-up is ahead of the first measured message in the client's queue
        let backlog_ns = totals.first_acknowledged_us.map_or(0, |us| us * 1_000);
        let is_stream = matches!(flow.kind, FlowKind::Stream(_));
        let is_unpaced_after_warm_up = is_stream && !schedule.is_paced() && totals.all_iterations > totals.iterations;
        let start_ns = if is_unpaced_after_warm_up { start_ns.max(backlog_ns) } else { start_ns };
        (last_ns > 0 && last_ns >= start_ns).then_some(Span {
            began_ns,
            start_ns,
            planned_ns,
            last_iteration_ns,
            last_begun_ns: totals.last_begun_us * 1_000,
            last_ns,
        })
    }

    fn window(&self) -> Window {
        let (start_s, end_s) = (self.start_ns as f64 / 1e9, self.planned_ns.max(self.last_ns) as f64 / 1e9);
        let schedule_end_s = self.planned_ns.max(self.last_iteration_ns) as f64 / 1e9;
        Window { start_s, end_s, seconds: end_s - start_s, schedule_end_s }
    }

    /// Iterations a second that were asked for, and that were begun. Of `n` iterations at a rate of `r`, the last is due
    /// after `(n - 1) / r`, and they stand for `n / r`. `arrived` are those that ran and those that were due and did not.
    fn rates(&self, schedule: &Schedule, kind: &FlowKind, iterations: u64, arrived: u64) -> (Option<f64>, Option<f64>) {
        let seconds = |until_ns: u64| until_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let due_before = |ns: u64| schedule.count_within(ns.saturating_sub(self.began_ns));
        let due = due_before(self.planned_ns).zip(due_before(self.start_ns));
        let is_random = arrivals(kind) == Some("poisson");
        let due = due.map(|(by_end, before)| if is_random { arrived } else { by_end - before } as f64);
        let target = match schedule {
            Schedule::Unpaced => None,
            _ if is_random => due.map(|due| due / seconds(self.planned_ns)),
            Schedule::Even(rate) => Some(rate.per_second()),
            Schedule::Stages(_) => due.map(|due| due / seconds(self.planned_ns)),
        };
        let stand_for = due.zip(target).map_or(0.0, |(due, target)| due / target);
        let last_ns = match kind {
            FlowKind::Stream(_) => self.last_iteration_ns,
            // records come when they come: those of the whole window count
            FlowKind::Consume(_) => self.last_iteration_ns.max(self.planned_ns),
            FlowKind::Session(Session { arrivals: Arrivals::Open { .. }, .. }) => self.last_begun_ns,
            // users who are always in an iteration have done so many by the last one's return
            FlowKind::Session(Session { arrivals: Arrivals::Closed { think_time: None, pace: None, .. }, .. }) => {
                self.last_iteration_ns.max(self.planned_ns)
            }
            // those who wait have begun so many within the schedule
            FlowKind::Session(Session { arrivals: Arrivals::Closed { .. }, .. }) => {
                self.last_begun_ns.max(self.planned_ns)
            }
        };
        let took = seconds(last_ns).max(stand_for);
        let is_some = |rate: &f64| rate.is_finite() && iterations > 0;
        (target.filter(is_some), Some(iterations as f64 / took).filter(is_some))
    }
}

/// How a session's iterations come, in one word.
fn arrivals(kind: &FlowKind) -> Option<&'static str> {
    match kind {
        FlowKind::Stream(_) | FlowKind::Consume(_) => None,
        FlowKind::Session(Session { arrivals: Arrivals::Closed { .. }, .. }) => Some("closed"),
        FlowKind::Session(Session { arrivals: Arrivals::Open { poisson: true, .. }, .. }) => Some("poisson"),
        FlowKind::Session(Session { arrivals: Arrivals::Open { .. }, .. }) => Some("uniform"),
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
        let mean = messages.iter().sum::<u64>() as f64 / messages.len() as f64;
        let most = messages.iter().max().copied().unwrap_or(0) as f64;
        PartitionSpread { topic: topic.name.clone(), above_mean: (mean > 0.0).then(|| most / mean - 1.0), messages }
    })
    .collect()
}

/// What a person should know who reads a flow's figures, or compares them with those of Java's clients.
fn flow_warnings(flow: &FlowResult) -> Vec<String> {
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

/// Shares of processor time during the load, 0 to 1.
struct Busyness {
    /// khost's, of what it may use.
    cpu_use: Option<f64>,
    /// Everybody's, of the machine.
    machine: Option<f64>,
    /// Others' than khost's, of the machine.
    others: Option<f64>,
}

fn limit_of(
    flows: &[FlowResult],
    busy: Busyness,
    throttle: &BTreeMap<i32, BrokerThrottle>,
    brokers: usize,
) -> LimitedBy {
    let only_reads = flows.iter().all(|flow| flow.consume.is_some());
    let measured = || flows.iter().filter(|flow| flow.measured && (only_reads || flow.consume.is_none()));
    // a job ends when it is done: it limits a run only where there is nothing else
    let only_jobs = measured().all(|flow| !flow.jobs.is_empty());
    let judged = measured().filter(|flow| only_jobs || flow.jobs.is_empty());
    let Some(flow) = judged.max_by_key(|flow| (flow.messages.acknowledged, flow.iterations.ran)) else {
        return limited_by(&Signs::default());
    };
    let service = flow.operations.iter().filter_map(|o| o.measures.get(Measure::Service.info().name));
    let (sum, count) = service.fold((0.0, 0), |(sum, count), d| (sum + d.mean_us * d.count as f64, count + d.count));
    let batch = flow.client.get("batch.size").and_then(|text| text.parse().ok()).unwrap_or(1e6);
    // each client is held back by each broker for itself, so the sum is shared out among them
    let throttled_ms: u64 = throttle.values().map(|t| t.total_ms).sum();
    let connections = flows.iter().map(|flow| u64::from(flow.clients)).sum::<u64>() * brokers.max(1) as u64;
    limited_by(&Signs {
        messages: flow.messages.acknowledged,
        iterations: flow.iterations.ran,
        name: (measured().count() > 1).then(|| flow.name.clone()),
        users: flow.users,
        reads: flow.consume.is_some(),
        idle: flow.workers.idle.unwrap_or(0.0),
        target: flow.target_rate,
        achieved: flow.achieved_rate,
        behind: flow.is_behind(),
        exhausted: flow.exhausted,
        guest: flow.workers.guest.unwrap_or(0.0),
        blocked: flow.workers.blocked.unwrap_or(0.0),
        waited: flow.workers.waited.unwrap_or(0.0),
        cpu_use: busy.cpu_use.unwrap_or(0.0),
        machine_busy: busy.machine.unwrap_or(0.0),
        others_busy: busy.others.unwrap_or(0.0),
        throttled_ms: throttled_ms / connections.max(1),
        window_s: flow.window.map_or(0.0, |w| w.seconds),
        mean_request_bytes: flow.wire.mean_request_bytes.unwrap_or(0.0),
        batch_bytes: batch,
        mean_round_trip_us: flow.wire.mean_round_trip_us.unwrap_or(0.0),
        mean_service_us: if count > 0 { sum / count as f64 } else { 0.0 },
    })
}
