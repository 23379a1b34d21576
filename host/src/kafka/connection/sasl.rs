//! Says who we are: SASL's exchange within Kafka's (SaslHandshake and SaslAuthenticate, KIP-152).

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;

use super::scram::Scram;
use super::{BrokerError, Connection};
use crate::kafka::security::Sasl;
use crate::kafka::token::Token;

const UNSUPPORTED_SASL_MECHANISM: i16 = ResponseError::UnsupportedSaslMechanism.code();
const ILLEGAL_SASL_STATE: i16 = ResponseError::IllegalSaslState.code();

/// Logs in, once.
pub(super) fn log_in(
    connection: &mut Connection,
    sasl: &Sasl,
    principal: &str,
    token: Option<&Token>,
) -> Result<(), BrokerError> {
    let mechanism = sasl.mechanism();
    let request = SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str(mechanism));
    let answer = connection.ask(&request)?;
    match answer.error_code {
        0 => {}
        UNSUPPORTED_SASL_MECHANISM => {
            let offered = answer.mechanisms.iter().map(ToString::to_string).collect();
            return Err(BrokerError::Mechanism { wanted: mechanism, offered });
        }
        ILLEGAL_SASL_STATE => return Err(BrokerError::NoSasl { tls: connection.tls_version().is_some() }),
        code => return Err(BrokerError::code(code)),
    }
    let mut talk = Talk { connection, principal, mechanism };
    match sasl {
        Sasl::Plain(login) => {
            talk.say(format!("\0{}\0{}", login.user, login.password))?;
        }
        Sasl::Scram(digest, login) => {
            let scram = Scram::new(*digest, login);
            let first = talk.say(scram.client_first())?;
            let proof = scram.client_final(&first).map_err(|problem| talk.refused(problem))?;
            let last = talk.say(proof.message.clone())?;
            proof.check_server(&last).map_err(|problem| talk.refused(problem))?;
        }
        Sasl::Token(..) => {
            let token = token.ok_or_else(|| talk.refused("there is no token"))?;
            let extensions: String =
                token.extensions.iter().map(|(name, value)| format!("{name}={value}\x01")).collect();
            let refusal = talk.say(format!("n,,\x01auth=Bearer {}\x01{extensions}\x01", token.value()))?;
            if !refusal.is_empty() {
                // the broker says why in JSON, and waits for this before it fails (RFC 7628, 3.2.3)
                talk.say("\x01".to_owned())?;
                return Err(talk.refused("the broker does not take the token"));
            }
        }
    }
    Ok(())
}

/// The mechanisms that a listener offers; nothing if it has no SASL.
pub(super) fn mechanisms(connection: &mut Connection) -> Option<Vec<String>> {
    // a mechanism that nobody has: those that there are come with the refusal
    let request = SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str("KHOST-ASKS"));
    let answer = connection.ask(&request).ok()?;
    let offered = answer.mechanisms.iter().map(ToString::to_string).collect();
    (answer.error_code != ILLEGAL_SASL_STATE).then_some(offered)
}

struct Talk<'a> {
    connection: &'a mut Connection,
    principal: &'a str,
    mechanism: &'static str,
}

impl Talk<'_> {
    fn say(&mut self, message: String) -> Result<Bytes, BrokerError> {
        let request = SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from(message));
        let answer = self.connection.ask(&request)?;
        if answer.error_code == 0 {
            return Ok(answer.auth_bytes);
        }
        let words = answer.error_message.map_or_else(|| format!("code {}", answer.error_code), |text| text.to_string());
        Err(self.refused(&words))
    }

    fn refused(&self, words: &str) -> BrokerError {
        BrokerError::Login { principal: self.principal.to_owned(), mechanism: self.mechanism, words: words.to_owned() }
    }
}
