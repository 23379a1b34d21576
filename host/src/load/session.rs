//! A session's iterations: a user takes one at a time, from those that all users of the flow share, and waits between
//! them as people do.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::draws::{Draws, hash, mix};
use super::flow::FlowRun;
use super::ramp::Activity;
use super::turns::{Turn, Turns};
use super::worker::{Done, Next, Returned, Rounds, Worker};
use super::worker_host::WorkerHost;
use crate::measure::{JobRun, Measure, Tag};
use crate::plan::{Arrivals, Session, ThinkTime};

/// Users who wait for nothing between iterations begin so far apart: thousands who all woke in one instant would wait for
/// the processors, and for each other ever after.
const APART_NS: u64 = 100_000;

/// One user. Times are nanoseconds since the load's start.
pub(super) struct User {
    between: Between,
    draws: Draws,
    /// The iteration that it has taken and not finished.
    turn: Option<Turn>,
    /// When that one began, while it runs.
    began_ns: Option<u64>,
    /// When it is ready for the next one, in a closed load; until the flow begins, counted from then.
    ready_ns: u64,
    /// When the last one returned.
    returned_ns: u64,
}

/// What lies between two iterations of a user.
enum Between {
    Nothing,
    Think(ThinkTime),
    /// From start to start.
    Pace(u64),
    /// The flow's schedule.
    Schedule,
}

impl User {
    /// User `user` of the flow. Users who wait between iterations begin spread over the first such wait.
    pub(super) fn new(flow: &FlowRun, session: &Session, user: u32, seed: u64) -> Self {
        let between = match &session.arrivals {
            Arrivals::Open { .. } => Between::Schedule,
            Arrivals::Closed { pace: Some(pace), .. } => Between::Pace(nanos(*pace)),
            Arrivals::Closed { think_time: Some(think), .. } => Between::Think(*think),
            Arrivals::Closed { .. } => Between::Nothing,
        };
        let interval_ns = match between {
            Between::Think(think) => nanos(think.most),
            Between::Pace(pace_ns) => pace_ns,
            Between::Nothing | Between::Schedule => 0,
        };
        User {
            draws: Draws::new(mix(seed, &[hash(&flow.name), user.into(), hash("think-time")])),
            turn: None,
            began_ns: None,
            ready_ns: match between {
                Between::Nothing => u64::from(user) * APART_NS,
                _ => (u128::from(interval_ns) * u128::from(user) / u128::from(session.users)) as u64,
            },
            returned_ns: 0,
            between,
        }
    }

    /// When it is ready again, after an iteration that was to begin at `due_ns` and returned at `now_ns`.
    fn ready_again(&mut self, due_ns: u64, now_ns: u64) -> u64 {
        match self.between {
            Between::Nothing | Between::Schedule => now_ns,
            Between::Think(think) => now_ns.saturating_add(nanos(self.draws.between(think.least, think.most))),
            // one that was held up by the one before counts its pace from when it could begin
            Between::Pace(pace_ns) => due_ns.max(self.returned_ns).saturating_add(pace_ns),
        }
    }

    /// Takes an iteration of a closed load, if there are any and it is ready; answers until when it is not.
    fn take_when_ready(&mut self, worker: &Worker, turns: &Turns, now_ns: u64) -> Option<u64> {
        let flow = &worker.flow;
        if let Some(ramp) = &flow.ramp {
            let began_ns = flow.began_ns();
            match ramp.activity(worker.identity.worker, self.ready_ns.max(now_ns) - began_ns) {
                Activity::Now => {}
                Activity::Later(then_ns) => self.ready_ns = began_ns + then_ns,
                Activity::Never => return None,
            }
        }
        if turns.are_used_up() || flow.end_ns().is_some_and(|end| self.ready_ns >= end) {
            return None;
        }
        if self.ready_ns > now_ns {
            return Some(self.ready_ns);
        }
        self.turn = turns.claim(flow, self.ready_ns);
        if self.turn.is_some_and(|turn| turn.last) {
            // the others have nothing to wait for
            worker.shared.stop.wake();
        }
        None
    }
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

fn turns(flow: &FlowRun) -> &Turns {
    flow.turns.as_ref().expect("a session has turns")
}

impl Rounds for User {
    fn begin(&mut self, flow: &FlowRun) {
        self.ready_ns = self.ready_ns.saturating_add(flow.began_ns());
    }

    fn next(&mut self, worker: &Worker, done: &Done, host: &mut WorkerHost) -> Next {
        let flow = &worker.flow;
        let turns = turns(flow);
        let now_ns = worker.shared.clock.now_ns();
        host.tags.clear();
        if flow.catch_up_until_ns().is_some_and(|until| now_ns >= until) {
            return Next::Done;
        }
        if let Between::Schedule = self.between {
            self.turn = self.turn.or_else(|| turns.next(flow));
        } else if let Some(until_ns) = self.take_when_ready(worker, turns, now_ns) {
            return Next::Wait(until_ns);
        }
        let Some(turn) = self.turn else { return Next::Done };
        if flow.end_ns().is_some_and(|end| turn.due_ns >= end) {
            turns.give_back(turn);
            self.turn = None;
            return Next::Done;
        }
        if turn.due_ns > now_ns {
            return Next::Wait(turn.due_ns);
        }
        self.began_ns = Some(now_ns);
        host.tags.push(Tag::at(now_ns / 1_000, turn.warm_up));
        if !turn.warm_up {
            let late_us = (now_ns - turn.due_ns) / 1_000;
            host.record(|work| work.operations.of(flow.index as u32).good(Measure::Lateness, late_us));
        }
        Next::Run { first: done.iterations, count: 1 }
    }

