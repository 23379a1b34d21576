//! The lag of consumer groups, once a second while a load runs: how many records they have left to read.
//!
//! A thread of its own asks on a librdkafka client (`asker`), which finds leaders and coordinators and logs in again where that is
//! due. What can't be asked is a sample that is missing, and a complaint. How offsets become records is in `account`.

mod account;
mod asker;
mod look;

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::CString;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::complaints::Complaints;
use super::handle::ClientError;
use super::reach::Reach;
use super::{ClientSettings, Group, Partition};
use crate::measure::{LagPoint, LagSeries, RunClock};
use crate::plan::{Topic, for_consumers};
use account::Account;
use asker::{Answer, Asker, Question};
use look::Looker;

/// How often a sample is taken.
const EVERY: Duration = Duration::from_secs(1);
/// How long the answers to one sample may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How long one sample may look at what lies before the ends.
const LOOK: Duration = Duration::from_secs(5);

/// By partition.
type Offsets = HashMap<Partition, i64>;

/// A group whose lag is told.
pub struct Watched {
    /// Its name in Kafka.
    pub group: String,
    /// What it reads, by the topics' numbers in the plan.
    pub topics: Vec<usize>,
    /// It sees nothing of transactions that are open or aborted.
    pub read_committed: bool,
    /// Where it is a flow's own: it knows how far it is before that is committed.
    pub own: Option<Arc<Group>>,
}

/// What the watch is made of.
pub struct LagSetup<'a> {
    /// How it reaches the cluster.
    pub reach: &'a Reach,
    /// The plan's topics.
    pub topics: &'a [Topic],
    /// How many partitions each had before the load.
    pub partitions: &'a [u32],
    /// Whether the broker is khost's own.
    pub embedded: bool,
    /// Whose lag is told.
    pub watched: Vec<Watched>,
    /// The run's clock.
    pub clock: RunClock,
}

/// Why lags can't be told.
#[derive(Debug, Error)]
pub enum LagError {
    /// A client can't be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system has no more threads.
    #[error("a thread can't be started: {0}")]
    Thread(#[from] io::Error),
}

/// What came of a group.
#[derive(Debug, Clone, Default)]
pub struct LagRecord {
    /// Its lag over time, summed over the partitions where it is known.
    pub series: LagSeries,
    /// At the drain's end; none where that was not told.
    pub at_end: Option<u64>,
    /// The same counted from what is committed, where `at_end` is not.
    pub by_commit_at_end: Option<u64>,
    /// At the drain's end by partition; none where it is not known, as the group has committed nothing.
    pub partitions: Vec<(Partition, Option<u64>)>,
}

/// The thread that asks.
pub struct LagWatch {
    orders: Sender<Order>,
    records: Receiver<Vec<LagRecord>>,
    thread: JoinHandle<()>,
}

enum Order {
    Begin(Instant),
    /// One more sample, in so much time.
    End(Duration),
}

impl LagWatch {
    /// Starts the thread. It gets to know who has to be asked, and waits for the load.
    ///
    /// # Errors
    /// Settings that librdkafka does not take, or no thread.
    pub fn start(setup: LagSetup<'_>) -> Result<Self, LagError> {
        let c_name = |name: &str| CString::new(name).expect("a plan's names of topics and groups have no NUL");
        let topics: Vec<CString> = setup.topics.iter().map(|topic| c_name(&topic.name)).collect();
        let read: BTreeSet<usize> = setup.watched.iter().flat_map(|one| &one.topics).copied().collect();
        let known: BTreeSet<Partition> =
            read.into_iter().flat_map(|at| (0..setup.partitions[at] as i32).map(move |number| (at, number))).collect();
        let named = setup.embedded.then(|| known.iter().copied().collect());
        let asker = Asker::new(setup.reach, topics.clone(), named)?;
        let levels: BTreeSet<bool> = setup.watched.iter().map(|one| one.read_committed).collect();
        let looker = |level| Ok::<_, ClientError>((level, Looker::new(setup.reach, level)?));
        let lookers = levels.into_iter().map(looker).collect::<Result<HashMap<_, _>, _>>()?;
        let groups = setup.watched.iter().map(|one| c_name(&one.group)).collect();
        let states = setup.watched.into_iter().map(State::of).collect();
        let complaints = setup.reach.complaints.clone();
        let (orders, told) = channel();
        let (records_of, records) = channel();
        let told = Told { orders: told, begin: Cell::new(None), end: Cell::new(None) };
        let run = Run { asker, lookers, topics, groups, states, known, clock: setup.clock, complaints, told };
        let thread = std::thread::Builder::new().name("khost-lag".into()).spawn(move || {
            // clients are dropped after that: it may take long, and nobody waits for it
            run.through(&records_of);
        })?;
        Ok(LagWatch { orders, records, thread })
    }

