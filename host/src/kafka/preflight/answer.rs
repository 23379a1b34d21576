//! Whether a cluster answers, and whether its brokers are where they say.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::error::KafkaError;
use rdkafka::metadata::Metadata;
use rdkafka::producer::{BaseProducer, DeliveryResult, Producer, ProducerContext};

use super::{ANSWER, PreflightError, config};
use crate::kafka::broker_version::{self, ApiVersions};
use crate::kafka::{Address, Addresses, ClientSettings};

/// How long one address may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(2);
/// How long one question may take; between two, complaints are heard.
const ASK: Duration = Duration::from_secs(1);
/// More log lines than librdkafka writes for the first connections.
const MOST_EVENTS: u32 = 1_000;
/// Different complaints that are kept.
const MOST_COMPLAINTS: usize = 5;

/// At least one of the addresses accepts connections.
pub(super) fn reach_any(addresses: &Addresses) -> Result<(), PreflightError> {
    let mut reasons = Vec::new();
    for address in addresses.iter() {
        match reach(address) {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(format!("{address} {reason}")),
        }
    }
    Err(PreflightError::Unreachable { reasons: reasons.join("; ") })
}

/// Every broker is where the cluster says that it is.
pub(super) fn reach_brokers(bootstrap: &Addresses, metadata: &Metadata) -> Result<(), PreflightError> {
    for broker in metadata.brokers() {
        let address = Address { host: broker.host().trim_matches(['[', ']']).into(), port: broker.port() as u16 };
        if let Err(reason) = reach(&address) {
            return Err(PreflightError::Advertised {
                bootstrap: bootstrap.to_string(),
                id: broker.id(),
                address: address.to_string(),
                reason,
            });
        }
    }
    Ok(())
}

fn reach(address: &Address) -> Result<(), String> {
    let resolved =
        (address.host.as_str(), address.port).to_socket_addrs().map_err(|_| "does not resolve".to_owned())?;
    let mut last = "does not resolve".to_owned();
    for socket in resolved {
        match TcpStream::connect_timeout(&socket, CONNECT) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                last = format!("refuses connections ({socket})")
            }
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                last = format!("does not accept a connection within {} s ({socket})", CONNECT.as_secs());
            }
            Err(error) => last = format!("can't be connected to ({socket}: {error})"),
        }
    }
    Err(last)
}

/// Keeps what librdkafka says.
#[derive(Default, Clone)]
struct Listener(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    complaints: Vec<String>,
    versions: ApiVersions,
}

impl Listener {
    fn hear(&self, text: &str) {
        let text = text.split_once("]: ").map_or(text, |(_, rest)| rest).to_owned();
        let complaints = &mut self.lock().complaints;
        if complaints.len() < MOST_COMPLAINTS && !complaints.contains(&text) {
            complaints.push(text);
        }
    }

    /// Hears all that librdkafka has said so far; a log line is an event, and a poll takes one at a time.
    fn listen(&self, client: &BaseProducer<Listener>) {
        (0..MOST_EVENTS).for_each(|_| client.poll(Duration::ZERO));
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Listener {
    fn log(&self, level: RDKafkaLogLevel, _facility: &str, text: &str) {
        if (level as i32) <= RDKafkaLogLevel::Error as i32 {
            self.hear(text);
        } else if let Some((api, newest)) = broker_version::read(text) {
            self.lock().versions.insert(api, newest);
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

/// The cluster's own description. A client that hears what goes wrong asks for it.
pub(super) fn first_answer(
    addresses: &Addresses,
    settings: &ClientSettings,
) -> Result<(Metadata, Option<&'static str>), PreflightError> {
    let listener = Listener::default();
    let mut config = config(&addresses.to_string(), settings);
    config.set("debug", "feature").set_log_level(RDKafkaLogLevel::Debug);
    let asker: BaseProducer<Listener> = BaseProducer::from_config_and_context(&config, listener.clone())
        .map_err(|error| PreflightError::Settings(error.to_string()))?;
    let until = Instant::now() + ANSWER;
    loop {
        let error = match asker.client().fetch_metadata(None, ASK) {
            Ok(metadata) => {
                listener.listen(&asker);
                return Ok((metadata, broker_version::release(&listener.lock().versions)));
            }
            Err(error) => error,
        };
        listener.listen(&asker);
        let complaints = listener.lock().complaints.clone();
        // librdkafka leaves the bootstrap address once it knows the brokers' own
        if let Some((id, address, reason)) = complaints.iter().find_map(|text| broker_complaint(text)) {
            let bootstrap = addresses.to_string();
            return Err(PreflightError::Advertised { bootstrap, id, address, reason });
        }
        if Instant::now() >= until || !is_worth_waiting(&error) {
            let told: Vec<_> = complaints.into_iter().filter(|text| !text.ends_with("brokers are down")).collect();
            let complaints = if told.is_empty() { vec![error.to_string()] } else { told };
            return Err(PreflightError::Silent { addresses: addresses.to_string(), complaints });
        }
    }
}

/// Reads librdkafka's complaint of a broker that it was told of: `HOST:PORT/ID: why`.
fn broker_complaint(text: &str) -> Option<(i32, String, String)> {
    let (broker, reason) = text.split_once(": ")?;
    let (address, id) = broker.rsplit_once('/')?;
    let id = id.parse().ok()?;
    let unreachable = reason.contains("resolve") || reason.contains("Connect to");
    let reason = reason.split(" (after").next().unwrap_or(reason);
    unreachable.then(|| (id, address.to_owned(), format!("can't be reached: {reason}")))
}

fn is_worth_waiting(error: &KafkaError) -> bool {
    use rdkafka::types::RDKafkaErrorCode::{AllBrokersDown, BrokerTransportFailure, OperationTimedOut};
    matches!(error, KafkaError::MetadataFetch(BrokerTransportFailure | OperationTimedOut | AllBrokersDown))
}
