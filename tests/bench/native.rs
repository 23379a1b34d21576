//! The loop to compare with: one thread, librdkafka's `produce_batch`, random keys of 16 bytes, delivery events in batches.
//!
//! It formats nothing and measures no message: it is what a producer costs at least.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::time::Instant;

use rdkafka_sys::bindings as rd;

use super::figures::cpu_ns;

const BATCH: usize = 256;
const ANY_PARTITION: i32 = -1;
const NO_ERROR: rd::rd_kafka_resp_err_t = rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;

/// What the loop's bodies are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Bodies {
    /// Made for each message of random bytes, and copied.
    Fresh,
    /// Always the same one, copied.
    Copied,
    /// Always the same one, not copied.
    Shared,
}

/// What a loop came to.
pub(crate) struct Ran {
    pub(crate) cpu_ns_per_message: f64,
    pub(crate) messages_per_second: f64,
}

/// Sends so many messages with bodies of this size, and waits for all acknowledgements.
pub(crate) fn run(topic: &str, settings: &[(&str, &str)], messages: u64, body_bytes: usize, bodies: Bodies) -> Ran {
    let mut client = Client::new(topic, settings);
    let mut all = vec![7; BATCH * body_bytes];
    let mut keys = vec![[0_u64; 2]; BATCH];
    let mut state = 0_u64;
    let (start, cpu) = (Instant::now(), cpu_ns(libc::RUSAGE_SELF));
    let mut sent = 0;
    while sent < messages {
        let count = BATCH.min((messages - sent) as usize);
        for key in &mut keys[..count] {
            *key = [splitmix64(&mut state), splitmix64(&mut state)];
        }
        if bodies == Bodies::Fresh {
            fill(&mut all[..count * body_bytes], &mut state);
        }
        client.send(&keys[..count], &all, body_bytes, bodies);
        sent += count as u64;
    }
    while client.acknowledged < messages {
        client.poll(100);
    }
    Ran {
        cpu_ns_per_message: (cpu_ns(libc::RUSAGE_SELF) - cpu) as f64 / messages as f64,
        messages_per_second: messages as f64 / start.elapsed().as_secs_f64(),
    }
}

struct Client {
    handle: *mut rd::rd_kafka_t,
    topic: *mut rd::rd_kafka_topic_t,
    queue: *mut rd::rd_kafka_queue_t,
    batch: Vec<rd::rd_kafka_message_t>,
    acknowledged: u64,
}

impl Client {
    fn new(topic: &str, settings: &[(&str, &str)]) -> Client {
        let mut said = [0 as c_char; 512];
        // SAFETY: each call gets a live handle, NUL-terminated text and a buffer of the size that is named; the configuration
        // belongs to librdkafka after `rd_kafka_new`.
        unsafe {
            let conf = rd::rd_kafka_conf_new();
            for (name, value) in settings {
                let (name, value) = (text(name), text(value));
                let set = rd::rd_kafka_conf_set(conf, name.as_ptr(), value.as_ptr(), said.as_mut_ptr(), said.len());
                assert!(set == rd::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK, "{:?}", CStr::from_ptr(said.as_ptr()));
            }
            rd::rd_kafka_conf_set_events(conf, rd::RD_KAFKA_EVENT_DR);
            let handle = rd::rd_kafka_new(rd::rd_kafka_type_t::RD_KAFKA_PRODUCER, conf, said.as_mut_ptr(), said.len());
            assert!(!handle.is_null(), "{:?}", CStr::from_ptr(said.as_ptr()));
            let topic = rd::rd_kafka_topic_new(handle, text(topic).as_ptr(), ptr::null_mut());
            let queue = rd::rd_kafka_queue_get_main(handle);
            Client { handle, topic, queue, batch: Vec::with_capacity(BATCH), acknowledged: 0 }
        }
    }

    fn send(&mut self, keys: &[[u64; 2]], all: &[u8], body_bytes: usize, bodies: Bodies) {
        let flags = if bodies == Bodies::Shared { 0 } else { rd::RD_KAFKA_MSG_F_COPY };
        self.batch.clear();
        self.batch.extend(keys.iter().enumerate().map(|(number, key)| {
            let body = &all[if bodies == Bodies::Fresh { number * body_bytes } else { 0 }..][..body_bytes];
            // SAFETY: it is plain data, for which zero is "none" everywhere.
            let mut message: rd::rd_kafka_message_t = unsafe { std::mem::zeroed() };
            message.partition = ANY_PARTITION;
            message.payload = body.as_ptr() as *mut c_void;
            message.len = body.len();
            message.key = key.as_ptr() as *mut c_void;
            message.key_len = size_of_val(key);
            message
        }));
        while !self.batch.is_empty() {
            // SAFETY: keys are copied by librdkafka, bodies too or they outlive the client; the array is ours.
            unsafe {
                let (at, count) = (self.batch.as_mut_ptr(), self.batch.len() as i32);
                rd::rd_kafka_produce_batch(self.topic, ANY_PARTITION, flags, at, count);
            }
            self.batch.retain(|message| message.err != NO_ERROR);
            let full = !self.batch.is_empty();
            while self.poll(i32::from(full)) && !full {}
        }
    }

    /// Takes one event; false says that there is none.
    fn poll(&mut self, timeout_ms: i32) -> bool {
        // SAFETY: the event is ours until it is destroyed, and its messages with it.
        unsafe {
            let event = rd::rd_kafka_queue_poll(self.queue, timeout_ms);
            if event.is_null() {
                return false;
            }
            if rd::rd_kafka_event_type(event) == rd::RD_KAFKA_EVENT_DR {
                loop {
                    let message = rd::rd_kafka_event_message_next(event);
                    if message.is_null() {
                        break;
                    }
                    assert!((*message).err == NO_ERROR, "a message failed");
                    self.acknowledged += 1;
                }
            }
            rd::rd_kafka_event_destroy(event);
        }
        true
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: each is live, and not used after.
        unsafe {
            rd::rd_kafka_queue_destroy(self.queue);
            rd::rd_kafka_topic_destroy(self.topic);
            rd::rd_kafka_destroy(self.handle);
        }
    }
}

fn text(text: &str) -> CString {
    CString::new(text).expect("no NUL in it")
}

/// The same generator as the SDK's.
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn fill(bytes: &mut [u8], state: &mut u64) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&splitmix64(state).to_le_bytes()[..chunk.len()]);
    }
}
