//! A real Apache Kafka (KRaft) on loopback: one broker that all tests share, or brokers of a test's own.

pub(crate) mod access;
mod admin;
pub(crate) mod application;
pub(crate) mod certificates;
pub(crate) mod client;
mod jars;
pub(crate) mod java;
pub(crate) mod listeners;
mod node;
pub(crate) mod secured;
mod wire;

use std::ops::Deref;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::turn::{self, Turn};
use jars::Installation;
use node::{Node, Ports};

pub(crate) use jars::cache;

const START_LIMIT: Duration = Duration::from_secs(90);

/// Brokers that tests talk to.
pub(crate) struct Kafka {
    bootstrap: String,
    installation: Option<Installation>,
    nodes: Vec<Node>,
}

/// The shared broker, or brokers of a test's own, with the test's turn to run.
pub(crate) struct Brokers<K> {
    kafka: K,
    _turn: Rc<Turn>,
}

impl<K: Deref> Deref for Brokers<K> {
    type Target = K::Target;
    fn deref(&self) -> &K::Target {
        &self.kafka
    }
}

impl Kafka {
    /// The broker that all tests share, or `KHOST_TEST_BROKERS`. Without Java or Maven: says that the test is skipped, and is
    /// `None`; with `KHOST_TEST_REQUIRE=1` it fails instead.
    pub(crate) fn shared() -> Option<Brokers<&'static Kafka>> {
        static SHARED: OnceLock<Result<Kafka, String>> = OnceLock::new();
        let turn = turn::beside();
        let kafka = SHARED.get_or_init(|| match std::env::var("KHOST_TEST_BROKERS") {
            Ok(bootstrap) => Ok(Kafka { bootstrap, installation: jars::installation().ok(), nodes: Vec::new() }),
            Err(_) => Kafka::own().launch(),
        });
        match kafka {
            Ok(kafka) => Some(Brokers { kafka, _turn: turn }),
            Err(reason) => skip(reason),
        }
    }

    /// Brokers of a test's own, to stop, pause or configure.
    pub(crate) fn own() -> Builder {
        Builder { nodes: 1, properties: Vec::new(), fast: false, secure: false }
    }

    /// `host:port,…`, as for `--brokers`.
    pub(crate) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// A listener of the first broker that answers, and then sends its clients to a host that doesn't exist.
    /// `None` for a Kafka that is not ours.
    pub(crate) fn misadvertised(&self) -> Option<String> {
        self.nodes.first().map(|node| format!("127.0.0.1:{}", node.ports.misadvertised))
    }

    /// A port that the first broker sends its clients to and at which nobody listens, and the one that is meant. `None` for a
    /// Kafka that is not ours.
    pub(crate) fn proxied(&self) -> Option<(String, String)> {
        let ports = self.nodes.first()?.ports;
        Some((format!("127.0.0.1:{}", ports.proxied), format!("127.0.0.1:{}", ports.behind_proxy)))
    }

    /// A port of the first broker that talks, but not to clients.
    pub(crate) fn controller(&self) -> Option<String> {
        self.nodes.first().map(|node| format!("127.0.0.1:{}", node.ports.controller))
    }

    pub(crate) fn node(&self, index: usize) -> &Node {
        &self.nodes[index]
    }

    /// Waits until every broker of ours is there, by an ordinary client's metadata.
    fn wait_until_ready(&self, limit: Duration) -> Result<(), String> {
        let start = Instant::now();
        let client: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &self.bootstrap)
            .set("reconnect.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", "200")
            .create()
            .map_err(|error| error.to_string())?;
        loop {
            if let Ok(metadata) = client.fetch_metadata(None, Duration::from_secs(1))
                && metadata.brokers().len() >= self.nodes.len()
            {
                return Ok(());
            }
            if let Some(dead) = self.nodes.iter().find(|node| !node.is_running()) {
                return Err(format!("a broker ended while starting:\n{}", dead.log()));
            }
            if start.elapsed() > limit {
                let logs: Vec<String> = self.nodes.iter().map(Node::log).collect();
                return Err(format!("not ready after {limit:?}:\n{}", logs.join("\n")));
            }
        }
    }
}

/// Brokers that are to be started.
pub(crate) struct Builder {
    nodes: usize,
    properties: Vec<(String, String)>,
    fast: bool,
    secure: bool,
}

impl Builder {
    /// How many brokers, each a controller too.
    pub(crate) fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// A line more in `server.properties`.
    pub(crate) fn property(mut self, name: &str, value: &str) -> Self {
        self.properties.push((name.into(), value.into()));
        self
    }

    /// Compiled as in production: starts later, runs faster. For benchmarks.
    #[allow(dead_code, reason = "tests want it to start soon")]
    pub(crate) fn fast(mut self) -> Self {
        self.fast = true;
        self
    }

    /// With every [`listeners::Listener`], and ACLs in force.
    fn secure(mut self) -> Self {
        self.secure = true;
        self
    }

    /// Starts them; the test runs alone from here on.
    pub(crate) fn start(self) -> Option<Brokers<Box<Kafka>>> {
        let turn = turn::alone();
        match self.launch() {
            Ok(kafka) => Some(Brokers { kafka: Box::new(kafka), _turn: turn }),
            Err(reason) => skip(&reason),
        }
    }

    /// Starts them, with other ports when another process took one of ours. An error says what is missing on this machine.
    fn launch(self) -> Result<Kafka, String> {
        let installation = jars::installation()?;
        let mut last = String::new();
        for _ in 0..3 {
            let ports = Ports::free(self.nodes, self.secure);
            let bootstrap: Vec<String> = ports.iter().map(|p| format!("127.0.0.1:{}", p.client)).collect();
            let nodes =
                (0..self.nodes).map(|i| Node::start(&installation, i, &ports, &self.properties, self.fast)).collect();
            let kafka = Kafka { bootstrap: bootstrap.join(","), installation: Some(installation.clone()), nodes };
            match kafka.wait_until_ready(START_LIMIT) {
                Ok(()) => return Ok(kafka),
                Err(reason) => last = reason,
            }
        }
        panic!("Kafka doesn't start: {last}")
    }
}

/// Says on the test's output that it did not run.
fn skip<T>(reason: &str) -> Option<T> {
    assert!(std::env::var_os("KHOST_TEST_REQUIRE").is_none_or(|v| v != "1"), "{reason}");
    println!("skipped: {reason}");
    None
}
