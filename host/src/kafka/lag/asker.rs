//! Asks the cluster what groups have committed, and where partitions end: by librdkafka's admin requests, which find leaders and
//! coordinators, and go on after a broker was away.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use super::super::complaints::Complaints;
use super::super::consumer::List;
use super::super::errors::Code;
use super::super::handle::{ClientError, Handle, Role};
use super::super::reach::Reach;
use super::super::wire::{Wire, owned};
use super::{Offsets, settings};
use crate::kafka::Partition;

/// The end of partitions, as librdkafka's offsets have it.
const LATEST: i64 = rd::rd_kafka_OffsetSpec_t::RD_KAFKA_OFFSET_SPEC_LATEST as i64;
/// How long it is waited before it is looked whether somebody wants the end.
const SLICE_MS: i32 = 50;

/// A client that asks.
pub(super) struct Asker {
    topics: Vec<CString>,
    /// Partitions that are asked for by name: librdkafka's embedded broker has no answer for all at once.
    named: Option<Vec<Partition>>,
    complaints: Complaints,
    /// Of the questions so far.
    count: usize,
    queue: *mut rd::rd_kafka_queue_t,
    /// Dropped last: the queue is its.
    handle: Handle,
}

// SAFETY: librdkafka's handles may be used from any thread, and the queue is used by one at a time.
unsafe impl Send for Asker {}

/// A question.
pub(super) enum Question<'a> {
    /// What a group has committed.
    Committed(&'a CStr),
    /// Where these partitions end for those who read so.
    Ends { partitions: &'a [Partition], read_committed: bool },
}

/// An answer, or why there is none.
pub(super) type Answer = Result<Offsets, String>;

impl Asker {
    /// It asks about `topics`, those of the plan; `named` are the partitions on an embedded broker.
    pub(super) fn new(reach: &Reach, topics: Vec<CString>, named: Option<Vec<Partition>>) -> Result<Self, ClientError> {
        let handle = Handle::new(Role::Consumer, reach, &settings(reach), Arc::new(Wire::default()), |conf| {
            let events = rd::RD_KAFKA_EVENT_ERROR | rd::RD_KAFKA_EVENT_LOG;
            // SAFETY: the configuration is live.
            unsafe { rd::rd_kafka_conf_set_events(conf, events) };
        })?;
        // SAFETY: the client is live, and destroyed after its queue.
        let queue = unsafe { rd::rd_kafka_queue_get_main(handle.rk) };
        Ok(Asker { topics, named, complaints: reach.complaints.clone(), count: 0, queue, handle })
    }

    /// Asks all of these at once, and answers in their order. `until` says again and again how long there is still time.
    pub(super) fn ask(
        &mut self,
        questions: &[Question<'_>],
        limit: Duration,
        until: impl Fn() -> Instant,
    ) -> Vec<Answer> {
        let first = self.count;
        self.count += questions.len();
        for (at, question) in questions.iter().enumerate() {
            self.put(first + at, question, limit);
        }
        let mut answers: Vec<Option<Answer>> = questions.iter().map(|_| None).collect();
        while answers.iter().any(Option::is_none) && Instant::now() < until() {
            // SAFETY: the queue is live; events are destroyed once.
            unsafe {
                let event = rd::rd_kafka_queue_poll(self.queue, SLICE_MS);
                if event.is_null() {
                    continue;
                }
                self.complaints.take(event);
                // late answers to earlier questions have other numbers, and are forgotten
                if let Some(at) = (rd::rd_kafka_event_opaque(event) as usize).checked_sub(first + 1)
                    && at < questions.len()
                    && is_answer(event)
                {
                    answers[at] = Some(self.read(event));
                }
                rd::rd_kafka_event_destroy(event);
            }
        }
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err("nothing came in time".to_owned()))).collect()
    }

    /// Puts a question, whose answer bears this number and 1.
    fn put(&self, number: usize, question: &Question<'_>, limit: Duration) {
        let rk = self.handle.rk;
        let kind = match question {
            Question::Committed(_) => rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS,
            Question::Ends { .. } => rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_LISTOFFSETS,
        };
        // SAFETY: client and queue are live, names NUL-terminated; librdkafka copies what it is given.
        unsafe {
            let options = rd::rd_kafka_AdminOptions_new(rk, kind);
            let mut text = [0; 128];
            rd::rd_kafka_AdminOptions_set_request_timeout(
                options,
                limit.as_millis() as i32,
                text.as_mut_ptr(),
                text.len(),
            );
            rd::rd_kafka_AdminOptions_set_opaque(options, (number + 1) as *mut c_void);
            match question {
                Question::Committed(group) => {
                    let named = self.named.as_ref().map(|partitions| self.list(partitions));
                    let list = named.as_ref().map_or(std::ptr::null_mut(), List::raw);
                    let mut one = rd::rd_kafka_ListConsumerGroupOffsets_new(group.as_ptr(), list);
                    rd::rd_kafka_ListConsumerGroupOffsets(rk, &mut one, 1, options, self.queue);
                    rd::rd_kafka_ListConsumerGroupOffsets_destroy(one);
                }
                Question::Ends { partitions, read_committed } => {
                    use rd::rd_kafka_IsolationLevel_t::*;
                    let level = if *read_committed {
                        RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED
                    } else {
                        RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED
                    };
                    // it fails for other kinds of questions only
                    rd::rd_kafka_error_destroy(rd::rd_kafka_AdminOptions_set_isolation_level(options, level));
                    rd::rd_kafka_ListOffsets(rk, self.list(partitions).raw(), options, self.queue);
                }
            }
            rd::rd_kafka_AdminOptions_destroy(options);
        }
    }

    fn list(&self, partitions: &[Partition]) -> List {
        let mut list = List::new(partitions.len());
        partitions.iter().for_each(|(topic, partition)| list.add(&self.topics[*topic], *partition, LATEST));
        list
    }

    /// What an answer says of the plan's topics.
    ///
    /// # Safety
    /// `event` is a live answer.
    unsafe fn read(&self, event: *mut rd::rd_kafka_event_t) -> Answer {
        // SAFETY: as the caller says; what a result has lives as long as its event.
        unsafe {
            if rd::rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR {
                return Err(owned(rd::rd_kafka_event_error_string(event)));
            }
            let mut offsets = HashMap::new();
            for one in elements(event) {
                let one = &*one;
                let name = CStr::from_ptr(one.topic);
                let Some(topic) = self.topics.iter().position(|known| known.as_c_str() == name) else { continue };
                if one.err != RD_KAFKA_RESP_ERR_NO_ERROR {
                    let what = format!("{}, partition {}", name.to_string_lossy(), one.partition);
                    return Err(format!("{what}: {}", Code(one.err as i32).text()));
                }
                if one.offset >= 0 {
                    offsets.insert((topic, one.partition), one.offset);
                }
            }
            Ok(offsets)
        }
    }
}

