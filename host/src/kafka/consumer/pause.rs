//! Partitions that are paused by turns, and what that costs: records that are fetched twice.
//!
//! What is thrown away is told by librdkafka's statistics: records that it has received, less those that were taken and
//! those that still wait.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use serde::Deserialize;

use super::error::ConsumeError;
use super::event::{Event, Queue};
use super::group::Partition;
use super::kept::Kept;
use super::list::List;
use super::{Arrived, Consumer};
use crate::plan::{Pause, PauseEvery, PausedData};

/// How often librdkafka tells its statistics.
pub(super) const STATISTICS_MS: &str = "200";
/// How long the last ones may take.
const LAST_STATISTICS: Duration = Duration::from_secs(2);
/// Where nothing comes for so long, others have their turn.
const NOTHING: Duration = Duration::from_secs(1);

/// What came of pausing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PauseFigures {
    /// How often other partitions had their turn, summed over the members.
    pub turns: u64,
    /// Records that were taken from the client.
    pub taken: u64,
    /// What they took on the wire, uncompressed and without the heads of batches, in bytes.
    pub taken_wire_bytes: u64,
    /// Records that the client has got out of fetches.
    pub received: u64,
    /// Records that waited in the client at the end.
    pub waiting: u64,
    /// Fetches of partitions that were thrown away before anything was got out of them.
    pub dropped_fetches: u64,
    /// Members whose client did not tell at the end what it had received: then nobody knows what was fetched again.
    pub untold: u64,
}

impl PauseFigures {
    /// Adds another member's, or group's.
    pub fn add(&mut self, other: &PauseFigures) {
        self.turns += other.turns;
        self.taken += other.taken;
        self.taken_wire_bytes += other.taken_wire_bytes;
        self.received += other.received;
        self.waiting += other.waiting;
        self.dropped_fetches += other.dropped_fetches;
        self.untold += other.untold;
    }
}

/// A consumer's pausing.
pub(super) struct Pausing {
    pause: Pause,
    /// Queues of the consumer's partitions, where their records are kept.
    kept: Kept,
    /// Those whose turn it is.
    read: Vec<Partition>,
    /// Those that librdkafka has paused.
    paused: Vec<Partition>,
    /// The place of the first whose turn comes next.
    next: usize,
    turned: Instant,
    /// A batch came since.
    has_read: bool,
    pub(super) figures: PauseFigures,
}

impl Pausing {
    pub(super) fn new(pause: Pause) -> Self {
        Pausing {
            pause,
            kept: Kept::default(),
            read: Vec::new(),
            paused: Vec::new(),
            next: 0,
            turned: Instant::now(),
            has_read: false,
            figures: PauseFigures::default(),
        }
    }

    /// Whether each partition keeps a queue of its own.
    pub(super) fn keeps(&self) -> bool {
        self.pause.data == PausedData::Keep
    }

    pub(super) fn add_queue(&mut self, partition: Partition, queue: Queue) {
        self.kept.add(partition, queue);
    }

    /// The partitions are another's; answers those that librdkafka has paused.
    pub(super) fn forget(&mut self, goes: impl Fn(Partition) -> bool) -> Vec<Partition> {
        self.kept.forget(&goes);
        self.read.retain(|partition| !goes(*partition));
        let (gone, stay) = self.paused.iter().partition(|partition| goes(**partition));
        self.paused = stay;
        gone
    }

    fn is_due(&self) -> bool {
        let since = self.turned.elapsed();
        self.read.is_empty()
            || match self.pause.every {
                PauseEvery::Poll => self.has_read || since >= NOTHING,
                PauseEvery::Time(length) => since >= length,
            }
    }

    /// Gives the next of these their turn; answers what librdkafka is to pause, and to resume.
    fn turn(&mut self, open: &[Partition]) -> (Vec<Partition>, Vec<Partition>) {
        let read = open.len() - self.pause.count_of(open.len());
        let first = if open.is_empty() { 0 } else { self.next % open.len() };
        let before = std::mem::take(&mut self.read);
        self.read = open.iter().cycle().skip(first).take(read).copied().collect();
        self.next = first + read;
        self.turned = Instant::now();
        self.has_read = false;
        self.figures.turns += u64::from(self.read != before);
        if self.keeps() {
            return (Vec::new(), Vec::new());
        }
        let rest: Vec<Partition> = open.iter().filter(|one| !self.read.contains(one)).copied().collect();
        let resumed = self.paused.iter().filter(|one| !rest.contains(one)).copied().collect();
        let paused = rest.iter().filter(|one| !self.paused.contains(one)).copied().collect();
        self.paused = rest;
        (paused, resumed)
    }

    /// A batch was taken: so many records, of so many bytes on the wire.
    pub(super) fn took(&mut self, records: usize, wire_bytes: u64) {
        self.has_read = true;
        self.figures.taken += records as u64;
        self.figures.taken_wire_bytes += wire_bytes;
    }

