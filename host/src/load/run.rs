//! A run's phases: set-up, load, drain. Everything that was measured comes back, however the run ends.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::time::Instant;

use thiserror::Error;

use super::active::time_to_wake;
use super::counters::Registry;
use super::data::Data;
use super::lag;
use super::log::Log;
use super::operations::Operations;
use super::order::Order;
use super::prefetch;
use super::record::{FlowRecord, RunRecord};
use super::replies;
use super::shared::{Bodies, Shared, Traps};
use super::start::{await_readiness, leave_groups, start_flow, start_workers};
use super::stop::Stop;
use super::timestamps::Timestamps;
use super::topics::Topics;
use super::watch::{Observer, Watch};
use super::worker_host::WorkerHost;
use crate::data::DataSet;
use crate::guest::{Compiled, GuestError};
use crate::kafka::{Client, ClientError, Cluster, ConsumeError, Ids, LagError, PartitionCounts, Reach, ReadersError};
use crate::measure::{Busy, Collector, FlowTotals, Room, RunClock, process_cpu_ns};
use crate::plan::Plan;

/// What a run is made of.
pub struct Running<'a> {
    /// What to run.
    pub plan: &'a Plan,
    /// The guest.
    pub compiled: Arc<Compiled<WorkerHost>>,
    /// The cluster, as the preflight saw it.
    pub cluster: &'a Cluster,
    /// The way to the brokers.
    pub reach: &'a Reach,
    /// Whether the broker is khost's own.
    pub embedded: bool,
    /// Differs in every run.
    pub run_id: u64,
    /// Processors that khost may use.
    pub processors: u32,
    /// How often somebody asked for the end: 1 drains, 2 gives up.
    pub interrupts: &'a dyn Fn() -> usize,
}

/// Why a load did not start.
#[derive(Debug, Error)]
pub enum RunError {
    /// The guest's `setup` failed.
    #[error("setting up flow `{flow}` failed: {error}")]
    Setup {
        /// Which flow.
        flow: String,
        /// What the guest did.
        error: GuestError,
    },
    /// A consumer can't read.
    #[error("flow `{flow}`: {error}")]
    Consumer {
        /// Which flow.
        flow: String,
        /// What is in the way.
        error: ConsumeError,
    },
    /// A bug of khost's.
    #[error("a worker's thread ended while it was set up")]
    Worker,
    /// Somebody ended it.
    #[error("interrupted before the load began")]
    Interrupted,
    /// A client can't be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Replies can't be read.
    #[error(transparent)]
    Readers(#[from] ReadersError),
    /// The lag of groups can't be told.
    #[error(transparent)]
    Lag(#[from] LagError),
    /// The system has no more threads.
    #[error("a thread can't be started: {0}")]
    Thread(#[from] std::io::Error),
}

impl RunError {
    /// What to do next.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            RunError::Setup { .. } => {
                Some("mend the scenario, or the parameter or topic that it asks for; --dry-run shows what it gets")
            }
            RunError::Client(_)
            | RunError::Consumer { error: ConsumeError::Client(_), .. }
            | RunError::Lag(LagError::Client(_)) => Some("correct the setting in [kafka], [flows.NAME.kafka] or -X"),
            RunError::Consumer { error: ConsumeError::Group { .. }, .. } => Some(
                "a group waits for members that went away without a word, for up to session.timeout.ms (45 s) or max.poll.interval.ms: try again then, or set flows.NAME.group to another name",
            ),
            RunError::Consumer { .. } => Some("khost check says whether the topics are fit to be read"),
            RunError::Readers(error) => Some(error.hint()),
            RunError::Thread(_) | RunError::Lag(LagError::Thread(_)) => {
                Some("lower threads or users, or raise the limit of processes and threads (ulimit -u)")
            }
            RunError::Worker => Some("this is a bug in khost: its message is above"),
            RunError::Interrupted => None,
        }
    }
}

