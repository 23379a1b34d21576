//! The two threads of a channel: one reads replies and matches them, the other sees to it that they can be read.
//!
//! A thread a channel, as two channels may read the same topic, and neither is to wait for the other's JSON.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{
    self, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__PARTITION_EOF, RD_KAFKA_RESP_ERR__RESOLVE,
    RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
    RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NO_ERROR,
    RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
};

use super::super::complaints::Complaints;
use super::super::errors::Code;
use super::super::wire::owned;
use super::Line;
use super::consumer::{Consumer, ReadersSetup};
use super::error::ReadersError;
use super::message::Places;

/// How long the reading thread waits at most before it looks around.
const PATIENCE: Duration = Duration::from_millis(50);
/// How often the cluster is asked for the topics, and how long it may take to answer.
const PROBE: Duration = Duration::from_secs(1);
const PROBE_MS: i32 = 2_000;
/// How long all brokers may be gone.
const GONE: Duration = Duration::from_secs(10);
/// How often in a row a topic is said to be missing until it is believed: a broker that just started may not know it yet.
const BELIEVED: u32 = 2;

/// What readers ask and tell the run.
pub struct Hooks {
    /// Nobody waits for anything any more.
    pub is_over: Box<dyn Fn() -> bool + Send + Sync>,
    /// A reader can't go on, and why.
    pub died: Box<dyn Fn(String) + Send + Sync>,
}

/// One channel's.
pub(super) struct Reader {
    line: Arc<Line>,
    /// Taken at the end.
    consumer: Option<Arc<Consumer>>,
    threads: Vec<JoinHandle<()>>,
}

/// What both threads work on.
#[derive(Clone)]
struct Post {
    line: Arc<Line>,
    consumer: Arc<Consumer>,
    hooks: Arc<Hooks>,
    complaints: Complaints,
    dead: Arc<AtomicBool>,
}

impl Reader {
    pub(super) fn start(setup: &ReadersSetup<'_>, line: &Arc<Line>, hooks: &Arc<Hooks>) -> Result<Self, ReadersError> {
        let consumer = Arc::new(Consumer::start(setup, &line.channel, &line.partitions)?);
        let post = Post {
            line: line.clone(),
            consumer: consumer.clone(),
            hooks: hooks.clone(),
            complaints: setup.reach.complaints.clone(),
            dead: Arc::new(AtomicBool::new(false)),
        };
        let mut reader = Reader { line: line.clone(), consumer: Some(consumer), threads: Vec::new() };
        let other = post.clone();
        reader.spawn("khost-replies", move || post.read())?;
        reader.spawn("khost-watch", move || other.watch())?;
        Ok(reader)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), ReadersError> {
        self.threads.push(std::thread::Builder::new().name(name.into()).spawn(run)?);
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let consumer = self.consumer.take();
        if let Some(consumer) = &consumer {
            consumer.closing.store(true, Ordering::Release);
        }
        for thread in self.threads.drain(..) {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        self.line.book.finish();
        // away from the run's path, as an unreachable broker makes it slow; without a thread, it is dropped here
        let _ = std::thread::Builder::new().name("khost-retire".into()).spawn(move || drop(consumer));
    }
}

impl Post {
    fn is_closing(&self) -> bool {
        self.consumer.closing.load(Ordering::Acquire)
    }

    /// The reader can't go on; the first reason is told.
    fn die(&self, why: &str) {
        if !self.dead.swap(true, Ordering::AcqRel) {
            // before anybody who waits is told so, and complains
            (self.hooks.died)(format!("the reader of channel `{}` can't go on: {why}", self.line.channel.name));
            self.line.book.close();
        }
    }

    fn read(&self) {
        let places = Places::new(&self.line.channel.reply, self.line.channel.failure.as_ref());
        let mut was_over = false;
        while !self.is_closing() {
            let next = self.line.book.tick();
            if !was_over && (self.hooks.is_over)() {
                was_over = true;
                self.line.book.close();
            }
            let patience = next.map_or(PATIENCE, |at| at.saturating_duration_since(Instant::now()).min(PATIENCE));
            let messages = self.consumer.take(patience.as_micros().div_ceil(1_000) as i32);
            let at = Instant::now();
            let (records, errors): (Vec<_>, Vec<_>) =
                messages.iter().partition(|message| message.raw().err == RD_KAFKA_RESP_ERR_NO_ERROR);
            let read: Vec<_> = records
                .into_iter()
                .filter_map(|message| {
                    let topic = self.consumer.topic_of(message)?.number;
                    Some((message, topic, places.read(message, topic)))
                })
                .collect();
            if !read.is_empty() {
                let mut receiving = self.line.book.receive(at);
                for (message, topic, (id, failed)) in &read {
                    receiving.take(id.as_deref(), *failed, || message.reply(*topic));
                }
            }
            for error in errors {
                let topic = self.consumer.topic_of(error).map_or("?", |topic| topic.name.as_str());
                self.partition_error(error.raw().err, topic, error.raw().partition);
            }
        }
    }