    /// Takes records of those whose turn it is: waits for the first at most this long.
    ///
    /// # Safety
    /// `taken` has room for `most`; the client is live.
    pub(super) unsafe fn take(&self, taken: &mut Vec<*mut rd::rd_kafka_message_t>, most: usize, wait: Duration) {
        // SAFETY: as the caller says.
        unsafe { self.kept.take(&self.read, taken, most, wait) };
    }
}

impl Consumer {
    /// Pauses and resumes partitions, if it is time to.
    pub(super) fn take_turns(&mut self) -> Result<(), ConsumeError> {
        let group = &self.group;
        // those who have read up to the end wait for nothing
        let are_through = |read: &[Partition]| read.iter().all(|partition| group.is_through(*partition));
        let is_due = |pausing: &&mut Pausing| pausing.is_due() || are_through(&pausing.read);
        let Some(pausing) = self.pausing.as_mut().filter(is_due) else { return Ok(()) };
        let mut open = self.group.of_member(self.member);
        open.retain(|partition| !self.group.is_through(*partition));
        let (paused, resumed) = pausing.turn(&open);
        // in this order one at least can be fetched at any time: where none can, the connection's thread sleeps for up to a second
        self.resume_paused(&resumed)?;
        self.pause(&paused)
    }

    pub(super) fn pause(&self, partitions: &[Partition]) -> Result<(), ConsumeError> {
        if partitions.is_empty() {
            return Ok(());
        }
        // SAFETY: both are live.
        let code = unsafe { rd::rd_kafka_pause_partitions(self.handle.rk, self.list(partitions).raw()) };
        self.checked(code)
    }

    /// They were paused: to resume a partition that is read would lose what is fetched of it.
    pub(super) fn resume_paused(&self, partitions: &[Partition]) -> Result<(), ConsumeError> {
        if partitions.is_empty() {
            return Ok(());
        }
        // SAFETY: both are live.
        let code = unsafe { rd::rd_kafka_resume_partitions(self.handle.rk, self.list(partitions).raw()) };
        self.checked(code)
    }

    pub(super) fn list(&self, partitions: &[Partition]) -> List {
        let mut list = List::new(partitions.len());
        partitions.iter().for_each(|(topic, partition)| list.add(&self.group.topics[topic], *partition, 0));
        list
    }

    /// Nothing is fetched any more: waits for the statistics after that, and tells the group what came of its pausing.
    pub(super) fn finish_pausing(&mut self) {
        let Some(mut pausing) = self.pausing.take() else { return };
        let paused: Vec<Partition> = std::mem::take(&mut pausing.paused);
        let read: Vec<Partition> =
            self.group.of_member(self.member).into_iter().filter(|one| !paused.contains(one)).collect();
        // what is kept is not thrown away; the rest stops here, so that the figures do
        let has_stopped = pausing.keeps() || self.pause(&read).is_ok();
        pausing.figures.untold = 1;
        while let Some(event) = Event::poll(&self.main, 0) {
            // SAFETY: the event is live.
            unsafe { self.complaints.take(event.0) };
        }
        let until = Instant::now() + LAST_STATISTICS;
        while has_stopped && Instant::now() < until && !(self.gives_up)() {
            let Some(event) = Event::poll(&self.main, 20) else { continue };
            if let Some(statistics) = event.statistics().and_then(|text| Statistics::read(&text)) {
                pausing.figures.untold = 0;
                pausing.figures.received = statistics.sum(|one| one.rxmsgs);
                pausing.figures.dropped_fetches = statistics.sum(|one| one.rx_ver_drops);
                let waiting = |one: &OfPartition| one.fetchq_cnt.max(0) as u64;
                // all partitions that share a queue tell of all that is in it
                pausing.figures.waiting =
                    if pausing.keeps() { statistics.sum(waiting) } else { statistics.most(waiting) };
                break;
            }
        }
        self.group.add_pauses(&pausing.figures);
    }
}

/// What khost reads of librdkafka's statistics.
#[derive(Deserialize)]
struct Statistics {
    topics: HashMap<String, OfTopic>,
}

#[derive(Deserialize)]
struct OfTopic {
    partitions: HashMap<String, OfPartition>,
}

#[derive(Deserialize)]
struct OfPartition {
    rxmsgs: u64,
    rx_ver_drops: u64,
    fetchq_cnt: i64,
}

impl Statistics {
    fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn each(&self) -> impl Iterator<Item = &OfPartition> {
        self.topics.values().flat_map(|topic| topic.partitions.values())
    }

    fn sum(&self, what: impl Fn(&OfPartition) -> u64) -> u64 {
        self.each().map(what).sum()
    }

    fn most(&self, what: impl Fn(&OfPartition) -> u64) -> u64 {
        self.each().map(what).max().unwrap_or(0)
    }
}

/// What records take on the wire. Headers are looked at of the first only: the others are taken to have as many bytes of them.
///
/// # Safety
/// They are live records without an error.
pub(super) unsafe fn wire_bytes<'m>(records: impl Iterator<Item = &'m *mut rd::rd_kafka_message_t>) -> u64 {
    let mut of_headers = None;
    let one = |record: &*mut rd::rd_kafka_message_t| {
        // SAFETY: as the caller says.
        unsafe {
            let headers = *of_headers.get_or_insert_with(|| header_bytes(*record));
            wire_size((**record).key_len, (**record).len, headers)
        }
    };
    records.map(one).sum()
}

