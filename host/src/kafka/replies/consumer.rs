//! A channel's consumer: without a group, so that each khost process reads all partitions, from where they ended before the load.
//!
//! It is librdkafka's simple consumer: partitions are started one by one, each at a number, and all end up in one queue.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use super::super::errors::Code;
use super::super::handle::{Handle, Role};
use super::super::reach::Reach;
use super::super::settings::ClientSettings;
use super::super::wire::Wire;
use super::error::ReadersError;
use super::message::Message;
use crate::plan::{Channel, Topic, for_consumers};

/// How long the brokers may take to say where a partition ends.
const POSITION: Duration = Duration::from_secs(30);
const POSITION_TRY_MS: i32 = 5_000;
/// Records that are taken at a time.
const MOST_AT_ONCE: usize = 512;
/// librdkafka's "from the first record that there is".
const BEGINNING: i64 = -2;

/// What readers are made of.
pub struct ReadersSetup<'a> {
    /// How they reach the cluster.
    pub reach: &'a Reach,
    /// Whether the broker is khost's own.
    pub embedded: bool,
    /// The plan's.
    pub topics: &'a [Topic],
}

pub(super) struct Consumer {
    pub(super) rk: *mut rd::rd_kafka_t,
    queue: *mut rd::rd_kafka_queue_t,
    pub(super) main: *mut rd::rd_kafka_queue_t,
    pub(super) topics: Vec<ReplyTopic>,
    pub(super) closing: AtomicBool,
    /// Dropped last: `rk` is its.
    _handle: Handle,
}

/// A topic that replies come in.
pub(super) struct ReplyTopic {
    /// In the plan.
    pub(super) number: usize,
    /// In Kafka.
    pub(super) name: String,
    rkt: *mut rd::rd_kafka_topic_t,
    started: AtomicU32,
}

// SAFETY: librdkafka's handles may be used from any thread.
unsafe impl Send for Consumer {}
// SAFETY: as above; the rest is Sync by itself.
unsafe impl Sync for Consumer {}

impl Consumer {
    /// Makes it, and begins to read at the end that each of the topics' partitions has now.
    pub(super) fn start(
        setup: &ReadersSetup<'_>,
        channel: &Channel,
        partitions: &[AtomicU32],
    ) -> Result<Self, ReadersError> {
        let handle =
            Handle::new(Role::Consumer, setup.reach, &settings(setup, channel), Arc::new(Wire::default()), |conf| {
                let events = rd::RD_KAFKA_EVENT_ERROR | rd::RD_KAFKA_EVENT_LOG;
                // SAFETY: the configuration is live.
                unsafe { rd::rd_kafka_conf_set_events(conf, events) };
            });
        let handle = handle.map_err(|error| ReadersError::Client { channel: channel.name.clone(), error })?;
        let rk = handle.rk;
        let topics = channel.topics.iter().map(|number| {
            let name = setup.topics[*number].name.clone();
            let c_name = CString::new(name.as_str()).expect("a plan's topic names are legal, so without NUL");
            // SAFETY: `rk` is live, the name ends with NUL; a null configuration is the client's own.
            let rkt = unsafe { rd::rd_kafka_topic_new(rk, c_name.as_ptr(), std::ptr::null_mut()) };
            ReplyTopic { number: *number, name, rkt, started: AtomicU32::new(0) }
        });
        let consumer = Consumer {
            rk,
            topics: topics.collect(),
            // SAFETY: `rk` is live, and outlives both queues.
            queue: unsafe { rd::rd_kafka_queue_new(rk) },
            // SAFETY: as above.
            main: unsafe { rd::rd_kafka_queue_get_main(rk) },
            closing: AtomicBool::new(false),
            _handle: handle,
        };
        let fail = |topic: &ReplyTopic, partition, code| ReadersError::Position {
            channel: channel.name.clone(),
            topic: topic.name.clone(),
            partition,
            code,
        };
        let until = Instant::now() + POSITION;
        for (topic, count) in consumer.topics.iter().zip(partitions) {
            for partition in 0..count.load(Ordering::Relaxed) as i32 {
                let end = consumer.end(topic, partition, until).map_err(|code| fail(topic, partition, code))?;
                consumer.read(topic, partition, end).map_err(|code| fail(topic, partition, code))?;
            }
        }
        Ok(consumer)
    }