/// Runs the plan, with its data sets in its order.
///
/// # Errors
/// Only what keeps the load from starting. What happens later is in the record.
pub fn run(running: &Running<'_>, data: Vec<DataSet>, observer: &mut dyn Observer) -> Result<RunRecord, RunError> {
    let plan = running.plan;
    let clock = RunClock::default();
    let (lines, log_lines) = channel();
    let (samples, collector) = Collector::start(plan.subject());
    let ids = Arc::new(Ids::new(running.run_id));
    let shared = Arc::new(Shared {
        run_id: running.run_id,
        clock: clock.clone(),
        stop: Stop::default(),
        topics: plan.topics.clone(),
        partitions: PartitionCounts::new(running.cluster.topics.iter().map(|topic| topic.partitions)),
        operations: Operations::new(plan.flows.iter().map(|flow| flow.name.as_str())),
        counters: Registry::default(),
        checks: Registry::default(),
        bodies: Bodies::default(),
        data: Data::new(plan, data),
        lines: replies::lines(running, &ids, &clock, &samples),
        ids,
        log: Log::new(lines),
        traps: Traps::default(),
        timestamps: Timestamps::new(plan.flows.len(), plan.topics.len()),
    });
    let topics = Topics::watch(running, &shared)?;
    let readers = replies::start(running, &shared)?;
    let mut flows = Vec::new();
    for index in 0..plan.flows.len() {
        flows.push(start_flow(running, index, &shared, &samples)?);
    }
    for (live, prefetch) in flows.iter_mut().zip(prefetch::of_flows(running, Room::read().memory_bytes)) {
        prefetch.and_then(|prefetch| prefetch.notice(&live.flow.name)).iter().for_each(|text| observer.say(text));
        live.prefetch = prefetch;
    }
    let (ready, readiness) = channel();
    for live in &mut flows {
        start_workers(running, live, &shared, &samples, &ready)?;
    }
    drop(ready);
    drop(samples);
    let lag = lag::start(running, &flows, &clock)?;
    let workers = flows.iter().map(|live| live.workers.len()).sum();
    if let Err(error) = await_readiness(&readiness, workers, running, observer, &log_lines) {
        leave_groups(&mut flows, &shared.stop);
        return Err(error);
    }

    let busy = Busy::now();
    let cpu = process_cpu_ns();
    let began = Instant::now() + time_to_wake(workers);
    clock.start(began);
    lag.iter().for_each(|watch| watch.begin(began));
    let order = Order::start(&mut flows, plan.run.warm_up, began);
    for live in &mut flows {
        live.later_sender = None;
    }
    let mut watch = Watch {
        running,
        observer,
        shared: &shared,
        collector: &collector,
        log_lines: &log_lines,
        began,
        told: began,
        ending_ns: None,
        order,
        flows: &mut flows,
    };
    let over_by = watch.load();
    let ending_ns = watch.ending_ns;
    let load = began.elapsed();
    let load_cpu_ns = process_cpu_ns() - cpu;
    let ended_early = shared.stop.why().is_some();
    let machine_busy = Busy::now().share_since(&busy);
    watch.drain(over_by);
    let cpu_ns = process_cpu_ns() - cpu;
    let drain = began.elapsed() - load;
    let throttled_s = Busy::now().throttled_since(&busy);

    let lag = lag.map_or_else(Vec::new, |watch| watch.finish(lag::last_takes(&shared.stop)));
    let topics = topics.finish(began);
    readers.close();
    let mut records = Vec::new();
    for live in flows {
        live.later.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        live.clients.iter().for_each(|client| client.close());
        let flow = &live.flow;
        if let Some(recorders) = &flow.recorders {
            recorders.finish();
        }
        // what was due in an open load until its end, or until an early one, and what nobody took
        let load_ns = ending_ns.unwrap_or(u64::MAX).min(load.as_nanos() as u64);
        let until_ns = flow.end_ns().map_or(load_ns, |end| end.min(load_ns));
        let began_ns = Some(flow.began_ns()).filter(|at| !live.never_began && *at < load_ns);
        let open = flow.turns.as_ref().filter(|_| flow.schedule.is_paced() && !flow.exhausted.load(Relaxed));
        let left_behind = open.map_or(0, |turns| turns.left_behind(flow, until_ns));
        records.push(FlowRecord {
            totals: FlowTotals::default(),
            wire: live.wire.figures(),
            client_settings: live.clients[0].settings(),
            began_ns,
            consumer_settings: live.consumer_settings,
            prefetch: live.prefetch,
            readers: flow.readers.as_ref().map(|readers| readers.record()),
            window_start_ns: live.flow.window_start_ns(),
            end_ns: live.flow.end_ns(),
            missed: live.flow.missed.load(Relaxed) + left_behind,
            cut: 0,
            exhausted: live.flow.exhausted.load(Relaxed),
            delayed_dropped: live.flow.delayed_dropped.load(Relaxed),
            failed_texts: live.flow.failed_texts.list(),
        });
        retire(live.clients, shared.clone());
    }
    for (index, (record, mut totals)) in records.iter_mut().zip(collector.finish().flows).enumerate() {
        totals.book_silent(index as u32);
        record.cut = totals.cut;
        record.totals = totals;
    }
    log_lines.try_iter().for_each(|line| observer.log(&line));
    Ok(RunRecord {
        flows: records,
        operations: shared.operations.list(),
        counters: shared.counters.counters(),
        checks: shared.checks.checks(),
        data: shared.data.figures(),
        topics,
        channels: shared.lines.iter().map(|line| line.book.counts()).collect(),
        ended: shared.stop.why(),
        ended_early_ns: ending_ns.filter(|_| ended_early),
        load,
        load_cpu_ns,
        drain,
        cpu_ns,
        machine_busy,
        throttled_s,
        traps: shared.traps.count.load(Relaxed),
        overruns: shared.traps.overruns.load(Relaxed),
        trap_texts: shared.traps.texts.list(),
        timestamps: shared.timestamps.list(),
        log_lines_dropped: shared.log.dropped(),
        lag,
        complaints: running.reach.complaints().into_iter().collect(),
    })
}

/// Ends clients away from the run's path, as an unreachable broker makes that slow. Bodies that messages refer to live as long as the clients.
fn retire(clients: Vec<Arc<Client>>, shared: Arc<Shared>) {
    let end = move || {
        drop(clients);
        drop(shared);
    };
    // without a thread for it, the closure is dropped here, and does the same
    let _ = std::thread::Builder::new().name("khost-retire".into()).spawn(end);
}
