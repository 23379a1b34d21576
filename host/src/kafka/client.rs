//! One producer: librdkafka's handle, its topics, and what waits for its reports.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;

use super::allocator;
use super::deliver::{Acknowledgement, Delivery, Waiting};
use super::handle::{ClientError, Handle, Role};
use super::partitions::{PartitionCounts, Partitions};
use super::reach::Reach;
use super::reports::Reports;
use super::settings::{ClientSettings, held};
use super::wire::Wire;
use crate::measure::{RunClock, Sample};

/// What a client is made of.
pub struct ClientSetup<'a> {
    /// How it reaches the cluster.
    pub reach: &'a Reach,
    /// librdkafka's settings, those of `reach` among them.
    pub settings: &'a ClientSettings,
    /// The topics that may be written to: their number in the plan, and their name in Kafka.
    pub topics: &'a [(usize, String)],
    /// How many partitions the plan's topics have.
    pub partitions: Arc<PartitionCounts>,
    /// The flow that it belongs to.
    pub flow: usize,
    /// Whether messages carry an intended time.
    pub paced: bool,
    /// The run's clock.
    pub clock: RunClock,
    /// Where to record.
    pub samples: Sender<Sample>,
    /// Where its requests are counted.
    pub wire: Arc<Wire>,
}

/// A producer that several workers may share.
#[derive(Debug)]
pub struct Client {
    pub(super) rk: *mut rd::rd_kafka_t,
    /// By the topic's number in the plan; null for one that may not be written to.
    pub(super) topics: Vec<*mut rd::rd_kafka_topic_t>,
    partitions: Partitions,
    pub(super) waiting: Waiting,
    room: Room,
    /// Messages outstanding at which waiting workers are woken.
    wake_below: usize,
    closing: AtomicBool,
    pub(super) reports: Reports,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Dropped last: `rk` is its.
    _handle: Handle,
}