    fn wait(&mut self, worker: &Worker, until_ns: u64, host: &mut WorkerHost) {
        let (now_ns, flow) = (worker.shared.clock.now_ns(), &worker.flow);
        let is_closed = !matches!(self.between, Between::Schedule);
        let ends_before = || flow.end_ns().is_some_and(|end| until_ns >= end);
        let leaves = || (is_closed && turns(flow).are_used_up()) || ends_before();
        worker.shared.stop.sleep(Duration::from_nanos(until_ns.saturating_sub(now_ns)), leaves);
        host.now.idle_ns += worker.shared.clock.now_ns() - now_ns;
    }

    fn returned(&mut self, worker: &Worker, call: Returned<'_>, host: &mut WorkerHost) {
        let (Some(turn), Some(began_ns)) = (self.turn.take(), self.began_ns.take()) else { return };
        let now_ns = worker.shared.clock.now_ns();
        match call {
            Returned::Cut => host.now.cut += u64::from(!turn.warm_up),
            Returned::Ran { count: 0, .. } => turns(&worker.flow).give_back(turn),
            Returned::Ran { .. } if turn.warm_up => {}
            Returned::Ran { failed, .. } => {
                let took_us = now_ns.saturating_sub(turn.due_ns) / 1_000;
                let flow = worker.flow.index as u32;
                host.now.last_begun_us = began_ns / 1_000;
                let is_job = worker.flow.is_job;
                host.record(|work| {
                    let one = work.operations.of(flow);
                    if failed {
                        one.bad(Measure::Iteration, took_us)
                    } else {
                        one.good(Measure::Iteration, took_us)
                    }
                    if is_job {
                        work.jobs.iteration(JobRun { operation: flow, at_us: now_ns / 1_000, took_us, failed });
                    }
                });
            }
        }
        self.ready_ns = self.ready_again(turn.due_ns, now_ns);
        self.returned_ns = now_ns;
    }

    /// An iteration that was due, and that this user had taken and not begun.
    fn leave(&mut self, worker: &Worker, _done: &Done, _host: Option<&WorkerHost>) {
        let now_ns = worker.shared.clock.now_ns();
        let left = self.turn.take().filter(|turn| turn.due_ns <= now_ns && self.began_ns.is_none());
        worker.flow.missed.fetch_add(u64::from(left.is_some()), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{End, FlowKind, WarmUp};

    fn user(arrivals: Arrivals, users: u32, user: u32) -> User {
        let session = Session { users, arrivals, clients: 1 };
        let flow = FlowRun::new(0, "u", &FlowKind::Session(session.clone()), &End::default(), WarmUp::None, 0);
        User::new(&flow, &session, user, 7)
    }

    fn closed(think: Option<(u64, u64)>, pace_ms: Option<u64>) -> Arrivals {
        let ms = Duration::from_millis;
        let think_time = think.map(|(least, most)| ThinkTime { least: ms(least), most: ms(most) });
        Arrivals::Closed { think_time, pace: pace_ms.map(ms), stages: Vec::new() }
    }

    #[test]
    fn users_begin_spread_over_the_first_wait() {
        let starts = |arrivals: &Arrivals| [0, 1, 3].map(|n| user(arrivals.clone(), 4, n).ready_ns / 1_000_000);
        assert_eq!(starts(&closed(Some((100, 400)), None)), [0, 100, 300]);
        assert_eq!(starts(&closed(None, Some(1_000))), [0, 250, 750]);
        assert_eq!(user(closed(None, None), 4, 3).ready_ns, 3 * APART_NS);
    }

    #[test]
    fn think_time_counts_from_the_end_and_pace_from_the_start() {
        let mut thinks = user(closed(Some((100, 100)), None), 1, 0);
        assert_eq!(thinks.ready_again(5_000_000, 50_000_000), 150_000_000);
        let mut paced = user(closed(None, Some(100)), 1, 0);
        assert_eq!(paced.ready_again(5_000_000, 50_000_000), 105_000_000);
        // the next was to begin at 105 ms, but the last one took until 240 ms: the one after that is due at 340 ms
        paced.returned_ns = 240_000_000;
        assert_eq!(paced.ready_again(105_000_000, 260_000_000), 340_000_000);
    }

    #[test]
    fn the_same_user_of_the_same_seed_thinks_as_long() {
        let times = |number| {
            let mut user = user(closed(Some((0, 1_000)), None), 10, number);
            (0..5).map(|_| user.ready_again(0, 0)).collect::<Vec<_>>()
        };
        assert_eq!(times(3), times(3));
        assert_ne!(times(3), times(4));
    }
}
