//! A librdkafka client of either kind: made of settings, logged in, destroyed once.

use std::ffi::c_char;
use std::sync::Arc;

use rdkafka_sys::bindings as rd;
use thiserror::Error;

use super::reach::Reach;
use super::settings::{ClientSettings, Conf, SettingsError};
use super::token::{Keeper, TokenError};
use super::wire::{Wire, owned};

/// Why a client can't be made.
#[derive(Debug, Error)]
pub enum ClientError {
    /// A setting is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// librdkafka refused the settings together.
    #[error("librdkafka can't make a {kind} of these settings: {reason}")]
    Refused {
        /// A producer or a consumer.
        kind: &'static str,
        /// librdkafka's words.
        reason: String,
    },
    /// The client can't log in.
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Producer,
    Consumer,
}

/// A live client of librdkafka's.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) rk: *mut rd::rd_kafka_t,
    role: Role,
    tokens: Option<Arc<Keeper>>,
    /// The callbacks count here.
    _wire: Arc<Wire>,
}

// SAFETY: librdkafka's handles may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// Makes it of `settings` and the way to the brokers. Errors and log lines come as events of its main queue, and those
    /// that `prepare` asks for, too.
    pub(super) fn new(
        role: Role,
        reach: &Reach,
        settings: &ClientSettings,
        wire: Arc<Wire>,
        prepare: impl FnOnce(*mut rd::rd_kafka_conf_t),
    ) -> Result<Self, ClientError> {
        let mut settings = settings.clone();
        settings.insert("bootstrap.servers".into(), reach.bootstrap());
        let conf = Conf::new(&settings)?;
        let kind = match role {
            Role::Producer => rd::rd_kafka_type_t::RD_KAFKA_PRODUCER,
            Role::Consumer => rd::rd_kafka_type_t::RD_KAFKA_CONSUMER,
        };
        prepare(conf.raw());
        let mut text: [c_char; 512] = [0; 512];
        // SAFETY: `conf` is live; the wire is kept here, which outlives the client.
        let rk = unsafe {
            wire.attach(conf.raw());
            rd::rd_kafka_new(kind, conf.raw(), text.as_mut_ptr(), text.len())
        };
        if rk.is_null() {
            let kind = if role == Role::Producer { "producer" } else { "consumer" };
            // SAFETY: librdkafka wrote a NUL-terminated text.
            return Err(ClientError::Refused { kind, reason: unsafe { owned(text.as_ptr()) } });
        }
        conf.given();
        let mut handle = Handle { rk, role, tokens: None, _wire: wire };
        if let Some(tokens) = &reach.tokens {
            // SAFETY: `rk` is live, and is taken from the keeper before it is destroyed.
            unsafe { tokens.add(rk) }?;
            handle.tokens = Some(tokens.clone());
        }
        // SAFETY: `rk` is live; a null queue stands for the main queue.
        unsafe { rd::rd_kafka_set_log_queue(rk, std::ptr::null_mut()) };
        Ok(handle)
    }
}

impl Drop for Handle {
    /// A consumer that is in a group has left it by then, or is not to: it is destroyed without a word to the group.
    fn drop(&mut self) {
        if let Some(tokens) = &self.tokens {
            tokens.remove(self.rk);
        }
        // SAFETY: nobody else has the handle, and what was made of it is gone.
        unsafe {
            match self.role {
                Role::Producer => rd::rd_kafka_destroy(self.rk),
                Role::Consumer => {
                    rd::rd_kafka_destroy_flags(self.rk, rd::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
                }
            }
        }
    }
}
