//! A stream's worker: a thread with an instance of the guest, which runs the iterations that are due.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::flow::FlowRun;
use super::shared::Shared;
use super::stop::Ended;
use super::stream_host::StreamHost;
use crate::guest::{Compiled, GuestError, GuestLimits, Identity, Instance};
use crate::measure::{Measure, Tag};

/// How long a worker sleeps before it asks again whether the run is ending.
const SLICE_NS: u64 = 50_000_000;
/// The shortest sleep: at high rates a few iterations then share one waking and one call. It bounds lateness, too.
const NAP_NS: u64 = 50_000;

/// Where workers wait until all are set up.
#[derive(Debug, Default)]
pub(super) struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub(super) fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_while(open, |open| !*open).unwrap_or_else(PoisonError::into_inner));
    }
}

/// What a worker is made of.
pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) flow: Arc<FlowRun>,
    pub(super) compiled: Arc<Compiled<StreamHost>>,
    pub(super) limits: GuestLimits,
    pub(super) traps_allowed: u32,
    pub(super) identity: Identity,
    /// The run's seed, mixed anew for each instance.
    pub(super) seed: u64,
    /// Iterations of this worker before the measured ones, where that is known by number.
    pub(super) warm_up_share: u64,
    /// Measured iterations that it runs at most.
    pub(super) iterations_share: Option<u64>,
    /// Measured messages that it sends at most.
    pub(super) messages_share: Option<u64>,
}

/// What a worker does next.
enum Next {
    /// Run `count` iterations from its `first`.
    Run { first: u64, count: u32 },
    /// Nothing is due before then, in nanoseconds since the load's start.
    Wait(u64),
    /// Nothing is left to do.
    Done,
}

/// How far a worker is. Its own iterations count from 0: number `j` is `worker + j * workers` of the flow's.
#[derive(Debug, Default)]
struct Done {
    iterations: u64,
    measured_iterations: u64,
    measured_messages: u64,
}

impl Worker {
    /// Makes and sets up the first instance.
    pub(super) fn set_up(&self, host: StreamHost) -> Result<Instance<StreamHost>, GuestError> {
        self.instance(host, 0)
    }

    fn instance(&self, mut host: StreamHost, earlier: u64) -> Result<Instance<StreamHost>, GuestError> {
        host.reset();
        let seed = mix(self.seed, &[hash(&self.identity.flow), self.identity.worker as u64, earlier]);
        let identity = Identity { seed, ..self.identity.clone() };
        let mut instance = self.compiled.instantiate(identity, self.limits, host)?;
        instance.setup()?;
        Ok(instance)
    }

    /// Runs until its work is done or the run ends.
    pub(super) fn run(&self, gate: &Gate, mut instance: Instance<StreamHost>) {
        sharpen_timers();
        gate.wait();
        instance.host().begin_life();
        let mut done = Done::default();
        let mut instances = 1;
        // a trapped instance can't be called again
        let mut broken = false;
        while !self.shared.stop.is_ending() {
            match self.next(&done, instance.host()) {
                Next::Done => break,
                Next::Wait(until_ns) => self.sleep(until_ns, instance.host()),
                Next::Run { first, count } => match self.call(&mut instance, &mut done, first, count) {
                    Then::GoOn => {}
                    Then::Leave => break,
                    Then::LeaveBroken => {
                        broken = true;
                        break;
                    }
                    Then::Replace => {
                        let mut host = instance.into_host();
                        // were the new instance to fail, the host would be gone with it
                        host.tick(true);
                        match self.instance_again(host, instances) {
                            Some(new) => instance = new,
                            None => return self.count_missed(&done),
                        }
                        instances += 1;
                    }
                },
            }
            instance.host().tick(false);
        }
        self.count_missed(&done);
        if !broken && !self.shared.stop.is_over() {
            instance.host().tags.clear();
            self.tear_down(&mut instance);
        }
        instance.host().tick(true);
    }

