//! librdkafka's queues, and what comes out of them that is no record.

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr;

use super::list::List;
use crate::kafka::wire::owned;

/// A queue of librdkafka's.
#[derive(Debug)]
pub(super) struct Queue(pub(super) *mut rd::rd_kafka_queue_t);

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: it is ours, and destroyed once, before its client.
        unsafe { rd::rd_kafka_queue_destroy(self.0) };
    }
}

/// Something that librdkafka tells.
pub(super) struct Event(pub(super) *mut rd::rd_kafka_event_t);

impl Event {
    pub(super) fn poll(queue: &Queue, wait_ms: i32) -> Option<Event> {
        // SAFETY: the queue is live.
        let event = unsafe { rd::rd_kafka_queue_poll(queue.0, wait_ms) };
        (!event.is_null()).then_some(Event(event))
    }

    pub(super) fn kind(&self) -> i32 {
        // SAFETY: the event is live.
        unsafe { rd::rd_kafka_event_type(self.0) as i32 }
    }

    pub(super) fn code(&self) -> RDKafkaRespErr {
        // SAFETY: the event is live.
        unsafe { rd::rd_kafka_event_error(self.0) }
    }

    pub(super) fn text(&self) -> String {
        // SAFETY: the event is live, and its text is copied.
        unsafe { owned(rd::rd_kafka_event_error_string(self.0)) }
    }

    /// librdkafka's statistics, if it is of them.
    pub(super) fn statistics(&self) -> Option<String> {
        // SAFETY: the event is live, and its text is copied.
        (self.kind() == rd::RD_KAFKA_EVENT_STATS).then(|| unsafe { owned(rd::rd_kafka_event_stats(self.0)) })
    }

    /// Of a rebalance.
    pub(super) fn partitions(&self) -> List {
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
