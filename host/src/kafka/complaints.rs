//! What clients complain of: errors and log lines of librdkafka's, told apart by their text and counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rdkafka_sys::bindings as rd;

use super::wire::owned;

/// syslog's "notice": what is less urgent is librdkafka's daily business.
const WORTH_TELLING: i32 = 5;
/// Different complaints that are kept.
const MOST: usize = 50;

/// Those of all clients of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Complaints(Arc<Mutex<BTreeMap<String, u64>>>);

impl Complaints {
    /// Adds one.
    pub(super) fn add(&self, text: &str) {
        // the same comes as an error and as a log line, which names its thread
        let text =
            text.split_once("]: ").filter(|_| text.starts_with("[thrd:")).map_or(text, |(_, rest)| rest).to_owned();
        // how long it took, and how many were the same
        let text = text.split_once(" (after ").map_or(text.clone(), |(text, _)| text.to_owned());
        if text.ends_with("brokers are down") {
            return;
        }
        let mut complaints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = if complaints.len() < MOST || complaints.contains_key(&text) { text } else { "others".into() };
        *complaints.entry(text).or_default() += 1;
    }

    /// Adds what an event says, if it is an error or a log line that matters.
    ///
    /// # Safety
    /// `event` is live.
    pub(super) unsafe fn take(&self, event: *mut rd::rd_kafka_event_t) {
        // SAFETY: as the caller says; texts are copied.
        unsafe {
            match rd::rd_kafka_event_type(event) as i32 {
                rd::RD_KAFKA_EVENT_ERROR => self.add(&owned(rd::rd_kafka_event_error_string(event))),
                rd::RD_KAFKA_EVENT_LOG => {
                    let (mut facility, mut text, mut level) = (std::ptr::null(), std::ptr::null(), 0);
                    if rd::rd_kafka_event_log(event, &mut facility, &mut text, &mut level) == 0
                        && level <= WORTH_TELLING
                    {
                        self.add(&owned(text));
                    }
                }
                _ => {}
            }
        }
    }

    /// All until now, with how often.
    pub(super) fn list(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
