//! One connection to one broker, for the checks before a load: one question at a time, and the reason when there is no
//! answer. librdkafka tries again for as long as it is let, which locks accounts, and often can't say why it failed.

mod diagnose;
mod error;
mod lasting;
mod sasl;
mod scram;
mod stream;

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, HeaderVersion, Request, StrBytes, encode_request_header_into_buffer};

pub(super) use diagnose::hung_up;
pub use error::BrokerError;
pub(super) use lasting::Lasting;
pub(super) use stream::Timed;
use stream::{Broken, Stream};

use super::Address;
use super::security::Security;
use super::token::Token;

/// How long one address may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(2);
/// How long one answer may take, and how long TLS may take to be agreed on.
const ANSWER: Duration = Duration::from_secs(3);
/// Larger than any answer to what is asked here; what is no Kafka sends sizes of any kind.
const MOST_BYTES: usize = 100 << 20;
/// In the broker's logs.
const CLIENT_ID: &str = "khost-check";
/// The version of ApiVersions that every broker answers in full.
const PLAIN_API_VERSIONS: i16 = 0;
/// The one that clients name themselves with; older brokers refuse it, and say so.
const API_VERSIONS: i16 = 3;
const UNSUPPORTED_VERSION: i16 = ResponseError::UnsupportedVersion.code();

/// The versions that a broker speaks, by request: the oldest and the newest.
pub(super) type Versions = BTreeMap<i16, (i16, i16)>;

/// A connection whose broker has answered, and to whom we have said who we are.
pub(super) struct Connection {
    stream: Stream,
    address: Address,
    versions: Versions,
    correlation: i32,
    /// Whether anything was answered after TLS: a broker tells of a client's certificate only then.
    answered: bool,
    subject: Option<String>,
}

impl Connection {
    /// Connects: TCP, TLS, the broker's versions. One attempt, and nobody has said yet who we are.
    pub(super) fn greet(address: &Address, security: &Security) -> Result<Self, BrokerError> {
        let tcp = Timed::new(connect(address)?, ANSWER);
        let stream = match &security.tls {
            None => Stream::Plain(tcp),
            Some(tls) => match tls.connect(&address.host, tcp) {
                Ok(stream) => Stream::Tls(Box::new(stream)),
                Err(error) => return Err(diagnose::failed_handshake(address, security, error)),
            },
        };
        let mut connection = Connection::over(stream, address, security.subject());
        connection.versions = match connection.api_versions() {
            Err(error) if security.tls.is_none() => return Err(diagnose::failed_hello(address, error)),
            versions => versions?,
        };
        Ok(connection)
    }

    /// Says who we are, where the settings say how. One attempt.
    pub(super) fn log_in(&mut self, security: &Security, token: Option<&Token>) -> Result<(), BrokerError> {
        match &security.sasl {
            Some(sasl) => sasl::log_in(self, sasl, &security.principal(token), token),
            None => Ok(()),
        }
    }

    /// Both.
    pub(super) fn open(address: &Address, security: &Security, token: Option<&Token>) -> Result<Self, BrokerError> {
        let mut connection = Connection::greet(address, security)?;
        connection.log_in(security, token)?;
        Ok(connection)
    }

    fn over(stream: Stream, address: &Address, subject: Option<String>) -> Self {
        Connection {
            stream,
            address: address.clone(),
            versions: Versions::new(),
            correlation: 0,
            answered: false,
            subject,
        }
    }

