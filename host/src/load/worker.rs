//! A worker: a thread with an instance of the guest. Which iterations it runs, and when, is its flow's kind to say.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::draws::{hash, mix};
use super::flow::FlowRun;
use super::gate::Gate;
use super::shared::Shared;
use super::stop::Ended;
use super::worker_host::WorkerHost;
use crate::guest::{Batch, Compiled, GuestError, GuestLimits, Identity, Instance};
use crate::kafka::ConsumeError;

/// What a worker is made of.
pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) flow: Arc<FlowRun>,
    pub(super) compiled: Arc<Compiled<WorkerHost>>,
    pub(super) limits: GuestLimits,
    pub(super) traps_allowed: u32,
    pub(super) identity: Identity,
    /// The run's seed, mixed anew for each instance.
    pub(super) seed: u64,
}

/// What a worker does next.
pub(super) enum Next {
    /// Run `count` iterations from its `first`.
    Run { first: u64, count: u32 },
    /// Handle these records.
    Handle(Arc<Batch>),
    /// Nothing is due before then, in nanoseconds since the load's start.
    Wait(u64),
    /// Nothing is left to do.
    Done,
}

/// How far a worker is. Its own iterations, or records, count from 0.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) iterations: u64,
    pub(super) measured_iterations: u64,
    pub(super) measured_messages: u64,
}

/// What became of the call that a worker's rounds asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned<'a> {
    /// So many iterations ran; whether any of them failed, and which by their place in the call; whether by a trap.
    Ran { count: u64, failed: bool, failures: &'a [usize], trapped: bool },
    /// The run's end cut it short: it is no outcome.
    Cut,
}

/// How a kind of flow decides what a worker does, and when.
pub(super) trait Rounds {
    /// Gets ready for the load, once the guest is set up.
    fn prepare(&mut self, _worker: &Worker) -> Result<(), ConsumeError> {
        Ok(())
    }
    /// What there is to do until it is said when the flow begins.
    fn await_start(&mut self, _worker: &Worker, _gate: &Gate) {}
    /// The flow has begun.
    fn begin(&mut self, flow: &FlowRun);
    /// What to do next; for a call it puts a tag for each iteration into the host's.
    fn next(&mut self, worker: &Worker, done: &Done, host: &mut WorkerHost) -> Next;
    /// Sleeps until then, or less long.
    fn wait(&mut self, worker: &Worker, until_ns: u64, host: &mut WorkerHost);
    /// The call is over.
    fn returned(&mut self, worker: &Worker, call: Returned<'_>, host: &mut WorkerHost);
    /// The worker runs nothing more: counts what was due and never began. The host may be gone with its instance.
    fn leave(&mut self, worker: &Worker, done: &Done, host: Option<&WorkerHost>);
}

impl Worker {
    /// Makes and sets up the first instance, if it needs one.
    pub(super) fn set_up(&self, host: WorkerHost) -> Result<Player, GuestError> {
        if self.flow.calls_guest {
            self.instance(host, 0).map(Player::Guest)
        } else {
            Ok(Player::Nobody(Box::new(host)))
        }
    }

    fn instance(&self, mut host: WorkerHost, earlier: u64) -> Result<Instance<WorkerHost>, GuestError> {
        host.reset();
        let seed = mix(self.seed, &[hash(&self.identity.flow), self.identity.worker as u64, earlier]);
        let identity = Identity { seed, ..self.identity.clone() };
        let mut instance = self.compiled.instantiate(identity, self.limits, host)?;
        instance.setup()?;
        Ok(instance)
    }

    /// Runs until its work is done or the run ends.
    pub(super) fn run(&self, gate: &Gate, mut player: Player, rounds: &mut dyn Rounds) {
        sharpen_timers();
        rounds.await_start(self, gate);
        let begins = gate.wait(&self.shared.stop, || self.flow.is_too_late());
        player.host().begin_life();
        rounds.begin(&self.flow);
        let mut done = Done::default();
        let mut instances = 1;
        // a trapped instance can't be called again
        let mut broken = false;
        while begins && !self.flow.is_told_to_stop(&self.shared.stop) {
            match rounds.next(self, &done, player.host()) {
                Next::Done => break,
                Next::Wait(until_ns) => rounds.wait(self, until_ns, player.host()),
                next @ (Next::Run { .. } | Next::Handle(_)) => match self.call(&mut player, &mut done, rounds, &next) {
                    Then::GoOn => {}
                    Then::Leave => break,
                    Then::LeaveBroken => {
                        broken = true;
                        break;
                    }
                    Then::Replace => {
                        let mut host = player.into_host();
                        // were the new instance to fail, the host would be gone with it
                        host.tick(true);
                        match self.instance_again(host, instances) {
                            Some(new) => player = Player::Guest(new),
                            None => return rounds.leave(self, &done, None),
                        }
                        instances += 1;
                    }
                },
            }
            player.host().tick(false);
        }
        rounds.leave(self, &done, Some(player.host()));
        if !broken && !self.shared.stop.is_over() {
            player.host().tags.clear();
            self.tear_down(&mut player);
        }
        player.host().tick(true);
    }

    fn tear_down(&self, player: &mut Player) {
        let Player::Guest(instance) = player else { return };
        match instance.teardown() {
            Ok(()) | Err(GuestError::Stopped) => {}
            Err(error @ (GuestError::Failed(_) | GuestError::EndRun(_))) => {
                self.shared.stop.end_because(Ended::Failed(format!("in teardown: {error} ({})", self.who())));
            }
            Err(error) => {
                self.trapped(&error);
            }
        }
    }

