//! Delivery reports: taken in batches, and recorded.
//!
//! A paced flow's are taken by a thread of the client's own as they come. An unpaced flow's are taken by its workers
//! between their calls, as a message that is freed by the thread that allocated it costs less; the client's thread only
//! sees to it that none waits for long.
//!
//! On the hot path: no allocation, lock, formatting or log line per message.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use super::client::Client;
use super::complaints::Complaints;
use super::deliver::{Acknowledgement, Settled};
use crate::measure::{DeliveryInterval, Measure, Refuser, RunClock, Sample, Tag};

/// How long the client's thread waits for a report; an upper bound of how late a quiet second is handed over.
const PATIENCE_MS: i32 = 100;
/// Where workers take reports: after this long without one of them, the client's own thread does.
const LEFT_FOR: Duration = Duration::from_millis(2);
/// How long it then waits for a report before it looks for the workers again.
const STAND_IN_MS: i32 = 20;

/// One client's.
#[derive(Debug)]
pub(super) struct Reports {
    queue: *mut rd::rd_kafka_queue_t,
    /// Whether messages carry an intended time.
    pub(super) paced: bool,
    /// When a worker was last here, in microseconds since `made`.
    here_us: AtomicU64,
    made: Instant,
    recorder: Mutex<Recorder>,
}

impl Reports {
    /// # Safety
    /// `rk` is live, and outlives this.
    pub(super) unsafe fn new(
        rk: *mut rd::rd_kafka_t,
        flow: usize,
        paced: bool,
        clock: RunClock,
        samples: Sender<Sample>,
        complaints: Complaints,
    ) -> Self {
        let recorder = Recorder {
            paced,
            clock,
            samples: Some(samples),
            complaints,
            now: DeliveryInterval { flow, ..Default::default() },
            last_topic: (std::ptr::null_mut(), 0),
            event_us: 0,
        };
        // SAFETY: as the caller says.
        let queue = unsafe { rd::rd_kafka_queue_get_main(rk) };
        Reports { queue, paced, here_us: AtomicU64::new(0), made: Instant::now(), recorder: Mutex::new(recorder) }
    }

    /// Takes and records the next reports, or waits for them; answers whether there were any.
    pub(super) fn take(&self, client: &Client, wait_ms: i32) -> bool {
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_with(recorder, client, wait_ms)
    }

    fn take_with(&self, mut recorder: MutexGuard<'_, Recorder>, client: &Client, wait_ms: i32) -> bool {
        // SAFETY: the queue is live.
        let event = unsafe { rd::rd_kafka_queue_poll(self.queue, wait_ms) };
        recorder.tick();
        if event.is_null() {
            return false;
        }
        // SAFETY: the event is live until it is destroyed, which frees its messages' places in the queue.
        unsafe {
            recorder.take(client, event);
            rd::rd_kafka_event_destroy(event);
        }
        true
    }

    /// Takes all that are there, as a worker does between two calls; where somebody else is at it, it is done already.
    pub(super) fn take_all(&self, client: &Client) {
        while let Ok(recorder) = self.recorder.try_lock()
            && self.take_with(recorder, client, 0)
        {}
        self.here_us.store(self.made.elapsed().as_micros() as u64, Relaxed);
    }

    /// Lets go of the queue, which must not outlive its client.
    ///
    /// # Safety
    /// Once, and nothing is taken after it.
    pub(super) unsafe fn release(&self) {
        // SAFETY: as the caller says.
        unsafe { rd::rd_kafka_queue_destroy(self.queue) };
    }

    /// The client's own thread; it ends when the client is closing, and hands over what was recorded.
    pub(super) fn start_thread(client: Arc<Client>) -> JoinHandle<()> {
        let run = move || {
            let reports = &client.reports;
            while !client.is_closing() {
                if reports.paced {
                    if reports.take(&client, PATIENCE_MS) {
                        client.room_made();
                    }
                } else {
                    let here = Duration::from_micros(reports.here_us.load(Relaxed));
                    let away = reports.made.elapsed().saturating_sub(here);
                    if away >= LEFT_FOR {
                        reports.take(&client, STAND_IN_MS);
                    } else {
                        std::thread::sleep(LEFT_FOR);
                    }
                }
            }
            while reports.take(&client, 0) {}
            reports.recorder.lock().unwrap_or_else(PoisonError::into_inner).finish();
        };
        std::thread::Builder::new()
            .name("khost-poll".into())
            .spawn(run)
            .expect("a thread can be started before the load")
    }
}

#[derive(Debug)]
struct Recorder {
    paced: bool,
    clock: RunClock,
    /// Gone once the client is closed: the collector ends with the last sender.
    samples: Option<Sender<Sample>>,
    complaints: Complaints,
    now: DeliveryInterval,
    /// The topic of the last message: nearly always the next one's, too.
    last_topic: (*mut rd::rd_kafka_topic_t, usize),
    /// When the current event was taken, on the run's clock.
    event_us: u64,
}

