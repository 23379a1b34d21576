//! A record that a consumer holds, lent as it lies in librdkafka's buffers.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use crate::kafka::stamp::{STAMP_HEADER, Stamp};

/// One record.
#[derive(Debug, Clone, Copy)]
pub struct Arrived<'a> {
    message: *const rd::rd_kafka_message_t,
    /// Its topic's number in the plan.
    pub topic: usize,
    _lent: PhantomData<&'a rd::rd_kafka_message_t>,
}

impl<'a> Arrived<'a> {
    /// # Safety
    /// `message` is a live record without an error, and stays as long as `'a`.
    pub(super) unsafe fn new(message: *const rd::rd_kafka_message_t, topic: usize) -> Self {
        Arrived { message, topic, _lent: PhantomData }
    }

    fn message(&self) -> &'a rd::rd_kafka_message_t {
        // SAFETY: it is live, as `new` demands.
        unsafe { &*self.message }
    }

    /// From 0.
    pub fn partition(&self) -> i32 {
        self.message().partition
    }

    /// Its place in the partition.
    pub fn offset(&self) -> i64 {
        self.message().offset
    }

    /// Milliseconds since the Unix epoch; -1 where the record has none.
    pub fn timestamp(&self) -> i64 {
        let mut kind = rd::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: the message is live.
        unsafe { rd::rd_kafka_message_timestamp(self.message, &mut kind) }
    }

    /// Those of its key and its value.
    #[inline]
    pub fn bytes(&self) -> u64 {
        let message = self.message();
        (message.key_len + message.len) as u64
    }

    /// `None` is Kafka's null.
    pub fn key(&self) -> Option<&'a [u8]> {
        let message = self.message();
        // SAFETY: the key lies there as long as the message does.
        unsafe { bytes(message.key, message.key_len) }
    }

    /// `None` is Kafka's null.
    pub fn value(&self) -> Option<&'a [u8]> {
        let message = self.message();
        // SAFETY: the value lies there as long as the message does.
        unsafe { bytes(message.payload, message.len) }
    }

    /// False says that it has no headers, without asking librdkafka, which allocates before it looks.
    #[inline]
    fn may_have_headers(&self) -> bool {
        let message = self.message();
        // an empty value does not lie among the record's other bytes
        if message.payload.is_null() || message.len == 0 {
            return true;
        }
        // SAFETY: the message is live. Only a record of format 2 has a leader's epoch. In that format the number of headers comes
        // behind the value, in one byte at least, and librdkafka holds a record's bytes in one piece.
        unsafe {
            rd::rd_kafka_message_leader_epoch(self.message) < 0 || *message.payload.cast::<u8>().add(message.len) != 0
        }
    }

    /// Its stamp, if it has one that can be read.
    pub fn stamp(&self) -> Option<Stamp> {
        if !self.may_have_headers() {
            return None;
        }
        let mut headers = std::ptr::null_mut();
        let (mut value, mut size) = (std::ptr::null(), 0);
        // SAFETY: the message is live, and keeps what it answers; the name is NUL-terminated.
        unsafe {
            if rd::rd_kafka_message_headers(self.message, &mut headers) != RD_KAFKA_RESP_ERR_NO_ERROR {
                return None;
            }
            let code = rd::rd_kafka_header_get_last(headers, c"khost".as_ptr(), &mut value, &mut size);
            if code != RD_KAFKA_RESP_ERR_NO_ERROR {
                return None;
            }
            Stamp::read(bytes(value, size)?)
        }
    }

    /// Shows its headers, a stamp left out, in their order: names, and values that may be null.
    pub fn each_header(&self, mut show: impl FnMut(&'a [u8], Option<&'a [u8]>)) {
        if !self.may_have_headers() {
            return;
        }
        let mut headers = std::ptr::null_mut();
        // SAFETY: the message is live, and keeps what it answers.
        let code = unsafe { rd::rd_kafka_message_headers(self.message, &mut headers) };
        if code != RD_KAFKA_RESP_ERR_NO_ERROR {
            return;
        }
        for at in 0.. {
            let (mut name, mut value, mut size) = (std::ptr::null(), std::ptr::null(), 0);
            // SAFETY: the headers are live, and a number beyond the last is answered with an error.
            let code = unsafe { rd::rd_kafka_header_get_all(headers, at, &mut name, &mut value, &mut size) };
            if code != RD_KAFKA_RESP_ERR_NO_ERROR {
                return;
            }
            // SAFETY: a name is NUL-terminated; both lie there as long as the message does.
            let (name, value) = unsafe { (CStr::from_ptr(name).to_bytes(), bytes(value, size)) };
            if name != STAMP_HEADER || value.and_then(Stamp::read).is_none() {
                show(name, value);
            }
        }
    }
}

/// # Safety
/// `at` is null, or so many bytes lie there as long as `'a`.
unsafe fn bytes<'a>(at: *const c_void, length: usize) -> Option<&'a [u8]> {
    // SAFETY: as the caller says.
    (!at.is_null()).then(|| unsafe { std::slice::from_raw_parts(at.cast::<u8>(), length) })
}