    /// A new instance after a trap; none when it can't be set up either.
    fn instance_again(&self, host: WorkerHost, earlier: u64) -> Option<Instance<WorkerHost>> {
        match self.instance(host, earlier) {
            Ok(instance) => Some(instance),
            Err(error) => {
                self.note(&error);
                let text = format!("a new instance after a trap can't be set up: {error}");
                self.shared.stop.end_because(Ended::Failed(text));
                None
            }
        }
    }

    /// One call of the guest's `iterate` or `handle`, and its account.
    fn call(&self, player: &mut Player, done: &mut Done, rounds: &mut dyn Rounds, what: &Next) -> Then {
        let Player::Guest(instance) = player else { return Then::GoOn };
        let (count, (result, spent)) = match what {
            Next::Run { first, count } => (*count, instance.iterate(*first, *count)),
            Next::Handle(batch) => (batch.records.len() as u32, instance.handle(batch)),
            Next::Wait(_) | Next::Done => return Then::GoOn,
        };
        let host = instance.host();
        let messages = host.take_messages();
        let is_short = matches!(&result, Ok(answer) if answer.ran < count);
        // a guest that waits for deliveries is told by their codes
        let told_to_end = host.take_told_to_end() || (is_short && self.shared.stop.is_over());
        let (ran, failed) = match &result {
            // the run is ending, and the guest has been told or stopped: what it says is no outcome
            Ok(_) if told_to_end => (0, Vec::new()),
            Err(GuestError::Stopped | GuestError::EndRun(_)) => (0, Vec::new()),
            Ok(answer) => (answer.ran as usize, answer.failed.clone()),
            Err(_) => (count as usize, (0..count as usize).collect()),
        };
        let is_measured = |at: &usize| !host.tags[*at].is_warm_up();
        let measured = (0..ran).filter(is_measured).count() as u64;
        let failed_measured = failed.iter().copied().filter(is_measured).count() as u64;
        done.iterations += ran as u64;
        done.measured_iterations += measured;
        // a call that holds warm-up and measured iterations counts its messages in proportion
        done.measured_messages += if ran == 0 { 0 } else { messages * measured / ran as u64 };
        let now = &mut host.now;
        now.guest_cpu_ns += spent.guest_cpu_ns;
        now.all_iterations += ran as u64;
        now.all_iterations_failed += failed.len() as u64;
        now.iterations += measured;
        now.iterations_failed += failed_measured;
        if measured > 0 {
            now.last_iteration_us = self.shared.clock.now_us();
        }
        let returned = match &result {
            Ok(_) if told_to_end => Returned::Cut,
            Err(GuestError::Stopped | GuestError::EndRun(_)) => Returned::Cut,
            _ => {
                let trapped = !matches!(&result, Ok(_) | Err(GuestError::Failed(_)));
                Returned::Ran { count: ran as u64, failed: !failed.is_empty(), failures: &failed, trapped }
            }
        };
        rounds.returned(self, returned, host);
        match result {
            Ok(answer) => {
                answer.texts.iter().for_each(|text| self.flow.failed_texts.add(text));
                if answer.ran == count || told_to_end {
                    return Then::GoOn;
                }
                self.flow.exhausted.store(true, Relaxed);
                Then::Leave
            }
            Err(GuestError::Failed(text)) => {
                self.flow.failed_texts.add(&text);
                Then::GoOn
            }
            Err(GuestError::Stopped) => Then::LeaveBroken,
            Err(error @ GuestError::EndRun(_)) => {
                self.shared.stop.end_because(Ended::Failed(format!("{error} ({})", self.who())));
                Then::LeaveBroken
            }
            Err(error) if self.trapped(&error) => Then::Replace,
            Err(_) => Then::LeaveBroken,
        }
    }

    /// Counts a trap; answers whether the run survives it.
    fn trapped(&self, error: &GuestError) -> bool {
        let survives = self.note(error) <= self.traps_allowed;
        if !survives {
            let allowed = match self.traps_allowed {
                0 => "no trap is allowed (limits.traps = 0)".to_owned(),
                n => format!("more than the {n} traps that limits.traps allows"),
            };
            self.shared.stop.end_because(Ended::Failed(format!("{error} ({}); {allowed}", self.who())));
        }
        survives
    }

    /// Counts a trap; answers how many there have been.
    fn note(&self, error: &GuestError) -> u32 {
        let traps = &self.shared.traps;
        if matches!(error, GuestError::Overrun { .. }) {
            traps.overruns.fetch_add(1, Relaxed);
        }
        traps.texts.add(&format!("{error} (flow `{}`)", self.identity.flow));
        traps.count.fetch_add(1, Relaxed) + 1
    }

    fn who(&self) -> String {
        format!("flow `{}`, worker {}", self.identity.flow, self.identity.worker)
    }
}

/// What a worker calls.
pub(super) enum Player {
    /// An instance of the guest.
    Guest(Instance<WorkerHost>),
    /// Nothing: records are counted without it.
    Nobody(Box<WorkerHost>),
}

impl Player {
    fn host(&mut self) -> &mut WorkerHost {
        match self {
            Player::Guest(instance) => instance.host(),
            Player::Nobody(host) => host,
        }
    }

    fn into_host(self) -> WorkerHost {
        match self {
            Player::Guest(instance) => instance.into_host(),
            Player::Nobody(host) => *host,
        }
    }
}

/// What follows a call.
enum Then {
    GoOn,
    /// The worker has nothing left to do.
    Leave,
    /// The same, and its instance can't be called again.
    LeaveBroken,
    /// With a new instance.
    Replace,
}

/// Sleeps end when they are asked to, not up to 50 µs later.
fn sharpen_timers() {
    // SAFETY: it only changes this thread's timer slack, to 1 ns.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
