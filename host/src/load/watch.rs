//! The thread that watches a run: signals, the end, the drain, and who is told of it.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::active::ActiveFlow;
use super::log::LogLine;
use super::order::Order;
use super::replies;
use super::run::Running;
use super::shared::Shared;
use super::stop::Ended;
use crate::measure::{Collector, Live};
use crate::plan::format_duration;

/// How often the run looks at signals and at its end.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(250);

/// Who is told while it runs.
pub trait Observer {
    /// A few times a second.
    fn progress(&mut self, progress: &Progress);
    /// A line of a guest.
    fn log(&mut self, line: &LogLine);
    /// Something that a person who waits should know.
    fn say(&mut self, text: &str);
}

/// How far a run is.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Since the load's start.
    pub elapsed: Duration,
    /// Whether the load is over and khost waits for what is on its way.
    pub draining: bool,
    /// What is worth telling of what ran: iterations where users go round, records where there are only consumers.
    pub rounds: Option<&'static str>,
    /// What was counted so far.
    pub live: Live,
    /// How much of it is done, from 0 to 1, as far as that can be said.
    pub share: Option<f64>,
}

/// The thread that watches the run.
pub(super) struct Watch<'a, 'o> {
    pub(super) running: &'a Running<'a>,
    pub(super) observer: &'o mut dyn Observer,
    pub(super) shared: &'a Shared,
    pub(super) collector: &'a Collector,
    pub(super) log_lines: &'a Receiver<LogLine>,
    pub(super) began: Instant,
    pub(super) told: Instant,
    /// When nothing new began any more, in nanoseconds since the load's start.
    pub(super) ending_ns: Option<u64>,
    pub(super) order: Order,
    pub(super) flows: &'a mut [ActiveFlow],
}

impl Watch<'_, '_> {
    /// Until all flows that end by themselves have ended; answers when the drain is over at the latest. Consumers beside them
    /// go on; those with an end of their own are waited for, unless the run is ending.
    pub(super) fn load(&mut self) -> Instant {
        let mut over_by: Option<Instant> = None;
        while self.flows.iter().any(|live| self.is_awaited(live)) {
            self.look(false);
            self.flows.iter_mut().for_each(ActiveFlow::join_finished);
            self.order.keep(self.flows, self.shared.clock.now_ns(), &self.shared.stop);
            let now = Instant::now();
            if self.is_past_the_end() {
                self.shared.stop.end();
            }
            if self.shared.stop.is_ending() {
                let by = *over_by.get_or_insert(now + self.running.plan.run.drain);
                self.ending_ns.get_or_insert(self.shared.clock.now_ns());
                if now >= by {
                    self.shared.stop.give_up();
                }
            }
        }
        over_by.unwrap_or_else(|| Instant::now() + self.running.plan.run.drain)
    }

    fn is_awaited(&self, live: &ActiveFlow) -> bool {
        let is_reader = live.flow.readers.is_some();
        let ends = if is_reader { live.flow.ends_by_itself() && !self.shared.stop.is_ending() } else { true };
        ends && !live.has_ended()
    }

    /// Every flow that is left ends by time, and is past it and the time to catch up. Consumers beside others don't count.
    fn is_past_the_end(&self) -> bool {
        let now_ns = self.shared.clock.now_ns();
        let mut left = self.flows.iter().filter(|live| live.flow.ends_by_itself() && !live.has_ended());
        left.all(|live| live.flow.catch_up_until_ns().is_some_and(|until| now_ns > until))
    }