/// # Safety
/// `event` is live.
unsafe fn is_answer(event: *mut rd::rd_kafka_event_t) -> bool {
    // SAFETY: as the caller says.
    let kind = unsafe { rd::rd_kafka_event_type(event) as i32 };
    [rd::RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT, rd::RD_KAFKA_EVENT_LISTOFFSETS_RESULT].contains(&kind)
}

/// The partitions of an answer, with their offsets.
///
/// # Safety
/// `event` is a live answer, and lives longer than what comes of it.
unsafe fn elements(event: *mut rd::rd_kafka_event_t) -> Vec<*const rd::rd_kafka_topic_partition_t> {
    // SAFETY: as the caller says; counts are those of the arrays that come with them.
    unsafe {
        let mut count = 0;
        if rd::rd_kafka_event_type(event) as i32 == rd::RD_KAFKA_EVENT_LISTOFFSETS_RESULT {
            let result = rd::rd_kafka_event_ListOffsets_result(event);
            let infos = rd::rd_kafka_ListOffsets_result_infos(result, &mut count);
            let of_info = |at| rd::rd_kafka_ListOffsetsResultInfo_topic_partition(*infos.add(at));
            return (0..count).map(of_info).collect();
        }
        let result = rd::rd_kafka_event_ListConsumerGroupOffsets_result(event);
        let groups = rd::rd_kafka_ListConsumerGroupOffsets_result_groups(result, &mut count);
        let lists = (0..count).map(|at| rd::rd_kafka_group_result_partitions(*groups.add(at)));
        let of_list = |list: *const rd::rd_kafka_topic_partition_list_t| {
            let (elements, count) =
                if list.is_null() { (std::ptr::null_mut(), 0) } else { ((*list).elems, (*list).cnt) };
            (0..count as usize).map(move |at| elements.add(at).cast_const())
        };
        lists.flat_map(of_list).collect()
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        // SAFETY: it is ours, and destroyed once, before its client.
        unsafe { rd::rd_kafka_queue_destroy(self.queue) };
    }
}
