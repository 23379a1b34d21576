//! Which reply is whose: the table of a channel's requests and announced replies, and the account of what became of them.
//!
//! It knows no Kafka: ids and instants in, counts and durations out. Nothing is allocated for a request's id.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::errors::{ENDING, NO_ANSWER};
use super::answers::{Answer, Answers, Reply};
use super::id::{Ids, Origin};
use super::memory::{ByKey, Key, Latest};
use crate::measure::{Asked, Measure, RunClock, Sample, WorkInterval};

/// Ids that are remembered after their end, to tell late replies from duplicates.
const MOST_SPENT: usize = 262_144;
/// Unknown ids that are remembered, as somebody may expect them yet, and the bytes of their replies.
const MOST_UNKNOWN: usize = 4_096;
const MOST_UNKNOWN_BYTES: usize = 8 << 20;

/// What a request or an expectation counts towards.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// The flow's number in the plan.
    pub flow: usize,
    /// The operation's number in the run.
    pub operation: u32,
    /// Whether it is left out of the figures.
    pub warm_up: bool,
    /// From the intended time to the handing over; none where there is no intended time.
    pub wait: Option<Duration>,
}

/// Replies by what they were to a channel. Their sum is what was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReplyCounts {
    /// Those that were waited for.
    pub matched: u64,
    /// Those that came before somebody announced them.
    pub early: u64,
    /// Those that came after their request or expectation had ended without them.
    pub late: u64,
    /// More than were asked for.
    pub duplicate: u64,
    /// With an id that this run knows nothing of.
    pub foreign: u64,
    /// With an id that khost made before this run began.
    pub old: u64,
    /// Without an id where the channel has it.
    pub without_id: u64,
}

/// An id that is waited for already.
#[derive(Debug, PartialEq, Eq)]
pub struct AlreadyExpected;

/// A request or an expectation in a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry(Key);

/// One channel's.
#[derive(Debug)]
pub struct Book {
    keys: [RandomState; 2],
    ids: Arc<Ids>,
    clock: RunClock,
    keep: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pending: ByKey<Pending>,
    requests: usize,
    /// Requests that nobody waits for, by when their time is up. Those that have ended may still be in it.
    deadlines: BinaryHeap<Reverse<(Instant, Key)>>,
    spent: Latest<u32>,
    unknown: Latest<Unknown>,
    unknown_bytes: usize,
    counts: ReplyCounts,
    closed: bool,
    work: Vec<WorkInterval>,
    /// Gone at the end: the collector ends with the last sender.
    samples: Option<Sender<Sample>>,
}

#[derive(Debug)]
struct Pending {
    from: Instant,
    ask: Ask,
    is_request: bool,
    expected: u32,
    got: u32,
    failed: u32,
    answers: Option<(Arc<Answers>, usize)>,
}

/// A reply whose id nobody has named yet.
#[derive(Debug, Default)]
struct Unknown {
    count: u32,
    failed: u32,
    old: bool,
    replies: VecDeque<Reply>,
}

impl Unknown {
    fn bytes(&self) -> usize {
        self.replies.iter().map(size_of_reply).sum()
    }
}

fn size_of_reply(reply: &Reply) -> usize {
    let headers: usize =
        reply.headers.iter().map(|(name, value)| name.len() + value.as_ref().map_or(0, |value| value.len())).sum();
    size_of::<Reply>() + headers + [&reply.key, &reply.value].into_iter().flatten().map(|b| b.len()).sum::<usize>()
}

/// How a request or an expectation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    /// The request was not acknowledged.
    Refused(i32),
    TimedOut,
    /// The run was given up.
    Unanswered,
    /// The guest's call is over, and it had not waited for it to the end.
    GivenUp,
}

