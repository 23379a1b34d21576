//! Commits after each batch: asked for, and waited for, before the next batch.

use std::time::{Duration, Instant};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{
    RD_KAFKA_RESP_ERR__NO_OFFSET, RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR_NO_ERROR,
};

use super::Consumer;
use super::error::ConsumeError;
use super::event::{Event, Queue};
use super::list::List;
use crate::kafka::errors::Code;

/// How long a commit may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How long one look for its answer takes.
const SLICE_MS: i32 = 20;

impl Consumer {
    /// Commits these offsets, and waits until that is done. One that fails is counted, and a complaint: the group is being dealt
    /// out anew, or its broker is gone, and the next commit makes up for it.
    pub(super) fn commit(&mut self, offsets: &List) -> Result<(), ConsumeError> {
        let rk = self.handle.rk;
        // SAFETY: the client is live, and its queue is destroyed before it.
        let queue = unsafe { Queue(rd::rd_kafka_queue_new(rk)) };
        let began = Instant::now();
        // SAFETY: all are live; the list is copied. The answer comes as an event, so there is no function to be called.
        let code = unsafe { rd::rd_kafka_commit_queue(rk, offsets.raw(), queue.0, None, std::ptr::null_mut()) };
        self.checked(code)?;
        let code = loop {
            if let Some(event) = Event::poll(&queue, SLICE_MS) {
                break event.code();
            }
            if began.elapsed() >= LIMIT || (self.gives_up)() {
                break RD_KAFKA_RESP_ERR__TIMED_OUT;
            }
        };
        let failed = code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR__NO_OFFSET;
        self.group.count_commit(began.elapsed(), failed);
        if failed {
            let text = format!("a commit of the group `{}` failed: {}", self.group.name, Code(code as i32).text());
            self.complaints.add(&text);
        }
        Ok(())
    }
}
