//! A consumer in a group: one librdkafka client, polled by one thread.
//!
//! Each partition's records are led to a queue of the consumer's own, beside the queue of the group's affairs. So a
//! rebalance is dealt with between two batches only, and before the load, where no record is taken yet, all the same. On the
//! hot path (`fill`, `advance`) khost allocates nothing for a record.

mod arrived;
mod group;
mod list;
mod positions;

use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{
    self, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS, RD_KAFKA_RESP_ERR__FATAL,
    RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED, RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__STATE,
    RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_NO_ERROR,
};
use thiserror::Error;

use super::complaints::Complaints;
use super::errors::Code;
use super::handle::{ClientError, Handle, Role};
use super::reach::Reach;
use super::settings::{ClientSettings, held};
use super::wire::{Wire, owned};
use crate::measure::RunClock;
pub use arrived::Arrived;
pub use group::{Group, Partition};
use list::List;

/// librdkafka's partition of a list that names topics only.
const NO_PARTITION: i32 = -1;

/// Why a consumer can't go on.
#[derive(Debug, Error)]
pub enum ConsumeError {
    /// It can't be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A topic, or one of its partitions, can't be read.
    #[error("{topic}{} can't be read: {reason}", .partition.map_or(String::new(), |number| format!(", partition {number},")))]
    Topic {
        /// Its name in Kafka.
        topic: String,
        /// Which partition.
        partition: Option<i32>,
        /// Kafka's words.
        reason: String,
    },
    /// The group can't be joined, or answers no questions.
    #[error("group `{group}`: {reason}")]
    Group {
        /// Its name.
        group: String,
        /// Kafka's words.
        reason: String,
    },
}

/// That a partition can't be read.
fn unreadable(topic: &CStr, partition: i32, reason: String) -> ConsumeError {
    let partition = Some(partition).filter(|number| *number >= 0);
    ConsumeError::Topic { topic: topic.to_string_lossy().into_owned(), partition, reason }
}

/// What a consumer is made of.
pub struct ConsumerSetup<'a> {
    /// How it reaches the cluster.
    pub reach: &'a Reach,
    /// librdkafka's settings, those of `reach` among them.
    pub settings: ClientSettings,
    /// Its group.
    pub group: Arc<Group>,
    /// Which of our consumers in the group it is, from 0.
    pub member: usize,
    /// The most records that are taken at once.
    pub most: usize,
    /// The run's clock.
    pub clock: RunClock,
    /// Where its requests are counted.
    pub wire: Arc<Wire>,
}

/// One member of a group.
#[derive(Debug)]
pub struct Consumer {
    group: Arc<Group>,
    member: usize,
    clock: RunClock,
    complaints: Complaints,
    reset: Option<String>,
    most: usize,
    /// Records that were taken and not handed over.
    held: VecDeque<*mut rd::rd_kafka_message_t>,
    /// Where librdkafka puts the records that are taken.
    taken: Vec<*mut rd::rd_kafka_message_t>,
    arrived_us: u64,
    /// Topics' numbers by librdkafka's handles; handles last as long as an assignment.
    numbers: HashMap<*mut rd::rd_kafka_topic_t, usize>,
    begun: bool,
    main: Queue,
    affairs: Queue,
    records: Queue,
    /// Dropped last: the rest is made of it.
    handle: Handle,
}

// SAFETY: librdkafka's handles may be used from any thread; messages and queues are the consumer's alone.
unsafe impl Send for Consumer {}

/// A queue of librdkafka's.
#[derive(Debug)]
struct Queue(*mut rd::rd_kafka_queue_t);

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: it is ours, and destroyed once, before its client.
        unsafe { rd::rd_kafka_queue_destroy(self.0) };
    }
}

