//! Looks at what lies between two offsets of a partition: how many records a consumer would get there. It has no group, reads as the
//! group in question does, and a bounded amount.

use std::ffi::CStr;
use std::sync::Arc;
use std::time::Instant;

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{RD_KAFKA_RESP_ERR__PARTITION_EOF, RD_KAFKA_RESP_ERR_NO_ERROR};

use super::super::complaints::Complaints;
use super::super::handle::{ClientError, Handle, Role};
use super::super::reach::Reach;
use super::super::wire::Wire;
use super::settings;

/// More bytes of keys and values than this are not read.
const MOST_BYTES: usize = 64 << 20;
const SLICE_MS: i32 = 50;

/// A client that looks.
pub(super) struct Looker {
    complaints: Complaints,
    main: *mut rd::rd_kafka_queue_t,
    queue: *mut rd::rd_kafka_queue_t,
    /// Dropped last: the queues are its.
    handle: Handle,
}

// SAFETY: librdkafka's handles may be used from any thread, and the queues are used by one at a time.
unsafe impl Send for Looker {}

impl Looker {
    /// It sees what a group sees that reads so.
    pub(super) fn new(reach: &Reach, read_committed: bool) -> Result<Self, ClientError> {
        let mut settings = settings(reach);
        for (name, value) in [
            ("isolation.level", if read_committed { "read_committed" } else { "read_uncommitted" }),
            ("enable.partition.eof", "true"),
            // what retention took is no record
            ("auto.offset.reset", "earliest"),
            // the end is told by a fetch that finds nothing
            ("fetch.wait.max.ms", "10"),
            ("queued.max.messages.kbytes", "4096"),
        ] {
            settings.insert(name.into(), value.into());
        }
        let handle = Handle::new(Role::Consumer, reach, &settings, Arc::new(Wire::default()), |conf| {
            let events = rd::RD_KAFKA_EVENT_ERROR | rd::RD_KAFKA_EVENT_LOG;
            // SAFETY: the configuration is live.
            unsafe { rd::rd_kafka_conf_set_events(conf, events) };
        })?;
        // SAFETY: the client is live, and destroyed after its queues.
        let (main, queue) = unsafe { (rd::rd_kafka_queue_get_main(handle.rk), rd::rd_kafka_queue_new(handle.rk)) };
        Ok(Looker { complaints: reach.complaints.clone(), main, queue, handle })
    }

    /// How many records there are from an offset on, and before another; none where that takes too long, or too much.
    pub(super) fn count(&self, topic: &CStr, partition: i32, from: i64, to: i64, until: Instant) -> Option<i64> {
        // SAFETY: the client is live, the name NUL-terminated; the partition is stopped before its topic goes.
        unsafe {
            let handle = rd::rd_kafka_topic_new(self.handle.rk, topic.as_ptr(), std::ptr::null_mut());
            if handle.is_null() {
                return self.complain(topic, partition);
            }
            let records = match rd::rd_kafka_consume_start_queue(handle, partition, from, self.queue) {
                0 => self.read(to, until),
                _ => self.complain(topic, partition),
            };
            rd::rd_kafka_consume_stop(handle, partition);
            rd::rd_kafka_topic_destroy(handle);
            self.clear();
            self.heed();
            records
        }
    }

    /// Reads the partition that was started.
    fn read(&self, to: i64, until: Instant) -> Option<i64> {
        let (mut records, mut bytes) = (0, 0);
        while Instant::now() < until && bytes <= MOST_BYTES {
            let message = self.take(SLICE_MS);
            if message.is_null() {
                continue;
            }
            // SAFETY: the message is live, and destroyed once.
            let (code, offset, size) = unsafe {
                let one = &*message;
                (one.err, one.offset, one.key_len + one.len)
            };
            // SAFETY: as above.
            unsafe { rd::rd_kafka_message_destroy(message) };
            match code {
                RD_KAFKA_RESP_ERR_NO_ERROR if offset < to => {
                    records += 1;
                    bytes += size;
                    if offset + 1 == to {
                        return Some(records);
                    }
                }
                RD_KAFKA_RESP_ERR_NO_ERROR | RD_KAFKA_RESP_ERR__PARTITION_EOF => return Some(records),
                // what is passing is tried again by librdkafka, and the rest by nobody: the time is up then
                _ => {}
            }
        }
        None
    }

    fn complain(&self, topic: &CStr, partition: i32) -> Option<i64> {
        self.complaints.add(&format!("{}, partition {partition}, can't be read", topic.to_string_lossy()));
        None
    }

    /// Of a partition that was stopped nothing is left for the next one.
    fn clear(&self) {
        loop {
            let message = self.take(0);
            if message.is_null() {
                return;
            }
            // SAFETY: it is live, and destroyed once.
            unsafe { rd::rd_kafka_message_destroy(message) };
        }
    }

    fn take(&self, wait_ms: i32) -> *mut rd::rd_kafka_message_t {
        // SAFETY: the queue is live.
        unsafe { rd::rd_kafka_consume_queue(self.queue, wait_ms) }
    }

    /// Takes what the client complains of.
    fn heed(&self) {
        // SAFETY: the queue is live; events are destroyed once.
        unsafe {
            loop {
                let event = rd::rd_kafka_queue_poll(self.main, 0);
                if event.is_null() {
                    return;
                }
                self.complaints.take(event);
                rd::rd_kafka_event_destroy(event);
            }
        }
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        // SAFETY: they are ours, and destroyed once, before their client.
        unsafe {
            rd::rd_kafka_queue_destroy(self.queue);
            rd::rd_kafka_queue_destroy(self.main);
        }
    }
}
