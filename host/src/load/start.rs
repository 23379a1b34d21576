//! Makes a run's flows, their clients and their workers, and waits until each worker is ready.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::active::ActiveFlow;
use super::consume::Reader;
use super::flow::FlowRun;
use super::later;
use super::log::LogLine;
use super::readers::Readers;
use super::recorders::Recorders;
use super::run::{RunError, Running};
use super::session::User;
use super::shared::Shared;
use super::stop::Stop;
use super::stream::StreamRounds;
use super::watch::{LOOK, Observer};
use super::worker::{Done, Rounds, Worker};
use super::worker_host::WorkerHost;
use crate::guest::{GuestError, GuestLimits, Identity, WORKER_STACK_BYTES};
use crate::kafka::{
    Client, ClientSettings, ClientSetup, Cluster, ConsumeError, Consumer, ConsumerSetup, Group, GroupSetup, Lane,
    Stamper, Wire,
};
use crate::measure::Sample;
use crate::plan::{Consume, FlowKind, WarmUp, for_consumers, for_producers};

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

pub(super) type Ready = (String, Result<(), NotReady>);

/// Why a worker is not ready for the load.
pub(super) enum NotReady {
    Guest(GuestError),
    Consumer(ConsumeError),
}

pub(super) fn start_flow(
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
        let partitions = partitions(running.cluster);
        let group = |name: &String| {
            Group::new(GroupSetup {
                name: name.clone(),
                from: consume.from,
                dealer: consume.dealer,
                commit: consume.commit,
                instance_ids: consume.instance_ids.clone(),
                workers: consume.workers,
                topics: consume.topics.iter().map(|at| (*at, plan.topics[*at].name.clone())).collect(),
                partitions: &partitions,
                to_ends: planned.end.at_ends,
            })
        };
        flow.readers = Some(Arc::new(Readers::new(consume.groups.iter().map(group).collect(), consume.workers)));
    }
    let flow = Arc::new(flow);
    let settings = client_settings(running, index, for_producers);
    let topics: Vec<_> =
        plan.topics.iter().enumerate().filter(|(_, t)| t.produce).map(|(at, t)| (at, t.name.clone())).collect();
    let wire = Arc::new(Wire::default());
    let mut clients = Vec::new();
    for _ in 0..planned.kind.clients() {
        clients.push(Client::new(ClientSetup {
            reach: running.reach,
            settings: &settings,
            topics: &topics,
            partitions: shared.partitions.clone(),
            flow: index,
            paced: flow.is_timed(),
            clock: shared.clock.clone(),
            samples: samples.clone(),
            wire: wire.clone(),
        })?);
    }
    let lane = Lane::new(clients[0].clone(), needs_key(running.cluster)).stamping(stamper(running, &flow, shared));
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
        prefetch: None,
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

pub(super) fn partitions(cluster: &Cluster) -> Vec<u32> {
    cluster.topics.iter().map(|topic| topic.partitions).collect()
}

fn new_consumer(
    running: &Running<'_>,
    live: &ActiveFlow,
    consume: &Consume,
    worker: u32,
    shared: &Arc<Shared>,
) -> Result<Consumer, ConsumeError> {
    let mut settings = client_settings(running, live.flow.index, for_consumers);
    if running.embedded {
        let classic = settings.get("group.protocol").is_none_or(|protocol| protocol != "consumer");
        for (name, value) in ON_EMBEDDED.into_iter().filter(|(name, _)| classic || name.starts_with("fetch.")) {
            settings.entry(name.into()).or_insert_with(|| value.into());
        }
    }
    if let Some(prefetch) = &live.prefetch {
        settings.extend(prefetch.settings().into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    let readers = live.flow.readers.as_ref().expect("a consume flow has them");
    let (group, member) = readers.place(worker);
    let asked = shared.clone();
    Consumer::new(ConsumerSetup {
        reach: running.reach,
        settings,
        group: group.clone(),
        member,
        most: consume.max_records as usize,
        pause: consume.pause,
        clock: shared.clock.clone(),
        wire: live.wire.clone(),
        gives_up: Box::new(move || asked.stop.is_over()),
    })
}

/// What stamps a flow's messages, if they are.
fn stamper(running: &Running<'_>, flow: &FlowRun, shared: &Shared) -> Option<Stamper> {
    let (clock, run_id) = (shared.clock.clone(), running.run_id);
    running.plan.flows[flow.index].stamp.then(|| Stamper { clock, run_id, timed: flow.is_timed() })
}

fn needs_key(cluster: &Cluster) -> Vec<bool> {
    cluster.topics.iter().map(|topic| topic.is_compacted()).collect()
}

pub(super) fn start_workers(
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
                let consumer = new_consumer(running, live, consume, number, shared)
                    .map_err(|error| RunError::Consumer { flow: live.flow.name.clone(), error })?;
                live.consumer_settings = consumer.settings();
                let readers = live.flow.readers.as_ref().expect("a consume flow has them");
                let reader =
                    Reader::new(readers, number, consumer, consume, shared, live.flow.index, plan.limits.memory_bytes);
                (Lane::new(client, needs_key), Box::new(reader))
            }
        };
        let lane = lane.stamping(stamper(running, &live.flow, shared));
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
pub(super) fn leave_groups(flows: &mut [ActiveFlow], stop: &Stop) {
    stop.give_up();
    flows.iter_mut().for_each(ActiveFlow::send_away);
    let by = Instant::now() + LEAVING;
    let has_left = |live: &ActiveFlow| live.flow.readers.is_none() || live.has_ended();
    while !flows.iter().all(has_left) && Instant::now() < by {
        std::thread::sleep(LOOK);
    }
}

/// Waits until every worker is set up. After an error the threads are left behind: the process is about to end.
pub(super) fn await_readiness(
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
