//! What can be known of a cluster before the load: whether it answers, whether its brokers are where they say, whether
//! the topics are there. Creates those that the manifest gives partitions, and waits until every broker knows them.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::config::{ClientConfig, FromClientConfig, FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::error::KafkaError;
use rdkafka::metadata::Metadata;
use rdkafka::producer::{BaseProducer, DeliveryResult, Producer, ProducerContext};
use serde::Serialize;
use thiserror::Error;

use super::broker_version::{self, ApiVersions};
use super::{Address, Addresses, ClientSettings};
use crate::plan::{Topic, nearest};

/// How long one address may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(2);
/// How long the cluster may take to answer.
const ANSWER: Duration = Duration::from_secs(6);
/// How long one question may take; between two, complaints are heard.
const ASK: Duration = Duration::from_secs(1);
/// More log lines than librdkafka writes for the first connections.
const MOST_EVENTS: u32 = 1_000;
/// Different complaints that are kept.
const MOST_COMPLAINTS: usize = 5;
/// How long a topic just created may take to be known to every broker.
const SPREAD: Duration = Duration::from_secs(20);

/// What the cluster said of itself.
#[derive(Debug, Clone, Serialize)]
pub struct Cluster {
    /// Its brokers.
    pub brokers: Vec<Broker>,
    /// The release of the broker that answered first, judged by the requests that it speaks, such as `4.1 or newer`.
    pub kafka: Option<&'static str>,
    /// The plan's topics, in the plan's order.
    pub topics: Vec<TopicFacts>,
    /// What a person should know before the run.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// One broker, as the cluster advertises it.
#[derive(Debug, Clone, Serialize)]
pub struct Broker {
    /// Its number.
    pub id: i32,
    /// `host:port`.
    pub address: String,
}

/// One topic as it is in the cluster.
#[derive(Debug, Clone, Serialize)]
pub struct TopicFacts {
    /// Its name in Kafka.
    pub name: String,
    /// How many.
    pub partitions: u32,
    /// Replicas of its first partition.
    pub replication: u32,
    /// Whether this run created it.
    pub created: bool,
    /// `cleanup.policy`, `max.message.bytes`, `message.timestamp.type`, `min.insync.replicas`; empty where the cluster
    /// does not tell.
    pub config: BTreeMap<String, String>,
}

impl TopicFacts {
    /// A record without a key would be refused.
    pub fn is_compacted(&self) -> bool {
        self.config.get("cleanup.policy").is_some_and(|policy| policy.split(',').any(|p| p.trim() == "compact"))
    }
}

/// Why the load can't start.
#[derive(Debug, Error)]
pub enum PreflightError {
    /// No address accepts a connection.
    #[error("no broker can be reached: {reasons}")]
    Unreachable {
        /// By address.
        reasons: String,
    },
    /// Something listens, but no cluster answers.
    #[error("{addresses} accepts connections, but no Kafka cluster answered within {} s{}", ANSWER.as_secs(), listed(.complaints))]
    Silent {
        /// Who was asked.
        addresses: String,
        /// What librdkafka said.
        complaints: Vec<String>,
    },
    /// A broker is not where it says.
    #[error("the cluster answered at {bootstrap}, but its broker {id} advertises {address}, which {reason}")]
    Advertised {
        /// Who was asked.
        bootstrap: String,
        /// Which broker.
        id: i32,
        /// Where it says that it is.
        address: String,
        /// Why it can't be reached there.
        reason: String,
    },
    /// A topic is not there, and not khost's to create.
    #[error("topic `{name}` (in the manifest: `{key}`) does not exist{}", .nearest.as_ref().map_or(String::new(), |n| format!("; the nearest name is `{n}`")))]
    MissingTopic {
        /// In Kafka.
        name: String,
        /// In the manifest.
        key: String,
        /// A topic that does exist.
        nearest: Option<String>,
    },
    /// Creating a topic failed.
    #[error("topic `{name}` can't be created: {reason}")]
    Create {
        /// In Kafka.
        name: String,
        /// In the manifest.
        key: String,
        /// The broker's or librdkafka's words.
        reason: String,
    },
    /// A topic can't be used.
    #[error("topic `{name}` can't be used: {reason}")]
    Topic {
        /// In Kafka.
        name: String,
        /// The broker's or librdkafka's words.
        reason: String,
    },
    /// librdkafka does not take the settings.
    #[error("the Kafka settings can't be used: {0}")]
    Settings(String),
}

fn listed(complaints: &[String]) -> String {
    if complaints.is_empty() { String::new() } else { format!(": {}", complaints.join("; ")) }
}

impl PreflightError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            PreflightError::Unreachable { .. } => "check --brokers, that the broker runs, and that a firewall lets you through".into(),
            PreflightError::Silent { .. } => {
                "is it a Kafka listener that is alive, and does it speak this security.protocol? (-X security.protocol=plaintext, ssl, sasl_ssl, …)".into()
            }
            PreflightError::Advertised { .. } => {
                "set advertised.listeners of that broker to an address that this machine reaches, or make the name resolve here".into()
            }
            PreflightError::MissingTopic { key, .. } => format!(
                "create it, correct its name (--set topics.{key}.name=… or --param prefix=…), or let khost create it: --set topics.{key}.partitions=12"
            ),
            PreflightError::Create { key, .. } => format!(
                "correct topics.{key}.partitions, .replication or .config, create it with your own tools, or ask for the right to"
            ),
            PreflightError::Topic { .. } => "look at the topic with kafka-topics --describe".into(),
            PreflightError::Settings(_) => "correct the setting in [kafka], the profile or -X".into(),
        }
    }
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