    fn tear_down(&self, instance: &mut Instance<StreamHost>) {
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
    fn instance_again(&self, host: StreamHost, earlier: u64) -> Option<Instance<StreamHost>> {
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

    fn next(&self, done: &Done, host: &mut StreamHost) -> Next {
        let Some(most) = self.left(done) else { return Next::Done };
        let now_ns = self.shared.clock.now_ns();
        host.tags.clear();
        if !self.flow.schedule.is_paced() {
            if self.flow.end_ns().is_some_and(|end| now_ns >= end) {
                return Next::Done;
            }
            for j in 0..most as u64 {
                let warm_up = self.flow.is_warm_up(self.number(done.iterations + j), now_ns);
                if !warm_up {
                    self.flow.measured_at(now_ns);
                }
                host.tags.push(Tag::at(now_ns / 1_000, warm_up));
            }
            return Next::Run { first: done.iterations, count: most };
        }
        let end_ns = self.flow.end_ns();
        if self.flow.catch_up_until_ns().is_some_and(|until| now_ns >= until) {
            return Next::Done;
        }
        while (host.tags.len() as u32) < most {
            let number = self.number(done.iterations + host.tags.len() as u64);
            let due_ns = self.flow.schedule.due_ns(number).filter(|due| end_ns.is_none_or(|end| *due < end));
            let none_yet = host.tags.is_empty();
            match due_ns {
                None if none_yet => return Next::Done,
                Some(due_ns) if due_ns > now_ns && none_yet => return Next::Wait(due_ns),
                Some(due_ns) if due_ns <= now_ns => {
                    let tag = Tag::at(due_ns / 1_000, self.flow.is_warm_up(number, due_ns));
                    if !tag.is_warm_up() {
                        let late_us = (now_ns - due_ns) / 1_000;
                        host.now.operations.of(self.flow.index as u32).good(Measure::Lateness, late_us);
                    }
                    host.tags.push(tag);
                }
                _ => break,
            }
        }
        Next::Run { first: done.iterations, count: host.tags.len() as u32 }
    }

    fn number(&self, own: u64) -> u64 {
        self.identity.worker as u64 + own * self.flow.stream.threads as u64
    }

    /// The most iterations that the next call may run; none when the worker has done its share.
    fn left(&self, done: &Done) -> Option<u32> {
        let warm_up = self.warm_up_share.saturating_sub(done.iterations);
        let mut left = self.flow.stream.batch as u64;
        if let Some(share) = self.iterations_share {
            left = left.min(warm_up + share.saturating_sub(done.measured_iterations));
        }
        if let Some(share) = self.messages_share {
            let messages = share.saturating_sub(done.measured_messages);
            // an iteration may send several messages: no more iterations than have brought that many so far
            let per_iteration = done.measured_messages.div_ceil(done.measured_iterations.max(1)).max(1);
            left = left.min(warm_up + messages.div_ceil(per_iteration));
        }
        (left > 0).then_some(left as u32)
    }

    fn sleep(&self, until_ns: u64, host: &mut StreamHost) {
        let now_ns = self.shared.clock.now_ns();
        let nanos = until_ns.saturating_sub(now_ns).clamp(NAP_NS, SLICE_NS);
        std::thread::sleep(Duration::from_nanos(nanos));
        host.now.idle_ns += self.shared.clock.now_ns() - now_ns;
    }

    /// One call of the guest's `iterate`, and its account.
    fn call(&self, instance: &mut Instance<StreamHost>, done: &mut Done, first: u64, count: u32) -> Then {
        let (result, spent) = instance.iterate(first, count);
        let host = instance.host();
        let messages = host.take_messages();
        let told_to_end = host.take_told_to_end();
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

    /// Iterations that were due before the end, or before an early end, and never began. A worker whose guest has
    /// nothing left to do, or that has sent its share of messages, leaves none behind.
    fn count_missed(&self, done: &Done) {
        let sent_all = self.messages_share.is_some_and(|share| done.measured_messages >= share);
        if !self.flow.schedule.is_paced() || sent_all || self.flow.exhausted.load(Relaxed) {
            return;
        }
        let now_ns = self.shared.clock.now_ns();
        let until_ns = self.flow.end_ns().map_or(now_ns, |end| end.min(now_ns));
        let Some(due) = self.flow.schedule.count_within(until_ns) else { return };
        let mine = self.flow.share(due, self.identity.worker);
        let most = self.iterations_share.map_or(u64::MAX, |share| share + self.warm_up_share);
        self.flow.missed.fetch_add(mine.min(most).saturating_sub(done.iterations), Relaxed);
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

/// FNV-1a, 64 bits.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3))
}

/// splitmix64 over the parts: close seeds give far ones.
pub(super) fn mix(seed: u64, parts: &[u64]) -> u64 {
    parts.iter().fold(seed, |state, part| {
        let mut z = (state ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_of_workers_and_instances_differ() {
        let seeds: std::collections::HashSet<u64> = (0..100)
            .flat_map(|worker| (0..3).map(move |instance| mix(0, &[hash("write"), worker, instance])))
            .collect();
        assert_eq!(seeds.len(), 300);
        assert_eq!(mix(7, &[1, 2]), mix(7, &[1, 2]));
    }
}
