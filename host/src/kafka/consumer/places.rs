//! Where a group's partitions are read: which record is next, where they end, and what was wrong on the way. Pure.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::group::Partition;

/// What was wrong with the order of records that were handed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffsetFigures {
    /// Records that were handed over before.
    pub repeated: u64,
    /// Offsets without a record: what compaction and transactions leave, and what was deleted before it was read.
    pub skipped: u64,
}

/// Where its partitions are read.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The offset behind the last record that was handed over.
    pub(super) next: HashMap<Partition, i64>,
    /// Where partitions ended when it began, where that matters.
    pub(super) ends: HashMap<Partition, i64>,
    pub(super) ends_are_known: bool,
    /// Partitions that have no record left before their end.
    through: HashSet<Partition>,
    /// What the group had committed when it was asked before the load.
    pub(super) committed_before: HashMap<Partition, i64>,
    pub(super) offsets: OffsetFigures,
    /// When something last came, or it was told that there is nothing more.
    pub(super) progressed: Option<Instant>,
}

impl Places {
    /// Whether a partition is read up to its end. One that was added later has none, and is left alone.
    pub(super) fn are_through(&self, partition: Partition) -> bool {
        self.ends.get(&partition).is_none_or(|end| {
            self.through.contains(&partition) || self.next.get(&partition).is_some_and(|next| next >= end)
        })
    }

    /// The load begins, and is to read up to these ends.
    pub(super) fn begin(&mut self, ends: HashMap<Partition, i64>) {
        self.ends = ends;
        self.ends_are_known = true;
        self.progressed = Some(Instant::now());
    }

    /// These go elsewhere, with what was taken of them and not handed over: their ends are to be reached again.
    pub(super) fn goes(&mut self, partitions: &[Partition]) {
        partitions.iter().for_each(|one| _ = self.through.remove(one));
    }

    /// A consumer has taken all records that there are before this offset.
    pub(super) fn reached(&mut self, partition: Partition, offset: i64) {
        self.progressed = Some(Instant::now());
        if self.ends.get(&partition).is_some_and(|end| offset >= *end) {
            self.through.insert(partition);
        }
    }

    /// Records from offset `first` to before `behind` were handed over, with so many offsets missing in between.
    pub(super) fn handed_over(&mut self, partition: Partition, first: i64, behind: i64, missing: i64) {
        self.progressed = Some(Instant::now());
        let before = self.next.insert(partition, behind).unwrap_or(first);
        self.offsets.repeated += before.min(behind).saturating_sub(first).max(0) as u64;
        self.offsets.skipped += (missing + first.saturating_sub(before).max(0)) as u64;
    }
}