    /// The load begins then.
    pub fn begin(&self, at: Instant) {
        // a thread that is gone has panicked, which `finish` passes on
        let _ = self.orders.send(Order::Begin(at));
    }

    /// Takes the last sample in this much time, and answers what came of each group, in the order of the setup.
    pub fn finish(self, limit: Duration) -> Vec<LagRecord> {
        let _ = self.orders.send(Order::End(limit));
        self.records.recv().unwrap_or_else(|_| match self.thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("it ends with its records, or by a panic"),
        })
    }
}

/// What the thread was told.
struct Told {
    orders: Receiver<Order>,
    /// When the load begins, heard while something else was waited for.
    begin: Cell<Option<Instant>>,
    /// When the last sample has to be done.
    end: Cell<Option<Instant>>,
}

impl Told {
    /// Waits for the load's start; none when there will be none.
    fn begun(&self) -> Option<Instant> {
        if let Some(at) = self.begin.get() {
            return Some(at);
        }
        if self.end.get().is_some() {
            return None;
        }
        match self.orders.recv() {
            Ok(Order::Begin(at)) => Some(at),
            Ok(Order::End(_)) | Err(_) => None,
        }
    }

    /// Waits until then; true when the end comes first.
    fn ends_before(&self, at: Instant) -> bool {
        let left = at.saturating_duration_since(Instant::now());
        if self.end.get().is_none() {
            match self.orders.recv_timeout(left) {
                Ok(Order::End(limit)) => self.end.set(Some(Instant::now() + limit)),
                Err(RecvTimeoutError::Disconnected) => self.end.set(Some(Instant::now())),
                Ok(Order::Begin(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.end.get().is_some()
    }

    /// The time that a sample has: until then, unless the end comes first.
    fn or_end(&self, at: Instant) -> Instant {
        match self.orders.try_recv() {
            Ok(Order::End(limit)) => self.end.set(Some(Instant::now() + limit)),
            Err(TryRecvError::Disconnected) if self.end.get().is_none() => self.end.set(Some(Instant::now())),
            Ok(Order::Begin(at)) => self.begin.set(Some(at)),
            Err(_) => {}
        }
        self.end.get().map_or(at, |end| end.min(at))
    }
}

/// A group, and what is known of it so far.
struct State {
    watched: Watched,
    accounts: HashMap<Partition, Account>,
    record: LagRecord,
}

impl State {
    fn of(watched: Watched) -> Self {
        State { watched, accounts: HashMap::new(), record: LagRecord::default() }
    }

    /// The next offset that it reads, by partition. None where that is not known of all that it has, as nobody answered.
    fn positions(&self, ours: &Offsets, committed: &Answer, known: &BTreeSet<Partition>) -> Option<Offsets> {
        let mut all = ours.clone();
        match committed {
            Ok(committed) => {
                let others = committed.iter().filter(|(partition, _)| self.watched.topics.contains(&partition.0));
                others.for_each(|(partition, offset)| _ = all.entry(*partition).or_insert(*offset));
            }
            Err(_) => {
                let mut read = known.iter().filter(|partition| self.watched.topics.contains(&partition.0));
                if read.any(|partition| !ours.contains_key(partition)) {
                    return None;
                }
            }
        }
        Some(all)
    }

    /// Takes up a sample; false where a partition's end is not known.
    fn sample(&mut self, positions: &Offsets, ends: &Offsets) -> bool {
        let Some(now) =
            positions.iter().map(|(at, offset)| Some((*at, *offset, *ends.get(at)?))).collect::<Option<Vec<_>>>()
        else {
            return false;
        };
        let mut before = std::mem::take(&mut self.accounts);
        for (partition, position, end) in now {
            let account = match before.remove(&partition) {
                Some(mut account) => {
                    account.sample(position, end);
                    account
                }
                None => Account::new(position, end),
            };
            self.accounts.insert(partition, account);
        }
        true
    }

    /// What is left; none where nothing is known.
    fn records(&self) -> Option<u64> {
        (!self.accounts.is_empty()).then(|| self.accounts.values().map(Account::records).sum())
    }

    /// The same, counted from what is committed.
    fn by_commit(&self, committed: &Answer, positions: &Offsets, ends: &Offsets) -> Option<u64> {
        let committed = committed.as_ref().ok()?;
        let left = |(partition, offset): (&Partition, &i64)| match self.accounts.get(partition) {
            Some(account) if positions.get(partition) == Some(offset) => Some(account.records()),
            _ => Some(u64::try_from(ends.get(partition)? - offset).unwrap_or(0)),
        };
        let read = committed.iter().filter(|(partition, _)| self.watched.topics.contains(&partition.0));
        let each: Vec<u64> = read.filter_map(left).collect();
        (!each.is_empty()).then(|| each.iter().sum())
    }
}

struct Run {
    asker: Asker,
    /// By whether they see only what is committed.
    lookers: HashMap<bool, Looker>,
    topics: Vec<CString>,
    groups: Vec<CString>,
    states: Vec<State>,
    /// The partitions of what is read; those that are added are known once a group has read or committed there.
    known: BTreeSet<Partition>,
    clock: RunClock,
    complaints: Complaints,
    told: Told,
}

impl Run {
    fn through(mut self, records: &Sender<Vec<LagRecord>>) {
        // the first answers take longer, and are not of the load
        let _before_the_load = self.ask(&self.known.clone());
        if let Some(mut next) = self.told.begun() {
            while !self.told.ends_before(next) {
                self.sample(false);
                next = (next + EVERY).max(Instant::now());
            }
            self.sample(true);
        }
        // without a load nobody listens
        let _ = records.send(self.states.iter_mut().map(|state| std::mem::take(&mut state.record)).collect());
    }

    /// What each group has committed, and where partitions end for those who read uncommitted and committed.
    fn ask(&mut self, partitions: &BTreeSet<Partition>) -> (Vec<Answer>, [Answer; 2]) {
        let partitions: Vec<Partition> = partitions.iter().copied().collect();
        let levels = [false, true].map(|level| self.lookers.contains_key(&level));
        let ends = |read_committed| Question::Ends { partitions: &partitions, read_committed };
        let questions: Vec<Question<'_>> = self
            .groups
            .iter()
            .map(|group| Question::Committed(group))
            .chain([false, true].into_iter().filter(|level| levels[usize::from(*level)]).map(ends))
            .collect();
        let until = Instant::now() + ANSWER;
        let told = &self.told;
        let mut answers = self.asker.ask(&questions, ANSWER, || told.or_end(until)).into_iter();
        let committed = answers.by_ref().take(self.groups.len()).collect();
        (
            committed,
            levels.map(|asked| if asked { answers.next().expect("one a question") } else { Ok(Offsets::new()) }),
        )
    }

    fn sample(&mut self, last: bool) {
        // before the ends: a group is never told to have read more than it has
        let ours: Vec<Offsets> = self.states.iter().map(|state| state.watched.own.as_ref()).map(positions).collect();
        self.known.extend(ours.iter().flat_map(HashMap::keys));
        let (committed, ends) = self.ask(&self.known.clone());
        let at_s = self.clock.now_us() as f64 / 1e6;
        for failed in committed.iter().chain(&ends).filter_map(|answer| answer.as_ref().err()) {
            self.complaints.add(&format!("a sample of the lag is missing: {failed}"));
        }
        let until = Instant::now() + LOOK;
        for (index, (ours, committed)) in ours.iter().zip(&committed).enumerate() {
            let state = &mut self.states[index];
            let Ok(ends) = &ends[usize::from(state.watched.read_committed)] else { continue };
            let Some(mut positions) = state.positions(ours, committed, &self.known) else { continue };
            // the ends of partitions that were added are asked for from now on
            positions.retain(|partition, _| !self.known.insert(*partition));
            if !state.sample(&positions, ends) {
                continue;
            }
            self.look(index, last, until);
            let state = &mut self.states[index];
            if let Some(records) = state.records() {
                state.record.series.push(LagPoint { at_s, records });
            }
            if last {
                state.record.at_end = state.records();
                if state.watched.own.is_some() {
                    state.record.by_commit_at_end = state.by_commit(committed, &positions, ends);
                }
            }
        }
        if last {
            for state in &mut self.states {
                let read = self.known.iter().filter(|partition| state.watched.topics.contains(&partition.0));
                let told = state.record.at_end.is_some();
                let records = |at| state.accounts.get(at).filter(|_| told).map(Account::records);
                state.record.partitions = read.map(|at| (*at, records(at))).collect();
            }
        }
    }

    /// Looks at what lies before the ends, where that is wanted.
    fn look(&mut self, index: usize, last: bool, until: Instant) {
        let state = &mut self.states[index];
        let looker = &self.lookers[&state.watched.read_committed];
        for (partition, account) in &mut state.accounts {
            let Some((from, to)) = account.wants_look(last) else { continue };
            if Instant::now() >= self.told.or_end(until) {
                return;
            }
            let until = self.told.or_end(until);
            let found = looker.count(&self.topics[partition.0], partition.1, from, to, until);
            // where time ran out as the end came, the next place has no time either
            account.looked(found);
        }
    }
}

fn positions(own: Option<&Arc<Group>>) -> Offsets {
    own.map(|group| group.positions().into_iter().collect()).unwrap_or_default()
}

/// What the clients hold that ask and look.
fn settings(reach: &Reach) -> ClientSettings {
    let mut settings = ClientSettings::from([("client.id".into(), "khost-lag".into())]);
    let for_all = reach.client_settings().iter().filter(|(name, _)| for_consumers(name));
    settings.extend(for_all.map(|(name, value)| (name.clone(), value.clone())));
    settings.insert("enable.auto.commit".into(), "false".into());
    settings
}