/// Asks the cluster; `embedded` says that it is khost's own. `settings` are librdkafka's without `bootstrap.servers`.
///
/// # Errors
/// The first thing that would keep the load from starting, within seconds.
pub fn preflight(
    addresses: &Addresses,
    settings: &ClientSettings,
    topics: &[Topic],
    embedded: bool,
) -> Result<Cluster, PreflightError> {
    reach_any(addresses)?;
    let (metadata, kafka) = first_answer(addresses, settings)?;
    reach_brokers(addresses, &metadata)?;
    let admin = admin(&addresses.to_string(), settings)?;
    let mut created = Vec::new();
    for topic in topics {
        created.push(ensure(&admin, &metadata, topic)?);
    }
    let mut facts = Vec::new();
    let mut warnings = Vec::new();
    for (topic, created) in topics.iter().zip(created) {
        if created {
            await_everywhere(&metadata, settings, topic)?;
        }
        let seen = describe(&admin, topic, created)?;
        if let Some(wanted) = topic.partitions
            && wanted != seen.partitions
        {
            warnings.push(format!(
                "topic `{}` has {} partitions, not {wanted} as the manifest says; khost does not change topics",
                topic.name, seen.partitions
            ));
        }
        facts.push(seen);
    }
    // librdkafka's mock cluster can't describe topics
    if !embedded {
        facts.iter_mut().zip(configs(&admin, topics)).for_each(|(facts, config)| facts.config = config);
        for (topic, facts) in topics.iter().zip(&facts) {
            let seen = |name: &String| facts.config.get(name);
            let other = topic.config.iter().filter_map(|(name, wanted)| Some((name, wanted, seen(name)?)));
            warnings.extend(other.filter(|(_, wanted, seen)| wanted != seen).map(|(name, wanted, seen)| {
                format!(
                    "topic `{}` has {name} = {seen}, not {wanted} as the manifest says; khost does not change topics",
                    topic.name
                )
            }));
        }
    }
    let brokers = metadata
        .brokers()
        .iter()
        .map(|b| Broker { id: b.id(), address: format!("{}:{}", b.host(), b.port()) })
        .collect();
    Ok(Cluster { brokers, kafka, topics: facts, warnings })
}

/// The cluster's own description. A client that hears what goes wrong asks for it.
fn first_answer(
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

fn admin(bootstrap: &str, settings: &ClientSettings) -> Result<AdminClient<DefaultClientContext>, PreflightError> {
    AdminClient::from_config(&config(bootstrap, settings)).map_err(|error| PreflightError::Settings(error.to_string()))
}

/// Settings of the message path are no business of these clients; some of them they would only warn about.
fn config(bootstrap: &str, settings: &ClientSettings) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, value) in settings.iter().filter(|(name, _)| is_connection(name)) {
        config.set(name, value);
    }
    config.set("bootstrap.servers", bootstrap).set("socket.connection.setup.timeout.ms", "3000");
    config.set_log_level(RDKafkaLogLevel::Error);
    config
}

