//! When a flow's schedule began and ended, and the rates that come of it.

use super::document::Window;
use crate::load::{FlowRecord, Schedule};
use crate::plan::{Arrivals, Flow, FlowKind, Session};

/// When a flow's schedule began and ended, in nanoseconds since the load's start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
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
    pub(super) fn of(schedule: &Schedule, flow: &Flow, done: &FlowRecord, ended_early_ns: Option<u64>) -> Option<Self> {
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

    pub(super) fn window(&self) -> Window {
        let (start_s, end_s) = (self.start_ns as f64 / 1e9, self.planned_ns.max(self.last_ns) as f64 / 1e9);
        let schedule_end_s = self.planned_ns.max(self.last_iteration_ns) as f64 / 1e9;
        Window { start_s, end_s, seconds: end_s - start_s, schedule_end_s }
    }

    /// Iterations a second that were asked for, and that were begun. Of `n` iterations at a rate of `r`, the last is due
    /// after `(n - 1) / r`, and they stand for `n / r`. `arrived` are those that ran and those that were due and did not.
    pub(super) fn rates(
        &self,
        schedule: &Schedule,
        kind: &FlowKind,
        iterations: u64,
        arrived: u64,
    ) -> (Option<f64>, Option<f64>) {
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
pub(super) fn arrivals(kind: &FlowKind) -> Option<&'static str> {
    match kind {
        FlowKind::Stream(_) | FlowKind::Consume(_) => None,
        FlowKind::Session(Session { arrivals: Arrivals::Closed { .. }, .. }) => Some("closed"),
        FlowKind::Session(Session { arrivals: Arrivals::Open { poisson: true, .. }, .. }) => Some("poisson"),
        FlowKind::Session(Session { arrivals: Arrivals::Open { .. }, .. }) => Some("uniform"),
    }
}
