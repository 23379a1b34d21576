//! What the consumers of a flow share: where each partition's next record is, and which of them has which partitions.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::members::{Member, Members, Rebalances};
use super::pause::PauseFigures;
use super::places::{OffsetFigures, Places};
use super::positions::Start;
use crate::plan::{Commit, Dealer, ReadFrom};

/// A partition: its topic's number in the plan, and its own.
pub type Partition = (usize, i32);

/// What a group is made of.
#[derive(Debug)]
pub struct GroupSetup<'a> {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub from: ReadFrom,
    /// Who deals out its partitions.
    pub dealer: Dealer,
    /// When it commits.
    pub commit: Commit,
    /// What the members' ids begin with, if they have any.
    pub instance_ids: Option<String>,
    /// How many consumers of it are ours.
    pub workers: u32,
    /// What is read: the topic's number in the plan, and its name.
    pub topics: Vec<(usize, String)>,
    /// By the topic's number in the plan: the partitions that are there before the load.
    pub partitions: &'a [u32],
    /// Whether it is read up to where the partitions end when it begins.
    pub to_ends: bool,
}

/// A flow's consumer group, as far as this process is in it.
#[derive(Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    pub(super) from: ReadFrom,
    pub(super) dealer: Dealer,
    pub(super) commit: Commit,
    pub(super) instance_ids: Option<String>,
    pub(super) to_ends: bool,
    /// What is read, by the topic's number in the plan.
    pub(super) topics: BTreeMap<usize, CString>,
    /// By the topic's number in the plan: the partitions that were there before the load.
    partitions: Vec<u32>,
    begun: AtomicBool,
    places: Mutex<Places>,
    commits: Mutex<Commits>,
    pauses: Mutex<PauseFigures>,
    members: Mutex<Members>,
    left: AtomicU64,
}

/// Commits that were waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Commits {
    /// All of them.
    pub count: u64,
    /// Those that failed.
    pub failed: u64,
    /// How long they took, summed.
    pub total: Duration,
}

impl Group {
    /// # Panics
    /// Where a topic's name has a NUL, which a plan's have not.
    pub fn new(setup: GroupSetup<'_>) -> Self {
        let c_name = |name: String| CString::new(name).expect("a plan's topic names are legal, so without NUL");
        Group {
            name: setup.name,
            from: setup.from,
            dealer: setup.dealer,
            commit: setup.commit,
            instance_ids: setup.instance_ids,
            to_ends: setup.to_ends,
            topics: setup.topics.into_iter().map(|(at, name)| (at, c_name(name))).collect(),
            partitions: setup.partitions.to_vec(),
            begun: AtomicBool::new(false),
            places: Mutex::default(),
            commits: Mutex::default(),
            pauses: Mutex::default(),
            members: Mutex::new(Members::new(setup.workers)),
            left: AtomicU64::new(0),
        }
    }

    /// All partitions that were there before the load.
    pub(super) fn all_partitions(&self) -> Vec<Partition> {
        let of = |topic: usize| self.partitions.get(topic).map_or(0, |count| *count as i32);
        self.topics.keys().flat_map(|topic| (0..of(*topic)).map(|partition| (*topic, partition))).collect()
    }

    /// What khost deals out to a member.
    pub(super) fn share(&self, member: usize) -> Vec<Partition> {
        let workers = self.members().all.len();
        self.all_partitions().into_iter().skip(member).step_by(workers).collect()
    }

