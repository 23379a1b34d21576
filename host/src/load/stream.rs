//! A stream's iterations: each worker has every n-th of the flow's, and gets those that are due, many at a time.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::flow::FlowRun;
use super::worker::{Done, Next, Returned, Rounds, Worker};
use super::worker_host::WorkerHost;
use crate::measure::{Measure, Tag};

/// How long a worker sleeps before it asks again whether the run is ending.
const SLICE_NS: u64 = 50_000_000;
/// The shortest sleep: at high rates a few iterations then share one waking and one call. It bounds lateness, too.
const NAP_NS: u64 = 50_000;

/// One worker's share.
pub(super) struct StreamRounds {
    batch: u32,
    /// Iterations of this worker before the measured ones, where that is known by number.
    warm_up_share: u64,
    /// Measured iterations that it runs at most.
    iterations_share: Option<u64>,
    /// Measured messages that it sends at most.
    messages_share: Option<u64>,
}

impl StreamRounds {
    pub(super) fn new(flow: &FlowRun, worker: u32, batch: u32) -> Self {
        StreamRounds {
            batch,
            warm_up_share: flow.warm_up_share(worker),
            iterations_share: flow.iterations_share(worker),
            messages_share: flow.messages_share(worker),
        }
    }

    /// The most iterations that the next call may run; none when the worker has done its share.
    fn left(&self, done: &Done) -> Option<u32> {
        let warm_up = self.warm_up_share.saturating_sub(done.iterations);
        let mut left = self.batch as u64;
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
}

/// Number `own` of the worker is this one of the flow's.
fn number(worker: &Worker, own: u64) -> u64 {
    worker.identity.worker as u64 + own * worker.flow.workers as u64
}

impl Rounds for StreamRounds {
    fn begin(&mut self, _flow: &FlowRun) {}

    fn next(&mut self, worker: &Worker, done: &Done, host: &mut WorkerHost) -> Next {
        let Some(most) = self.left(done) else { return Next::Done };
        let flow = &worker.flow;
        let now_ns = worker.shared.clock.now_ns();
        host.tags.clear();
        if !flow.schedule.is_paced() {
            if flow.end_ns().is_some_and(|end| now_ns >= end) {
                return Next::Done;
            }
            for j in 0..most as u64 {
                let warm_up = flow.is_warm_up(number(worker, done.iterations + j), now_ns);
                if !warm_up {
                    flow.measured_at(now_ns);
                }
                host.tags.push(Tag::at(now_ns / 1_000, warm_up));
            }
            return Next::Run { first: done.iterations, count: most };
        }
        let end_ns = flow.end_ns();
        if flow.catch_up_until_ns().is_some_and(|until| now_ns >= until) {
            return Next::Done;
        }
        let began_ns = flow.began_ns();
        while (host.tags.len() as u32) < most {
            let number = number(worker, done.iterations + host.tags.len() as u64);
            let due_ns = flow.schedule.due_ns(number).map(|due| began_ns + due);
            let due_ns = due_ns.filter(|due| end_ns.is_none_or(|end| *due < end));
            let none_yet = host.tags.is_empty();
            match due_ns {
                None if none_yet => return Next::Done,
                Some(due_ns) if due_ns > now_ns && none_yet => return Next::Wait(due_ns),
                Some(due_ns) if due_ns <= now_ns => {
                    let tag = Tag::at(due_ns / 1_000, flow.is_warm_up(number, due_ns));
                    if !tag.is_warm_up() {
                        let late_us = (now_ns - due_ns) / 1_000;
                        host.now.operations.of(flow.index as u32).good(Measure::Lateness, late_us);
                    }
                    host.tags.push(tag);
                }
                _ => break,
            }
        }
        Next::Run { first: done.iterations, count: host.tags.len() as u32 }
    }

    fn wait(&mut self, worker: &Worker, until_ns: u64, host: &mut WorkerHost) {
        let now_ns = worker.shared.clock.now_ns();
        let nanos = until_ns.saturating_sub(now_ns).clamp(NAP_NS, SLICE_NS);
        std::thread::sleep(Duration::from_nanos(nanos));
        host.now.idle_ns += worker.shared.clock.now_ns() - now_ns;
    }

    fn returned(&mut self, _worker: &Worker, _call: Returned<'_>, _host: &mut WorkerHost) {}

    /// Iterations that were due before the end, or before an early end, and never began. A worker whose guest has
    /// nothing left to do, or that has sent its share of messages, leaves none behind.
    fn leave(&mut self, worker: &Worker, done: &Done, _host: Option<&WorkerHost>) {
        let flow = &worker.flow;
        let sent_all = self.messages_share.is_some_and(|share| done.measured_messages >= share);
        if !flow.schedule.is_paced() || sent_all || flow.exhausted.load(Relaxed) {
            return;
        }
        let now_ns = worker.shared.clock.now_ns();
        let until_ns = flow.end_ns().map_or(now_ns, |end| end.min(now_ns));
        let Some(due) = flow.due_before(until_ns) else { return };
        let mine = flow.share(due, worker.identity.worker);
        let most = self.iterations_share.map_or(u64::MAX, |share| share + self.warm_up_share);
        flow.missed.fetch_add(mine.min(most).saturating_sub(done.iterations), Relaxed);
    }
}