impl Consumer {
    /// Makes it; it joins its group at `join`.
    ///
    /// # Errors
    /// Settings that librdkafka does not take, alone or together. Brokers are not asked yet.
    pub fn new(setup: ConsumerSetup<'_>) -> Result<Self, ConsumeError> {
        let ConsumerSetup { reach, mut settings, group, member, most, clock, wire } = setup;
        for (name, value) in
            [("group.id", group.name.as_str()), ("enable.auto.commit", "true"), ("enable.auto.offset.store", "false")]
        {
            settings.insert(name.into(), value.into());
        }
        let handle = Handle::new(Role::Consumer, reach, &settings, wire, |conf| {
            let events = rd::RD_KAFKA_EVENT_REBALANCE | rd::RD_KAFKA_EVENT_ERROR | rd::RD_KAFKA_EVENT_LOG;
            // SAFETY: the configuration is live.
            unsafe { rd::rd_kafka_conf_set_events(conf, events) };
        })?;
        let rk = handle.rk;
        // SAFETY: the client is live, and destroyed after its queues.
        let (main, affairs, records) = unsafe {
            let main = Queue(rd::rd_kafka_queue_get_main(rk));
            (main, Queue(rd::rd_kafka_queue_get_consumer(rk)), Queue(rd::rd_kafka_queue_new(rk)))
        };
        Ok(Consumer {
            group,
            member,
            clock,
            complaints: reach.complaints.clone(),
            reset: settings.get("auto.offset.reset").cloned(),
            most,
            held: VecDeque::with_capacity(most),
            taken: Vec::with_capacity(most),
            arrived_us: 0,
            numbers: HashMap::new(),
            begun: false,
            main,
            affairs,
            records,
            handle,
        })
    }

    /// What the client really holds, secrets masked.
    pub fn settings(&self) -> ClientSettings {
        // SAFETY: the handle is live.
        unsafe { held(self.handle.rk, crate::plan::for_consumers) }
    }

    /// Begins to join the group; `serve` goes on with it.
    ///
    /// # Errors
    /// librdkafka's, when it does not take the topics.
    pub fn join(&mut self) -> Result<(), ConsumeError> {
        let mut topics = List::new(self.group.topics.len());
        self.group.topics.values().for_each(|name| topics.add(name, NO_PARTITION, 0));
        // SAFETY: both are live; the list is copied.
        let code = unsafe { rd::rd_kafka_subscribe(self.handle.rk, topics.raw()) };
        self.checked(code)
    }

