//! Who we are to the brokers, and how we know that they are the brokers: TLS and SASL, as the settings say.
//!
//! Files are read here, once, before anything is asked. khost's own settings (`ssl.truststore.location`,
//! `sasl.oauthbearer.token.file`, `AWS_MSK_IAM`, …) become what librdkafka knows.

mod certificate;
mod error;
mod stores;
mod tls;

use std::path::PathBuf;

pub use certificate::{BadCertificate, CertificateProblem};
pub use error::SecurityError;

pub(super) use tls::{Tls, TlsError};

use super::ClientSettings;
use super::token::{MskIam, Source, Token};
use crate::plan;

/// The security of a run's connections.
pub struct Security {
    pub(super) tls: Option<Tls>,
    pub(super) sasl: Option<Sasl>,
    settings: ClientSettings,
}

/// How a client says who it is.
pub(super) enum Sasl {
    Plain(Login),
    Scram(Digest, Login),
    /// Tokens, also those of MSK IAM, and extensions: names and values that are sent with them.
    Token(Source, Vec<(String, String)>),
}

/// A user.
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
}

/// SCRAM's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Digest {
    Sha256,
    Sha512,
}

impl Security {
    /// Reads a plan's settings for every client, and the files that they name.
    ///
    /// # Errors
    /// A setting that is missing, does not fit the others, or names a file that can't be used.
    pub fn read(settings: &ClientSettings) -> Result<Self, SecurityError> {
        let mut for_librdkafka = settings.clone();
        for_librdkafka.retain(|name, _| !plan::is_own(name));
        let protocol = settings.get("security.protocol").map_or("plaintext", String::as_str);
        let tls = if protocol.ends_with("ssl") {
            let (tls, instead) = Tls::read(settings)?;
            for_librdkafka.extend(instead);
            Some(tls)
        } else {
            None
        };
        let sasl = if protocol.starts_with("sasl") { Some(Sasl::read(settings)?) } else { None };
        if for_librdkafka.get(MECHANISM).is_some_and(|mechanism| mechanism == MSK_IAM) {
            for_librdkafka.insert(MECHANISM.into(), OAUTHBEARER.into());
        }
        Ok(Security { tls, sasl, settings: for_librdkafka })
    }

    /// What librdkafka's clients are to be given.
    pub fn client_settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// `plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`.
    pub fn protocol(&self) -> &'static str {
        match (&self.tls, &self.sasl) {
            (None, None) => "plaintext",
            (Some(_), None) => "ssl",
            (None, Some(_)) => "sasl_plaintext",
            (Some(_), Some(_)) => "sasl_ssl",
        }
    }

    /// What a person should know of these settings.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &'static str> {
        self.tls.iter().filter_map(Tls::warning)
    }

    /// SASL's name of how a client says who it is.
    pub fn mechanism(&self) -> Option<&'static str> {
        Some(self.sasl.as_ref()?.mechanism())
    }

    /// Whose certificate is shown to the brokers.
    pub(super) fn subject(&self) -> Option<String> {
        self.tls.as_ref().and_then(Tls::subject).map(str::to_owned)
    }

    /// Who the brokers take us for, unless they map names to others.
    pub fn principal(&self, token: Option<&Token>) -> String {
        let name = match (&self.sasl, &self.tls) {
            (Some(Sasl::Plain(login) | Sasl::Scram(_, login)), _) => login.user.as_str(),
            (Some(Sasl::Token(..)), _) => match token.and_then(|token| token.principal.as_deref()) {
                Some(name) => name,
                None => return "the token's principal".into(),
            },
            (None, Some(tls)) => tls.subject().unwrap_or(ANONYMOUS),
            (None, None) => ANONYMOUS,
        };
        format!("User:{name}")
    }
}

const MECHANISM: &str = "sasl.mechanisms";
const OAUTHBEARER: &str = "OAUTHBEARER";
const MSK_IAM: &str = "AWS_MSK_IAM";
const ANONYMOUS: &str = "ANONYMOUS";
const EXTENSIONS: &str = "sasl.oauthbearer.extensions";
const TOKEN_FILE: &str = "sasl.oauthbearer.token.file";
const TOKEN_COMMAND: &str = "sasl.oauthbearer.token.command";

impl Sasl {
    fn read(settings: &ClientSettings) -> Result<Self, SecurityError> {
        let get = |name: &str| settings.get(name).cloned();
        match get(MECHANISM).as_deref() {
            Some("PLAIN") => Ok(Sasl::Plain(Login::read(settings)?)),
            Some("SCRAM-SHA-256") => Ok(Sasl::Scram(Digest::Sha256, Login::read(settings)?)),
            Some("SCRAM-SHA-512") => Ok(Sasl::Scram(Digest::Sha512, Login::read(settings)?)),
            Some(OAUTHBEARER) => Ok(Sasl::Token(source(settings)?, extensions(settings)?)),
            Some(MSK_IAM) => {
                let msk = MskIam {
                    region: get("aws.region"),
                    profile: get("aws.profile"),
                    role_arn: get("aws.role.arn"),
                    role_session_name: get("aws.role.session.name"),
                };
                Ok(Sasl::Token(Source::MskIam(msk), Vec::new()))
            }
            mechanism => Err(SecurityError::new(
                MECHANISM,
                mechanism.map_or_else(
                    || "SASL needs a mechanism, and none is set".to_owned(),
                    |name| format!("{name} is not built in"),
                ),
                "set sasl.mechanism to PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM",
            )),
        }
    }

