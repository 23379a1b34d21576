//! What goes over the network, counted once a request (never once a message): produce requests, their bytes and round
//! trips, what fetches bring, and how long brokers held the client back for a quota.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{self, RD_KAFKA_RESP_ERR_NO_ERROR};

const PRODUCE: i16 = 0;
const FETCH: i16 = 1;

/// The counters of all clients of a flow.
#[derive(Debug, Default)]
pub struct Wire {
    requests: AtomicU64,
    request_bytes: AtomicU64,
    responses: AtomicU64,
    round_trip_us: AtomicU64,
    fetches: AtomicU64,
    fetched_bytes: AtomicU64,
    throttled: Mutex<BTreeMap<i32, Throttle>>,
}

/// Of one broker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttle {
    /// Responses that told the client to wait.
    pub count: u64,
    /// Milliseconds, summed.
    pub total_ms: u64,
}

/// What was counted up to now.
#[derive(Debug, Clone, Default)]
pub struct WireFigures {
    /// Produce requests sent.
    pub requests: u64,
    /// Their bytes, headers of the protocol included.
    pub request_bytes: u64,
    /// Produce responses received.
    pub responses: u64,
    /// From request to response, summed, in microseconds.
    pub round_trip_us: u64,
    /// Fetch responses received.
    pub fetches: u64,
    /// Their bytes, headers of the protocol included.
    pub fetched_bytes: u64,
    /// By broker.
    pub throttled: BTreeMap<i32, Throttle>,
}

impl Wire {
    /// Reads the counters.
    pub fn figures(&self) -> WireFigures {
        WireFigures {
            requests: self.requests.load(Relaxed),
            request_bytes: self.request_bytes.load(Relaxed),
            responses: self.responses.load(Relaxed),
            round_trip_us: self.round_trip_us.load(Relaxed),
            fetches: self.fetches.load(Relaxed),
            fetched_bytes: self.fetched_bytes.load(Relaxed),
            throttled: self.throttled.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Has a client that is made of `conf` count here.
    ///
    /// # Safety
    /// `conf` is a live configuration without an opaque of its own, and `self` outlives the client.
    pub(super) unsafe fn attach(self: &Arc<Self>, conf: *mut rd::rd_kafka_conf_t) {
        let opaque = Arc::as_ptr(self) as *mut c_void;
        // SAFETY: as the caller says; the callbacks read `opaque` as a Wire.
        unsafe {
            rd::rd_kafka_conf_set_opaque(conf, opaque);
            rd::rd_kafka_conf_set_throttle_cb(conf, Some(throttled));
            rd::rd_kafka_conf_interceptor_add_on_new(conf, c"khost".as_ptr(), Some(on_new), opaque);
        }
    }
}

unsafe extern "C" fn on_new(
    rk: *mut rd::rd_kafka_t,
    _conf: *const rd::rd_kafka_conf_t,
    wire: *mut c_void,
    _error: *mut c_char,
    _error_size: usize,
) -> RDKafkaRespErr {
    // SAFETY: `rk` is the client under construction.
    unsafe {
        rd::rd_kafka_interceptor_add_on_request_sent(rk, c"khost".as_ptr(), Some(request_sent), wire);
        rd::rd_kafka_interceptor_add_on_response_received(rk, c"khost".as_ptr(), Some(response_received), wire)
    }
}

unsafe extern "C" fn request_sent(
    _rk: *mut rd::rd_kafka_t,
    _socket: c_int,
    _broker: *const c_char,
    _broker_id: i32,
    api: i16,
    _version: i16,
    _correlation: i32,
    size: usize,
    wire: *mut c_void,
) -> RDKafkaRespErr {
    if api == PRODUCE {
        // SAFETY: `attach` passed a Wire that outlives the client.
        let wire = unsafe { &*(wire as *const Wire) };
        wire.requests.fetch_add(1, Relaxed);
        wire.request_bytes.fetch_add(size as u64, Relaxed);
    }
    RD_KAFKA_RESP_ERR_NO_ERROR
}

unsafe extern "C" fn response_received(
    _rk: *mut rd::rd_kafka_t,
    _socket: c_int,
    _broker: *const c_char,
    _broker_id: i32,
    api: i16,
    _version: i16,
    _correlation: i32,
    size: usize,
    round_trip_us: i64,
    _error: RDKafkaRespErr,
    wire: *mut c_void,
) -> RDKafkaRespErr {
    // SAFETY: `attach` passed a Wire that outlives the client.
    let wire = unsafe { &*(wire as *const Wire) };
    if api == FETCH {
        wire.fetches.fetch_add(1, Relaxed);
        wire.fetched_bytes.fetch_add(size as u64, Relaxed);
    }
    if api == PRODUCE && round_trip_us >= 0 {
        wire.responses.fetch_add(1, Relaxed);
        wire.round_trip_us.fetch_add(round_trip_us as u64, Relaxed);
    }
    RD_KAFKA_RESP_ERR_NO_ERROR
}

unsafe extern "C" fn throttled(
    _rk: *mut rd::rd_kafka_t,
    _broker: *const c_char,
    broker: i32,
    millis: c_int,
    wire: *mut c_void,
) {
    // SAFETY: `attach` passed a Wire that outlives the client.
    let wire = unsafe { &*(wire as *const Wire) };
    if millis > 0 {
        let mut throttled = wire.throttled.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = throttled.entry(broker).or_default();
        entry.count += 1;
        entry.total_ms += millis as u64;
    }
}

/// A string of librdkafka's.
///
/// # Safety
/// `text` is null or NUL-terminated.
pub(super) unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
