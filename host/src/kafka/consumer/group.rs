//! What the consumers of a flow share: where each partition's next record is, and which of them has which partitions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::pause::PauseFigures;
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

/// Where its partitions are read.
#[derive(Debug, Default)]
struct Places {
    /// The offset behind the last record that was handed over.
    next: HashMap<Partition, i64>,
    /// Where partitions ended when it began, where that matters.
    ends: HashMap<Partition, i64>,
    ends_are_known: bool,
    /// Partitions that have no record left before their end.
    through: HashSet<Partition>,
    /// What the group had committed when it was asked before the load.
    committed_before: HashMap<Partition, i64>,
    repeated: u64,
    skipped: u64,
    /// When something last came, or it was told that there is nothing more.
    progressed: Option<Instant>,
}

impl Places {
    /// Whether a partition is read up to its end. One that was added later has none, and is left alone.
    fn are_through(&self, partition: Partition) -> bool {
        self.ends.get(&partition).is_none_or(|end| {
            self.through.contains(&partition) || self.next.get(&partition).is_some_and(|next| next >= end)
        })
    }
}

/// Our consumers.
#[derive(Debug)]
struct Members {
    all: Vec<Member>,
    /// When partitions last came or went.
    changed: Instant,
    /// What they lost in the load, and none of them has got since.
    lost: HashSet<Partition>,
    rebalances: Rebalances,
}

/// One of our consumers.
#[derive(Debug, Clone, Default)]
struct Member {
    /// None until it has an assignment, and while it has lost it.
    assigned: Option<Vec<Partition>>,
    /// What it had last in the load, an empty assignment left out.
    last: Vec<Partition>,
    /// Since when it waits for an assignment.
    waits_since: Option<Instant>,
    /// How long the first one took.
    joined_after: Option<Duration>,
}

/// New assignments of our consumers in the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rebalances {
    /// How many, summed over the members.
    pub count: u64,
    /// How long they were without any partition meanwhile, summed.
    pub total: Duration,
    /// The longest of it.
    pub longest: Duration,
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

/// What was wrong with the order of records that were handed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffsetFigures {
    /// Records that were handed over before.
    pub repeated: u64,
    /// Offsets without a record: what compaction and transactions leave, and what was deleted before it was read.
    pub skipped: u64,
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
    /// At this offset, or as near to it as there are records.
    Near(i64),
    /// So many before its end, or at its first record.
    BeforeEnd(i64),
    /// At the first record with this timestamp or a later one.
    Time(i64),
    /// Where librdkafka's `auto.offset.reset` says.
    Reset,
}

impl Group {
    /// # Panics
    /// Where a topic's name has a NUL, which a plan's have not.
    pub fn new(setup: GroupSetup<'_>) -> Self {
        let c_name = |name: String| CString::new(name).expect("a plan's topic names are legal, so without NUL");
        let members = vec![Member::default(); setup.workers as usize];
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
            members: Mutex::new(Members {
                all: members,
                changed: Instant::now(),
                lost: HashSet::new(),
                rebalances: Rebalances::default(),
            }),
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
            places.ends = find_ends()?;
            places.ends_are_known = true;
            places.progressed = Some(Instant::now());
        }
        drop(places);
        if !self.begun.swap(true, Ordering::AcqRel) {
            // what they had before others joined does not matter
            let mut members = self.members();
            members.lost.clear();
            for member in &mut members.all {
                member.last = member.assigned.clone().unwrap_or_default();
            }
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
        let members = self.members();
        let assigned = || members.all.iter().map(|member| member.assigned.as_deref());
        assigned().all(|one| one.is_some_and(|partitions| !partitions.is_empty()))
            || (assigned().all(|one| one.is_some()) && members.changed.elapsed() >= settled)
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
        let places = self.places();
        OffsetFigures { repeated: places.repeated, skipped: places.skipped }
    }

    pub(super) fn joins(&self, member: usize) {
        self.members().all[member].waits_since = Some(Instant::now());
    }

