//! All brokers of the cluster: each is reached once, where the cluster says that it is, and told who we are.

use std::collections::BTreeMap;

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, TopicName};
use kafka_protocol::protocol::{Request, StrBytes};

use super::{Access, Broker, Checks, PreflightError};
use crate::kafka::broker_version;
use crate::kafka::connection::{BrokerError, Connection, hung_up};
use crate::kafka::token::Token;
use crate::kafka::{Address, Security};

/// Brokers that are asked at the same time.
const AT_ONCE: usize = 16;
/// From here on a topic's authorized operations can be asked for (KIP-430, Kafka 2.3).
const WITH_RIGHTS: i16 = 8;
/// From here on a client can ask not to create topics by asking.
const WITHOUT_CREATING: i16 = 4;

/// Connections to all brokers.
pub(super) struct Brokers {
    all: BTreeMap<i32, Connection>,
    controller: i32,
    release: Option<&'static str>,
    /// Addresses that were asked first and did not answer, and why.
    silent: Silent,
    pub(super) principal: String,
}

impl Brokers {
    /// Reaches the first address that answers, and then every broker of its cluster.
    pub(super) fn reach(checks: &Checks<'_>) -> Result<Self, PreflightError> {
        let token = checks.reach.tokens.as_ref().map(|tokens| tokens.token());
        let (mut first, silent) = first(checks, token.as_ref())?;
        let metadata = hello(&mut first, &checks.reach.security)?;
        let release = broker_version::release(first.versions());
        let bootstrap = first.address().clone();
        drop(first);
        let mut all = BTreeMap::new();
        let addresses: Vec<(i32, Address)> = metadata
            .brokers
            .iter()
            .map(|broker| {
                let host = broker.host.trim_matches(['[', ']']).to_owned();
                let port = u16::try_from(broker.port).map_err(|_| {
                    let error = BrokerError::Other(format!(
                        "says that broker {} has the port {}",
                        broker.node_id.0, broker.port
                    ));
                    PreflightError::Broker { id: None, address: bootstrap.to_string(), error }
                })?;
                Ok((broker.node_id.0, Address { host, port }))
            })
            .collect::<Result<_, PreflightError>>()?;
        for some in addresses.chunks(AT_ONCE) {
            let open =
                |(_, address): &(i32, Address)| Connection::open(address, &checks.reach.security, token.as_ref());
            for ((id, address), opened) in at_once(some.to_vec(), open) {
                let connection = opened.map_err(|error| match error {
                    BrokerError::Unreachable(reason) => PreflightError::Advertised {
                        bootstrap: bootstrap.to_string(),
                        id,
                        address: address.to_string(),
                        reason,
                    },
                    error => PreflightError::Broker { id: Some(id), address: address.to_string(), error },
                })?;
                all.insert(id, connection);
            }
        }
        let principal = checks.reach.security.principal(token.as_ref());
        let brokers = Brokers { all, controller: metadata.controller_id.0, release, silent, principal };
        if brokers.all.is_empty() {
            let error = BrokerError::Other("answers, but knows of no broker".into());
            return Err(PreflightError::Broker { id: None, address: bootstrap.to_string(), error });
        }
        Ok(brokers)
    }

    /// Asks the broker that takes changes: the controller, or one that hands them on to it.
    pub(super) fn controller(&mut self) -> (i32, &mut Connection) {
        let id = if self.all.contains_key(&self.controller) { self.controller } else { self.any().0 };
        (id, self.all.get_mut(&id).expect("it is one of them"))
    }

    /// Any broker.
    pub(super) fn any(&mut self) -> (i32, &mut Connection) {
        let (id, connection) = self.all.iter_mut().next().expect("there is one, or `reach` failed");
        (*id, connection)
    }

    /// One broker by its number.
    pub(super) fn get(&mut self, id: i32) -> Option<&mut Connection> {
        self.all.get_mut(&id)
    }

    pub(super) fn ids(&self) -> Vec<i32> {
        self.all.keys().copied().collect()
    }

