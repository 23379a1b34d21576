//! In what order the flows of a run begin, and which of them ends it.

use std::time::Instant;

use super::active::{ActiveFlow, time_to_wake};
use super::stop::Stop;
use crate::plan::{After, WarmUp};

/// What is known of a run's order. Times are nanoseconds since the load's start, which was at `load_start`.
pub(super) struct Order {
    load_start: Instant,
    warm_up_over_ns: Option<u64>,
    /// A flow that ends the run has ended.
    run_is_ended: bool,
}

impl Order {
    /// Begins what waits for nothing, and what waits for a warm-up of so long.
    pub(super) fn start(flows: &mut [ActiveFlow], warm_up: WarmUp, load_start: Instant) -> Self {
        let mut order = Order { load_start, warm_up_over_ns: None, run_is_ended: false };
        flows.iter_mut().filter(|live| live.waits_for.is_none()).for_each(|live| live.begin(0, load_start));
        match warm_up {
            WarmUp::None => order.warm_up_is_over(flows, 0),
            WarmUp::Time(length) => order.warm_up_is_over(flows, length.as_nanos() as u64),
            WarmUp::Iterations(_) => {}
        }
        order
    }

    /// Begins those whose turn has come by `now_ns`, and ends all where a flow that ends the run has ended.
    pub(super) fn keep(&mut self, flows: &mut [ActiveFlow], now_ns: u64, stop: &Stop) {
        // a worker that returns because the run ends says so before, so it is asked only now
        if stop.is_ending() || self.run_is_ended {
            return flows.iter_mut().for_each(ActiveFlow::send_away);
        }
        if flows.iter().any(|live| live.ends_run && live.has_ended() && !live.never_began) {
            self.run_is_ended = true;
            flows.iter_mut().for_each(ActiveFlow::send_away);
            let left = flows.iter().filter(|live| live.flow.ends_by_itself() && !live.has_ended());
            left.for_each(|live| live.flow.end_by(now_ns));
            return stop.wake();
        }
        if self.warm_up_over_ns.is_none() && is_warm(flows, now_ns) {
            self.warm_up_is_over(flows, now_ns);
        }
        self.begin_after_flows(flows, now_ns);
    }

    /// The warm-up is over at `at_ns`, which may lie ahead: the flows that wait for it begin then, and those that end with
    /// the run know when.
    fn warm_up_is_over(&mut self, flows: &mut [ActiveFlow], at_ns: u64) {
        self.warm_up_over_ns = Some(at_ns);
        for live in flows {
            if let Some(length) = live.flow.end.run_duration {
                live.flow.end_by(at_ns.saturating_add(length.as_nanos() as u64));
            }
            if live.waits_for == Some(After::WarmUp) {
                live.begin(at_ns, self.load_start);
            }
        }
    }

    fn begin_after_flows(&self, flows: &mut [ActiveFlow], now_ns: u64) {
        for at in 0..flows.len() {
            let Some(After::Flow(first)) = flows[at].waits_for else { continue };
            // what reads after it finds all that it wrote
            if !flows[first].has_ended() || !flows[first].is_heard() {
                continue;
            }
            let begins_ns = now_ns + time_to_wake(flows[at].workers.len()).as_nanos() as u64;
            let is_too_late = flows[at].flow.end_ns().is_some_and(|end| end <= begins_ns);
            if is_too_late || flows[first].never_began {
                flows[at].send_away();
            } else {
                flows[at].begin(begins_ns, self.load_start);
            }
        }
    }
}

/// Every flow that has a warm-up by count has begun to measure, or ended.
fn is_warm(flows: &[ActiveFlow], now_ns: u64) -> bool {
    let has_warm_up = |live: &&ActiveFlow| live.flow.has_warm_up() && live.flow.ends_by_itself();
    let is_warm =
        |live: &ActiveFlow| live.has_ended() || live.flow.window_start_ns().is_some_and(|start| start <= now_ns);
    flows.iter().filter(has_warm_up).all(is_warm)
}
