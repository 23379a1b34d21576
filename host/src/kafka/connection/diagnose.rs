//! What is it that answers there? Asked once, with a connection of its own, when a first contact has failed.

use kafka_protocol::messages::{ApiVersionsRequest, SaslHandshakeRequest};
use openssl::ssl::{Ssl, SslContext, SslMethod};

use super::{ANSWER, BrokerError, Connection, PLAIN_API_VERSIONS, Stream, Timed, connect, sasl};
use crate::kafka::Address;
use crate::kafka::security::{Security, TlsError};

/// TLS was wanted, and could not be agreed on.
pub(super) fn failed_handshake(address: &Address, security: &Security, error: TlsError) -> BrokerError {
    match error {
        TlsError::NoTls => match plain(address) {
            Some(mut connection) => BrokerError::NoTls { mechanisms: sasl::mechanisms(&mut connection) },
            None => BrokerError::HangsUp,
        },
        error => BrokerError::of_tls(error, security.subject()),
    }
}

/// Kafka was spoken without TLS, and the other side did not answer as Kafka.
pub(super) fn failed_hello(address: &Address, error: BrokerError) -> BrokerError {
    let may_be_tls = matches!(error, BrokerError::HangsUp | BrokerError::Garbled);
    if may_be_tls && speaks_tls(address) { BrokerError::WantsTls } else { error }
}

/// Nothing but the first question was answered: does the listener want clients to log in?
pub(in crate::kafka) fn hung_up(address: &Address, security: &Security) -> BrokerError {
    let again = Connection::greet(address, security).ok();
    match again.and_then(|mut connection| sasl::mechanisms(&mut connection)) {
        Some(mechanisms) => BrokerError::WantsSasl { mechanisms, tls: security.tls.is_some() },
        None => BrokerError::HangsUp,
    }
}

/// A connection without TLS whose other side answers as Kafka does.
fn plain(address: &Address) -> Option<Connection> {
    let stream = Stream::Plain(Timed::new(connect(address).ok()?, ANSWER));
    let mut connection = Connection::over(stream, address, None);
    let seen = connection.ask_as(&ApiVersionsRequest::default(), PLAIN_API_VERSIONS).ok()?;
    connection.versions = seen.api_keys.iter().map(|api| (api.api_key, (api.min_version, api.max_version))).collect();
    connection.version::<SaslHandshakeRequest>().map(|_| connection)
}

/// Whether a handshake of TLS gets any answer of TLS.
fn speaks_tls(address: &Address) -> bool {
    let Ok(stream) = connect(address).map(|tcp| Timed::new(tcp, ANSWER)) else { return false };
    let Ok(context) = SslContext::builder(SslMethod::tls_client()).map(|builder| builder.build()) else { return false };
    let Ok(mut ssl) = Ssl::new(&context) else { return false };
    ssl.set_verify(openssl::ssl::SslVerifyMode::NONE);
    match ssl.connect(stream) {
        Ok(_) => true,
        Err(openssl::ssl::HandshakeError::Failure(failed)) => {
            matches!(TlsError::of(failed.error()), TlsError::Alert { .. })
        }
        Err(_) => false,
    }
}
