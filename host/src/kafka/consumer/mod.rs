//! A consumer in a group: one librdkafka client, polled by one thread.
//!
//! Each partition's records are led to a queue of the consumer's own, beside the queue of the group's affairs. So a
//! rebalance is dealt with between two batches only, and before the load, where no record is taken yet, all the same.

mod arrived;
mod assignment;
mod commit;
mod error;
mod event;
mod group;
mod kept;
mod list;
mod members;
mod pause;
mod places;
mod positions;
mod records;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{
    self, RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED, RD_KAFKA_RESP_ERR__STATE,
    RD_KAFKA_RESP_ERR_NO_ERROR,
};

use super::complaints::Complaints;
use super::errors::Code;
use super::handle::{Handle, Role};
use super::reach::Reach;
use super::settings::{ClientSettings, held};
use super::wire::{Wire, owned};
use crate::measure::RunClock;
use crate::plan::{Commit, Dealer, Pause};
pub use arrived::Arrived;
pub use error::ConsumeError;
use error::is_passing;
use event::{Event, Queue};
pub use group::{Commits, Group, GroupSetup, Partition};
pub(super) use list::List;
pub use members::Rebalances;
pub use pause::PauseFigures;
use pause::{Pausing, STATISTICS_MS};
pub use places::OffsetFigures;

/// librdkafka's partition of a list that names topics only.
const NO_PARTITION: i32 = -1;

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
    /// Whether and how it pauses partitions.
    pub pause: Option<Pause>,
    /// The run's clock.
    pub clock: RunClock,
    /// Where its requests are counted.
    pub wire: Arc<Wire>,
    /// Whether nothing is to be waited for any more.
    pub gives_up: GivesUp,
}

/// Asked by what waits.
pub type GivesUp = Box<dyn Fn() -> bool + Send>;

/// One member of a group.
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
    gives_up: GivesUp,
    /// Whether it is in a group by `group.protocol=consumer`.
    is_of_newer_protocol: bool,
    begun: bool,
    /// Partitions that are not fetched before the load begins.
    held_back: Vec<Partition>,
    /// How it pauses partitions, if it does.
    pausing: Option<Pausing>,
    /// Where partitions are read up to, if that is bounded.
    bounds: Option<HashMap<Partition, i64>>,
    main: Queue,
    affairs: Queue,
    records: Queue,
    /// Dropped last: the rest is made of it.
    handle: Handle,
}

// SAFETY: librdkafka's handles may be used from any thread; messages and queues are the consumer's alone.
unsafe impl Send for Consumer {}

impl Consumer {
    /// Makes it; it joins its group at `join`.
    ///
    /// # Errors
    /// Settings that librdkafka does not take, alone or together. Brokers are not asked yet.
    pub fn new(setup: ConsumerSetup<'_>) -> Result<Self, ConsumeError> {
        let ConsumerSetup { reach, mut settings, group, member, most, pause, clock, wire, gives_up } = setup;
        let by_interval = (group.commit == Commit::Interval).to_string();
        for (name, value) in [
            ("group.id", group.name.as_str()),
            ("enable.auto.commit", &by_interval),
            ("enable.auto.offset.store", "false"),
            ("enable.partition.eof", if group.to_ends { "true" } else { "false" }),
        ] {
            settings.insert(name.into(), value.into());
        }
        if pause.is_some() {
            settings.insert("statistics.interval.ms".into(), STATISTICS_MS.into());
        }
        if let Some(ids) = &group.instance_ids {
            settings.insert("group.instance.id".into(), format!("{ids}-{member}"));
        }
        let handle = Handle::new(Role::Consumer, reach, &settings, wire, |conf| {
            let events = rd::RD_KAFKA_EVENT_REBALANCE
                | rd::RD_KAFKA_EVENT_ERROR
                | rd::RD_KAFKA_EVENT_LOG
                | rd::RD_KAFKA_EVENT_STATS;
            // SAFETY: the configuration is live.
            unsafe { rd::rd_kafka_conf_set_events(conf, events) };
        })?;
        let rk = handle.rk;
        let is_of_newer_protocol =
            group.dealer == Dealer::Group && settings.get("group.protocol").is_some_and(|name| name == "consumer");
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
            gives_up,
            is_of_newer_protocol,
            begun: false,
            held_back: Vec::new(),
            pausing: pause.map(Pausing::new),
            bounds: None,
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

    /// Begins to join the group, with which `serve` goes on; or takes its share, where khost deals out the partitions.
    ///
    /// # Errors
    /// librdkafka's, when it does not take the topics.
    pub fn join(&mut self) -> Result<(), ConsumeError> {
        self.group.joins(self.member);
        if self.group.dealer == Dealer::Khost {
            let share = self.group.share(self.member);
            let list = self.list(&share);
            return self.assigned(share, list);
        }
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
        self.look_whether_it_has_joined();
        Ok(())
    }

    /// These are handled, up to the offsets that are named: they will be committed, or are by now, or never, as the group's
    /// way is.
    ///
    /// # Errors
    /// librdkafka's, unless the partition has gone elsewhere meanwhile: whoever has it now goes by what is committed.
    pub fn store(&mut self, handled: &[(Partition, i64)]) -> Result<(), ConsumeError> {
        if handled.is_empty() || self.group.commit == Commit::Never {
            return Ok(());
        }
        let mut list = List::new(handled.len());
        handled.iter().for_each(|((topic, partition), next)| list.add(&self.group.topics[topic], *partition, *next));
        if self.group.commit == Commit::Batch {
            return self.commit(&list);
        }
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
        self.finish_pausing();
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
