//! What the tests stand on: a real Kafka, the real `khost` binary in a folder of its own, guests written inline, and a second
//! client that reads back what arrived.

pub(crate) mod cgroup;
pub(crate) mod forwarder;
pub(crate) mod guests;
pub(crate) mod kafka;
pub(crate) mod khost;
pub(crate) mod output;
pub(crate) mod project;
pub(crate) mod proxy;
pub(crate) mod result;
pub(crate) mod running;
pub(crate) mod scenarios;
pub(crate) mod tokens;
pub(crate) mod topics;
pub(crate) mod turn;

pub(crate) use cgroup::MemoryLimit;
pub(crate) use kafka::Kafka;
pub(crate) use output::Output;
pub(crate) use project::Project;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A name that no other test, process or earlier run uses.
pub(crate) fn unique(prefix: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{:x}-{:x}-{count}", std::process::id(), now.as_micros() & 0xff_ffff_ffff)
}
