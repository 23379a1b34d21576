//! How many partitions the topics have: as the preflight saw it, and as the run's watch sees it later. A client is asked only
//! when there are more than it is known to know of.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

/// How long a client whose broker has not heard of new partitions yet is left alone.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the cluster may take to answer.
const ANSWER_MS: i32 = 2_000;

/// Of a run's topics, by their numbers in the plan.
#[derive(Debug)]
pub struct PartitionCounts(Vec<AtomicU32>);

impl PartitionCounts {
    /// As the preflight saw them.
    pub fn new(counts: impl Iterator<Item = u32>) -> Arc<Self> {
        Arc::new(PartitionCounts(counts.map(AtomicU32::new).collect()))
    }

    /// There are so many now.
    pub fn set(&self, topic: usize, count: u32) {
        self.0[topic].store(count, Relaxed);
    }

    #[inline]
    fn get(&self, topic: usize) -> u32 {
        self.0[topic].load(Relaxed)
    }
}

/// Of one client's topics: those that it knows of, and can be told to send to.
#[derive(Debug)]
pub(super) struct Partitions {
    there: Arc<PartitionCounts>,
    known: Vec<AtomicU32>,
    asked: Mutex<Option<Instant>>,
}

impl Partitions {
    pub(super) fn new(there: Arc<PartitionCounts>) -> Self {
        let known = there.0.iter().map(|count| AtomicU32::new(count.load(Relaxed))).collect();
        Partitions { there, known, asked: Mutex::default() }
    }

    /// The count. Where there are more partitions than the client knows of, it looks at the topic anew first.
    #[inline]
    pub(super) fn count(&self, rk: *mut rd::rd_kafka_t, rkt: *mut rd::rd_kafka_topic_t, topic: usize) -> u32 {
        let known = self.known[topic].load(Relaxed);
        if self.there.get(topic) <= known { known } else { self.ask(rk, rkt, topic) }
    }

    #[cold]
    fn ask(&self, rk: *mut rd::rd_kafka_t, rkt: *mut rd::rd_kafka_topic_t, topic: usize) -> u32 {
        let known = &self.known[topic];
        // another worker is at it: what is known will do until then
        let Ok(mut asked) = self.asked.try_lock() else { return known.load(Relaxed) };
        if self.there.get(topic) <= known.load(Relaxed) || asked.is_some_and(|at| at.elapsed() < PAUSE) {
            return known.load(Relaxed);
        }
        let mut metadata = std::ptr::null();
        // SAFETY: both handles are the client's and live; what comes back is read, and freed once.
        unsafe {
            if rd::rd_kafka_metadata(rk, 0, rkt, &mut metadata, ANSWER_MS) == RD_KAFKA_RESP_ERR_NO_ERROR {
                let seen = &*metadata;
                if seen.topic_cnt == 1 && (*seen.topics).err == RD_KAFKA_RESP_ERR_NO_ERROR {
                    known.fetch_max((*seen.topics).partition_cnt.max(0) as u32, Relaxed);
                }
                rd::rd_kafka_metadata_destroy(metadata);
            }
        }
        *asked = Some(Instant::now());
        known.load(Relaxed)
    }
}
