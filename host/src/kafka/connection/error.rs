//! Why a broker can't be talked to, in words that go on after its address, and what to do about it.

use thiserror::Error;

use crate::kafka::Code;
use crate::kafka::security::{BadCertificate, CertificateProblem, TlsError};

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
        /// Whether TLS was agreed on.
        tls: bool,
    },
    /// Clients can't log in there.
    #[error("has no SASL, and security.protocol is one with it")]
    NoSasl {
        /// Whether TLS was agreed on.
        tls: bool,
    },
    /// Its certificate does not convince.
    #[error("{}", certificate(.0))]
    Certificate(Box<BadCertificate>),
    /// It does not take our certificate, or we have none.
    #[error("{}", client_certificate(.sent.as_deref(), .alert.as_deref()))]
    ClientCertificate {
        /// Whose we have shown.
        sent: Option<String>,
        /// TLS's name for it.
        alert: Option<String>,
    },
    /// Both speak TLS, and can't agree.
    #[error("speaks TLS, but does not agree with us: {0}")]
    Tls(String),
    /// librdkafka would fail there.
    #[error("is an IPv6 address, and librdkafka can't check whether a certificate is for one")]
    CertificateOfIpv6,
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
    /// A code of Kafka's.
    pub(in crate::kafka) fn code(code: i16) -> Self {
        let code = Code(code.into());
        BrokerError::Other(format!("answers {}: {}", code.name(), code.text()))
    }

    /// What went wrong in TLS; `sent`: whose certificate we have shown.
    pub(in crate::kafka) fn of_tls(error: TlsError, sent: Option<String>) -> Self {
        match error {
            TlsError::Certificate(certificate) => BrokerError::Certificate(certificate),
            TlsError::Alert { about_certificate: true, name } => {
                BrokerError::ClientCertificate { sent, alert: Some(name) }
            }
            TlsError::Alert { name, .. } => BrokerError::Tls(format!("it says `{name}`")),
            TlsError::Other(words) => BrokerError::Tls(words),
            TlsError::Ipv6 => BrokerError::CertificateOfIpv6,
            TlsError::NoTls => BrokerError::HangsUp,
            TlsError::Silent => BrokerError::Silent,
        }
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
            BrokerError::WantsSasl { tls, .. } => format!(
                "set -X security.protocol={}, and sasl.mechanism, sasl.username and KHOST_KAFKA_SASL_PASSWORD",
                if *tls { "sasl_ssl" } else { "sasl_plaintext" }
            ),
            BrokerError::Tls(_) => {
                "compare its versions of TLS and its ciphers with ours: openssl s_client -connect HOST:PORT".into()
            }
            BrokerError::CertificateOfIpv6 => {
                "name the broker, here and in its advertised.listeners, by a host name that its certificate is for".into()
            }
            BrokerError::NoSasl { tls } => {
                format!("set -X security.protocol={}, or name a port with SASL", if *tls { "ssl" } else { "plaintext" })
            }
            BrokerError::Certificate(bad) => match bad.problem {
                CertificateProblem::Untrusted => {
                    "give the certificate of the authority that signed it, in PEM: -X ssl.ca.location=ca.pem".into()
                }
                CertificateProblem::NoRoot => format!(
                    "OpenSSL wants the whole chain, where Java is content with a part: add the certificate of {} to those that are trusted",
                    bad.issuer
                ),
                CertificateProblem::HostName => {
                    "use a name that it is for, in --brokers and in the broker's advertised.listeners; for a trial, -X ssl.endpoint.identification.algorithm=none".into()
                }
                CertificateProblem::Expired => "renew the broker's certificate; is this machine's clock right?".into(),
                CertificateProblem::NotYetValid => "is this machine's clock right?".into(),
                CertificateProblem::Other => "look at it with openssl s_client -connect HOST:PORT".into(),
            },
            BrokerError::ClientCertificate { sent: None, .. } => {
                "give one: -X ssl.certificate.location=client.pem -X ssl.key.location=client.key, or a PKCS#12 file as ssl.keystore.location".into()
            }
            BrokerError::ClientCertificate { sent: Some(_), .. } => {
                "is it signed by an authority that the brokers trust (their ssl.truststore), and still valid?".into()
            }
            BrokerError::Mechanism { offered, .. } => {
                // the strongest first; PLAIN shows the password itself
                const BY_STRENGTH: [&str; 4] = ["SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER", "PLAIN"];
                match BY_STRENGTH.iter().find(|name| offered.iter().any(|one| one == *name)) {
                    Some(name) => format!("set -X sasl.mechanism={name}, if your user is known for it"),
                    None => "khost knows none of these".into(),
                }
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

fn client_certificate(sent: Option<&str>, alert: Option<&str>) -> String {
    const HANGS_UP: &str = "hangs up once TLS is agreed on, as brokers do";
    match (sent, alert) {
        (Some(who), Some(alert)) => format!("does not accept our client certificate of {who} ({alert})"),
        (None, Some(alert)) => format!("wants a client certificate, and none is set ({alert})"),
        (Some(who), None) => format!("{HANGS_UP} that don't accept a client's certificate: ours is of {who}"),
        (None, None) => format!("{HANGS_UP} that want a client certificate: none is set"),
    }
}

fn certificate(bad: &BadCertificate) -> String {
    let BadCertificate { words, subject, issuer, hosts, not_before, not_after, .. } = bad;
    match bad.problem {
        CertificateProblem::Untrusted => {
            format!("shows a certificate of {issuer}, whom khost does not trust (for {subject}: {words})")
        }
        CertificateProblem::NoRoot => {
            format!(
                "shows a certificate by {subject}, whom khost trusts; {issuer} is above that one, and not trusted ({words})"
            )
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
