//! librdkafka's own word: the load is on its connections, so it has to reach the cluster as well.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, DeliveryResult, Producer, ProducerContext};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::{self, RD_KAFKA_RESP_ERR_NO_ERROR};

use super::PreflightError;
use crate::kafka::{ClientSettings, Code, Reach};
use crate::plan;

/// How long the cluster may take to answer.
const ANSWER: Duration = Duration::from_secs(4);
/// How long one question may take; between two, complaints are heard.
const ASK: Duration = Duration::from_secs(1);
/// More log lines than librdkafka writes for the first connections.
const MOST_EVENTS: u32 = 1_000;
/// Different complaints that are kept.
const MOST_COMPLAINTS: usize = 5;

/// Keeps what librdkafka says.
#[derive(Default, Clone)]
struct Listener(Arc<Mutex<Vec<String>>>);

impl Listener {
    fn hear(&self, text: &str) {
        let text = text.split_once("]: ").map_or(text, |(_, rest)| rest).to_owned();
        let mut complaints = self.complaints();
        if complaints.len() < MOST_COMPLAINTS && !complaints.contains(&text) {
            complaints.push(text);
        }
    }

    /// Hears all that librdkafka has said so far; a log line is an event, and a poll takes one at a time.
    fn listen(&self, client: &BaseProducer<Listener>) {
        (0..MOST_EVENTS).for_each(|_| client.poll(Duration::ZERO));
    }

    fn complaints(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Listener {
    fn log(&self, level: RDKafkaLogLevel, _facility: &str, text: &str) {
        if (level as i32) <= RDKafkaLogLevel::Error as i32 {
            self.hear(text);
        }
    }

    fn error(&self, _error: KafkaError, reason: &str) {
        self.hear(reason);
    }
}

impl ProducerContext for Listener {
    type DeliveryOpaque = ();
    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

/// A client of librdkafka's gets an answer, within seconds.
pub(super) fn agrees(reach: &Reach) -> Result<(), PreflightError> {
    let listener = Listener::default();
    let config = config(&reach.bootstrap(), reach.security.client_settings());
    let asker: BaseProducer<Listener> = BaseProducer::from_config_and_context(&config, listener.clone())
        .map_err(|error| PreflightError::Settings(error.to_string()))?;
    if let Some(tokens) = &reach.tokens {
        // SAFETY: the handle is the client's, which lives on.
        unsafe { tokens.set_once(asker.client().native_ptr()) }?;
    }
    let until = Instant::now() + ANSWER;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // SAFETY: the handle is live.
        let code = unsafe { cluster_answers(asker.client().native_ptr(), left.min(ASK)) };
        listener.listen(&asker);
        if code == RD_KAFKA_RESP_ERR_NO_ERROR {
            return Ok(());
        }
        let is_fatal = !listener.complaints().is_empty() && left < ANSWER - ASK;
        if is_fatal || left <= ASK {
            let heard = listener.complaints().clone();
            let told: Vec<_> = heard.into_iter().filter(|text| !text.ends_with("brokers are down")).collect();
            let complaints = if told.is_empty() { vec![Code(code as i32).text()] } else { told };
            return Err(PreflightError::Librdkafka { addresses: reach.bootstrap(), complaints });
        }
    }
}

/// Asks for the brokers, and for no topic: a cluster may have many.
///
/// # Safety
/// `rk` is live.
unsafe fn cluster_answers(rk: *mut rd::rd_kafka_t, limit: Duration) -> RDKafkaRespErr {
    let mut metadata = std::ptr::null();
    // SAFETY: as the caller says; what comes back is freed once.
    unsafe {
        let code = rd::rd_kafka_metadata(rk, 0, std::ptr::null_mut(), &mut metadata, limit.as_millis() as i32);
        if code == RD_KAFKA_RESP_ERR_NO_ERROR {
            rd::rd_kafka_metadata_destroy(metadata);
        }
        code
    }
}

/// Settings of the message path are no business of this client; some of them it would only warn about.
fn config(bootstrap: &str, settings: &ClientSettings) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, value) in settings.iter().filter(|(name, _)| is_of_the_way(name)) {
        config.set(name, value);
    }
    config.set("bootstrap.servers", bootstrap).set("socket.connection.setup.timeout.ms", "3000");
    config.set_log_level(RDKafkaLogLevel::Error);
    config
}

fn is_of_the_way(name: &str) -> bool {
    plan::is_of_the_connection(name)
        || ["socket.", "broker.address.", "client.id", "client.dns", "resolve."].iter().any(|p| name.starts_with(p))
}