// SAFETY: librdkafka's handles may be used from any thread; all else is Sync by itself.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl Client {
    /// Makes the producer and starts the thread that takes its reports.
    ///
    /// # Errors
    /// Settings that librdkafka does not take, alone or together. Brokers are not asked yet.
    pub fn new(setup: ClientSetup<'_>) -> Result<Arc<Self>, ClientError> {
        allocator::tune();
        let reach = setup.reach;
        let handle = Handle::new(Role::Producer, reach, setup.settings, setup.wire, |conf| {
            let events = rd::RD_KAFKA_EVENT_DR | rd::RD_KAFKA_EVENT_ERROR | rd::RD_KAFKA_EVENT_LOG;
            // SAFETY: the configuration is live.
            unsafe { rd::rd_kafka_conf_set_events(conf, events) };
        })?;
        let rk = handle.rk;
        let mut topics = vec![std::ptr::null_mut(); setup.topics.iter().map(|(at, _)| at + 1).max().unwrap_or(0)];
        for (at, name) in setup.topics {
            let name = CString::new(name.as_str()).expect("a plan's topic names are legal, so without NUL");
            // SAFETY: `rk` is live, the name NUL-terminated; a null configuration is the client's own.
            topics[*at] = unsafe { rd::rd_kafka_topic_new(rk, name.as_ptr(), std::ptr::null_mut()) };
        }
        let client = Arc::new(Client {
            rk,
            topics,
            partitions: Partitions::new(setup.partitions),
            waiting: Waiting::default(),
            room: Room::default(),
            wake_below: queue_messages(setup.settings) * 3 / 4,
            closing: AtomicBool::new(false),
            // SAFETY: the handle is live, and destroyed with the client.
            reports: unsafe {
                Reports::new(rk, setup.flow, setup.paced, setup.clock, setup.samples, reach.complaints.clone())
            },
            thread: Mutex::new(None),
            _handle: handle,
        });
        let thread = Reports::start_thread(client.clone());
        *client.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(client)
    }

    /// What the client really holds, secrets masked.
    pub fn settings(&self) -> ClientSettings {
        // SAFETY: the handle is live.
        unsafe { held(self.rk, crate::plan::for_producers) }
    }

    /// Messages that are in the queue or on their way, and reports that nobody has taken yet.
    pub fn outstanding(&self) -> usize {
        // SAFETY: the handle is live.
        unsafe { rd::rd_kafka_outq_len(self.rk) }.max(0) as usize
    }

    /// Whether a topic has a partition of this number, and the client knows of it.
    #[inline]
    pub(super) fn has_partition(&self, topic: usize, partition: i32) -> bool {
        u32::try_from(partition).is_ok_and(|partition| partition < self.partition_count(topic))
    }

    /// How many partitions a topic has, as far as the client knows of them.
    #[inline]
    pub fn partition_count(&self, topic: usize) -> u32 {
        self.partitions.count(self.rk, self.topics[topic], topic)
    }

    /// Gives up what is still outstanding: each message is reported, as failed or as unknown. Answers whether all were
    /// within 2 s.
    pub fn give_up(&self) -> bool {
        let flags = rd::RD_KAFKA_PURGE_F_QUEUE | rd::RD_KAFKA_PURGE_F_INFLIGHT | rd::RD_KAFKA_PURGE_F_NON_BLOCKING;
        // SAFETY: the handle is live.
        unsafe { rd::rd_kafka_purge(self.rk, flags) };
        let until = Instant::now() + Duration::from_secs(2);
        while self.outstanding() > 0 && Instant::now() < until {
            self.wait_for_room(Duration::from_millis(5));
        }
        self.outstanding() == 0
    }

    /// Waits for the deliveries of a call until the time is up or `stop` says so.
    pub fn wait_for(&self, delivery: &Delivery, timeout: Duration, stop: impl Fn() -> bool) -> Vec<Acknowledgement> {
        if self.reports.paced {
            return delivery.wait(timeout, stop);
        }
        let until = Instant::now() + timeout;
        while !delivery.is_complete() && Instant::now() < until && !stop() {
            self.reports.take(self, 1);
        }
        delivery.answers()
    }

    /// A moment of a worker that has nothing to do but to wait.
    pub fn idle(&self, at_most: Duration) {
        if self.reports.paced {
            return std::thread::sleep(at_most);
        }
        let until = Instant::now() + at_most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left < Duration::from_millis(1) {
                return std::thread::sleep(left);
            }
            self.reports.take(self, 1);
        }
    }

    /// Ends the client's thread: it hands over what was recorded. Nothing may be produced any more.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Waits until reports have freed places in the queue, at most this long.
    pub(super) fn wait_for_room(&self, at_most: Duration) {
        if self.reports.paced {
            return self.room.wait(at_most);
        }
        let until = Instant::now() + at_most;
        loop {
            // at least once: a queue may be full by its bytes, with few messages in it
            self.reports.take(self, 1);
            if self.outstanding() <= self.wake_below || Instant::now() >= until {
                return;
            }
        }
    }

    /// Records the reports that are there, where that is for the workers to do.
    #[inline]
    pub(super) fn take_reports(&self) {
        if !self.reports.paced {
            self.reports.take_all(self);
        }
    }

    /// Says that reports have freed places in the queue. Waiting workers are woken once a fair part of it is free:
    /// were it for each report, a full queue would cost more in waking than in sending.
    pub(super) fn room_made(&self) {
        if self.room.is_wanted() && self.outstanding() <= self.wake_below {
            self.room.made();
        }
    }
}

/// The size of the client's queue, in messages; librdkafka's default where it is not set.
fn queue_messages(settings: &ClientSettings) -> usize {
    settings.get("queue.buffering.max.messages").and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: the thread has ended, as it held a reference; nobody else has one. Outstanding messages were given up.
        unsafe {
            rd::rd_kafka_purge(
                self.rk,
                rd::RD_KAFKA_PURGE_F_QUEUE | rd::RD_KAFKA_PURGE_F_INFLIGHT | rd::RD_KAFKA_PURGE_F_NON_BLOCKING,
            );
            self.reports.release();
            self.topics.iter().filter(|topic| !topic.is_null()).for_each(|topic| rd::rd_kafka_topic_destroy(*topic));
        }
    }
}

/// Where workers wait while the queue is full. Who makes room only takes the lock when somebody waits.
#[derive(Debug, Default)]
struct Room {
    anybody: AtomicBool,
    generation: Mutex<u64>,
    changed: Condvar,
}

impl Room {
    fn wait(&self, at_most: Duration) {
        let generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        self.anybody.store(true, Ordering::SeqCst);
        let before = *generation;
        drop(
            self.changed
                .wait_timeout_while(generation, at_most, |now| *now == before)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn is_wanted(&self) -> bool {
        self.anybody.load(Ordering::SeqCst)
    }

    fn made(&self) {
        self.anybody.store(false, Ordering::SeqCst);
        *self.generation.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }
}
