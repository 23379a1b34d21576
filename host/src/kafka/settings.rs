//! librdkafka's settings of one client: what is asked for, and what the client really holds.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};

use rdkafka_sys::bindings as rd;
use thiserror::Error;

use super::wire::owned;

/// Names and values as librdkafka knows them.
pub type ClientSettings = BTreeMap<String, String>;

/// A setting that librdkafka does not take.
#[derive(Debug, Error)]
#[error("Kafka client setting `{name} = {value}`: {reason}")]
pub struct SettingsError {
    /// The setting's name.
    pub name: String,
    /// Its value, or dots for a secret.
    pub value: String,
    /// librdkafka's words.
    pub reason: String,
}

/// A configuration that is freed unless a client takes it.
pub(super) struct Conf(*mut rd::rd_kafka_conf_t);

impl Conf {
    pub(super) fn new(settings: &ClientSettings) -> Result<Self, SettingsError> {
        // SAFETY: it has no preconditions.
        let conf = Conf(unsafe { rd::rd_kafka_conf_new() });
        // librdkafka's log comes as events, not as lines on stderr
        let own = [("log.queue".to_owned(), "true".to_owned())];
        for (name, value) in settings.iter().chain(own.iter().map(|(name, value)| (name, value))) {
            let fail = |reason: String| {
                let value = if crate::plan::is_secret(name) { "…".into() } else { value.clone() };
                SettingsError { name: name.clone(), value, reason }
            };
            let (Ok(c_name), Ok(c_value)) = (CString::new(name.as_str()), CString::new(value.as_str())) else {
                return Err(fail("it holds a NUL character".into()));
            };
            let mut text = [0; 512];
            // SAFETY: both strings are NUL-terminated, and the buffer's size is passed along.
            let result = unsafe {
                rd::rd_kafka_conf_set(conf.0, c_name.as_ptr(), c_value.as_ptr(), text.as_mut_ptr(), text.len())
            };
            if result != rd::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
                // SAFETY: librdkafka wrote a NUL-terminated text.
                return Err(fail(unsafe { owned(text.as_ptr()) }));
            }
        }
        Ok(conf)
    }

    pub(super) fn raw(&self) -> *mut rd::rd_kafka_conf_t {
        self.0
    }

    /// Gives the configuration away: to `rd_kafka_new`, once it has succeeded.
    pub(super) fn given(self) {
        std::mem::forget(self);
    }
}

impl Drop for Conf {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody took it.
        unsafe { rd::rd_kafka_conf_destroy(self.0) }
    }
}

/// What a client holds, its topics' settings included: every one that is not empty and `is_its`, secrets masked, by the names
/// that Kafka's users know.
///
/// # Safety
/// `rk` is live.
pub(super) unsafe fn held(rk: *mut rd::rd_kafka_t, is_its: fn(&str) -> bool) -> ClientSettings {
    let (mut count, mut topic_count) = (0, 0);
    // SAFETY: the client's configuration lives as long as the client, and the topics' is a copy that is freed here; a
    // dump is `count` strings, names and values in turn.
    unsafe {
        let mut settings =
            take_dump(rd::rd_kafka_conf_dump(rd::rd_kafka_conf(rk) as *mut _, &mut count), count, is_its);
        let topic_conf = rd::rd_kafka_default_topic_conf_dup(rk);
        settings.extend(take_dump(rd::rd_kafka_topic_conf_dump(topic_conf, &mut topic_count), topic_count, is_its));
        rd::rd_kafka_topic_conf_destroy(topic_conf);
        settings
    }
}

/// # Safety
/// `pairs` is a dump of `count` strings.
unsafe fn take_dump(pairs: *mut *const c_char, count: usize, is_its: fn(&str) -> bool) -> ClientSettings {
    // SAFETY: as the caller says.
    let text = |at: usize| unsafe { owned(*pairs.add(at)) };
    let all = (0..count / 2).map(|at| (text(2 * at), text(2 * at + 1)));
    let is_pointer = |name: &str| name.ends_with("_cb") || name == "opaque";
    let told = all.filter(|(name, value)| !value.is_empty() && value != "inherit" && is_its(name) && !is_pointer(name));
    let mask = |(name, value): (String, String)| {
        let value = if crate::plan::is_secret(&name) { "…".into() } else { value };
        (KNOWN_AS.iter().find(|(own, _)| *own == name).map_or(name, |(_, known)| (*known).into()), value)
    };
    let settings = told.map(mask).collect();
    // SAFETY: it is freed once.
    unsafe { rd::rd_kafka_conf_dump_free(pairs, count) };
    settings
}

/// librdkafka's own names where Kafka's users know others.
const KNOWN_AS: [(&str, &str); 6] = [
    ("request.required.acks", "acks"),
    ("queue.buffering.max.ms", "linger.ms"),
    ("compression.codec", "compression.type"),
    ("message.send.max.retries", "retries"),
    ("metadata.broker.list", "bootstrap.servers"),
    ("message.timeout.ms", "delivery.timeout.ms"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What librdkafka was built without is for the plan to refuse, with a way out: its own words repeat the value.
    #[test]
    fn what_this_build_lacks_is_refused_by_the_plan() {
        for name in crate::plan::kafka_settings() {
            let settings = ClientSettings::from([(name.to_owned(), "geheim".to_owned())]);
            let error = Conf::new(&settings).err().map(|error| error.reason).unwrap_or_default();
            assert!(!error.contains("not supported in this build"), "{name}: {error}");
        }
    }
}
