//! What a consume flow comes to.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A consumer's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Consume {
    /// The topics that it reads, by their number in the plan.
    pub topics: Vec<usize>,
    /// Its consumer groups, one at least: each of them reads all of it.
    pub groups: Vec<String>,
    /// Members of each group, each on a thread of its own.
    pub workers: u32,
    /// Who deals out the partitions to the workers.
    pub dealer: Dealer,
    /// Static membership: what the members' ids begin with.
    pub instance_ids: Option<String>,
    /// Where it begins in each partition.
    pub from: ReadFrom,
    /// When what is handled is committed.
    pub commit: Commit,
    /// Whether the scenario gets the records; else they are only counted.
    pub handler: bool,
    /// What of a record the scenario gets.
    pub deliver: Deliver,
    /// Whether it pauses partitions.
    pub pause: Option<Pause>,
    /// Whether it reads stamps, and whose.
    pub end_to_end: EndToEnd,
    /// The most records of one call of the guest.
    pub max_records: u32,
    /// The most bytes of one call of the guest, unless one record is larger; absent: as many as an instance has room for.
    pub max_bytes: Option<u64>,
}

impl Consume {
    /// Those of all groups.
    pub fn all_workers(&self) -> u32 {
        self.workers * self.groups.len() as u32
    }
}

/// Which stamps a consumer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndToEnd {
    /// None.
    Off,
    /// Those of its own run.
    Own,
    /// Those of other runs, too.
    Any,
}

/// How a consumer pauses partitions: some at any time, by turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pause {
    /// Which share of a worker's partitions, below 1.
    pub share: f64,
    /// When the next ones have their turn.
    pub every: PauseEvery,
    /// What becomes of records that were fetched of a paused partition.
    pub data: PausedData,
}

impl Pause {
    /// How many of so many partitions are paused: one at least is read.
    pub fn count_of(&self, partitions: usize) -> usize {
        ((self.share * partitions as f64).round() as usize).min(partitions.saturating_sub(1))
    }
}

/// When other partitions are paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseEvery {
    /// After each batch of records.
    Poll,
    /// After this long.
    Time(Duration),
}

impl PauseEvery {
    /// As the manifest has it.
    pub fn text(self) -> String {
        match self {
            PauseEvery::Poll => "poll".to_owned(),
            PauseEvery::Time(length) => super::format_duration(length),
        }
    }
}

/// What becomes of records that were fetched of a paused partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PausedData {
    /// They are thrown away, and fetched again: librdkafka's own pause.
    Discard,
    /// They wait.
    Keep,
}

impl PausedData {
    /// As the manifest has it.
    pub fn name(self) -> &'static str {
        ["discard", "keep"][self as usize]
    }
}

/// Who deals out the partitions to the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dealer {
    /// The group, as it does to any application.
    Group,
    /// khost, evenly and once; nobody joins the group.
    Khost,
}

/// Where a consumer begins in each partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// At its end, as it is shortly before the load.
    Latest,
    /// At its first record.
    Earliest,
    /// Where the group has committed.
    Committed,
    /// At the first record with this timestamp, in milliseconds since the Unix epoch, or a later one; at the end where there
    /// is none.
    Time(i64),
    /// At this offset.
    Offset(i64),
    /// So many records before its end, or at its first.
    BeforeEnd(i64),
}

impl ReadFrom {
    /// As the manifest has it.
    pub fn text(self) -> String {
        match self {
            ReadFrom::Latest => "latest".to_owned(),
            ReadFrom::Earliest => "earliest".to_owned(),
            ReadFrom::Committed => "committed".to_owned(),
            ReadFrom::Time(millis) => {
                let at = Duration::from_millis(millis.unsigned_abs());
                let at = if millis < 0 { UNIX_EPOCH.checked_sub(at) } else { UNIX_EPOCH.checked_add(at) };
                humantime::format_rfc3339_millis(at.unwrap_or(UNIX_EPOCH)).to_string()
            }
            ReadFrom::Offset(offset) => offset.to_string(),
            ReadFrom::BeforeEnd(count) => format!("-{count}"),
        }
    }

    /// Reads a time such as `2026-12-01T08:00:00Z`.
    pub(super) fn parse_time(text: &str) -> Option<Self> {
        let at = humantime::parse_rfc3339_weak(text).ok()?;
        let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok().map(ReadFrom::Time)
    }
}

/// When what is handled is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// Every `auto.commit.interval.ms`, and when partitions go.
    Interval,
    /// After each batch, before the next.
    Batch,
    /// Never.
    Never,
}

impl Commit {
    /// As the manifest has it.
    pub fn name(self) -> &'static str {
        ["interval", "batch", "never"][self as usize]
    }
}

/// What of a record a scenario gets; what is left out looks like null, or like no headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deliver {
    /// Its key.
    pub key: bool,
    /// Its headers.
    pub headers: bool,
    /// Its value.
    pub value: bool,
}

impl Deliver {
    /// All of it.
    pub const ALL: Deliver = Deliver { key: true, headers: true, value: true };
}