    pub(super) fn mechanism(&self) -> &'static str {
        match self {
            Sasl::Plain(_) => "PLAIN",
            Sasl::Scram(Digest::Sha256, _) => "SCRAM-SHA-256",
            Sasl::Scram(Digest::Sha512, _) => "SCRAM-SHA-512",
            Sasl::Token(..) => OAUTHBEARER,
        }
    }
}

/// Where a token of OAUTHBEARER comes from.
fn source(settings: &ClientSettings) -> Result<Source, SecurityError> {
    const UNSECURED: &str = "enable.sasl.oauthbearer.unsecure.jwt";
    if settings.get(UNSECURED).is_some_and(|set| set == "true") {
        let hint = format!("give {TOKEN_COMMAND}: a command that prints a token, signed or not");
        return Err(SecurityError::new(UNSECURED, "tokens come from a file or a command here", hint));
    }
    match (settings.get(TOKEN_FILE), settings.get(TOKEN_COMMAND)) {
        (Some(file), None) => Ok(Source::File(PathBuf::from(file))),
        (None, Some(command)) => Ok(Source::Command(command.clone())),
        (Some(_), Some(_)) => {
            Err(SecurityError::new(TOKEN_COMMAND, format!("{TOKEN_FILE} is set as well"), "leave one of the two out"))
        }
        (None, None) => Err(SecurityError::new(
            MECHANISM,
            "OAUTHBEARER needs a token, and no setting says where it comes from",
            format!("give {TOKEN_FILE}, or {TOKEN_COMMAND}: a command that prints a token"),
        )),
    }
}

/// `name=value,name=value`.
fn extensions(settings: &ClientSettings) -> Result<Vec<(String, String)>, SecurityError> {
    let Some(text) = settings.get(EXTENSIONS) else { return Ok(Vec::new()) };
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let pairs: Option<Vec<_>> = text.split(',').filter(|pair| !pair.is_empty()).map(pair).collect();
    // RFC 7628, 3.1
    let is_name = |name: &str| name != "auth" && !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic());
    let pairs = pairs.filter(|pairs| pairs.iter().all(|(name, _)| is_name(name)));
    pairs.ok_or_else(|| {
        SecurityError::new(EXTENSIONS, "it can't be read", "write name=value,name=value, with names of letters")
    })
}

impl Login {
    fn read(settings: &ClientSettings) -> Result<Self, SecurityError> {
        let need = |setting: &'static str, hint: &str| {
            let set = settings.get(setting).filter(|value| !value.is_empty()).cloned();
            set.ok_or_else(|| SecurityError::new(setting, "it is missing, or empty", hint))
        };
        Ok(Login {
            user: need("sasl.username", "set it with -X sasl.username=…, or KHOST_KAFKA_SASL_USERNAME")?,
            password: need(
                "sasl.password",
                "set KHOST_KAFKA_SASL_PASSWORD, or KHOST_KAFKA_SASL_PASSWORD_FILE to the file that holds it",
            )?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Security, SecurityError> {
        Security::read(&settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    fn refused(settings: &[(&str, &str)]) -> String {
        read(settings).err().expect("refused").to_string()
    }

    #[test]
    fn what_a_mechanism_needs_is_asked_for() {
        let sasl = ("security.protocol", "sasl_plaintext");
        assert!(refused(&[sasl]).contains("none is set"));
        assert!(refused(&[sasl, (MECHANISM, "GSSAPI")]).contains("not built in"));
        assert!(refused(&[sasl, (MECHANISM, "PLAIN")]).contains("`sasl.username`"));
        assert!(refused(&[sasl, (MECHANISM, "PLAIN"), ("sasl.username", "a")]).contains("`sasl.password`"));
        assert!(refused(&[sasl, (MECHANISM, "OAUTHBEARER")]).contains("needs a token"));
    }

    #[test]
    fn librdkafka_is_given_only_what_it_knows() {
        let security = read(&[
            ("security.protocol", "sasl_plaintext"),
            (MECHANISM, "AWS_MSK_IAM"),
            ("aws.region", "eu-west-1"),
            ("client.id", "me"),
        ])
        .unwrap_or_else(|error| panic!("{error}"));
        let given: Vec<_> = security.client_settings().iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(given, ["client.id=me", "sasl.mechanisms=OAUTHBEARER", "security.protocol=sasl_plaintext"]);
    }

    /// librdkafka's OpenSSL is our own, and does not know where this system keeps its certificates.
    #[test]
    fn without_a_ca_librdkafka_looks_where_khost_looks() {
        let security = read(&[("security.protocol", "ssl")]).unwrap_or_else(|error| panic!("{error}"));
        assert!(security.client_settings().contains_key("ssl.ca.location"));
        let named = read(&[("security.protocol", "plaintext")]).unwrap_or_else(|error| panic!("{error}"));
        assert!(!named.client_settings().contains_key("ssl.ca.location"));
    }

    #[test]
    fn principals_are_named_as_kafka_names_them() {
        let principal = |settings: &[(&str, &str)]| read(settings).unwrap_or_else(|e| panic!("{e}")).principal(None);
        assert_eq!(principal(&[]), "User:ANONYMOUS");
        let login = [
            ("security.protocol", "sasl_plaintext"),
            (MECHANISM, "PLAIN"),
            ("sasl.username", "alice"),
            ("sasl.password", "hunter2"),
        ];
        assert_eq!(principal(&login), "User:alice");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = refused(&[("security.protocol", "ssl"), ("ssl.ca.location", "/none/ca.pem")]);
        assert!(error.starts_with("Kafka setting `ssl.ca.location`: /none/ca.pem can't be read:"), "{error}");
    }
}
