//! A run's phases: set-up, load, drain. Everything that was measured comes back, however the run ends.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::active::{ActiveFlow, time_to_wake};
use super::consume::{Reader, Readers};
use super::counters::Registry;
use super::data::Data;
use super::flow::FlowRun;
use super::later;
use super::log::{Log, LogLine};
use super::operations::Operations;
use super::order::Order;
use super::record::{FlowRecord, RunRecord};
use super::recorders::Recorders;
use super::replies;
use super::session::User;
use super::shared::{Bodies, Shared, Traps};
use super::stop::Stop;
use super::stream::StreamRounds;
use super::watch::{LOOK, Observer, Watch};
use super::worker::{Done, Rounds, Worker};
use super::worker_host::WorkerHost;
use crate::data::DataSet;
use crate::guest::{Compiled, GuestError, GuestLimits, Identity, WORKER_STACK_BYTES};
use crate::kafka::{
    Client, ClientError, ClientSettings, ClientSetup, Cluster, ConsumeError, Consumer, ConsumerSetup, Group, Ids, Lane,
    Reach, ReadersError, Wire,
};
use crate::measure::{Busy, Collector, FlowTotals, RunClock, Sample, process_cpu_ns};
use crate::plan::{Consume, Flow, FlowKind, Plan, WarmUp, for_consumers, for_producers};

/// A set-up that takes longer is told of, again and again.
const LONG_SETUP: Duration = Duration::from_secs(2);

/// How long consumers may take to leave their groups after a load that did not start.
const LEAVING: Duration = Duration::from_secs(3);

/// How old a client's picture of its topics may get, where nobody says: partitions that are added are used within seconds.
/// librdkafka's default, and Java's, is five minutes.
const METADATA_REFRESH_MS: &str = "3000";

/// What consumers get on the embedded broker, where nobody says otherwise. It answers a fetch that finds nothing after the whole
/// wait, whatever comes meanwhile; and when a member joins later than others, it waits for nearly the session timeout.
const ON_EMBEDDED: [(&str, &str); 3] =
    [("fetch.wait.max.ms", "1"), ("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "500")];

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
            RunError::Client(_) | RunError::Consumer { error: ConsumeError::Client(_), .. } => {
                Some("correct the setting in [kafka], [flows.NAME.kafka] or -X")
            }
            RunError::Consumer { error: ConsumeError::Group { .. }, .. } => Some(
                "a group waits for members that went away without a word, for up to session.timeout.ms (45 s) or max.poll.interval.ms: try again then, or set flows.NAME.group to another name",
            ),
            RunError::Consumer { .. } => Some("khost check says whether the topics are fit to be read"),
            RunError::Readers(error) => Some(error.hint()),
            RunError::Thread(_) => {
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
    let (samples, collector) = Collector::start(told(plan));
    let ids = Arc::new(Ids::new(running.run_id));
    let shared = Arc::new(Shared {
        clock: clock.clone(),
        stop: Stop::default(),
        topics: plan.topics.clone(),
        operations: Operations::new(plan.flows.iter().map(|flow| flow.name.as_str())),
        counters: Registry::default(),
        checks: Registry::default(),
        bodies: Bodies::default(),
        data: Data::new(plan, data),
        lines: replies::lines(running, &ids, &clock, &samples),
        ids,
        log: Log::new(lines),
        traps: Traps::default(),
    });
    let readers = replies::start(running, &shared)?;
    let mut flows = Vec::new();
    for index in 0..plan.flows.len() {
        flows.push(start_flow(running, index, &shared, &samples)?);
    }
    let (ready, readiness) = channel();
    for live in &mut flows {
        start_workers(running, live, &shared, &samples, &ready)?;
    }
    drop(ready);
    drop(samples);
    let workers = flows.iter().map(|live| live.workers.len()).sum();
    if let Err(error) = await_readiness(&readiness, workers, running, observer, &log_lines) {
        leave_groups(&mut flows, &shared.stop);
        return Err(error);
    }

    let busy = Busy::now();
    let cpu = process_cpu_ns();
    let began = Instant::now() + time_to_wake(workers);
    clock.start(began);
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
        log_lines_dropped: shared.log.dropped(),
        complaints: running.reach.complaints().into_iter().collect(),
    })
}

