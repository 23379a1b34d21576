//! Watches the topics under a run: a thread that asks for them every 2 s. A topic that was deleted ends the run, partitions
//! that were added are made known to the clients, and what else changes is written down.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::run::Running;
use super::shared::Shared;
use super::stop::Ended;
use crate::kafka::{Change, TopicChange, TopicWatch};

/// How often the cluster is asked: it makes a topic known to be gone within twice of it.
const EVERY: Duration = Duration::from_secs(2);
/// How long the end of a run waits for the last look, and for the one after it where a topic is in doubt.
const LAST: Duration = Duration::from_secs(6);
/// Changes of a topic that are kept; all are counted.
const MOST_KEPT: usize = 100;

/// What has changed about a topic, from the set-up to the end.
#[derive(Debug, Clone, Default)]
pub struct TopicRecord {
    /// How often a partition had another leader, or none.
    pub leader_changes: u64,
    /// How often other replicas of a partition were in sync.
    pub in_sync_changes: u64,
    /// In their order: when they were seen, in seconds since the load's start (before it: below 0), and what they were.
    pub changes: Vec<(f64, TopicChange)>,
    /// How many more there were.
    pub not_kept: u64,
}

/// The thread that watches.
pub(super) struct Topics {
    /// Dropped to end it.
    closing: Option<Sender<()>>,
    done: Receiver<()>,
    shared: Arc<Shared>,
    seen: Arc<Mutex<Vec<Watched>>>,
}

/// One topic's, while it is watched.
#[derive(Default)]
struct Watched {
    record: TopicRecord,
    at: Vec<Instant>,
}

impl Topics {
    /// Begins: what changed since the preflight is seen, too. Nobody else knows the embedded broker, so its topics stay as they are.
    pub(super) fn watch(running: &Running<'_>, shared: &Arc<Shared>) -> io::Result<Self> {
        let (closing, bell) = channel();
        let (through, done) = channel();
        let count = if running.embedded { 0 } else { shared.topics.len() };
        let seen = Arc::new(Mutex::new((0..count).map(|_| Watched::default()).collect()));
        if count > 0 {
            let post = Post {
                watch: TopicWatch::new(running.reach, running.cluster),
                shared: shared.clone(),
                seen: seen.clone(),
                bell,
                _through: through,
            };
            std::thread::Builder::new().name("khost-topics".into()).spawn(move || post.run())?;
        }
        Ok(Topics { closing: Some(closing), done, shared: shared.clone(), seen })
    }

    /// Ends it, after a last look unless somebody interrupts it; what it saw, with times since `began`.
    pub(super) fn finish(mut self, began: Instant) -> Vec<TopicRecord> {
        self.closing = None;
        if self.shared.stop.why() != Some(Ended::Interrupted) {
            // its end, or the time is up: both are well
            let _ = self.done.recv_timeout(LAST);
        }
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        seen.into_iter().map(|watched| watched.finish(began)).collect()
    }
}

impl Watched {
    fn add(&mut self, change: TopicChange) {
        let partitions = change.partitions.len() as u64;
        match change.what {
            Change::Leaders => self.record.leader_changes += partitions,
            Change::InSync => self.record.in_sync_changes += partitions,
            _ => {}
        }
        if self.at.len() >= MOST_KEPT && matches!(change.what, Change::Leaders | Change::InSync) {
            self.record.not_kept += 1;
            return;
        }
        self.at.push(Instant::now());
        self.record.changes.push((0.0, change));
    }

    fn finish(mut self, began: Instant) -> TopicRecord {
        for ((at_s, _), at) in self.record.changes.iter_mut().zip(self.at) {
            *at_s =
                at.saturating_duration_since(began).as_secs_f64() - began.saturating_duration_since(at).as_secs_f64();
        }
        self.record
    }
}

/// What the thread works on.
struct Post {
    watch: TopicWatch,
    shared: Arc<Shared>,
    seen: Arc<Mutex<Vec<Watched>>>,
    bell: Receiver<()>,
    /// Dropped at its end, which whoever waits for it hears.
    _through: Sender<()>,
}

impl Post {
    fn run(mut self) {
        self.look();
        while self.bell.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            self.look();
        }
        // nobody who interrupts a run is to wait; what failed another way may be due to this
        if self.shared.stop.why() == Some(Ended::Interrupted) || !self.watch.is_answered() {
            return;
        }
        self.look();
        if self.watch.is_in_doubt() {
            std::thread::sleep(EVERY);
            self.look();
        }
    }

    fn look(&mut self) {
        for (number, change) in self.watch.look() {
            let name = &self.shared.topics[number].name;
            match change.what {
                Change::Grown { to, .. } => self.shared.partitions.set(number, to),
                Change::Gone => self.fail(format!("topic `{name}` was deleted: seen {}", self.moment())),
                Change::Anew => self.fail(format!(
                    "topic `{name}` was deleted and created anew: seen {}; what was written before is gone",
                    self.moment()
                )),
                Change::Leaders | Change::InSync => {}
            }
            if let Some(watched) = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get_mut(number) {
                watched.add(change);
            }
        }
    }

    fn fail(&self, why: String) {
        self.shared.stop.end_because(Ended::Failed(why));
    }

    fn moment(&self) -> String {
        match self.shared.clock.now_ns() {
            0 => "before the load began".into(),
            ns => format!("at {:.1} s", ns as f64 / 1e9),
        }
    }
}
