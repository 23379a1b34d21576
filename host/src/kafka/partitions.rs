//! How many partitions the topics have: as the preflight saw it, and asked again when that may be old.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

/// A count is taken as it is for this long.
const FRESH: Duration = Duration::from_secs(3);
/// How long the cluster may take to answer.
const ANSWER_MS: i32 = 2_000;

/// Of one client's topics, by their numbers in the plan.
#[derive(Debug)]
pub(super) struct Partitions(Vec<Topic>);

#[derive(Debug)]
struct Topic {
    count: AtomicU32,
    asked: Mutex<Instant>,
}

impl Partitions {
    pub(super) fn new(counts: &[u32]) -> Self {
        let topic = |count: &u32| Topic { count: AtomicU32::new(*count), asked: Mutex::new(Instant::now()) };
        Partitions(counts.iter().map(topic).collect())
    }

    /// The last count.
    #[inline]
    pub(super) fn known(&self, topic: usize) -> u32 {
        self.0[topic].count.load(Relaxed)
    }

    /// The count, asked of the cluster when the last one is old. Where it does not answer, the last one stands.
    pub(super) fn ask(&self, rk: *mut rd::rd_kafka_t, rkt: *mut rd::rd_kafka_topic_t, topic: usize) -> u32 {
        let known = &self.0[topic];
        let mut asked = known.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.elapsed() < FRESH {
            return known.count.load(Relaxed);
        }
        *asked = Instant::now();
        let mut metadata = std::ptr::null();
        // SAFETY: both handles are the client's and live; what comes back is read, and freed once.
        unsafe {
            if rd::rd_kafka_metadata(rk, 0, rkt, &mut metadata, ANSWER_MS) == RD_KAFKA_RESP_ERR_NO_ERROR {
                let seen = &*metadata;
                if seen.topic_cnt == 1 && (*seen.topics).err == RD_KAFKA_RESP_ERR_NO_ERROR {
                    known.count.store((*seen.topics).partition_cnt.max(0) as u32, Relaxed);
                }
                rd::rd_kafka_metadata_destroy(metadata);
            }
        }
        known.count.load(Relaxed)
    }
}