fn start_flow(
    running: &Running<'_>,
    index: usize,
    shared: &Arc<Shared>,
    samples: &Sender<Sample>,
) -> Result<ActiveFlow, RunError> {
    let plan = running.plan;
    let planned = &plan.flows[index];
    let warm_up = if planned.after.is_some() { WarmUp::None } else { plan.run.warm_up };
    let mut flow = FlowRun::new(index, &planned.name, &planned.kind, &planned.end, warm_up, plan.seed);
    if planned.after.is_some() {
        flow = flow.that_waits();
    }
    if let FlowKind::Session(session) = &planned.kind {
        let clock = shared.clock.clone();
        flow.recorders = Some(Recorders::new(index, session.users, running.processors, clock, samples));
    }
    if let FlowKind::Consume(consume) = &planned.kind {
        let topics = consume.topics.iter().map(|at| (*at, plan.topics[*at].name.clone()));
        let group = Group::new(&consume.group, consume.from, consume.workers, topics, &partitions(running.cluster));
        flow.readers = Some(Arc::new(Readers::new(group, consume.workers)));
    }
    let flow = Arc::new(flow);
    let settings = client_settings(running, index, for_producers);
    let topics: Vec<_> =
        plan.topics.iter().enumerate().filter(|(_, t)| t.produce).map(|(at, t)| (at, t.name.clone())).collect();
    let partitions = partitions(running.cluster);
    let wire = Arc::new(Wire::default());
    let mut clients = Vec::new();
    for _ in 0..planned.kind.clients() {
        clients.push(Client::new(ClientSetup {
            reach: running.reach,
            settings: &settings,
            topics: &topics,
            partitions: &partitions,
            flow: index,
            paced: flow.is_timed(),
            clock: shared.clock.clone(),
            samples: samples.clone(),
            wire: wire.clone(),
        })?);
    }
    let lane = Lane::new(clients[0].clone(), needs_key(running.cluster));
    let (later_sender, later) = later::start(shared.clone(), flow.clone(), lane, samples.clone());
    Ok(ActiveFlow {
        flow,
        gate: Arc::default(),
        workers: Vec::new(),
        waits_for: planned.after,
        never_began: false,
        ends_run: planned.ends_run,
        clients,
        wire,
        later,
        later_sender: Some(later_sender),
        consumer_settings: ClientSettings::new(),
    })
}

/// What a flow's clients of one kind are made of.
fn client_settings(running: &Running<'_>, index: usize, is_its: fn(&str) -> bool) -> ClientSettings {
    let planned = &running.plan.flows[index];
    let mut settings = ClientSettings::from([
        ("client.id".into(), format!("khost-{}", planned.name)),
        ("topic.metadata.refresh.interval.ms".into(), METADATA_REFRESH_MS.into()),
    ]);
    let given = running.reach.client_settings().iter().chain(&planned.kafka).filter(|(name, _)| is_its(name));
    settings.extend(given.map(|(name, value)| (name.clone(), value.clone())));
    settings
}

/// Which flows the progress line is about: those that the run is about, and an application that it plays only where there is
/// nothing else.
fn told(plan: &Plan) -> Vec<bool> {
    let reads = |flow: &Flow| matches!(flow.kind, FlowKind::Consume(_));
    let only_reads = plan.flows.iter().all(reads);
    let is_told = |flow: &Flow| flow.measured && (only_reads || !reads(flow));
    let told: Vec<bool> = plan.flows.iter().map(is_told).collect();
    if told.contains(&true) { told } else { vec![true; told.len()] }
}

fn partitions(cluster: &Cluster) -> Vec<u32> {
    cluster.topics.iter().map(|topic| topic.partitions).collect()
}

fn new_consumer(
    running: &Running<'_>,
    live: &ActiveFlow,
    consume: &Consume,
    member: u32,
    clock: RunClock,
) -> Result<Consumer, ConsumeError> {
    let mut settings = client_settings(running, live.flow.index, for_consumers);
    if running.embedded {
        let classic = settings.get("group.protocol").is_none_or(|protocol| protocol != "consumer");
        for (name, value) in ON_EMBEDDED.into_iter().filter(|(name, _)| classic || name.starts_with("fetch.")) {
            settings.entry(name.into()).or_insert_with(|| value.into());
        }
    }
    let readers = live.flow.readers.as_ref().expect("a consume flow has them");
    Consumer::new(ConsumerSetup {
        reach: running.reach,
        settings,
        group: readers.group.clone(),
        member: member as usize,
        most: consume.max_records as usize,
        clock,
        wire: live.wire.clone(),
    })
}

fn needs_key(cluster: &Cluster) -> Vec<bool> {
    cluster.topics.iter().map(|topic| topic.is_compacted()).collect()
}

type Ready = (String, Result<(), NotReady>);

/// Why a worker is not ready for the load.
enum NotReady {
    Guest(GuestError),
    Consumer(ConsumeError),
}