    /// A consumer has joined, and is told of no partition yet: it counts as one that has none.
    pub(super) fn has_joined(&self, member: usize) {
        let mut members = self.members();
        if members.all[member].assigned.is_none() {
            members.all[member].assigned = Some(Vec::new());
            members.changed = Instant::now();
        }
    }

    pub(super) fn assign(&self, member: usize, partitions: Option<Vec<Partition>>) {
        let has_begun = self.has_begun();
        let now = Instant::now();
        let mut members = self.members();
        members.changed = now;
        let had = members.all[member].assigned.take().unwrap_or_default();
        members.lost.extend(had);
        partitions.iter().flatten().for_each(|one| _ = members.lost.remove(one));
        let member = &mut members.all[member];
        if let Some(some) = partitions.as_ref().filter(|list| !list.is_empty()) {
            member.last.clone_from(some);
        }
        let is_lost = partitions.is_none();
        member.assigned = partitions;
        if is_lost {
            member.waits_since.get_or_insert(now);
            return;
        }
        let waited = member.waits_since.take().map_or(Duration::ZERO, |since| now - since);
        if member.joined_after.is_none() {
            member.joined_after = Some(waited);
        } else if has_begun {
            let rebalances = &mut members.rebalances;
            rebalances.count += 1;
            rebalances.total += waited;
            rebalances.longest = rebalances.longest.max(waited);
        }
    }

    pub(super) fn of_member(&self, member: usize) -> Vec<Partition> {
        self.members().all[member].assigned.clone().unwrap_or_default()
    }

    pub(super) fn set_next(&self, partition: Partition, offset: i64) {
        self.places().next.insert(partition, offset);
    }

    /// These go elsewhere, with what was taken of them and not handed over: their ends are to be reached again.
    pub(super) fn goes(&self, partitions: &[Partition]) {
        let mut places = self.places();
        partitions.iter().for_each(|one| _ = places.through.remove(one));
    }

    /// A consumer has taken all records that there are before this offset.
    pub(super) fn reached(&self, partition: Partition, offset: i64) {
        let mut places = self.places();
        places.progressed = Some(Instant::now());
        if places.ends.get(&partition).is_some_and(|end| offset >= *end) {
            places.through.insert(partition);
        }
    }

