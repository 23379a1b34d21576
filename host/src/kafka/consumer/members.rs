//! Which of our consumers has which partitions, and how long that took. Pure, but for the time.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::group::Partition;

/// Our consumers.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) all: Vec<Member>,
    /// When partitions last came or went.
    pub(super) changed: Instant,
    /// What they lost in the load, and none of them has got since.
    pub(super) lost: HashSet<Partition>,
    pub(super) rebalances: Rebalances,
}

/// One of our consumers.
#[derive(Debug, Clone, Default)]
pub(super) struct Member {
    /// None until it has an assignment, and while it has lost it.
    pub(super) assigned: Option<Vec<Partition>>,
    /// What it had last in the load, an empty assignment left out.
    pub(super) last: Vec<Partition>,
    /// Since when it waits for an assignment.
    pub(super) waits_since: Option<Instant>,
    /// How long the first one took.
    pub(super) joined_after: Option<Duration>,
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

impl Members {
    /// So many, without any partition yet.
    pub(super) fn new(count: u32) -> Self {
        Members {
            all: vec![Member::default(); count as usize],
            changed: Instant::now(),
            lost: HashSet::new(),
            rebalances: Rebalances::default(),
        }
    }

    /// The load begins: what they had before others joined does not matter.
    pub(super) fn begin(&mut self) {
        self.lost.clear();
        for member in &mut self.all {
            member.last = member.assigned.clone().unwrap_or_default();
        }
    }

    /// Whether each has its partitions. Where one has none, others may be about to give some up: then nothing may have changed
    /// for as long as `settled`.
    pub(super) fn are_complete(&self, settled: Duration) -> bool {
        let assigned = || self.all.iter().map(|member| member.assigned.as_deref());
        assigned().all(|one| one.is_some_and(|partitions| !partitions.is_empty()))
            || (assigned().all(|one| one.is_some()) && self.changed.elapsed() >= settled)
    }

    /// One begins to join its group.
    pub(super) fn joins(&mut self, member: usize) {
        self.all[member].waits_since = Some(Instant::now());
    }

    /// One has joined, and is told of no partition yet: it counts as one that has none.
    pub(super) fn has_joined(&mut self, member: usize) {
        if self.all[member].assigned.is_none() {
            self.all[member].assigned = Some(Vec::new());
            self.changed = Instant::now();
        }
    }

    /// One has these partitions from now on, or has lost what it had; `in_load` says whether that counts as a rebalance.
    pub(super) fn assign(&mut self, member: usize, partitions: Option<Vec<Partition>>, in_load: bool) {
        let now = Instant::now();
        self.changed = now;
        let member = &mut self.all[member];
        self.lost.extend(member.assigned.take().unwrap_or_default());
        partitions.iter().flatten().for_each(|one| _ = self.lost.remove(one));
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
        } else if in_load {
            self.rebalances.count += 1;
            self.rebalances.total += waited;
            self.rebalances.longest = self.rebalances.longest.max(waited);
        }
    }
}