    /// What the broker speaks.
    pub(super) fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The TLS version in use, such as `TLSv1.3`.
    pub(super) fn tls_version(&self) -> Option<&'static str> {
        match &self.stream {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => Some(stream.ssl().version_str()),
        }
    }

    /// The newest version of a request that the broker and khost both speak.
    pub(super) fn version<R: Request>(&self) -> Option<i16> {
        let (oldest, newest) = self.versions.get(&R::KEY)?;
        let version = (*newest).min(R::VERSIONS.max);
        (version >= (*oldest).max(R::VERSIONS.min)).then_some(version)
    }

    /// Asks, and waits for the answer.
    pub(super) fn ask<R: Request>(&mut self, request: &R) -> Result<R::Response, BrokerError> {
        self.ask_within(request, ANSWER)
    }

    /// The same, for what may take a broker longer.
    pub(super) fn ask_within<R: Request>(&mut self, request: &R, limit: Duration) -> Result<R::Response, BrokerError> {
        let version = self.version::<R>().ok_or(BrokerError::TooOld)?;
        let mut answer = self.exchange(request, version, limit)?;
        R::Response::decode(&mut answer, version).map_err(|_| BrokerError::Garbled)
    }

    fn api_versions(&mut self) -> Result<Versions, BrokerError> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("khost"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        let mut answer = self.exchange(&request, API_VERSIONS, ANSWER)?;
        let seen = match ApiVersionsResponse::decode(&mut answer, API_VERSIONS) {
            Ok(seen) if seen.error_code != UNSUPPORTED_VERSION => seen,
            // a broker that does not know the version answers in an older one
            _ => self.ask_as(&ApiVersionsRequest::default(), PLAIN_API_VERSIONS)?,
        };
        Ok(seen.api_keys.iter().map(|api| (api.api_key, (api.min_version, api.max_version))).collect())
    }

    /// Asks in one version.
    pub(super) fn ask_as<R: Request>(&mut self, request: &R, version: i16) -> Result<R::Response, BrokerError> {
        let mut answer = self.exchange(request, version, ANSWER)?;
        R::Response::decode(&mut answer, version).map_err(|_| BrokerError::Garbled)
    }

    /// Sends a request and reads the answer's body.
    fn exchange<R: Request>(&mut self, request: &R, version: i16, limit: Duration) -> Result<Bytes, BrokerError> {
        self.correlation += 1;
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation)
            .with_client_id(Some(StrBytes::from_static_str(CLIENT_ID)));
        let mut frame = BytesMut::from(&[0; 4][..]);
        let encoded =
            encode_request_header_into_buffer(&mut frame, &header).and_then(|()| request.encode(&mut frame, version));
        encoded.map_err(|error| BrokerError::Other(format!("a question can't be put: {error}")))?;
        let size = (frame.len() - 4) as u32;
        frame[..4].copy_from_slice(&size.to_be_bytes());
        let mut answer = self.transfer(&frame, limit)?;
        self.answered = true;
        let header = ResponseHeader::decode(&mut answer, R::Response::header_version(version));
        match header {
            Ok(header) if header.correlation_id == self.correlation => Ok(answer),
            _ => Err(BrokerError::Garbled),
        }
    }

    /// Sends one frame and reads one.
    fn transfer(&mut self, frame: &[u8], limit: Duration) -> Result<Bytes, BrokerError> {
        self.stream.set_limit(limit);
        let mut size = [0; 4];
        let read = self.stream.write(frame).and_then(|()| self.stream.read(&mut size));
        read.map_err(|broken| self.meaning(broken))?;
        let size = u32::from_be_bytes(size) as usize;
        if size > MOST_BYTES {
            // TLS alerts and HTTP look like that
            return Err(BrokerError::Garbled);
        }
        let mut answer = vec![0; size];
        self.stream.read(&mut answer).map_err(|broken| self.meaning(broken))?;
        Ok(answer.into())
    }

    /// What it means that bytes did not come; after TLS and before the first answer, a broker that does not take our
    /// certificate tells of it.
    fn meaning(&self, broken: Broken) -> BrokerError {
        let is_tls = matches!(self.stream, Stream::Tls(_));
        match broken {
            Broken::Late => BrokerError::Silent,
            Broken::Closed if is_tls && !self.answered => {
                BrokerError::ClientCertificate { sent: self.subject.clone(), alert: None }
            }
            Broken::Closed => BrokerError::HangsUp,
            Broken::Tls(error) => BrokerError::of_tls(error, self.subject.clone()),
        }
    }

    /// Where it leads.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }
}

/// A TCP connection to the first of a name's addresses that accepts one.
fn connect(address: &Address) -> Result<TcpStream, BrokerError> {
    let unreachable = |reason: String| BrokerError::Unreachable(reason);
    let resolved =
        (address.host.as_str(), address.port).to_socket_addrs().map_err(|_| unreachable("does not resolve".into()))?;
    let mut last = "does not resolve".to_owned();
    for socket in resolved {
        match TcpStream::connect_timeout(&socket, CONNECT) {
            Ok(stream) => {
                return stream
                    .set_nodelay(true)
                    .map(|()| stream)
                    .map_err(|e| unreachable(format!("can't be used ({e})")));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                last = format!("refuses connections ({socket})");
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                last = format!("does not accept a connection within {} s ({socket})", CONNECT.as_secs());
            }
            Err(error) => last = format!("can't be connected to ({socket}: {error})"),
        }
    }
    Err(unreachable(last))
}