fn start_workers(
    running: &Running<'_>,
    live: &mut ActiveFlow,
    shared: &Arc<Shared>,
    samples: &Sender<Sample>,
    ready: &Sender<Ready>,
) -> Result<(), RunError> {
    let plan = running.plan;
    let params = Arc::new(plan.params.clone());
    let kind = &plan.flows[live.flow.index].kind;
    for number in 0..kind.workers() {
        let worker = Worker {
            shared: shared.clone(),
            flow: live.flow.clone(),
            compiled: running.compiled.clone(),
            limits: GuestLimits {
                memory_bytes: plan.limits.memory_bytes,
                call_ns: plan.limits.call_time.as_nanos() as u64,
            },
            traps_allowed: plan.limits.traps,
            identity: Identity {
                flow: live.flow.name.clone(),
                worker: number,
                workers: kind.workers(),
                seed: 0,
                run_id: running.run_id,
                params: params.clone(),
            },
            seed: plan.seed,
        };
        let client = live.clients[number as usize % live.clients.len()].clone();
        let needs_key = needs_key(running.cluster);
        let (lane, mut rounds): (_, Box<dyn Rounds + Send>) = match kind {
            FlowKind::Stream(stream) => {
                (Lane::new(client, needs_key), Box::new(StreamRounds::new(&live.flow, number, stream.batch)))
            }
            FlowKind::Session(session) => {
                (Lane::small(client, needs_key), Box::new(User::new(&live.flow, session, number, plan.seed)))
            }
            FlowKind::Consume(consume) => {
                let consumer = new_consumer(running, live, consume, number, shared.clock.clone())
                    .map_err(|error| RunError::Consumer { flow: live.flow.name.clone(), error })?;
                live.consumer_settings = consumer.settings();
                let readers = live.flow.readers.as_ref().expect("a consume flow has them");
                let reader = Reader::new(readers, consumer, consume, plan.limits.memory_bytes);
                (Lane::new(client, needs_key), Box::new(reader))
            }
        };
        let later = live.later_sender.clone().expect("it is dropped once all workers have one");
        let host = WorkerHost::new(
            shared.clone(),
            live.flow.clone(),
            number,
            lane,
            samples.clone(),
            later,
            plan.limits.memory_bytes,
        );
        let (gate, ready) = (live.gate.clone(), ready.clone());
        let thread = std::thread::Builder::new()
            .stack_size(WORKER_STACK_BYTES)
            .name(format!("{}-{number}", live.flow.name))
            .spawn(move || {
                worker.shared.stop.enlist();
                let set_up = worker.set_up(host).map_err(NotReady::Guest);
                let set_up = set_up.and_then(|instance| {
                    rounds.prepare(&worker).map_err(NotReady::Consumer)?;
                    Ok(instance)
                });
                if set_up.is_err() {
                    rounds.leave(&worker, &Done::default(), None);
                }
                let (instance, answer) = match set_up {
                    Ok(instance) => (Some(instance), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                // it waits for every worker's word, so it is there
                let _ = ready.send((worker.identity.flow.clone(), answer));
                drop(ready);
                if let Some(instance) = instance {
                    worker.run(&gate, instance, rounds.as_mut());
                }
            })?;
        live.workers.push(thread);
    }
    Ok(())
}

/// Has consumers leave their groups before the process ends, or the next run of the group would wait for them.
fn leave_groups(flows: &mut [ActiveFlow], stop: &Stop) {
    stop.give_up();
    flows.iter_mut().for_each(ActiveFlow::send_away);
    let by = Instant::now() + LEAVING;
    let has_left = |live: &ActiveFlow| live.flow.readers.is_none() || live.has_ended();
    while !flows.iter().all(has_left) && Instant::now() < by {
        std::thread::sleep(LOOK);
    }
}

/// Waits until every worker is set up. After an error the threads are left behind: the process is about to end.
fn await_readiness(
    readiness: &Receiver<Ready>,
    workers: usize,
    running: &Running<'_>,
    observer: &mut dyn Observer,
    log_lines: &Receiver<LogLine>,
) -> Result<(), RunError> {
    let mut waiting = workers;
    let mut told = Instant::now();
    while waiting > 0 {
        if told.elapsed() >= LONG_SETUP {
            told = Instant::now();
            let joins = running.plan.flows.iter().any(|flow| matches!(flow.kind, FlowKind::Consume(_)));
            let joins = if joins { "; consumers wait until their group has dealt out the partitions" } else { "" };
            observer.say(&format!("setting up: {} of {workers} workers are ready{joins}", workers - waiting));
        }
        match readiness.recv_timeout(LOOK) {
            Ok((flow, Err(error))) => {
                log_lines.try_iter().for_each(|line| observer.log(&line));
                return Err(match error {
                    NotReady::Guest(error) => RunError::Setup { flow, error },
                    NotReady::Consumer(error) => RunError::Consumer { flow, error },
                });
            }
            Ok((_, Ok(()))) => waiting -= 1,
            Err(RecvTimeoutError::Timeout) if (running.interrupts)() > 0 => return Err(RunError::Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(RunError::Worker),
        }
        log_lines.try_iter().for_each(|line| observer.log(&line));
    }
    Ok(())
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