    pub(super) fn list(&self) -> Vec<Broker> {
        let broker = |(id, connection): (&i32, &Connection)| Broker {
            id: *id,
            address: connection.address().to_string(),
            kafka: broker_version::release(connection.versions()),
        };
        self.all.iter().map(broker).collect()
    }

    /// What to say of addresses that did not answer.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        self.silent.iter().map(|(address, error)| format!("{address} {error}; another address answered"))
    }

    /// The release of the broker that answered first.
    pub(super) fn first_release(&self) -> Option<&'static str> {
        self.release
    }

    pub(super) fn access(&mut self, security: &Security) -> Access {
        Access {
            protocol: security.protocol(),
            tls: self.any().1.tls_version(),
            mechanism: security.mechanism(),
            principal: self.principal.clone(),
        }
    }
}

/// Asks a broker, and says which one it was when that fails.
pub(super) fn ask<R: Request>(
    (id, connection): (i32, &mut Connection),
    request: &R,
) -> Result<R::Response, PreflightError> {
    connection.ask(request).map_err(|error| failed(id, connection, error))
}

pub(super) fn failed(id: i32, connection: &Connection, error: BrokerError) -> PreflightError {
    PreflightError::Broker { id: Some(id), address: connection.address().to_string(), error }
}

/// A question for topics: these, or all there are. With the rights to them where the broker can tell.
pub(super) fn about(connection: &Connection, topics: Option<&[&str]>) -> MetadataRequest {
    let version = connection.version::<MetadataRequest>().unwrap_or_default();
    let topic = |name: &&str| {
        MetadataRequestTopic::default().with_name(Some(TopicName(StrBytes::from_string((*name).to_owned()))))
    };
    MetadataRequest::default()
        .with_topics(topics.map(|names| names.iter().map(topic).collect()))
        .with_allow_auto_topic_creation(version < WITHOUT_CREATING)
        .with_include_topic_authorized_operations(version >= WITH_RIGHTS && topics.is_some())
}

type Silent = Vec<(String, BrokerError)>;

/// The first address that answers, logged in to, and those before it. All are greeted at once, so that silent ones take no
/// longer than one of them; only one is logged in to. What is wrong with our settings is so everywhere.
fn first(checks: &Checks<'_>, token: Option<&Token>) -> Result<(Connection, Silent), PreflightError> {
    let security = &checks.reach.security;
    let greeted = at_once(checks.reach.addresses.iter().collect(), |address| Connection::greet(address, security));
    let mut failed = Vec::new();
    for (address, greeted) in greeted {
        let entered = greeted.and_then(|mut connection| {
            connection.log_in(security, token)?;
            Ok(connection)
        });
        match entered {
            Ok(connection) => return Ok((connection, failed)),
            Err(error) if error.is_of_this_address() => failed.push((address.to_string(), error)),
            Err(error) => return Err(PreflightError::Broker { id: None, address: address.to_string(), error }),
        }
    }
    Err(PreflightError::Nobody { failed })
}

/// The first question that only clients who are let in get an answer to.
fn hello(first: &mut Connection, security: &Security) -> Result<MetadataResponse, PreflightError> {
    let request = about(first, Some(&[]));
    first.ask(&request).map_err(|error| {
        let error = match error {
            BrokerError::HangsUp if security.mechanism().is_none() => hung_up(first.address(), security),
            error => error,
        };
        PreflightError::Broker { id: None, address: first.address().to_string(), error }
    })
}

/// Does the same to all of these at once, and answers in their order.
fn at_once<T: Sync, R: Send>(all: Vec<T>, each: impl Fn(&T) -> R + Sync) -> Vec<(T, R)> {
    std::thread::scope(|scope| {
        let each = &each;
        let threads: Vec<_> = all.iter().map(|one| scope.spawn(move || each(one))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, R>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Vec<_>>()
    })
    .into_iter()
    .zip(all)
    .map(|(done, one)| (one, done))
    .collect()
}
