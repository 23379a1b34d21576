//! Why a broker can't be talked to, in words that go on after its address, and what to do about it.

use thiserror::Error;

use crate::kafka::Code;
use crate::kafka::security::{BadCertificate, CertificateProblem};

/// What is wrong with one broker, or with us in its eyes.
#[derive(Debug, Error)]
pub enum BrokerError {
    /// No TCP connection.
    #[error("{0}")]
    Unreachable(String),
    /// A connection, and no answer.
    #[error("accepts connections, but nothing answers in time")]
    Silent,
    /// A connection that is closed at once.
    #[error("accepts connections, but hangs up when it is spoken to as Kafka")]
    HangsUp,
    /// It answers, but not as Kafka does.
    #[error("answers, but not as Kafka does")]
    Garbled,
    /// It speaks no version of a request that khost speaks.
    #[error("is a Kafka too old for khost, or speaks only to its own kind")]
    TooOld,
    /// TLS is spoken there, and we did not.
    #[error("speaks TLS, and security.protocol is one without")]
    WantsTls,
    /// Kafka without TLS is spoken there.
    #[error("does not speak TLS, and security.protocol is one with it")]
    NoTls {
        /// What it offers to log in with, if it has SASL.
        mechanisms: Option<Vec<String>>,
    },
    /// Clients have to log in there, and we did not.
    #[error("wants clients to log in (it offers {}), and security.protocol is one without SASL", list(.mechanisms))]
    WantsSasl {
        /// What it offers.
        mechanisms: Vec<String>,
    },
    /// Clients can't log in there.
    #[error("has no SASL, and security.protocol is one with it")]
    NoSasl,
    /// Its certificate does not convince.
    #[error("{}", certificate(.0))]
    Certificate(Box<BadCertificate>),
    /// It does not take our certificate, or we have none.
    #[error("{}{}", if *.sent { "does not accept our client certificate" } else { "wants a client certificate, and none is set" }, alert.as_ref().map_or(String::new(), |alert| format!(" ({alert})")))]
    ClientCertificate {
        /// Whether we have one.
        sent: bool,
        /// TLS's name for it.
        alert: Option<String>,
    },
    /// Another mechanism is needed.
    #[error("does not take {wanted}; it offers {}", list(.offered))]
    Mechanism {
        /// Ours.
        wanted: &'static str,
        /// Its own.
        offered: Vec<String>,
    },
    /// It does not believe that we are who we say.
    #[error("does not let {principal} log in with {mechanism}: {words}")]
    Login {
        /// Who we say that we are.
        principal: String,
        /// How.
        mechanism: &'static str,
        /// The broker's words.
        words: String,
    },
    /// Something else.
    #[error("{0}")]
    Other(String),
}

impl BrokerError {
    /// A code of Kafka's, with the broker's own words if it has some.
    pub(in crate::kafka) fn code(code: i16, words: Option<&str>) -> Self {
        let code = Code(code.into());
        BrokerError::Other(match words {
            Some(words) => format!("answers {}: {words}", code.name()),
            None => format!("answers {}: {}", code.name(), code.text()),
        })
    }

    /// Whether another address of the same cluster may do better: what is not a matter of the settings.
    pub(in crate::kafka) fn is_of_this_address(&self) -> bool {
        matches!(self, BrokerError::Unreachable(_) | BrokerError::Silent | BrokerError::HangsUp | BrokerError::Garbled)
    }

    /// What to do next.
    pub(in crate::kafka) fn hint(&self) -> String {
        match self {
            BrokerError::Unreachable(_) => {
                "check --brokers, that the broker runs, and that a firewall lets you through".into()
            }
            BrokerError::Silent => "is the broker alive, and is it Kafka that listens there?".into(),
            BrokerError::HangsUp | BrokerError::Garbled | BrokerError::TooOld => {
                "is it a Kafka listener for clients (not a controller's), and does it speak this security.protocol?".into()
            }
            BrokerError::WantsTls => {
                "set -X security.protocol=ssl, or sasl_ssl if clients log in there; -X ssl.ca.location=ca.pem says whom to trust".into()
            }
            BrokerError::NoTls { mechanisms: None } => "set -X security.protocol=plaintext, or name the broker's TLS port".into(),
            BrokerError::NoTls { mechanisms: Some(offered) } => format!(
                "set -X security.protocol=sasl_plaintext (it offers {}), or name the broker's TLS port",
                list(offered)
            ),
            BrokerError::WantsSasl { .. } => {
                "set security.protocol to sasl_plaintext or sasl_ssl, and sasl.mechanism, sasl.username and KHOST_KAFKA_SASL_PASSWORD".into()
            }
            BrokerError::NoSasl => "set -X security.protocol=plaintext, or ssl with TLS, or name a port with SASL".into(),
            BrokerError::Certificate(bad) => match bad.problem {
                CertificateProblem::Untrusted => {
                    "give the certificate of the authority that signed it, in PEM: -X ssl.ca.location=ca.pem".into()
                }
                CertificateProblem::HostName => {
                    "use a name that it is for, in --brokers and in the broker's advertised.listeners; for a trial, -X ssl.endpoint.identification.algorithm=none".into()
                }
                CertificateProblem::Expired => "renew the broker's certificate; is this machine's clock right?".into(),
                CertificateProblem::NotYetValid => "is this machine's clock right?".into(),
                CertificateProblem::Other => "look at it with openssl s_client -connect HOST:PORT".into(),
            },
            BrokerError::ClientCertificate { sent: false, .. } => {
                "give one: -X ssl.certificate.location=client.pem -X ssl.key.location=client.key, or a PKCS#12 file as ssl.keystore.location".into()
            }
            BrokerError::ClientCertificate { sent: true, .. } => {
                "is it signed by an authority that the brokers trust (their ssl.truststore), and still valid?".into()
            }
            BrokerError::Mechanism { offered, .. } => {
                format!("set -X sasl.mechanism={}", offered.first().map_or("…", String::as_str))
            }
            BrokerError::Login { mechanism: "OAUTHBEARER", .. } => {
                "is the token for this cluster, signed by whom its brokers trust, and not expired?".into()
            }
            BrokerError::Login { .. } => "check sasl.username and the password; is that user known for this mechanism?".into(),
            BrokerError::Other(_) => "look into the broker's log".into(),
        }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

fn certificate(bad: &BadCertificate) -> String {
    let BadCertificate { words, subject, issuer, hosts, not_before, not_after, .. } = bad;
    match bad.problem {
        CertificateProblem::Untrusted => {
            format!("shows a certificate of {issuer}, whom khost does not trust (for {subject}: {words})")
        }
        CertificateProblem::HostName => {
            let hosts = if hosts.is_empty() { subject.clone() } else { hosts.join(", ") };
            format!("shows a certificate for {hosts}, not for this host ({words})")
        }
        CertificateProblem::Expired => format!("shows a certificate that expired on {not_after} ({subject})"),
        CertificateProblem::NotYetValid => {
            format!("shows a certificate that is valid from {not_before} only ({subject})")
        }
        CertificateProblem::Other => format!("shows a certificate that is not accepted ({subject}: {words})"),
    }
}