impl Book {
    /// Of a run with so many flows; the guest gets to see `keep` replies to each.
    pub fn new(ids: Arc<Ids>, keep: usize, flows: usize, clock: RunClock, samples: Sender<Sample>) -> Self {
        let state = State {
            pending: ByKey::default(),
            requests: 0,
            deadlines: BinaryHeap::new(),
            spent: Latest::new(MOST_SPENT),
            unknown: Latest::new(MOST_UNKNOWN),
            unknown_bytes: 0,
            counts: ReplyCounts::default(),
            closed: false,
            work: (0..flows).map(|flow| WorkInterval { flow, ..Default::default() }).collect(),
            samples: Some(samples),
        };
        Book { keys: [RandomState::new(), RandomState::new()], ids, clock, keep, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn key(&self, id: &[u8]) -> Key {
        let [high, low] = [0, 1].map(|at| self.keys[at].hash_one(id));
        Key::from(high) << 64 | Key::from(low)
    }

    /// A request that is about to be handed over; none when nobody reads replies any more. Without `answers`, nobody waits,
    /// and its time is up after `timeout`.
    pub fn request(
        &self,
        id: &[u8],
        ask: Ask,
        timeout: Duration,
        answers: Option<(Arc<Answers>, usize)>,
    ) -> Option<Entry> {
        let key = self.key(id);
        let from = Instant::now();
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        if answers.is_none() {
            state.deadline(key, from + timeout);
        }
        state.announce(key, Pending { from, ask, is_request: true, expected: 1, got: 0, failed: 0, answers });
        Some(Entry(key))
    }

    /// Announces `count` replies with this id; those that came before are counted at once.
    ///
    /// # Errors
    /// Somebody waits for this id already.
    pub fn expect(
        &self,
        id: &[u8],
        ask: Ask,
        count: u32,
        answers: (Arc<Answers>, usize),
    ) -> Result<Option<Entry>, AlreadyExpected> {
        let key = self.key(id);
        let from = Instant::now();
        let mut state = self.lock();
        if state.closed {
            return Ok(None);
        }
        if state.pending.contains_key(&key) {
            return Err(AlreadyExpected);
        }
        state.spent.take(key);
        let early = state.take_unknown(key, count);
        let pending =
            Pending { from, ask, is_request: false, expected: count, got: 0, failed: 0, answers: Some(answers) };
        state.announce(key, pending);
        if let Some(early) = early {
            let pending = state.pending.get_mut(&key).expect("it was just announced");
            (pending.got, pending.failed) = (early.count.min(count), early.failed.min(count));
            if let Some((answers, at)) = &pending.answers {
                answers.change(*at, |one| {
                    (one.count, one.failed, one.replies) = (pending.got, pending.failed, early.replies);
                });
            }
            if pending.got == count {
                state.end(key, End::Complete, from, &self.clock);
            }
        }
        Ok(Some(Entry(key)))
    }

    /// The handing over of a request waited for room so long: it was sent so much later.
    pub fn delayed(&self, entry: Entry, by: Duration) {
        if let Some(pending) = self.lock().pending.get_mut(&entry.0) {
            pending.from += by;
            pending.ask.wait = pending.ask.wait.map(|wait| wait + by);
        }
    }

    /// A request was not acknowledged.
    pub fn refuse(&self, entry: Entry, code: i32) {
        self.lock().end(entry.0, End::Refused(code), Instant::now(), &self.clock);
    }

    /// The time of whoever waited for these is up.
    pub fn time_out(&self, entries: impl Iterator<Item = Entry>) {
        let (now, mut state) = (Instant::now(), self.lock());
        entries.for_each(|entry| state.end(entry.0, End::TimedOut, now, &self.clock));
    }

    /// An expectation that nobody waits for any more.
    pub fn give_up(&self, entry: Entry) {
        self.lock().end(entry.0, End::GivenUp, Instant::now(), &self.clock);
    }

    /// The caller of a request is gone: it ends by itself.
    pub fn detach(&self, entry: Entry, timeout: Duration) {
        let mut state = self.lock();
        if let Some(pending) = state.pending.get_mut(&entry.0) {
            pending.answers = None;
            let until = pending.from + timeout;
            state.deadline(entry.0, until);
        }
    }

    /// Whether no request waits for its reply.
    pub fn is_quiet(&self) -> bool {
        self.lock().requests == 0
    }

    /// What was read so far.
    pub fn counts(&self) -> ReplyCounts {
        self.lock().counts
    }

    /// Replies that were read by `at`.
    pub(super) fn receive(&self, at: Instant) -> Receiving<'_> {
        Receiving { book: self, state: self.lock(), at }
    }

    /// Ends requests whose time is up, and hands over at the end of a second. Answers when the next one's time is up.
    pub(super) fn tick(&self) -> Option<Instant> {
        let (now, mut state) = (Instant::now(), self.lock());
        while let Some(Reverse((until, key))) = state.deadlines.peek().copied() {
            if state.pending.contains_key(&key) && until > now {
                break;
            }
            state.deadlines.pop();
            state.end(key, End::TimedOut, until, &self.clock);
        }
        state.hand_over(self.clock.now_us() / 1_000_000);
        state.deadlines.peek().map(|Reverse((until, _))| *until)
    }

    /// Nobody reads replies any more: what is pending is unanswered, and nothing new is asked for.
    pub(super) fn close(&self) {
        let (now, mut state) = (Instant::now(), self.lock());
        state.closed = true;
        let keys: Vec<Key> = state.pending.keys().copied().collect();
        keys.into_iter().for_each(|key| state.end(key, End::Unanswered, now, &self.clock));
    }

    /// Hands over the rest.
    pub(super) fn finish(&self) {
        self.close();
        let mut state = self.lock();
        state.hand_over(u64::MAX);
        state.samples = None;
    }
}

/// Replies that are being matched.
pub(super) struct Receiving<'b> {
    book: &'b Book,
    state: MutexGuard<'b, State>,
    at: Instant,
}