    fn partition_error(&self, error: RDKafkaRespErr, topic: &str, partition: i32) {
        let said = || format!("topic {topic}, partition {partition}: {}", Code(error as i32).text());
        match error {
            RD_KAFKA_RESP_ERR__PARTITION_EOF => {}
            // it comes back, or `watch` finds out that it does not
            RD_KAFKA_RESP_ERR__TRANSPORT
            | RD_KAFKA_RESP_ERR__RESOLVE
            | RD_KAFKA_RESP_ERR__TIMED_OUT
            | RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN
            | RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC
            | RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
            | RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART => self.complaints.add(&said()),
            _ => self.die(&said()),
        }
    }

    /// Takes the client's errors and log lines, and asks the cluster again and again for the topics.
    fn watch(&self) {
        let mut gone_since: Option<Instant> = None;
        let mut missing = vec![0; self.consumer.topics.len()];
        let mut probe_at = Instant::now() + PROBE;
        while !self.is_closing() {
            // SAFETY: the queue is live; the event is ours, and destroyed once.
            unsafe {
                let event = rd::rd_kafka_queue_poll(self.consumer.main, PATIENCE.as_millis() as i32);
                if !event.is_null() {
                    self.event(event, &mut gone_since);
                    rd::rd_kafka_event_destroy(event);
                }
            }
            if Instant::now() >= probe_at {
                if self.probe(&mut missing) {
                    gone_since = None;
                }
                probe_at = Instant::now() + PROBE;
            }
            if gone_since.is_some_and(|since| since.elapsed() >= GONE) {
                self.die(&format!("no broker has answered for {} s", GONE.as_secs()));
            }
        }
    }

    /// # Safety
    /// `event` is live.
    unsafe fn event(&self, event: *mut rd::rd_kafka_event_t, gone_since: &mut Option<Instant>) {
        // SAFETY: as the caller says.
        unsafe {
            if rd::rd_kafka_event_type(event) as i32 == rd::RD_KAFKA_EVENT_ERROR {
                if rd::rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN {
                    gone_since.get_or_insert_with(Instant::now);
                }
                if rd::rd_kafka_event_error_is_fatal(event) != 0 {
                    self.die(&owned(rd::rd_kafka_event_error_string(event)));
                }
            }
            self.complaints.take(event);
        }
    }

    /// Asks for the channel's topics, all at once; answers whether a broker said anything. Partitions that were added are read
    /// from now on. `missing` counts how often in a row a topic was not there.
    fn probe(&self, missing: &mut [u32]) -> bool {
        let mut metadata = std::ptr::null();
        // SAFETY: the handle is live; what comes back is read, and freed once. Without a topic it is about all that the client knows.
        unsafe {
            let result = rd::rd_kafka_metadata(self.consumer.rk, 0, std::ptr::null_mut(), &mut metadata, PROBE_MS);
            if result != RD_KAFKA_RESP_ERR_NO_ERROR {
                return false;
            }
            let seen = std::slice::from_raw_parts((*metadata).topics, (*metadata).topic_cnt as usize);
            for one in seen {
                let name = owned(one.topic);
                let Some(at) = self.consumer.topics.iter().position(|topic| topic.name == name) else { continue };
                self.seen(at, one.err, one.partition_cnt.max(0) as u32, &mut missing[at]);
            }
            rd::rd_kafka_metadata_destroy(metadata);
        }
        true
    }

    fn seen(&self, at: usize, error: RDKafkaRespErr, count: u32, missing: &mut u32) {
        let name = &self.consumer.topics[at].name;
        let why = match error {
            RD_KAFKA_RESP_ERR_NO_ERROR if count < self.consumer.started(at) => {
                "it has fewer partitions than before".into()
            }
            RD_KAFKA_RESP_ERR_NO_ERROR => {
                *missing = 0;
                if let Err(code) = self.consumer.grow(at, count) {
                    self.die(&format!("topic {name}: a new partition can't be read: {}", code.text()));
                }
                self.line.partitions[at].store(count, Ordering::Relaxed);
                return;
            }
            RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE => return,
            other => Code(other as i32).text(),
        };
        *missing += 1;
        if *missing >= BELIEVED {
            self.die(&format!("topic {name}: {why}"));
        }
    }
}