impl Recorder {
    /// Hands over at the end of a second.
    fn tick(&mut self) {
        if self.clock.now_us() / 1_000_000 != self.now.second {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let second = self.clock.now_us() / 1_000_000;
        let next = DeliveryInterval { flow: self.now.flow, second, ..Default::default() };
        let done = std::mem::replace(&mut self.now, next);
        if let Some(samples) = &self.samples {
            // the collector lives as long as any sender
            let _ = samples.send(Sample::Deliveries(done));
        }
    }

    fn finish(&mut self) {
        self.hand_over();
        self.samples = None;
    }

    /// # Safety
    /// `event` is live.
    unsafe fn take(&mut self, client: &Client, event: *mut rd::rd_kafka_event_t) {
        // SAFETY: as the caller says; messages are live as long as their event.
        unsafe {
            match rd::rd_kafka_event_type(event) as i32 {
                rd::RD_KAFKA_EVENT_DR => {
                    self.event_us = self.clock.now_us();
                    loop {
                        let message = rd::rd_kafka_event_message_next(event);
                        if message.is_null() {
                            break;
                        }
                        self.record(client, &*message);
                    }
                }
                _ => self.complaints.take(event),
            }
        }
    }

    /// # Safety
    /// `message` is of a live event.
    #[inline]
    unsafe fn record(&mut self, client: &Client, message: &rd::rd_kafka_message_t) {
        let tag = Tag::from_bits(message._private as u64);
        // SAFETY: as the caller says.
        let service_us = unsafe { rd::rd_kafka_message_latency(message) }.max(0) as u64;
        let good = message.err == RD_KAFKA_RESP_ERR_NO_ERROR;
        let Settled { operation, is_request } = match tag.is_awaited() {
            true => answer(client, tag.slot(), message, service_us),
            false => Settled { operation: tag.slot(), is_request: false },
        };
        let bytes = (message.len + message.key_len) as u64;
        if good {
            self.now.all_acknowledged += 1;
            self.now.all_bytes += bytes;
        } else {
            self.now.all_failed += 1;
            let code = message.err as i32;
            self.now.failures.entry((refuser(code), code)).or_default().add(tag.is_warm_up());
        }
        if tag.is_warm_up() {
            return;
        }
        // an unpaced message counts from its sending, so the event's time will do, and saves a look at the clock
        let now_us = if self.paced { self.clock.now_us() } else { self.event_us };
        let response_us = now_us.saturating_sub(tag.time_us());
        if good {
            let topic = self.topic(client, message.rkt);
            self.now.count_partition(topic, message.partition);
            self.now.first_acknowledged_us.get_or_insert(now_us);
            self.now.last_acknowledged_us = now_us;
            let one = self.now.operations.of(operation);
            one.acknowledged += 1;
            one.bytes += bytes;
            if is_request {
                return;
            }
            one.good(Measure::Service, service_us);
            if self.paced {
                one.good(Measure::Wait, response_us.saturating_sub(service_us));
                one.good(Measure::Response, response_us);
            }
        } else {
            let one = self.now.operations.of(operation);
            // SAFETY: as the caller says.
            match unsafe { rd::rd_kafka_message_status(message) } {
                rd::rd_kafka_msg_status_t::RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED => one.unknown += 1,
                _ => one.failed += 1,
            }
            if is_request {
                return;
            }
            one.bad(Measure::Service, service_us);
            if self.paced {
                one.bad(Measure::Response, response_us);
            }
        }
    }

    #[inline]
    fn topic(&mut self, client: &Client, rkt: *mut rd::rd_kafka_topic_t) -> usize {
        if self.last_topic.0 != rkt {
            let at = client.topics.iter().position(|known| *known == rkt);
            self.last_topic = (rkt, at.expect("messages are only sent to the client's topics"));
        }
        self.last_topic.1
    }
}

/// Wakes the call that waits for this message, or fails its request; answers what it was for.
fn answer(client: &Client, place: u32, message: &rd::rd_kafka_message_t, service_us: u64) -> Settled {
    let Some(waiter) = client.waiting.take(place) else { return Settled { operation: 0, is_request: false } };
    let answer = Acknowledgement {
        code: message.err as i32,
        partition: message.partition,
        offset: message.offset,
        latency_ns: service_us * 1_000,
    };
    waiter.answer(answer)
}

/// Codes below 0 are librdkafka's own: timed out in the client, or given up there.
fn refuser(code: i32) -> Refuser {
    if code < 0 { Refuser::Client } else { Refuser::Broker }
}