/// # Safety
/// `record` is live, and without an error.
unsafe fn header_bytes(record: *const rd::rd_kafka_message_t) -> usize {
    let mut all = 0;
    let with_length = |length: usize| varint(length) + length;
    // SAFETY: as the caller says.
    unsafe { Arrived::new(record, 0) }.each_header(|name, value| {
        all += with_length(name.len()) + with_length(value.map_or(0, <[u8]>::len));
    });
    all
}

/// What a record takes in an uncompressed batch, in bytes: its fields and lengths as Kafka's variable-length integers; the
/// differences of timestamp and offset to the batch's are taken as two bytes each.
fn wire_size(key: usize, value: usize, headers: usize) -> u64 {
    const DIFFERENCES: usize = 4;
    const ATTRIBUTES: usize = 1;
    const COUNT_OF_HEADERS: usize = 1;
    let body = ATTRIBUTES + DIFFERENCES + varint(key) + key + varint(value) + value + COUNT_OF_HEADERS + headers;
    (varint(body) + body) as u64
}

/// Kafka's lengths are signed, so 63 is the largest of one byte.
fn varint(length: usize) -> usize {
    let bits = usize::BITS - (length << 1).leading_zeros();
    (bits.max(1) as usize).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pausing(share: f64, data: PausedData) -> Pausing {
        Pausing::new(Pause { share, every: PauseEvery::Poll, data })
    }

    fn partitions(count: i32) -> Vec<Partition> {
        (0..count).map(|number| (0, number)).collect()
    }

    #[test]
    fn each_partition_has_its_turn_and_librdkafka_is_told_of_changes_only() {
        let mut pausing = pausing(0.5, PausedData::Discard);
        let numbers = |list: Vec<Partition>| list.into_iter().map(|(_, number)| number).collect::<Vec<_>>();
        let mut turn = |count| {
            let (paused, resumed) = pausing.turn(&partitions(count));
            (numbers(pausing.read.clone()), numbers(paused), numbers(resumed))
        };
        assert_eq!(turn(4), (vec![0, 1], vec![2, 3], vec![]));
        assert_eq!(turn(4), (vec![2, 3], vec![0, 1], vec![2, 3]));
        assert_eq!(turn(4), (vec![0, 1], vec![2, 3], vec![0, 1]));
        // the last one is never paused
        assert_eq!(turn(1).0, [0]);
        assert_eq!(turn(0).0, [] as [i32; 0]);
    }

    #[test]
    fn where_there_are_no_others_nobody_has_a_turn() {
        let mut pausing = pausing(0.5, PausedData::Keep);
        (0..9).for_each(|_| _ = pausing.turn(&partitions(0)));
        assert_eq!(pausing.figures.turns, 0);
        (0..9).for_each(|_| _ = pausing.turn(&partitions(1)));
        assert_eq!(pausing.figures.turns, 1);
    }

    #[test]
    fn with_an_uneven_share_all_have_as_many_turns() {
        let mut pausing = pausing(0.8, PausedData::Keep);
        let mut turns = [0; 6];
        for _ in 0..60 {
            assert_eq!(pausing.turn(&partitions(6)), (vec![], vec![]), "librdkafka pauses nothing");
            pausing.read.iter().for_each(|(_, number)| turns[*number as usize] += 1);
        }
        assert_eq!(turns, [10; 6]);
    }

    #[test]
    fn what_goes_elsewhere_is_no_longer_paused() {
        let mut pausing = pausing(0.5, PausedData::Discard);
        pausing.turn(&partitions(4));
        assert_eq!(pausing.forget(|(_, number)| number >= 3), [(0, 3)]);
        assert_eq!((pausing.read, pausing.paused), (vec![(0, 0), (0, 1)], vec![(0, 2)]));
    }

    #[test]
    fn statistics_are_read_as_librdkafka_writes_them() {
        let text = r#"{"name": "x", "topics": {"t": {"age": 1, "partitions": {
            "0": {"partition": 0, "fetchq_cnt": 3, "rxmsgs": 10, "rx_ver_drops": 1, "other": {}},
            "1": {"partition": 1, "fetchq_cnt": 4, "rxmsgs": 20, "rx_ver_drops": 0},
            "-1": {"partition": -1, "fetchq_cnt": 0, "rxmsgs": 0, "rx_ver_drops": 0}}}}}"#;
        let statistics = Statistics::read(text).expect("it is legal");
        assert_eq!((statistics.sum(|one| one.rxmsgs), statistics.most(|one| one.fetchq_cnt as u64)), (30, 4));
        assert!(Statistics::read("{}").is_none());
    }

    #[test]
    fn a_records_size_on_the_wire() {
        assert_eq!([0, 63, 64, 8_191, 8_192].map(varint), [1, 1, 2, 2, 3]);
        // length 2, attributes 1, differences 4, key 1 + 16, value 2 + 500, headers 1
        assert_eq!(wire_size(16, 500, 0), 527);
        assert_eq!(wire_size(16, 500, 30), 557);
    }
}
