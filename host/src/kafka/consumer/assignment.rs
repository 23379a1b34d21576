//! Partitions that a consumer is given and loses.

use std::ffi::CStr;

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{self, RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS};

use super::error::{ConsumeError, unreadable};
use super::event::{Event, Queue};
use super::group::Partition;
use super::list::List;
use super::{Consumer, positions};
use crate::kafka::wire::owned;

/// How long it may take to wake connections.
const WAKE_MS: i32 = 1_000;

impl Consumer {
    /// The load begins: what it has been assigned is as good as committed, so that others go on from there.
    pub(super) fn begin(&mut self) -> Result<(), ConsumeError> {
        self.begun = true;
        let (rk, group) = (self.handle.rk, self.group.clone());
        // SAFETY: the client is live.
        group.begin(|| unsafe { positions::find_ends(rk, &group) })?;
        self.bounds = group.bounds();
        let assigned = self.group.of_member(self.member);
        let starts: Vec<_> = assigned.into_iter().filter_map(|one| Some((one, self.group.next(one)?))).collect();
        let held_back = std::mem::take(&mut self.held_back);
        self.resume_paused(&held_back)?;
        self.wake(&held_back);
        self.store(&starts)
    }

    pub(super) fn rebalance(&mut self, event: &Event) -> Result<(), ConsumeError> {
        let list = event.partitions();
        let partitions = self.partitions(&list);
        if event.code() == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            return self.assigned(partitions, list);
        }
        self.numbers.clear();
        self.let_go(|partition| partitions.contains(&partition));
        self.group.goes(&partitions);
        // librdkafka keeps a pause beyond the assignment: they may come again
        let mut paused: Vec<Partition> = self.held_back.extract_if(.., |one| partitions.contains(one)).collect();
        if let Some(pausing) = &mut self.pausing {
            paused.extend(pausing.forget(|partition| partitions.contains(&partition)));
        }
        self.resume_paused(&paused)?;
        let code = self.take_away(&list);
        let left = self.group.of_member(self.member).into_iter().filter(|one| !partitions.contains(one)).collect();
        self.group.assign(self.member, self.is_cooperative().then_some(left));
        self.checked(code)
    }

    /// It is given partitions, which are those of the list: reads them from here on, once the load has begun.
    pub(super) fn assigned(&mut self, partitions: Vec<Partition>, mut list: List) -> Result<(), ConsumeError> {
        self.numbers.clear();
        let rk = self.handle.rk;
        // SAFETY: the client is live.
        unsafe { positions::find(rk, &self.group, self.reset.as_deref(), &partitions, &mut list) }?;
        for (of, (topic, partition)) in partitions.iter().zip(list.names()) {
            // SAFETY: all are live, the name is NUL-terminated; the partition keeps what it is led to.
            unsafe {
                let queue = rd::rd_kafka_queue_get_partition(rk, topic.as_ptr(), partition);
                if queue.is_null() {
                    return Err(unreadable(topic, partition, "the client has no queue for it".to_owned()));
                }
                let queue = Queue(queue);
                match self.pausing.as_mut().filter(|pausing| pausing.keeps()) {
                    None => rd::rd_kafka_queue_forward(queue.0, self.records.0),
                    Some(pausing) => {
                        rd::rd_kafka_queue_forward(queue.0, std::ptr::null_mut());
                        pausing.add_queue(*of, queue);
                    }
                }
            }
        }
        if !self.begun {
            self.hold_back(&partitions)?;
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

    /// By the newer protocol of groups librdkafka tells nothing of a first assignment that is empty: then it counts that the
    /// member has joined.
    pub(super) fn look_whether_it_has_joined(&self) {
        if !self.is_of_newer_protocol || self.begun {
            return;
        }
        // SAFETY: the client is live; what it answers is ours, if it is not null.
        let epoch = unsafe {
            let metadata = rd::rd_kafka_consumer_group_metadata(self.handle.rk);
            if metadata.is_null() {
                return;
            }
            let epoch = rd::rd_kafka_consumer_group_metadata_generation_id(metadata);
            rd::rd_kafka_consumer_group_metadata_destroy(metadata);
            epoch
        };
        if epoch > 0 {
            self.group.has_joined(self.member);
        }
    }

    /// Nothing is fetched before the load begins: it would be read out of the measured time. It is said before librdkafka is
    /// told to read, or a first fetch would be on its way by then.
    fn hold_back(&mut self, partitions: &[Partition]) -> Result<(), ConsumeError> {
        self.pause(partitions)?;
        self.held_back.extend(partitions);
        Ok(())
    }

    /// Has what was resumed be fetched at once. A connection's thread sleeps for up to a second before it sees that there is
    /// something to fetch; any request to its broker wakes it, and what is answered does not matter.
    fn wake(&self, partitions: &[Partition]) {
        if !partitions.is_empty() {
            // SAFETY: both are live.
            unsafe { rd::rd_kafka_offsets_for_times(self.handle.rk, self.list(partitions).raw(), WAKE_MS) };
        }
    }

    /// The partitions are another's from now on.
    pub(super) fn take_away(&self, list: &List) -> RDKafkaRespErr {
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

    fn partitions(&self, list: &List) -> Vec<Partition> {
        let number =
            |name: &CStr| self.group.topics.iter().find(|(_, known)| known.as_c_str() == name).map(|(at, _)| *at);
        list.names().filter_map(|(name, partition)| Some((number(name)?, partition))).collect()
    }
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