    /// The load begins: from here on partitions that move go on where they were. `find_ends` asks where the partitions end; it
    /// is called once, where that matters.
    pub(super) fn begin<E>(&self, find_ends: impl FnOnce() -> Result<HashMap<Partition, i64>, E>) -> Result<(), E> {
        let mut places = self.places();
        if self.to_ends && !places.ends_are_known {
            places.begin(find_ends()?);
        }
        drop(places);
        if !self.begun.swap(true, Ordering::AcqRel) {
            self.members().begin();
        }
        Ok(())
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Whether all that our consumers have is read up to where it is to be. What others in the group read is theirs; what our
    /// consumers lost is theirs, too, when nothing has changed for as long as `settled`: until then one of ours may get it.
    pub fn is_read_through(&self, settled: Duration) -> bool {
        if !self.to_ends {
            return false;
        }
        // who takes both takes them in this order
        let members = self.members();
        let places = self.places();
        let of_member = |member: &Member| {
            member.assigned.as_ref().is_some_and(|partitions| partitions.iter().all(|one| places.are_through(*one)))
        };
        let is_elsewhere = || members.changed.elapsed() >= settled;
        places.ends_are_known
            && members.all.iter().all(of_member)
            && (members.lost.iter().all(|one| places.are_through(*one)) || is_elsewhere())
    }

    /// What it waits for, where nothing has come for so long: a partition that is not read to its end.
    pub fn stalls(&self, limit: Duration) -> Option<String> {
        let members = self.members();
        let places = self.places();
        let since = places.progressed.into_iter().chain([members.changed]).max()?;
        if !self.to_ends || !places.ends_are_known || since.elapsed() < limit {
            return None;
        }
        let ours = members.all.iter().flat_map(|member| member.assigned.iter().flatten());
        let open = ours.into_iter().find(|one| !places.are_through(**one));
        Some(match open {
            None => "partitions that it has lost are dealt out to nobody".to_owned(),
            Some(one) => format!(
                "partition {} of {} ends at {} and is read up to {}",
                one.1,
                self.topics[&one.0].to_string_lossy(),
                places.ends.get(one).copied().unwrap_or(-1),
                places.next.get(one).copied().unwrap_or(-1)
            ),
        })
    }

    /// Whether a partition is.
    pub(super) fn is_through(&self, partition: Partition) -> bool {
        self.to_ends && self.places().are_through(partition)
    }

    /// Where a partition is read up to, if that is bounded.
    pub(super) fn bounds(&self) -> Option<HashMap<Partition, i64>> {
        self.to_ends.then(|| self.places().ends.clone())
    }

    /// Whether each of our consumers has its partitions. Where one has none, others may be about to give some up: then nothing
    /// may have changed for as long as `settled`.
    pub fn is_complete(&self, settled: Duration) -> bool {
        self.members().are_complete(settled)
    }

    /// How many of its consumers are ours.
    pub fn size(&self) -> usize {
        self.members().all.len()
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

    /// How long each of our consumers waited for its first assignment.
    pub fn joined_after(&self) -> Vec<Option<Duration>> {
        self.members().all.iter().map(|member| member.joined_after).collect()
    }

    /// What came of new assignments in the load.
    pub fn rebalances(&self) -> Rebalances {
        self.members().rebalances
    }

    /// What came of pausing.
    pub fn pauses(&self) -> PauseFigures {
        *self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_pauses(&self, figures: &PauseFigures) {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner).add(figures);
    }

    /// What came of commits that were waited for.
    pub fn commits(&self) -> Commits {
        *self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count_commit(&self, took: Duration, failed: bool) {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        commits.count += 1;
        commits.failed += u64::from(failed);
        commits.total += took;
    }

    /// What was wrong with the order of records.
    pub fn offset_figures(&self) -> OffsetFigures {
        self.places().offsets
    }

    pub(super) fn joins(&self, member: usize) {
        self.members().joins(member);
    }

    /// A consumer has joined, and is told of no partition yet: it counts as one that has none.
    pub(super) fn has_joined(&self, member: usize) {
        self.members().has_joined(member);
    }

    pub(super) fn assign(&self, member: usize, partitions: Option<Vec<Partition>>) {
        self.members().assign(member, partitions, self.has_begun());
    }

    pub(super) fn of_member(&self, member: usize) -> Vec<Partition> {
        self.members().all[member].assigned.clone().unwrap_or_default()
    }

    pub(super) fn set_next(&self, partition: Partition, offset: i64) {
        self.places().next.insert(partition, offset);
    }

    /// These go elsewhere, with what was taken of them and not handed over: their ends are to be reached again.
    pub(super) fn goes(&self, partitions: &[Partition]) {
        self.places().goes(partitions);
    }

    /// A consumer has taken all records that there are before this offset.
    pub(super) fn reached(&self, partition: Partition, offset: i64) {
        self.places().reached(partition, offset);
    }

    /// Records from offset `first` to before `behind` were handed over, with so many offsets missing in between.
    pub(super) fn handed_over(&self, partition: Partition, first: i64, behind: i64, missing: i64) {
        self.places().handed_over(partition, first, behind, missing);
    }

    pub(super) fn next(&self, partition: Partition) -> Option<i64> {
        self.places().next.get(&partition).copied()
    }

    /// How far this process is in the partitions that it has, or had until it leaves: behind the last record that was handed over.
    pub fn positions(&self) -> Vec<(Partition, i64)> {
        let members = self.members();
        let next = &self.places().next;
        let ours = members.all.iter().flat_map(|member| member.assigned.as_ref().unwrap_or(&member.last));
        ours.filter_map(|partition| Some((*partition, *next.get(partition)?))).collect()
    }

    /// Whether it matters what the group has committed for a partition. Where partitions may move it does whatever they are read
    /// from: only what is committed after that was handled meanwhile.
    pub(super) fn asks_for_committed(&self, partition: Partition) -> bool {
        let once = self.dealer == Dealer::Group && self.next(partition).is_none();
        self.has_begun() || self.from == ReadFrom::Committed || once
    }

    /// Before the load, the group has committed these.
    pub(super) fn were_committed(&self, offsets: &HashMap<Partition, i64>) {
        if !self.has_begun() {
            self.places().committed_before.extend(offsets);
        }
    }

    /// Where to begin in a partition for which the group has committed this.
    pub(super) fn start(&self, partition: Partition, committed: Option<i64>) -> Start {
        let is_new = self.partitions.get(partition.0).is_none_or(|count| partition.1 as u32 >= *count);
        let before = self.places().committed_before.get(&partition).copied();
        match (self.has_begun(), self.next(partition), committed) {
            // before its own load another process may have had it again, and gone on
            (false, Some(next), Some(committed)) if self.from == ReadFrom::Committed => Start::At(committed.max(next)),
            (false, Some(next), _) => Start::At(next),
            (false, None, committed) => match (self.from, committed) {
                (ReadFrom::Latest, _) => Start::End,
                (ReadFrom::Earliest, _) => Start::First,
                (ReadFrom::Committed, Some(committed)) => Start::At(committed),
                (ReadFrom::Committed, None) => Start::Reset,
                (ReadFrom::Time(millis), _) => Start::Time(millis),
                (ReadFrom::Offset(offset), _) => Start::Near(offset),
                (ReadFrom::BeforeEnd(count), _) => Start::BeforeEnd(count),
            },
            // it may have been with another process for a while, which has committed what it handled
            (true, Some(next), committed) => {
                let meanwhile = committed.filter(|committed| Some(*committed) != before);
                Start::At(meanwhile.map_or(next, |committed| committed.max(next)))
            }
            (true, None, Some(committed)) => Start::At(committed),
            (true, None, None) if is_new => Start::First,
            (true, None, None) => Start::Reset,
        }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