impl Receiving<'_> {
    /// One of them; `copy` is called where it is kept. Without an id it is nobody's.
    pub(super) fn take(&mut self, id: Option<&[u8]>, failed: bool, copy: impl Fn() -> Reply) {
        let (state, keep) = (&mut *self.state, self.book.keep);
        let Some(id) = id else {
            state.counts.without_id += 1;
            return;
        };
        let key = self.book.key(id);
        if let Some(pending) = state.pending.get_mut(&key) {
            pending.got += 1;
            pending.failed += u32::from(failed);
            state.counts.matched += 1;
            if let Some((answers, place)) = &pending.answers {
                let latency_ns = self.at.saturating_duration_since(pending.from).as_nanos() as u64;
                answers.change(*place, |one| {
                    (one.count, one.failed, one.latency_ns) = (pending.got, pending.failed, latency_ns);
                    keep_last(&mut one.replies, keep, &copy);
                });
            }
            if pending.got == pending.expected {
                state.end(key, End::Complete, self.at, &self.book.clock);
            }
        } else if let Some(owed) = state.spent.get_mut(key) {
            if *owed > 0 {
                *owed -= 1;
                state.counts.late += 1;
            } else {
                state.counts.duplicate += 1;
            }
        } else {
            match self.book.ids.origin(id) {
                // so old that it is forgotten how it ended
                Origin::Own => state.counts.late += 1,
                Origin::Earlier => state.note_unknown(key, true, failed, keep, &copy),
                Origin::Other => state.note_unknown(key, false, failed, keep, &copy),
            }
        }
    }
}

fn keep_last(replies: &mut VecDeque<Reply>, keep: usize, copy: impl Fn() -> Reply) {
    if keep > 0 {
        if replies.len() == keep {
            replies.pop_front();
        }
        replies.push_back(copy());
    }
}

impl State {
    fn announce(&mut self, key: Key, pending: Pending) {
        self.requests += usize::from(pending.is_request);
        self.count(&pending, |asked| asked.sent += 1);
        self.pending.insert(key, pending);
    }

    fn count(&mut self, pending: &Pending, count: impl Fn(&mut Asked)) {
        let Ask { flow, operation, warm_up, .. } = pending.ask;
        let work = &mut self.work[flow];
        count(if pending.is_request { &mut work.all_requests } else { &mut work.all_expectations });
        if !warm_up {
            let one = work.operations.of(operation);
            count(if pending.is_request { &mut one.requests } else { &mut one.expectations });
        }
    }

    fn deadline(&mut self, key: Key, until: Instant) {
        if self.deadlines.len() > 2 * self.pending.len() + 1_024 {
            let pending = &self.pending;
            self.deadlines.retain(|Reverse((_, key))| pending.contains_key(key));
        }
        self.deadlines.push(Reverse((until, key)));
    }

