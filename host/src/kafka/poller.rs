//! A client's own thread: takes delivery reports in batches and records them.
//!
//! On the hot path: no allocation, lock, formatting or log line per message.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use super::client::Client;
use super::deliver::Acknowledgement;
use super::wire::owned;
use crate::measure::{DeliveryInterval, Measure, RunClock, Sample, Tag};

/// How long the thread sleeps when nothing comes; an upper bound of how late a quiet second is handed over.
const PATIENCE_MS: i32 = 100;
/// Different complaints that are kept.
const MOST_COMPLAINTS: usize = 50;

/// What librdkafka complains of, by text, with how often.
pub(super) type Complaints = Arc<Mutex<BTreeMap<String, u64>>>;

pub(super) struct Poller {
    pub(super) client: Arc<Client>,
    pub(super) flow: usize,
    pub(super) paced: bool,
    pub(super) clock: RunClock,
    pub(super) samples: Sender<Sample>,
    pub(super) complaints: Complaints,
}

impl Poller {
    pub(super) fn start(self) -> JoinHandle<()> {
        std::thread::Builder::new()
            .name("khost-poll".into())
            .spawn(move || self.run())
            .expect("a thread can be started before the load")
    }

    fn run(self) {
        // SAFETY: the client is live as long as `self`; the queue is released below.
        let queue = unsafe { rd::rd_kafka_queue_get_main(self.client.rk) };
        let mut recorder =
            Recorder { poller: &self, now: self.interval(), last_topic: (std::ptr::null_mut(), 0), event_us: 0 };
        loop {
            let closing = self.client.is_closing();
            // SAFETY: the queue is live.
            let event = unsafe { rd::rd_kafka_queue_poll(queue, if closing { 0 } else { PATIENCE_MS }) };
            recorder.tick();
            if event.is_null() {
                if closing {
                    break;
                }
                continue;
            }
            // SAFETY: the event is live until it is destroyed, which frees its messages' places in the queue.
            unsafe {
                recorder.take(event);
                rd::rd_kafka_event_destroy(event);
            }
            self.client.room_made();
        }
        recorder.hand_over();
        // SAFETY: it was ours.
        unsafe { rd::rd_kafka_queue_destroy(queue) };
    }

    fn interval(&self) -> DeliveryInterval {
        DeliveryInterval { flow: self.flow, second: self.clock.now_us() / 1_000_000, ..Default::default() }
    }

    fn complain(&self, text: String) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let text =
            if complaints.len() < MOST_COMPLAINTS || complaints.contains_key(&text) { text } else { "others".into() };
        *complaints.entry(text).or_default() += 1;
    }
}

struct Recorder<'p> {
    poller: &'p Poller,
    now: DeliveryInterval,
    /// The topic of the last message: nearly always the next one's, too.
    last_topic: (*mut rd::rd_kafka_topic_t, usize),
    /// When the current event was taken, on the run's clock.
    event_us: u64,
}

impl Recorder<'_> {
    /// Hands over at the end of a second.
    fn tick(&mut self) {
        if self.poller.clock.now_us() / 1_000_000 != self.now.second {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let done = std::mem::replace(&mut self.now, self.poller.interval());
        // The collector outlives the clients; were it gone, there would be nothing left to record for.
        let _ = self.poller.samples.send(Sample::Deliveries(done));
    }

    /// # Safety
    /// `event` is live.
    unsafe fn take(&mut self, event: *mut rd::rd_kafka_event_t) {
        // SAFETY: as the caller says; texts are copied, and messages are live as long as their event.
        unsafe {
            match rd::rd_kafka_event_type(event) as i32 {
                rd::RD_KAFKA_EVENT_DR => {
                    self.event_us = self.poller.clock.now_us();
                    loop {
                        let message = rd::rd_kafka_event_message_next(event);
                        if message.is_null() {
                            break;
                        }
                        self.record(&*message);
                    }
                }
                rd::RD_KAFKA_EVENT_ERROR => self.poller.complain(owned(rd::rd_kafka_event_error_string(event))),
                rd::RD_KAFKA_EVENT_LOG => {
                    let (mut facility, mut text, mut level) = (std::ptr::null(), std::ptr::null(), 0);
                    if rd::rd_kafka_event_log(event, &mut facility, &mut text, &mut level) == 0 {
                        self.poller.complain(owned(text));
                    }
                }
                _ => {}
            }
        }
    }

    /// # Safety
    /// `message` is of a live event.
    #[inline]
    unsafe fn record(&mut self, message: &rd::rd_kafka_message_t) {
        let tag = Tag::from_bits(message._private as u64);
        // SAFETY: as the caller says.
        let service_us = unsafe { rd::rd_kafka_message_latency(message) }.max(0) as u64;
        let good = message.err == RD_KAFKA_RESP_ERR_NO_ERROR;
        let operation = if tag.is_awaited() { self.answer(tag.slot(), message, service_us) } else { tag.slot() };
        let bytes = (message.len + message.key_len) as u64;
        if good {
            self.now.all_acknowledged += 1;
            self.now.all_bytes += bytes;
        } else {
            self.now.all_failed += 1;
        }
        if tag.is_warm_up() {
            return;
        }
        // an unpaced message counts from its sending, so the event's time will do, and saves a look at the clock
        let now_us = if self.poller.paced { self.poller.clock.now_us() } else { self.event_us };
        let response_us = now_us.saturating_sub(tag.time_us());
        if good {
            let topic = self.topic(message.rkt);
            self.now.count_partition(topic, message.partition);
            self.now.last_acknowledged_us = now_us;
            let one = self.now.operations.of(operation);
            one.acknowledged += 1;
            one.bytes += bytes;
            one.good(Measure::Service, service_us);
            if self.poller.paced {
                one.good(Measure::Wait, response_us.saturating_sub(service_us));
                one.good(Measure::Response, response_us);
            }
        } else {
            *self.now.failures.entry(message.err as i32).or_default() += 1;
            let one = self.now.operations.of(operation);
            // SAFETY: as the caller says.
            match unsafe { rd::rd_kafka_message_status(message) } {
                rd::rd_kafka_msg_status_t::RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED => one.unknown += 1,
                _ => one.failed += 1,
            }
            one.bad(Measure::Service, service_us);
            if self.poller.paced {
                one.bad(Measure::Response, response_us);
            }
        }
    }

    /// Wakes the call that waits for this message; answers the operation that it counts towards.
    fn answer(&self, place: u32, message: &rd::rd_kafka_message_t, service_us: u64) -> u32 {
        let Some(waiter) = self.poller.client.waiting.take(place) else { return 0 };
        let answer = Acknowledgement {
            code: message.err as i32,
            partition: message.partition,
            offset: message.offset,
            latency_ns: service_us * 1_000,
        };
        waiter.delivery.answer(waiter.index, answer);
        waiter.operation
    }

    #[inline]
    fn topic(&mut self, rkt: *mut rd::rd_kafka_topic_t) -> usize {
        if self.last_topic.0 != rkt {
            let at = self.poller.client.topics.iter().position(|known| *known == rkt);
            self.last_topic = (rkt, at.expect("messages are only sent to the client's topics"));
        }
        self.last_topic.1
    }
}