    /// Until nothing is outstanding, or the time is up: then what is left is given up, and so reported. A signal in
    /// the drain gives it up. Consumers stop when the others are through.
    pub(super) fn drain(&mut self, by: Instant) {
        self.shared.stop.end();
        // consumers that wait for their beginning hear of the end by their gate only
        self.flows.iter_mut().for_each(ActiveFlow::send_away);
        let before = (self.running.interrupts)();
        self.until(by, before, |watch| {
            let mut others = watch.flows.iter().filter(|live| live.flow.readers.is_none());
            others.all(ActiveFlow::is_quiet) && replies::are_quiet(watch.shared)
        });
        self.shared.stop.close();
        self.until(by, before, |watch| watch.flows.iter().all(ActiveFlow::has_ended));
        // those that were given up leave their groups, which takes a second at most
        while !self.flows.iter().all(ActiveFlow::has_ended) {
            self.look(true);
        }
        self.flows.iter_mut().for_each(ActiveFlow::join_finished);
        self.until(by, before, |watch| watch.flows.iter().all(ActiveFlow::is_quiet));
        // delayed messages that are being handed over are soon through: nothing waits any more
        while !self.flows.iter().all(|live| live.later.is_finished()) {
            self.look(true);
        }
        self.flows.iter().flat_map(|live| &live.clients).for_each(|client| {
            if client.outstanding() > 0 {
                client.give_up();
            }
        });
    }

    /// Looks around until `is_done`; gives up when the time is up, or somebody asks for it after `before` interrupts.
    fn until(&mut self, by: Instant, before: usize, is_done: impl Fn(&Self) -> bool) {
        while !is_done(self) && !self.shared.stop.is_over() {
            self.look(true);
            if Instant::now() >= by || (self.running.interrupts)() > before {
                self.shared.stop.give_up();
            }
        }
    }

    /// Waits a moment; prints, and heeds signals.
    fn look(&mut self, draining: bool) {
        if let Ok(line) = self.log_lines.recv_timeout(if draining { LOOK / 10 } else { LOOK }) {
            self.observer.log(&line);
            self.log_lines.try_iter().for_each(|line| self.observer.log(&line));
        }
        match (self.running.interrupts)() {
            0 => {}
            1 => {
                if self.shared.stop.why().is_none() {
                    let drain = format_duration(self.running.plan.run.drain);
                    self.observer.say(&format!(
                        "interrupted: waiting up to {drain} for what is on its way; once more gives it up"
                    ));
                }
                self.shared.stop.end_because(Ended::Interrupted);
            }
            _ => {
                self.shared.stop.end_because(Ended::Interrupted);
                self.shared.stop.give_up();
            }
        }
        if self.told.elapsed() >= PROGRESS {
            self.told = Instant::now();
            self.flows.iter().filter_map(|live| live.flow.recorders.as_ref()).for_each(|recorders| recorders.tick());
            let live = self.collector.look(self.shared.clock.now_us());
            let subject = self.running.plan.subject();
            let all_read = self.flows.iter().zip(subject).all(|(live, told)| !told || live.flow.readers.is_some());
            let users = self.flows.iter().any(|live| live.flow.turns.is_some());
            let rounds = if all_read { Some("records") } else { users.then_some("iterations") };
            let progress = Progress { elapsed: self.began.elapsed(), draining, rounds, share: self.share(&live), live };
            self.observer.progress(&progress);
        }
    }

    fn share(&self, live: &Live) -> Option<f64> {
        let now = self.shared.clock.now_ns() as f64;
        let by_time = self.flows.iter().map(|live| live.flow.end_ns().map(|end| now / end.max(1) as f64));
        let by_count = self.flows.iter().map(|flow| {
            let flow = &flow.flow;
            if flow.is_job {
                // an iteration that has begun says nothing of how far it is
                return None;
            }
            if flow.readers.is_some() {
                return Some(live.iterations as f64 / flow.end.iterations?.max(1) as f64);
            }
            if let Some(turns) = &flow.turns {
                return Some(turns.measured() as f64 / flow.end.iterations?.max(1) as f64);
            }
            let all: u64 = flow.end.messages.or(flow.end.iterations)?;
            let warm_up: u64 = (0..flow.workers).map(|worker| flow.warm_up_share(worker)).sum();
            Some(live.sent as f64 / (all + warm_up).max(1) as f64)
        });
        by_time.zip(by_count).filter_map(|(time, count)| time.or(count)).reduce(f64::max).map(|share| share.min(1.0))
    }
}