    /// Ends one that is pending, at this instant; one that has ended has ended.
    fn end(&mut self, key: Key, end: End, at: Instant, clock: &RunClock) {
        let Some(pending) = self.pending.remove(&key) else { return };
        self.hand_over(clock.now_us() / 1_000_000);
        self.requests -= usize::from(pending.is_request);
        let owed = if end == End::Complete { 0 } else { pending.expected - pending.got };
        self.spent.put(key, owed);
        let is_good = end == End::Complete && pending.failed == 0;
        self.count(&pending, |asked| match end {
            End::Complete if is_good => asked.replied += 1,
            End::Complete | End::Refused(_) => asked.failed += 1,
            End::TimedOut => asked.timed_out += 1,
            End::Unanswered | End::GivenUp => asked.unanswered += 1,
        });
        if end != End::GivenUp && (pending.is_request || end != End::Unanswered) && !pending.ask.warm_up {
            self.record(&pending, at, is_good);
        }
        if let Some((answers, place)) = &pending.answers {
            answers.change(*place, |one: &mut Answer| {
                one.done = true;
                one.code = match end {
                    End::Complete => 0,
                    End::Refused(code) => code,
                    End::TimedOut | End::GivenUp => NO_ANSWER,
                    End::Unanswered => ENDING,
                };
            });
        }
    }

    fn record(&mut self, pending: &Pending, at: Instant, is_good: bool) {
        let took = at.saturating_duration_since(pending.from);
        let one = self.work[pending.ask.flow].operations.of(pending.ask.operation);
        let mut record = |measure, duration: Duration| {
            let us = duration.as_micros() as u64;
            if is_good { one.good(measure, us) } else { one.bad(measure, us) }
        };
        match (pending.is_request, pending.ask.wait) {
            (false, _) => record(Measure::Reply, took),
            (true, None) => record(Measure::Service, took),
            (true, Some(wait)) => {
                record(Measure::Service, took);
                record(Measure::Response, wait + took);
                // that of failures is in their response, as with messages
                if is_good {
                    record(Measure::Wait, wait);
                }
            }
        }
    }

    /// Hands over what was recorded before `second`.
    fn hand_over(&mut self, second: u64) {
        let Some(samples) = &self.samples else { return };
        for work in self.work.iter_mut().filter(|work| work.second != second) {
            let next = WorkInterval { flow: work.flow, second, ..Default::default() };
            let done = std::mem::replace(work, next);
            if !done.all_requests.is_empty() || !done.all_expectations.is_empty() {
                // the collector lives as long as any sender
                let _ = samples.send(Sample::Work(done));
            }
        }
    }

    fn note_unknown(&mut self, key: Key, old: bool, failed: bool, keep: usize, copy: impl Fn() -> Reply) {
        *(if old { &mut self.counts.old } else { &mut self.counts.foreign }) += 1;
        if self.unknown.get_mut(key).is_none() {
            let forgotten = self.unknown.put(key, Unknown { old, ..Default::default() });
            self.unknown_bytes -= forgotten.map_or(0, |unknown| unknown.bytes());
        }
        let unknown = self.unknown.get_mut(key).expect("it was just put");
        let before = unknown.bytes();
        unknown.count += 1;
        unknown.failed += u32::from(failed);
        keep_last(&mut unknown.replies, keep, copy);
        self.unknown_bytes = self.unknown_bytes - before + unknown.bytes();
        while self.unknown_bytes > MOST_UNKNOWN_BYTES && !self.unknown.is_empty() {
            let forgotten = self.unknown.forget_oldest();
            self.unknown_bytes -= forgotten.map_or(0, |unknown| unknown.bytes());
        }
    }

    /// Replies that came before somebody announced them: they were taken for others'.
    fn take_unknown(&mut self, key: Key, expected: u32) -> Option<Unknown> {
        let unknown = self.unknown.take(key)?;
        self.unknown_bytes -= unknown.bytes();
        let early = u64::from(unknown.count.min(expected));
        *(if unknown.old { &mut self.counts.old } else { &mut self.counts.foreign }) -= u64::from(unknown.count);
        self.counts.early += early;
        self.counts.duplicate += u64::from(unknown.count) - early;
        Some(unknown)
    }
}

#[cfg(test)]
mod tests;
