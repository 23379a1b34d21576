//! What the workers of a consume flow share: their groups, how many records they have taken, and what came of them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::end_to_end::EndToEndFigures;
use super::flow::FlowRun;
use crate::kafka::{Commits, Group, OffsetFigures, Partition, PauseFigures, Rebalances};

/// Those of one flow.
pub(super) struct Readers {
    groups: Vec<Arc<Group>>,
    /// Of each group.
    workers: u32,
    taken: Mutex<Taken>,
    /// Workers that are in `handle` now.
    pub(super) handling: AtomicU32,
    /// By worker.
    figures: Vec<Figures>,
    /// What the readers that have ended found in stamps, where they look.
    end_to_end: Mutex<Option<EndToEndFigures>>,
}

/// Records that were handed to the guest, or counted.
#[derive(Default)]
struct Taken {
    all: u64,
    measured: u64,
}

/// Records that a worker may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    /// How many.
    pub(super) count: usize,
    /// The first ones, that are left out of the figures.
    pub(super) warm_up: usize,
}

/// One worker's.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) handled: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) busy_ns: AtomicU64,
    pub(super) lived_ns: AtomicU64,
}

/// What came of a consume flow's readers.
#[derive(Debug, Clone)]
pub struct ReadersRecord {
    /// By group.
    pub groups: Vec<GroupRecord>,
    /// By worker.
    pub workers: Vec<ReaderRecord>,
    /// What stamps came to, where they are looked for.
    pub end_to_end: Option<EndToEndFigures>,
}

/// One group's.
#[derive(Debug, Clone)]
pub struct GroupRecord {
    /// Its name.
    pub name: String,
    /// How often a worker was thrown out, as it asked for no records in time.
    pub times_left: u64,
    /// New assignments in the load.
    pub rebalances: Rebalances,
    /// Commits that were waited for.
    pub commits: Commits,
    /// What was wrong with the order of records.
    pub offsets: OffsetFigures,
    /// What came of pausing partitions.
    pub pauses: PauseFigures,
}

/// One worker's.
#[derive(Debug, Clone)]
pub struct ReaderRecord {
    /// The partitions that it had last.
    pub partitions: Vec<Partition>,
    /// How long it waited for its first assignment.
    pub joined_after: Option<Duration>,
    /// Measured records that were handled, and did not fail.
    pub handled: u64,
    /// Measured records that failed.
    pub failed: u64,
    /// Keys and values of measured records.
    pub bytes: u64,
    /// Time inside `handle`, in nanoseconds.
    pub busy_ns: u64,
    /// From the load's start until it stopped, in nanoseconds.
    pub lived_ns: u64,
}

impl Readers {
    /// `workers` are those of each group.
    pub(super) fn new(groups: Vec<Group>, workers: u32) -> Self {
        let all = workers * groups.len() as u32;
        Readers {
            groups: groups.into_iter().map(Arc::new).collect(),
            workers,
            taken: Mutex::default(),
            handling: AtomicU32::new(0),
            end_to_end: Mutex::default(),
            figures: (0..all).map(|_| Figures::default()).collect(),
        }
    }

    /// Its groups.
    pub(super) fn groups(&self) -> &[Arc<Group>] {
        &self.groups
    }

    /// The group of a worker, and which of its members it is.
    pub(super) fn place(&self, worker: u32) -> (&Arc<Group>, usize) {
        (&self.groups[(worker / self.workers) as usize], (worker % self.workers) as usize)
    }

    pub(super) fn add_end_to_end(&self, figures: &EndToEndFigures) {
        let mut all = self.end_to_end.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_or_insert_default().add(figures);
    }

    pub(super) fn figures(&self, worker: u32) -> &Figures {
        &self.figures[worker as usize]
    }

    /// Whether the flow has taken all records that it is to.
    pub(super) fn are_done(&self, flow: &FlowRun) -> bool {
        flow.end
            .iterations
            .is_some_and(|most| self.taken.lock().unwrap_or_else(PoisonError::into_inner).measured >= most)
    }

    /// Claims the next `count` of the flow's records, or fewer where its end is near, for those that arrived at `at_ns`.
    pub(super) fn claim(&self, flow: &FlowRun, count: usize, at_ns: u64) -> Claim {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let warm_up = flow.warm_up_within(taken.all, count as u64, at_ns);
        let left = flow.end.iterations.map_or(u64::MAX, |most| most - taken.measured);
        let measured = (count as u64 - warm_up).min(left);
        taken.all += warm_up + measured;
        taken.measured += measured;
        Claim { count: (warm_up + measured) as usize, warm_up: warm_up as usize }
    }

