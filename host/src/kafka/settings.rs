//! librdkafka's settings of one client: what is asked for, and what the client really holds.

use std::collections::BTreeMap;
use std::ffi::CString;

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
        for (name, value) in settings {
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

/// What a configuration holds: every setting that is not empty, secrets masked.
///
/// # Safety
/// `conf` is live.
pub(super) unsafe fn dump(conf: *const rd::rd_kafka_conf_t) -> ClientSettings {
    let mut count = 0;
    // SAFETY: `dump` gives `count` strings, names and values in turn, that live until they are freed below.
    unsafe {
        let pairs = rd::rd_kafka_conf_dump(conf as *mut _, &mut count);
        let text = |at: usize| owned(*pairs.add(at));
        let all = (0..count / 2).map(|at| (text(2 * at), text(2 * at + 1)));
        let kept = all.filter(|(name, value)| !value.is_empty() && !is_pointer(name));
        let settings = kept
            .map(|(name, value)| if crate::plan::is_secret(&name) { (name, "…".into()) } else { (name, value) })
            .collect();
        rd::rd_kafka_conf_dump_free(pairs, count);
        settings
    }
}

/// Callbacks and their like, which a dump shows as addresses.
fn is_pointer(name: &str) -> bool {
    name.ends_with("_cb") || ["opaque", "default_topic_conf", "interceptors", "enabled_events"].contains(&name)
}