    /// Records from offset `first` to before `behind` were handed over, with so many offsets missing in between.
    pub(super) fn handed_over(&self, partition: Partition, first: i64, behind: i64, missing: i64) {
        let mut places = self.places();
        places.progressed = Some(Instant::now());
        let before = places.next.insert(partition, behind).unwrap_or(first);
        places.repeated += before.min(behind).saturating_sub(first).max(0) as u64;
        places.skipped += (missing + first.saturating_sub(before).max(0)) as u64;
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
mod tests {
    use super::*;

    fn group(from: ReadFrom) -> Group {
        Group::new(setup(from))
    }

    fn setup(from: ReadFrom) -> GroupSetup<'static> {
        GroupSetup {
            name: "g".to_owned(),
            from,
            dealer: Dealer::Group,
            commit: Commit::Interval,
            instance_ids: None,
            workers: 2,
            topics: vec![(1, "t".to_owned())],
            partitions: &[9, 4],
            to_ends: false,
        }
    }

    fn begin(group: &Group, ends: &[(Partition, i64)]) {
        group.begin(|| Ok::<_, ()>(ends.iter().copied().collect())).expect("no error");
    }

    #[test]
    fn before_the_load_the_manifest_says_where_to_begin() {
        for (from, committed, start) in [
            (ReadFrom::Latest, Some(7), Start::End),
            (ReadFrom::Earliest, Some(7), Start::First),
            (ReadFrom::Committed, Some(7), Start::At(7)),
            (ReadFrom::Committed, None, Start::Reset),
            (ReadFrom::Offset(3), Some(7), Start::Near(3)),
            (ReadFrom::BeforeEnd(3), Some(7), Start::BeforeEnd(3)),
            (ReadFrom::Time(3), Some(7), Start::Time(3)),
        ] {
            assert_eq!(group(from).start((1, 0), committed), start);
        }
        let asked = group(ReadFrom::Latest);
        asked.set_next((1, 0), 5);
        assert_eq!(asked.start((1, 0), Some(7)), Start::At(5), "once is enough");
        let committed = group(ReadFrom::Committed);
        committed.set_next((1, 0), 5);
        assert!(committed.asks_for_committed((1, 0)));
        assert_eq!(committed.start((1, 0), Some(7)), Start::At(7), "another process had it meanwhile");
    }

    #[test]
    fn in_the_load_a_partition_goes_on_where_it_was() {
        let group = group(ReadFrom::Latest);
        group.set_next((1, 0), 5);
        begin(&group, &[]);
        assert_eq!(group.start((1, 0), None), Start::At(5));
        assert_eq!(group.start((1, 0), Some(3)), Start::At(5), "handed over, and not committed yet");
        assert_eq!(group.start((1, 0), Some(8)), Start::At(8), "handled elsewhere meanwhile");
        assert_eq!(group.start((1, 1), Some(8)), Start::At(8));
        assert_eq!(group.start((1, 1), None), Start::Reset);
        assert_eq!(group.start((1, 4), None), Start::First, "a partition that was added");
    }

    #[test]
    fn positions_are_those_of_partitions_that_it_has() {
        let group = group(ReadFrom::Latest);
        group.assign(0, Some(vec![(1, 0), (1, 1)]));
        (0..4).for_each(|partition| group.set_next((1, partition), 10));
        assert_eq!(group.positions(), [((1, 0), 10), ((1, 1), 10)]);
        group.assign(0, None);
        assert_eq!(group.positions().len(), 2, "it may get them back");
        group.assign(0, Some(Vec::new()));
        assert_eq!(group.positions(), [], "they are somebody else's");
    }

    #[test]
    fn what_was_committed_before_the_load_is_not_handled_in_it() {
        let group = group(ReadFrom::Earliest);
        assert!(group.asks_for_committed((1, 0)));
        group.were_committed(&HashMap::from([((1, 0), 90)]));
        assert_eq!(group.start((1, 0), Some(90)), Start::First);
        group.set_next((1, 0), 0);
        begin(&group, &[]);
        group.handed_over((1, 0), 0, 5, 0);
        assert_eq!(group.start((1, 0), Some(90)), Start::At(5));
        assert_eq!(group.start((1, 0), Some(20)), Start::At(20), "handled elsewhere meanwhile");
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
        begin(&group, &[]);
        assert_eq!(group.assigned(), [vec![], vec![]], "what they had before the load does not matter");
    }

    #[test]
    fn khost_deals_out_all_partitions_evenly() {
        let group = Group::new(GroupSetup { workers: 3, ..setup(ReadFrom::Latest) });
        let shares: Vec<_> = (0..3).map(|member| group.share(member)).collect();
        assert_eq!(shares, [vec![(1, 0), (1, 3)], vec![(1, 1)], vec![(1, 2)]]);
    }

    #[test]
    fn it_is_read_through_when_all_that_is_ours_is() {
        let group = Group::new(GroupSetup { to_ends: true, ..setup(ReadFrom::Earliest) });
        group.assign(0, Some(vec![(1, 0), (1, 1)]));
        group.assign(1, Some(Vec::new()));
        group.set_next((1, 0), 0);
        group.set_next((1, 1), 4);
        let settled = Duration::MAX;
        assert!(!group.is_read_through(settled), "its ends are not known yet");
        begin(&group, &[((1, 0), 10), ((1, 1), 4), ((1, 2), 8)]);
        begin(&group, &[((1, 0), 90)]);
        assert!(!group.is_read_through(settled));
        group.handed_over((1, 0), 0, 9, 0);
        assert!(!group.is_read_through(settled));
        group.reached((1, 0), 10);
        assert!(group.is_read_through(settled), "the last offset is a transaction's mark");
        group.assign(1, None);
        assert!(!group.is_read_through(settled), "it may be given more");
    }

    #[test]
    fn a_group_whose_records_do_not_come_says_which() {
        let group = Group::new(GroupSetup { to_ends: true, ..setup(ReadFrom::Earliest) });
        group.assign(0, Some(vec![(1, 0), (1, 1)]));
        assert_eq!(group.stalls(Duration::ZERO), None, "it has not begun");
        group.set_next((1, 1), 4);
        begin(&group, &[((1, 0), 0), ((1, 1), 10)]);
        group.reached((1, 0), 0);
        assert_eq!(group.stalls(Duration::MAX), None);
        let why = group.stalls(Duration::ZERO).expect("nothing has come for no time at all");
        assert_eq!(why, "partition 1 of t ends at 10 and is read up to 4");
        assert_eq!(super::tests::group(ReadFrom::Earliest).stalls(Duration::ZERO), None, "it has no end to come to");
    }

    #[test]
    fn what_moves_is_read_through_where_it_goes() {
        let group = Group::new(GroupSetup { to_ends: true, ..setup(ReadFrom::Earliest) });
        let (at_once, never) = (Duration::ZERO, Duration::MAX);
        group.assign(0, Some(vec![(1, 0), (1, 1)]));
        group.assign(1, Some(Vec::new()));
        begin(&group, &[((1, 0), 10), ((1, 1), 0)]);
        group.set_next((1, 0), 4);
        group.set_next((1, 1), 0);
        group.reached((1, 0), 10);
        assert!(group.is_read_through(never), "its last records are held by the member");
        group.goes(&[(1, 0)]);
        group.assign(0, Some(vec![(1, 1)]));
        assert!(!group.is_read_through(never), "the records went with it, and nobody has it yet");
        assert!(group.is_read_through(at_once), "another process has it");
        group.assign(1, Some(vec![(1, 0)]));
        assert!(!group.is_read_through(at_once));
        group.handed_over((1, 0), 4, 10, 0);
        assert!(group.is_read_through(never));
    }

    #[test]
    fn a_member_that_has_joined_without_a_word_has_nothing() {
        let group = group(ReadFrom::Latest);
        group.assign(0, Some(vec![(1, 0)]));
        group.has_joined(1);
        group.has_joined(0);
        assert!(group.is_complete(Duration::ZERO) && group.of_member(0) == [(1, 0)]);
        group.assign(1, Some(vec![(1, 1)]));
        assert!(group.joined_after()[1].is_some());
    }

    #[test]
    fn what_is_repeated_and_what_is_missing_is_counted() {
        let group = group(ReadFrom::Earliest);
        group.set_next((1, 0), 5);
        group.handed_over((1, 0), 5, 10, 0);
        group.handed_over((1, 0), 12, 20, 1);
        group.handed_over((1, 0), 15, 18, 0);
        assert_eq!(group.offset_figures(), OffsetFigures { repeated: 3, skipped: 3 });
        group.handed_over((1, 1), 7, 9, 0);
        assert_eq!(group.offset_figures().skipped, 3, "where it begins nothing is missing");
    }

    #[test]
    fn joining_and_rebalances_are_told_apart() {
        let group = group(ReadFrom::Latest);
        group.joins(0);
        group.assign(0, Some(vec![(1, 0)]));
        group.assign(0, None);
        group.assign(0, Some(vec![(1, 0)]));
        assert_eq!(group.rebalances().count, 0, "the load has not begun");
        assert!(group.joined_after()[0].is_some() && group.joined_after()[1].is_none());
        begin(&group, &[]);
        group.assign(0, None);
        group.assign(0, Some(Vec::new()));
        assert_eq!(group.rebalances().count, 1);
    }
}
