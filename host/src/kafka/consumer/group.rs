//! What the consumers of a flow share: where each partition's next record is, and which of them has which partitions.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::plan::ReadFrom;

/// A partition: its topic's number in the plan, and its own.
pub type Partition = (usize, i32);

/// A flow's consumer group, as far as this process is in it.
#[derive(Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    pub(super) from: ReadFrom,
    /// What is read, by the topic's number in the plan.
    pub(super) topics: BTreeMap<usize, CString>,
    /// By the topic's number in the plan: the partitions that were there before the load.
    partitions: Vec<u32>,
    begun: AtomicBool,
    /// The offset behind the last record that was handed over.
    next: Mutex<HashMap<Partition, i64>>,
    members: Mutex<Members>,
    left: AtomicU64,
}

/// Our consumers.
#[derive(Debug)]
struct Members {
    all: Vec<Member>,
    /// When partitions last came or went.
    changed: Instant,
}

/// One of our consumers.
#[derive(Debug, Clone, Default)]
struct Member {
    /// None until it has an assignment, and while it has lost it.
    assigned: Option<Vec<Partition>>,
    /// What it had last, an empty assignment left out.
    last: Vec<Partition>,
}

/// Where a partition is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// At this offset.
    At(i64),
    /// At its first record.
    First,
    /// At its end.
    End,
    /// Where librdkafka's `auto.offset.reset` says.
    Reset,
}

impl Group {
    /// `topics` are those that are read, by their number in the plan; `partitions` are how many each of the plan's has.
    ///
    /// # Panics
    /// Where a topic's name has a NUL, which a plan's have not.
    pub fn new(
        name: &str,
        from: ReadFrom,
        workers: u32,
        topics: impl Iterator<Item = (usize, String)>,
        partitions: &[u32],
    ) -> Self {
        let c_name = |name: String| CString::new(name).expect("a plan's topic names are legal, so without NUL");
        Group {
            name: name.to_owned(),
            from,
            topics: topics.map(|(at, name)| (at, c_name(name))).collect(),
            partitions: partitions.to_vec(),
            begun: AtomicBool::new(false),
            next: Mutex::default(),
            members: Mutex::new(Members { all: vec![Member::default(); workers as usize], changed: Instant::now() }),
            left: AtomicU64::new(0),
        }
    }

    /// The load begins: from here on partitions that move go on where they were.
    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Whether each of our consumers has its partitions. Where one has none, others may be about to give some up: then nothing
    /// may have changed for as long as `settled`.
    pub fn is_complete(&self, settled: Duration) -> bool {
        let members = self.members();
        let assigned = || members.all.iter().map(|member| member.assigned.as_deref());
        assigned().all(|one| one.is_some_and(|partitions| !partitions.is_empty()))
            || (assigned().all(|one| one.is_some()) && members.changed.elapsed() >= settled)
    }

    /// Our consumers that have no assignment.
    pub fn waiting(&self) -> Vec<usize> {
        let members = self.members();
        (0..members.all.len()).filter(|at| members.all[*at].assigned.is_none()).collect()
    }

    /// The partitions that each of our consumers had last.
    pub fn assigned(&self) -> Vec<Vec<Partition>> {
        self.members().all.iter().map(|member| member.last.clone()).collect()
    }

    /// How often one of our consumers was thrown out, as it did not ask for records in time.
    pub fn times_left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    pub(super) fn count_leaving(&self) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn assign(&self, member: usize, partitions: Option<Vec<Partition>>) {
        let mut members = self.members();
        members.changed = Instant::now();
        let member = &mut members.all[member];
        if let Some(some) = partitions.as_ref().filter(|list| !list.is_empty()) {
            member.last.clone_from(some);
        }
        member.assigned = partitions;
    }

    pub(super) fn of_member(&self, member: usize) -> Vec<Partition> {
        self.members().all[member].assigned.clone().unwrap_or_default()
    }

    pub(super) fn set_next(&self, partition: Partition, offset: i64) {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).insert(partition, offset);
    }

    pub(super) fn next(&self, partition: Partition) -> Option<i64> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).get(&partition).copied()
    }

    /// Whether it matters what the group has committed for a partition.
    pub(super) fn asks_for_committed(&self, partition: Partition) -> bool {
        self.has_begun() || (self.from == ReadFrom::Committed && self.next(partition).is_none())
    }

    /// Where to begin in a partition for which the group has committed this.
    pub(super) fn start(&self, partition: Partition, committed: Option<i64>) -> Start {
        let is_new = self.partitions.get(partition.0).is_none_or(|count| partition.1 as u32 >= *count);
        match (self.has_begun(), self.next(partition), committed) {
            (false, Some(next), _) => Start::At(next),
            (false, None, committed) => match (self.from, committed) {
                (ReadFrom::Latest, _) => Start::End,
                (ReadFrom::Earliest, _) => Start::First,
                (ReadFrom::Committed, Some(committed)) => Start::At(committed),
                (ReadFrom::Committed, None) => Start::Reset,
            },
            // it may have been with another process for a while, which has committed what it handled
            (true, Some(next), committed) => Start::At(committed.map_or(next, |committed| committed.max(next))),
            (true, None, Some(committed)) => Start::At(committed),
            (true, None, None) if is_new => Start::First,
            (true, None, None) => Start::Reset,
        }
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(from: ReadFrom) -> Group {
        Group::new("g", from, 2, [(1, "t".to_owned())].into_iter(), &[9, 4])
    }

    #[test]
    fn before_the_load_the_manifest_says_where_to_begin() {
        for (from, committed, start) in [
            (ReadFrom::Latest, Some(7), Start::End),
            (ReadFrom::Earliest, Some(7), Start::First),
            (ReadFrom::Committed, Some(7), Start::At(7)),
            (ReadFrom::Committed, None, Start::Reset),
        ] {
            assert_eq!(group(from).start((1, 0), committed), start);
        }
        let asked = group(ReadFrom::Latest);
        asked.set_next((1, 0), 5);
        assert_eq!(asked.start((1, 0), Some(7)), Start::At(5), "once is enough");
    }

    #[test]
    fn in_the_load_a_partition_goes_on_where_it_was() {
        let group = group(ReadFrom::Latest);
        group.set_next((1, 0), 5);
        group.begin();
        assert_eq!(group.start((1, 0), None), Start::At(5));
        assert_eq!(group.start((1, 0), Some(3)), Start::At(5), "handed over, and not committed yet");
        assert_eq!(group.start((1, 0), Some(8)), Start::At(8), "handled elsewhere meanwhile");
        assert_eq!(group.start((1, 1), Some(8)), Start::At(8));
        assert_eq!(group.start((1, 1), None), Start::Reset);
        assert_eq!(group.start((1, 4), None), Start::First, "a partition that was added");
    }

    #[test]
    fn it_is_complete_with_an_empty_assignment_too_once_that_stays() {
        let group = group(ReadFrom::Latest);
        let (at_once, never) = (Duration::ZERO, Duration::MAX);
        group.assign(0, Some(vec![(1, 0), (1, 1)]));
        assert_eq!((group.is_complete(at_once), group.waiting()), (false, vec![1]));
        group.assign(1, Some(Vec::new()));
        assert!(group.is_complete(at_once) && !group.is_complete(never));
        group.assign(1, Some(vec![(1, 2)]));
        assert!(group.is_complete(never));
        group.assign(1, Some(Vec::new()));
        group.assign(0, None);
        assert!(!group.is_complete(at_once));
        assert_eq!(group.assigned(), [vec![(1, 0), (1, 1)], vec![(1, 2)]]);
    }
}
