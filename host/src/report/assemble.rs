//! From a run's record to its result document.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::consume;
use super::data;
use super::document::*;
use super::flow::{flow_result, flow_warnings};
use super::lag;
use super::limited_by::{Signs, limited_by};
use super::requests;
use super::topics;
use crate::kafka::Cluster;
use crate::load::{Ended, FlowRecord, OddTimestamps, RunRecord};
use crate::measure::{Machine, Measure};
use crate::plan::Plan;

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
    let read = |flow: &FlowRecord| if flow.readers.is_some() { flow.totals.all_iterations } else { 0 };
    let moved: u64 = record.flows.iter().map(|flow| flow.totals.all_sent + read(flow)).sum();
    let guest_ns: u64 = record.flows.iter().map(|flow| flow.totals.guest_cpu_ns).sum();
    let cpu_use = (load_s > 0.0).then(|| load_cpu_s / (load_s * facts.machine.usable()));
    let others_busy = record.machine_busy.map(|busy| {
        let own = load_cpu_s / (load_s * f64::from(facts.machine.processors)).max(f64::MIN_POSITIVE);
        (busy - own).max(0.0)
    });
    let topics = topics::results(plan, &record.topics);
    let mut flows = Vec::new();
    for (flow, done) in plan.flows.iter().zip(record.flows) {
        let mut read = consume::result(plan, flow, &done);
        let mut result = flow_result(plan, flow, done, record.ended_early_ns, &record.operations, &facts.cluster);
        if let Some(read) = &mut read {
            read.set_rates(result.achieved_rate);
        }
        topics::mark_growth(&mut result.partitions, &topics);
        flows.push(FlowResult { consume: read, ..result });
    }
    for flow in &flows {
        warnings.extend(flow_warnings(flow));
        warnings.extend(consume::warnings(flow, facts.embedded));
        warnings.extend(requests::warnings(flow));
    }
    let lag = lag::results(plan, &flows, record.lag);
    warnings.extend(lag.iter().flat_map(lag::warnings));
    warnings.extend(topics::warnings(&topics));
    let odd = |one: &OddTimestamps| one.sentences(&plan.flows[one.flow].name, &plan.topics[one.topic].name);
    warnings.extend(record.timestamps.iter().flat_map(odd));
    let channels = requests::channels(plan, &record.channels);
    warnings.extend(requests::silent(&channels, &flows));
    let data = data::results(plan, &record.data);
    warnings.extend(data.iter().filter_map(data::warning));
    let honesty = Honesty {
        limited_by: limit_of(
            &flows,
            &plan.subject(),
            Busyness { cpu_use, machine: record.machine_busy, others: others_busy },
            &throttle,
            facts.cluster.brokers.len(),
        ),
        cpu_s,
        cpu_ns_per_message: (moved > 0).then(|| record.cpu_ns as f64 / moved as f64),
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
    let mut others = data::reasons(plan, &flows, &data, &record.data);
    others.extend(topics::reasons(&topics, record.ended.as_ref()));
    let outcome = outcome(plan, &flows, others, record.ended, record.load.as_secs_f64());
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
        lag,
        topics,
        channels,
        honesty,
        settings: plan.settings.iter().map(setting_line).collect(),
        warnings,
    }
}

fn setting_line(setting: &crate::plan::Setting) -> SettingLine {
    SettingLine { path: setting.path(), value: setting.value.clone(), origin: setting.origin.to_string() }
}

pub(super) fn texts(list: Vec<(String, u64)>) -> Vec<TextCount> {
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

fn outcome(plan: &Plan, flows: &[FlowResult], others: Vec<String>, ended: Option<Ended>, load_s: f64) -> Outcome {
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
    reasons.extend(others);
    let interrupted = ended == Some(Ended::Interrupted);
    let (verdict, exit_code) = match (interrupted, reasons.is_empty()) {
        (true, _) => ("interrupted", 130),
        (false, false) => ("failed", 1),
        (false, true) => ("passed", 0),
    };
    Outcome { verdict, exit_code, reasons, interrupted_at_s: interrupted.then_some(load_s) }
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
    subject: &[bool],
    busy: Busyness,
    throttle: &BTreeMap<i32, BrokerThrottle>,
    brokers: usize,
) -> LimitedBy {
    let measured = || flows.iter().zip(subject).filter(|(_, is_about)| **is_about).map(|(flow, _)| flow);
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
