//! One connection to one broker, for the checks before a load: one question at a time, and the reason when there is no
//! answer. librdkafka tries again for as long as it is let, which locks accounts, and often can't say why it failed.

mod diagnose;
mod error;
mod sasl;
mod scram;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, HeaderVersion, Request, StrBytes, encode_request_header_into_buffer};
use openssl::ssl::SslStream;

pub(super) use diagnose::hung_up;
pub use error::BrokerError;

use super::Address;
use super::security::{Security, TlsError};
use super::token::Token;

/// How long one address may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(2);
/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(3);
/// Larger than any answer to what is asked here; what is no Kafka sends sizes of any kind.
const MOST_BYTES: usize = 100 << 20;
/// In the broker's logs.
const CLIENT_ID: &str = "khost-check";
/// The version of ApiVersions that every broker answers in full.
const PLAIN_API_VERSIONS: i16 = 0;
/// The one that clients name themselves with; older brokers refuse it, and say so.
const API_VERSIONS: i16 = 3;
const UNSUPPORTED_VERSION: i16 = 35;

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
    shows_certificate: bool,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<SslStream<TcpStream>>),
}

impl Connection {
    /// Connects: TCP, TLS, the broker's versions, SASL. One attempt.
    pub(super) fn open(address: &Address, security: &Security, token: Option<&Token>) -> Result<Self, BrokerError> {
        let tcp = connect(address)?;
        let stream = match &security.tls {
            None => Stream::Plain(tcp),
            Some(tls) => match tls.connect(&address.host, tcp) {
                Ok(stream) => Stream::Tls(Box::new(stream)),
                Err(error) => return Err(diagnose::failed_handshake(address, security, error)),
            },
        };
        let mut connection = Connection {
            stream,
            address: address.clone(),
            versions: Versions::new(),
            correlation: 0,
            answered: false,
            shows_certificate: security.shows_certificate(),
        };
        connection.versions = match connection.api_versions() {
            Err(error) if security.tls.is_none() => return Err(diagnose::failed_hello(address, error)),
            versions => versions?,
        };
        if let Some(sasl) = &security.sasl {
            sasl::log_in(&mut connection, sasl, &security.principal(token), token)?;
        }
        Ok(connection)
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
        let version = self.version::<R>().ok_or(BrokerError::TooOld)?;
        self.ask_as(request, version)
    }

    fn api_versions(&mut self) -> Result<Versions, BrokerError> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("khost"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        let mut answer = self.exchange(&request, API_VERSIONS)?;
        let seen = match ApiVersionsResponse::decode(&mut answer, API_VERSIONS) {
            Ok(seen) if seen.error_code != UNSUPPORTED_VERSION => seen,
            // a broker that does not know the version answers in an older one
            _ => self.ask_as(&ApiVersionsRequest::default(), PLAIN_API_VERSIONS)?,
        };
        Ok(seen.api_keys.iter().map(|api| (api.api_key, (api.min_version, api.max_version))).collect())
    }

    /// Asks in one version.
    pub(super) fn ask_as<R: Request>(&mut self, request: &R, version: i16) -> Result<R::Response, BrokerError> {
        let mut answer = self.exchange(request, version)?;
        R::Response::decode(&mut answer, version).map_err(|_| BrokerError::Garbled)
    }

    /// Sends a request and reads the answer's body.
    fn exchange<R: Request>(&mut self, request: &R, version: i16) -> Result<Bytes, BrokerError> {
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
        let mut answer = self.transfer(&frame)?;
        self.answered = true;
        let header = ResponseHeader::decode(&mut answer, R::Response::header_version(version));
        match header {
            Ok(header) if header.correlation_id == self.correlation => Ok(answer),
            _ => Err(BrokerError::Garbled),
        }
    }

    /// Sends one frame and reads one.
    fn transfer(&mut self, frame: &[u8]) -> Result<Bytes, BrokerError> {
        let until = Instant::now() + ANSWER;
        self.write(frame)?;
        let mut size = [0; 4];
        self.read(&mut size, until)?;
        let size = u32::from_be_bytes(size) as usize;
        if size > MOST_BYTES {
            // TLS alerts and HTTP look like that
            return Err(BrokerError::Garbled);
        }
        let mut answer = vec![0; size];
        self.read(&mut answer, until)?;
        Ok(answer.into())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BrokerError> {
        match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes).map_err(|error| of_io(&error)),
            Stream::Tls(stream) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    match stream.ssl_write(rest) {
                        Ok(count) => rest = &rest[count..],
                        Err(error) => return Err(self.of_tls(&TlsError::of(&error))),
                    }
                }
                Ok(())
            }
        }
    }

    fn read(&mut self, into: &mut [u8], until: Instant) -> Result<(), BrokerError> {
        let mut done = 0;
        while done < into.len() {
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let tcp = match &self.stream {
                Stream::Plain(stream) => stream,
                Stream::Tls(stream) => stream.get_ref(),
            };
            tcp.set_read_timeout(Some(left)).map_err(|error| of_io(&error))?;
            let read = match &mut self.stream {
                Stream::Plain(stream) => stream.read(&mut into[done..]).map_err(|error| of_io(&error)),
                Stream::Tls(stream) => match stream.ssl_read(&mut into[done..]) {
                    Ok(count) => Ok(count),
                    Err(error) if error.code() == openssl::ssl::ErrorCode::ZERO_RETURN => Ok(0),
                    Err(error) => {
                        let error = TlsError::of(&error);
                        Err(self.of_tls(&error))
                    }
                },
            }?;
            if read == 0 {
                return Err(if self.answered { BrokerError::HangsUp } else { self.of_tls(&TlsError::NoTls) });
            }
            done += read;
        }
        Ok(())
    }

    /// What a failure means on a connection that TLS was agreed on.
    fn of_tls(&self, error: &TlsError) -> BrokerError {
        let is_tls = matches!(self.stream, Stream::Tls(_));
        match error {
            TlsError::Silent => BrokerError::Silent,
            TlsError::Alert(alert) if !self.answered => {
                BrokerError::ClientCertificate { sent: self.shows_certificate, alert: Some(alert.clone()) }
            }
            TlsError::NoTls if is_tls && !self.answered => {
                BrokerError::ClientCertificate { sent: self.shows_certificate, alert: None }
            }
            TlsError::Other(words) | TlsError::Alert(words) => BrokerError::Other(words.clone()),
            _ => BrokerError::HangsUp,
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
                let ready = stream
                    .set_read_timeout(Some(ANSWER))
                    .and_then(|()| stream.set_write_timeout(Some(ANSWER)))
                    .and_then(|()| stream.set_nodelay(true));
                return ready.map(|()| stream).map_err(|error| unreachable(format!("can't be used ({error})")));
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

fn of_io(error: &io::Error) -> BrokerError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => BrokerError::Silent,
        _ => BrokerError::HangsUp,
    }
}