    /// Deals with the group's affairs that are there: partitions that come and go, complaints, errors.
    ///
    /// # Errors
    /// What keeps it from reading.
    pub fn serve(&mut self) -> Result<(), ConsumeError> {
        while let Some(event) = Event::poll(&self.main, 0) {
            // SAFETY: the event is live.
            unsafe { self.complaints.take(event.0) };
            if event.code() == RD_KAFKA_RESP_ERR__FATAL {
                return Err(self.failed(event.text()));
            }
        }
        while let Some(event) = Event::poll(&self.affairs, 0) {
            match event.kind() {
                rd::RD_KAFKA_EVENT_REBALANCE => self.rebalance(&event)?,
                rd::RD_KAFKA_EVENT_ERROR => self.heed(event.code(), &event.text())?,
                // records don't come this way
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes records, if it holds none: waits for the first at most this long, and takes those that are there with it.
    /// Answers how many it holds.
    ///
    /// # Errors
    /// What keeps a partition from being read.
    pub fn fill(&mut self, wait: Duration) -> Result<usize, ConsumeError> {
        if !self.begun {
            self.begin()?;
        }
        if !self.held.is_empty() {
            return Ok(self.held.len());
        }
        self.taken.clear();
        // SAFETY: the queue is live; the array has room for `most`, of which librdkafka sets as many as it answers.
        unsafe {
            let first = rd::rd_kafka_consume_queue(self.records.0, wait.as_millis() as i32);
            if first.is_null() {
                return Ok(0);
            }
            self.taken.push(first);
            if self.most > 1 {
                let room = self.taken.as_mut_ptr().add(1);
                let more = rd::rd_kafka_consume_batch_queue(self.records.0, 0, room, self.most - 1);
                self.taken.set_len(1 + more.max(0) as usize);
            }
        }
        self.arrived_us = self.clock.now_us();
        self.held.extend(self.taken.drain(..));
        // SAFETY: the messages are live.
        let error = self.held.iter().copied().find(|one| unsafe { (**one).err } != RD_KAFKA_RESP_ERR_NO_ERROR);
        match error {
            None => Ok(self.held.len()),
            Some(message) => {
                // SAFETY: the message is live.
                let (code, text, partition, topic) = unsafe {
                    let text = owned(rd::rd_kafka_message_errstr(message));
                    ((*message).err, text, (*message).partition, topic_name((*message).rkt))
                };
                self.held.retain(|one| {
                    // SAFETY: the message is live.
                    let is_record = unsafe { (**one).err } == RD_KAFKA_RESP_ERR_NO_ERROR;
                    if !is_record {
                        // SAFETY: it is ours, and forgotten with this.
                        unsafe { rd::rd_kafka_message_destroy(*one) };
                    }
                    is_record
                });
                match topic {
                    _ if is_passing(code) => self.heed(code, &text)?,
                    Some(topic) => return Err(unreadable(&topic, partition, text)),
                    None => return Err(self.failed(text)),
                }
                Ok(self.held.len())
            }
        }
    }

    /// When the records that it holds were taken, on the run's clock.
    pub fn arrived_us(&self) -> u64 {
        self.arrived_us
    }

    /// The records that it holds, in the order of each partition.
    pub fn held(&mut self) -> impl Iterator<Item = Arrived<'_>> {
        let Consumer { held, numbers, group, .. } = self;
        let mut last = (std::ptr::null_mut(), 0);
        held.iter().map(move |message| {
            // SAFETY: the message is live as long as it is held, and its topic's handle with it.
            unsafe {
                let handle = (**message).rkt;
                if handle != last.0 {
                    last = (handle, *numbers.entry(handle).or_insert_with(|| number_of(group, handle)));
                }
                Arrived::new(*message, last.1)
            }
        })
    }

    /// The first `count` records are handed over: they won't be read again by this process.
    pub fn advance(&mut self, count: usize) {
        let mut next: Option<(Partition, i64)> = None;
        let mut numbers = std::mem::take(&mut self.numbers);
        for message in self.held.drain(..count) {
            // SAFETY: the message is live, and forgotten with this.
            let (partition, offset) = unsafe {
                let handle = (*message).rkt;
                let topic = *numbers.entry(handle).or_insert_with(|| number_of(&self.group, handle));
                let read = ((topic, (*message).partition), (*message).offset + 1);
                rd::rd_kafka_message_destroy(message);
                read
            };
            if let Some((before, behind)) = next.filter(|(before, _)| *before != partition) {
                self.group.set_next(before, behind);
            }
            next = Some((partition, offset));
        }
        if let Some((partition, behind)) = next {
            self.group.set_next(partition, behind);
        }
        self.numbers = numbers;
    }

    /// These are handled, up to the offsets that are named: they will be committed.
    ///
    /// # Errors
    /// librdkafka's, unless the partition has gone elsewhere meanwhile: whoever has it now goes by what is committed.
    pub fn store(&mut self, handled: &[(Partition, i64)]) -> Result<(), ConsumeError> {
        if handled.is_empty() {
            return Ok(());
        }
        let mut list = List::new(handled.len());
        handled.iter().for_each(|((topic, partition), next)| list.add(&self.group.topics[topic], *partition, *next));
        // SAFETY: both are live.
        let code = unsafe { rd::rd_kafka_offsets_store(self.handle.rk, list.raw()) };
        let codes = list.iter().map(|one| one.err).chain([code]);
        match codes.into_iter().find(|code| *code != RD_KAFKA_RESP_ERR_NO_ERROR && *code != RD_KAFKA_RESP_ERR__STATE) {
            Some(code) => self.checked(code),
            None => Ok(()),
        }
    }

    /// Leaves the group, with what was stored committed. What takes longer than this is a complaint, and the group finds out
    /// itself that the member is gone.
    pub fn close(&mut self, limit: Duration) {
        self.let_go(|_| true);
        let until = Instant::now() + limit;
        let rk = self.handle.rk;
        // SAFETY: the client is live, and its queue is destroyed before it.
        let queue = unsafe { Queue(rd::rd_kafka_queue_new(rk)) };
        // SAFETY: both are live; an error says that it is closed already, or can't be any more.
        unsafe {
            let error = rd::rd_kafka_consumer_close_queue(rk, queue.0);
            if !error.is_null() {
                self.complaints.add(&owned(rd::rd_kafka_error_string(error)));
                rd::rd_kafka_error_destroy(error);
                return;
            }
        }
        // SAFETY: the client is live.
        while unsafe { rd::rd_kafka_consumer_closed(rk) } == 0 {
            if Instant::now() >= until {
                let limit = crate::plan::format_duration(limit);
                self.complaints.add(&format!("leaving the group `{}` took longer than {limit}", self.group.name));
                return;
            }
            if let Some(event) = Event::poll(&queue, 20)
                && event.kind() == rd::RD_KAFKA_EVENT_REBALANCE
            {
                self.take_away(&event.partitions());
            }
        }
    }

    /// The load begins: what it has been assigned is as good as committed, so that others go on from there.
    fn begin(&mut self) -> Result<(), ConsumeError> {
        self.begun = true;
        self.group.begin();
        let assigned = self.group.of_member(self.member);
        let starts: Vec<_> = assigned.into_iter().filter_map(|one| Some((one, self.group.next(one)?))).collect();
        self.store(&starts)
    }

    fn rebalance(&mut self, event: &Event) -> Result<(), ConsumeError> {
        let mut list = event.partitions();
        let is_assigned = event.code() == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        let partitions = self.partitions(&list);
        self.numbers.clear();
        if !is_assigned {
            self.let_go(|partition| partitions.contains(&partition));
            let code = self.take_away(&list);
            let left = self.group.of_member(self.member).into_iter().filter(|one| !partitions.contains(one)).collect();
            self.group.assign(self.member, self.is_cooperative().then_some(left));
            return self.checked(code);
        }
        let rk = self.handle.rk;
        // SAFETY: the client is live.
        unsafe { positions::find(rk, &self.group, self.reset.as_deref(), &partitions, &mut list) }?;
        for (topic, partition) in list.names() {
            // SAFETY: all are live, the name is NUL-terminated; the partition keeps what it is led to.
            unsafe {
                let queue = rd::rd_kafka_queue_get_partition(rk, topic.as_ptr(), partition);
                if !queue.is_null() {
                    rd::rd_kafka_queue_forward(queue, self.records.0);
                    rd::rd_kafka_queue_destroy(queue);
                }
            }
        }
        let mut all = partitions.clone();
        // SAFETY: both are live; the list is copied.
        let code = unsafe {
            if self.is_cooperative() {
                all.extend(self.group.of_member(self.member));
                code_of(rd::rd_kafka_incremental_assign(rk, list.raw()))
            } else {
                rd::rd_kafka_assign(rk, list.raw())
            }
        };
        self.checked(code)?;
        all.sort_unstable();
        self.group.assign(self.member, Some(all));
        if self.begun {
            let starts: Vec<_> = partitions.into_iter().filter_map(|one| Some((one, self.group.next(one)?))).collect();
            self.store(&starts)?;
        }
        Ok(())
    }

    /// The partitions are another's from now on.
    fn take_away(&self, list: &List) -> RDKafkaRespErr {
        let rk = self.handle.rk;
        // SAFETY: both are live; the list is copied.
        unsafe {
            if self.is_cooperative() {
                code_of(rd::rd_kafka_incremental_unassign(rk, list.raw()))
            } else {
                rd::rd_kafka_assign(rk, std::ptr::null())
            }
        }
    }

    fn is_cooperative(&self) -> bool {
        // SAFETY: the client is live; it answers a static string.
        unsafe { owned(rd::rd_kafka_rebalance_protocol(self.handle.rk)) == "COOPERATIVE" }
    }

    /// Forgets records that it holds of partitions that go elsewhere: they are read there.
    fn let_go(&mut self, goes: impl Fn(Partition) -> bool) {
        let group = &self.group;
        self.held.retain(|message| {
            // SAFETY: the message is live, and destroyed when it is forgotten.
            unsafe {
                let goes = goes((number_of(group, (**message).rkt), (**message).partition));
                if goes {
                    rd::rd_kafka_message_destroy(*message);
                }
                !goes
            }
        });
    }

    fn partitions(&self, list: &List) -> Vec<Partition> {
        let number =
            |name: &CStr| self.group.topics.iter().find(|(_, known)| known.as_c_str() == name).map(|(at, _)| *at);
        list.names().filter_map(|(name, partition)| Some((number(name)?, partition))).collect()
    }

    /// What an error that librdkafka tells comes to.
    fn heed(&self, code: RDKafkaRespErr, text: &str) -> Result<(), ConsumeError> {
        if code == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED {
            self.group.count_leaving();
            return Ok(());
        }
        if is_passing(code) {
            self.complaints.add(text);
            return Ok(());
        }
        Err(self.failed(text.to_owned()))
    }

    fn checked(&self, code: RDKafkaRespErr) -> Result<(), ConsumeError> {
        if code == RD_KAFKA_RESP_ERR_NO_ERROR { Ok(()) } else { Err(self.failed(Code(code as i32).text())) }
    }

    fn failed(&self, reason: String) -> ConsumeError {
        ConsumeError::Group { group: self.group.name.clone(), reason }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.let_go(|_| true);
    }
}

/// What passes by itself: librdkafka tries again.
fn is_passing(code: RDKafkaRespErr) -> bool {
    matches!(
        code,
        RD_KAFKA_RESP_ERR__TRANSPORT
            | RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN
            | RD_KAFKA_RESP_ERR__TIMED_OUT
            | RD_KAFKA_RESP_ERR__RESOLVE
    )
}

/// # Safety
/// `handle` is null or live.
unsafe fn topic_name(handle: *mut rd::rd_kafka_topic_t) -> Option<CString> {
    // SAFETY: as the caller says; a topic's name is NUL-terminated.
    (!handle.is_null()).then(|| unsafe { CStr::from_ptr(rd::rd_kafka_topic_name(handle)) }.to_owned())
}

/// A topic's number in the plan.
///
/// # Safety
/// `handle` is live.
unsafe fn number_of(group: &Group, handle: *mut rd::rd_kafka_topic_t) -> usize {
    // SAFETY: as the caller says; a topic's name is NUL-terminated.
    let name = unsafe { CStr::from_ptr(rd::rd_kafka_topic_name(handle)) };
    let found = group.topics.iter().find(|(_, known)| known.as_c_str() == name);
    *found.expect("only the group's topics are subscribed to").0
}

/// Frees an error, and answers its code.
///
/// # Safety
/// `error` is null, which is none, or live.
unsafe fn code_of(error: *mut rd::rd_kafka_error_t) -> RDKafkaRespErr {
    // SAFETY: as the caller says.
    unsafe {
        let code = rd::rd_kafka_error_code(error);
        rd::rd_kafka_error_destroy(error);
        code
    }
}

/// Something that librdkafka tells.
struct Event(*mut rd::rd_kafka_event_t);

impl Event {
    fn poll(queue: &Queue, wait_ms: i32) -> Option<Event> {
        // SAFETY: the queue is live.
        let event = unsafe { rd::rd_kafka_queue_poll(queue.0, wait_ms) };
        (!event.is_null()).then_some(Event(event))
    }

    fn kind(&self) -> i32 {
        // SAFETY: the event is live.
        unsafe { rd::rd_kafka_event_type(self.0) as i32 }
    }

    fn code(&self) -> RDKafkaRespErr {
        // SAFETY: the event is live.
        unsafe { rd::rd_kafka_event_error(self.0) }
    }

    fn text(&self) -> String {
        // SAFETY: the event is live, and its text is copied.
        unsafe { owned(rd::rd_kafka_event_error_string(self.0)) }
    }

    /// Of a rebalance.
    fn partitions(&self) -> List {
        // SAFETY: the event is live, and its list is copied.
        unsafe { List::copy(rd::rd_kafka_event_topic_partition_list(self.0)) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it is ours, and destroyed once.
        unsafe { rd::rd_kafka_event_destroy(self.0) };
    }
}