fn is_connection(name: &str) -> bool {
    [
        "ssl.",
        "sasl.",
        "security.",
        "socket.",
        "broker.address.",
        "client.id",
        "client.dns",
        "enable.ssl",
        "resolve.",
        "https.",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// At least one of the addresses accepts connections.
fn reach_any(addresses: &Addresses) -> Result<(), PreflightError> {
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
fn reach_brokers(bootstrap: &Addresses, metadata: &Metadata) -> Result<(), PreflightError> {
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

/// Whether the topic had to be created.
fn ensure(
    admin: &AdminClient<DefaultClientContext>,
    metadata: &Metadata,
    topic: &Topic,
) -> Result<bool, PreflightError> {
    if metadata.topics().iter().any(|known| known.name() == topic.name) {
        return Ok(false);
    }
    let Some(partitions) = topic.partitions else {
        let names = metadata.topics().iter().map(|t| t.name());
        return Err(PreflightError::MissingTopic {
            name: topic.name.clone(),
            key: topic.key.clone(),
            nearest: nearest(&topic.name, names).map(str::to_owned),
        });
    };
    let replication = TopicReplication::Fixed(topic.replication.map_or(-1, i32::from));
    let mut new = NewTopic::new(&topic.name, partitions as i32, replication);
    for (name, value) in &topic.config {
        new = new.set(name, value);
    }
    let options = AdminOptions::new().operation_timeout(Some(ANSWER)).request_timeout(Some(ANSWER));
    let fail = |reason: String| PreflightError::Create { name: topic.name.clone(), key: topic.key.clone(), reason };
    let results = pollster::block_on(admin.create_topics([&new], &options)).map_err(|error| fail(error.to_string()))?;
    match results.into_iter().next() {
        Some(Err((_, code))) if code != rdkafka::types::RDKafkaErrorCode::TopicAlreadyExists => {
            Err(fail(code.to_string()))
        }
        _ => Ok(true),
    }
}

/// Waits until each broker knows the topic with a leader for every partition.
fn await_everywhere(metadata: &Metadata, settings: &ClientSettings, topic: &Topic) -> Result<(), PreflightError> {
    let until = Instant::now() + SPREAD;
    for broker in metadata.brokers() {
        let one = admin(&format!("{}:{}", broker.host(), broker.port()), settings)?;
        loop {
            let ready = one.inner().fetch_metadata(Some(&topic.name), ANSWER).is_ok_and(|seen| {
                seen.topics().first().is_some_and(|t| {
                    t.error().is_none()
                        && topic.partitions.is_none_or(|wanted| t.partitions().len() >= wanted as usize)
                        && t.partitions().iter().all(|p| p.leader() >= 0)
                })
            });
            if ready {
                break;
            }
            if Instant::now() > until {
                let reason =
                    format!("it was created, but broker {} does not know it after {} s", broker.id(), SPREAD.as_secs());
                return Err(PreflightError::Topic { name: topic.name.clone(), reason });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

fn describe(
    admin: &AdminClient<DefaultClientContext>,
    topic: &Topic,
    created: bool,
) -> Result<TopicFacts, PreflightError> {
    let fail = |reason: String| PreflightError::Topic { name: topic.name.clone(), reason };
    let metadata = admin.inner().fetch_metadata(Some(&topic.name), ANSWER).map_err(|error| fail(error.to_string()))?;
    let seen = metadata.topics().first().ok_or_else(|| fail("the cluster does not tell of it".into()))?;
    if let Some(error) = seen.error() {
        return Err(fail(super::Code(error as i32).text()));
    }
    let leaderless: Vec<String> =
        seen.partitions().iter().filter(|p| p.leader() < 0).map(|p| p.id().to_string()).collect();
    if !leaderless.is_empty() {
        return Err(fail(format!("its partitions {} have no leader", leaderless.join(", "))));
    }
    Ok(TopicFacts {
        name: topic.name.clone(),
        partitions: seen.partitions().len() as u32,
        replication: seen.partitions().first().map_or(0, |p| p.replicas().len() as u32),
        created,
        config: BTreeMap::new(),
    })
}

/// What matters of each topic's configuration; an empty map where it is not told, for want of a right or of support.
fn configs(admin: &AdminClient<DefaultClientContext>, topics: &[Topic]) -> Vec<BTreeMap<String, String>> {
    const WANTED: [&str; 5] =
        ["cleanup.policy", "compression.type", "max.message.bytes", "message.timestamp.type", "min.insync.replicas"];
    let resources: Vec<_> = topics.iter().map(|t| ResourceSpecifier::Topic(&t.name)).collect();
    let options = AdminOptions::new().request_timeout(Some(ANSWER));
    let answers = pollster::block_on(admin.describe_configs(&resources, &options)).unwrap_or_default();
    let mut found: Vec<_> = answers
        .into_iter()
        .map(|answer| {
            let Ok(resource) = answer else { return BTreeMap::new() };
            let entries = resource.entries.into_iter().filter(|e| WANTED.contains(&e.name.as_str()));
            entries.filter_map(|e| Some((e.name, e.value?))).collect()
        })
        .collect();
    found.resize(topics.len(), BTreeMap::new());
    found
}