    fn end(&self, topic: &ReplyTopic, partition: i32, until: Instant) -> Result<i64, Code> {
        let name = CString::new(topic.name.as_str()).expect("a legal name");
        let (mut low, mut high) = (0, 0);
        loop {
            // SAFETY: the handle is live, the name ends with NUL, and both numbers are ours.
            let result = unsafe {
                rd::rd_kafka_query_watermark_offsets(
                    self.rk,
                    name.as_ptr(),
                    partition,
                    &mut low,
                    &mut high,
                    POSITION_TRY_MS,
                )
            };
            match result {
                RD_KAFKA_RESP_ERR_NO_ERROR => return Ok(high),
                error if Instant::now() >= until => return Err(Code(error as i32)),
                // a leader may just have moved
                _ => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn read(&self, topic: &ReplyTopic, partition: i32, offset: i64) -> Result<(), Code> {
        // SAFETY: topic and queue are live, and the partition is started once.
        let result = unsafe { rd::rd_kafka_consume_start_queue(topic.rkt, partition, offset, self.queue) };
        if result != 0 {
            // SAFETY: it only reads this thread's last error.
            return Err(Code(unsafe { rd::rd_kafka_last_error() } as i32));
        }
        topic.started.store(partition as u32 + 1, Ordering::Relaxed);
        Ok(())
    }

    /// How many partitions of a topic are read.
    pub(super) fn started(&self, topic: usize) -> u32 {
        self.topics[topic].started.load(Ordering::Relaxed)
    }

    /// Reads partitions that were added, from their first record.
    pub(super) fn grow(&self, topic: usize, count: u32) -> Result<(), Code> {
        let topic = &self.topics[topic];
        for partition in topic.started.load(Ordering::Relaxed)..count {
            self.read(topic, partition as i32, BEGINNING)?;
        }
        Ok(())
    }

    /// Waits for the next records, at most this long, and takes all that are there. librdkafka would wait for a whole batch.
    pub(super) fn take(&self, wait_ms: i32) -> Vec<Message> {
        // SAFETY: the queue is live; messages are nobody else's.
        unsafe {
            let first = rd::rd_kafka_consume_queue(self.queue, wait_ms);
            if first.is_null() {
                return Vec::new();
            }
            let mut more = [std::ptr::null_mut(); MOST_AT_ONCE];
            let count = rd::rd_kafka_consume_batch_queue(self.queue, 0, more.as_mut_ptr(), more.len());
            let more = &more[..usize::try_from(count).unwrap_or(0)];
            std::iter::once(&first).chain(more).map(|raw| Message::new(*raw)).collect()
        }
    }

    /// Which of the channel's topics a message is of.
    pub(super) fn topic_of(&self, message: &Message) -> Option<&ReplyTopic> {
        self.topics.iter().find(|topic| topic.rkt == message.raw().rkt)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // SAFETY: nobody else uses them any more; partitions are stopped before their topic and their queue go.
        unsafe {
            for topic in &self.topics {
                for partition in 0..topic.started.load(Ordering::Relaxed) {
                    rd::rd_kafka_consume_stop(topic.rkt, partition as i32);
                }
                rd::rd_kafka_topic_destroy(topic.rkt);
            }
            rd::rd_kafka_queue_destroy(self.queue);
            rd::rd_kafka_queue_destroy(self.main);
        }
    }
}

fn settings(setup: &ReadersSetup<'_>, channel: &Channel) -> ClientSettings {
    let mut settings = ClientSettings::from([
        ("client.id".into(), format!("khost-{}", channel.name)),
        ("topic.metadata.refresh.interval.ms".into(), "3000".into()),
    ]);
    let for_all = setup.reach.client_settings().iter().filter(|(name, _)| for_consumers(name));
    settings.extend(for_all.map(|(name, value)| (name.clone(), value.clone())));
    // a position that is gone is an error: what lay between was never seen
    settings.insert("auto.offset.reset".into(), "error".into());
    settings.insert("enable.auto.commit".into(), "false".into());
    if setup.embedded {
        // it answers an empty fetch only after the whole wait
        settings.insert("fetch.wait.max.ms".into(), "1".into());
    }
    settings
}