    /// Of a claim only the first `used` were taken.
    pub(super) fn give_back(&self, claim: Claim, used: usize) {
        if used == claim.count {
            return;
        }
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= (claim.count - used) as u64;
        taken.measured -= (claim.count - used.max(claim.warm_up)) as u64;
    }

    pub(super) fn record(&self) -> ReadersRecord {
        let of_group = |group: &Arc<Group>| GroupRecord {
            name: group.name.clone(),
            times_left: group.times_left(),
            rebalances: group.rebalances(),
            commits: group.commits(),
            offsets: group.offset_figures(),
            pauses: group.pauses(),
        };
        let members = self.groups.iter().flat_map(|group| group.assigned().into_iter().zip(group.joined_after()));
        let one =
            |((partitions, joined_after), figures): ((Vec<Partition>, Option<Duration>), &Figures)| ReaderRecord {
                partitions,
                joined_after,
                handled: figures.handled.load(Relaxed),
                failed: figures.failed.load(Relaxed),
                bytes: figures.bytes.load(Relaxed),
                busy_ns: figures.busy_ns.load(Relaxed),
                lived_ns: figures.lived_ns.load(Relaxed),
            };
        ReadersRecord {
            groups: self.groups.iter().map(of_group).collect(),
            workers: members.zip(&self.figures).map(one).collect(),
            end_to_end: *self.end_to_end.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::GroupSetup;
    use crate::plan::{Commit, Dealer, End, FlowKind, Pace, ReadFrom, Stream, WarmUp};

    fn group(name: &str) -> Group {
        Group::new(GroupSetup {
            name: name.to_owned(),
            from: ReadFrom::Latest,
            dealer: Dealer::Group,
            commit: Commit::Interval,
            instance_ids: None,
            workers: 2,
            topics: vec![(0, "t".to_owned())],
            partitions: &[4],
            to_ends: false,
        })
    }

    /// Claims go by a flow's end and its warm-up, whatever its kind is.
    fn flow(iterations: Option<u64>, warm_up: WarmUp) -> FlowRun {
        let kind = FlowKind::Stream(Stream { threads: 1, clients: 1, pace: Pace::Unpaced, batch: 1 });
        FlowRun::new(0, "app", &kind, &End { iterations, ..End::default() }, warm_up, 0)
    }

    #[test]
    fn each_group_has_its_members() {
        let readers = Readers::new(vec![group("a"), group("b")], 2);
        let places: Vec<_> = (0..4).map(|worker| readers.place(worker)).map(|(g, at)| (g.name.clone(), at)).collect();
        assert_eq!(places, [("a".into(), 0), ("a".into(), 1), ("b".into(), 0), ("b".into(), 1)]);
    }

    #[test]
    fn a_claim_ends_where_the_flow_does() {
        let readers = Readers::new(vec![group("a")], 1);
        let flow = flow(Some(10), WarmUp::Iterations(5));
        assert_eq!(readers.claim(&flow, 3, 0), Claim { count: 3, warm_up: 3 });
        let claim = readers.claim(&flow, 8, 0);
        assert_eq!(claim, Claim { count: 8, warm_up: 2 });
        // only three of them fit: the last one is measured
        readers.give_back(claim, 3);
        assert_eq!(readers.claim(&flow, 50, 0), Claim { count: 9, warm_up: 0 });
        assert!(readers.are_done(&flow));
        assert_eq!(readers.claim(&flow, 50, 0).count, 0);
    }

    #[test]
    fn a_claim_given_back_takes_its_warm_up_along() {
        let readers = Readers::new(vec![group("a")], 1);
        let flow = flow(Some(10), WarmUp::Iterations(5));
        let claim = readers.claim(&flow, 8, 0);
        readers.give_back(claim, 2);
        assert_eq!(readers.claim(&flow, 8, 0), Claim { count: 8, warm_up: 3 });
    }

    #[test]
    fn by_time_a_batch_is_warm_up_or_not() {
        let readers = Readers::new(vec![group("a")], 1);
        let flow = flow(None, WarmUp::Time(Duration::from_secs(1)));
        assert_eq!(readers.claim(&flow, 7, 999_999_999), Claim { count: 7, warm_up: 7 });
        assert_eq!(readers.claim(&flow, 7, 1_000_000_000), Claim { count: 7, warm_up: 0 });
    }
}
