//! TLS as the settings say, for khost's own questions to brokers: the same OpenSSL that librdkafka uses, asked for reasons.

use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::ssl::{
    HandshakeError, Ssl, SslContext, SslContextBuilder, SslFiletype, SslMethod, SslStream, SslVerifyMode,
};
use openssl::x509::X509;
use openssl::x509::store::X509Lookup;
use openssl::x509::verify::X509VerifyFlags;

use super::certificate::{BadCertificate, name};
use super::stores::{self, Identity, words};
use super::{ClientSettings, SecurityError};
use crate::kafka::connection::Timed;

/// What every connection of a run has in common.
pub(in crate::kafka) struct Tls {
    context: SslContext,
    verify: bool,
    verify_host: bool,
    subject: Option<String>,
}

/// Why a handshake failed.
#[derive(Debug)]
pub(in crate::kafka) enum TlsError {
    /// The broker's certificate does not convince.
    Certificate(Box<BadCertificate>),
    /// The broker sent an alert.
    Alert {
        /// Whether it is about our certificate.
        about_certificate: bool,
        /// TLS's name for it.
        name: String,
    },
    /// The host is an IPv6 address: librdkafka looks for it in brackets in the certificate, where it never is.
    Ipv6,
    /// What answers does not speak TLS, or hangs up.
    NoTls,
    /// Nothing came in time.
    Silent,
    /// Something else.
    Other(String),
}

/// Of OpenSSL's reasons, those of an alert are its number behind this (SSL_AD_REASON_OFFSET).
const ALERTS: i32 = 1000;
/// Alerts about a certificate: bad, unsupported, revoked, expired, unknown; of an unknown authority; access denied;
/// required (RFC 8446, 6).
const CERTIFICATE_ALERTS: [i32; 8] = [42, 43, 44, 45, 46, 48, 49, 116];

impl Tls {
    /// Reads certificates and keys, and answers what librdkafka is to be given in place of khost's own settings.
    pub(super) fn read(settings: &ClientSettings) -> Result<(Self, ClientSettings), SecurityError> {
        let get = |name: &str| settings.get(name).map(String::as_str);
        let internal =
            |error: ErrorStack| SecurityError::new("security.protocol", words(&error), "is this OpenSSL's fault?");
        let mut context = SslContext::builder(SslMethod::tls_client()).map_err(internal)?;
        let mut instead = ClientSettings::new();

        trust(&mut context, settings, &mut instead)?;
        let identity = identity(settings)?;
        let subject = identity.as_ref().map(|identity| name(identity.certificate.subject_name()));
        if let Some(Identity { key, certificate, chain }) = &identity {
            context.set_certificate(certificate).map_err(internal)?;
            for certificate in chain {
                context.add_extra_chain_cert(certificate.clone()).map_err(internal)?;
            }
            context.set_private_key(key).and_then(|()| context.check_private_key()).map_err(|error| {
                SecurityError::new(
                    if get("ssl.keystore.location").is_some() { "ssl.keystore.location" } else { "ssl.key.location" },
                    format!(
                        "the key does not belong to the certificate of {} ({})",
                        subject.as_deref().unwrap_or("?"),
                        words(&error)
                    ),
                    "give the key that the certificate was made for",
                )
            })?;
        }
        for (setting, set) in [
            ("ssl.cipher.suites", SslContextBuilder::set_cipher_list as fn(&mut _, &str) -> _),
            ("ssl.curves.list", SslContextBuilder::set_groups_list),
            ("ssl.sigalgs.list", SslContextBuilder::set_sigalgs_list),
        ] {
            if let Some(list) = get(setting) {
                set(&mut context, list).map_err(|error| {
                    SecurityError::new(setting, words(&error), "OpenSSL's names, with colons between")
                })?;
            }
        }
        if let Some(path) = get("ssl.crl.location") {
            const SETTING: &str = "ssl.crl.location";
            let store = context.cert_store_mut();
            let loaded =
                store.add_lookup(X509Lookup::file()).and_then(|lookup| lookup.load_crl_file(path, SslFiletype::PEM));
            loaded.and_then(|_| store.set_flags(X509VerifyFlags::CRL_CHECK)).map_err(|error| {
                SecurityError::new(
                    SETTING,
                    format!("{path}: {}", words(&error)),
                    "name a list of revoked certificates in PEM",
                )
            })?;
        }
        let verify = get("enable.ssl.certificate.verification") != Some("false");
        let verify_host = get("ssl.endpoint.identification.algorithm") != Some("none");
        Ok((Tls { context: context.build(), verify, verify_host, subject }, instead))
    }

    /// What is not checked, and should be.
    pub(super) fn warning(&self) -> Option<&'static str> {
        match (self.verify, self.verify_host) {
            (false, _) => {
                Some("the brokers' certificates are not checked (enable.ssl.certificate.verification = false)")
            }
            (true, false) => {
                Some("the brokers' host names are not checked (ssl.endpoint.identification.algorithm = none)")
            }
            (true, true) => None,
        }
    }

    /// Who we are by our certificate, as Java writes it: `CN=alice,O=khost`.
    pub(super) fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Shakes hands on a connection to `host`.
    pub(in crate::kafka) fn connect(&self, host: &str, stream: Timed) -> Result<SslStream<Timed>, TlsError> {
        if self.verify && self.verify_host && host.parse::<Ipv6Addr>().is_ok() {
            return Err(TlsError::Ipv6);
        }
        let bad = Arc::new(Mutex::new(None));
        let ssl = self.prepare(host, Arc::clone(&bad)).map_err(|error| TlsError::Other(words(&error)))?;
        ssl.connect(stream).map_err(|error| {
            let certificate = bad.lock().unwrap_or_else(PoisonError::into_inner).take();
            match (certificate, error) {
                (Some(certificate), _) => TlsError::Certificate(Box::new(certificate)),
                (None, HandshakeError::SetupFailure(error)) => TlsError::Other(words(&error)),
                (None, HandshakeError::Failure(failed) | HandshakeError::WouldBlock(failed)) => {
                    TlsError::of(failed.error())
                }
            }
        })
    }

    fn prepare(&self, host: &str, bad: Arc<Mutex<Option<BadCertificate>>>) -> Result<Ssl, ErrorStack> {
        let mut ssl = Ssl::new(&self.context)?;
        let address = host.parse::<IpAddr>();
        if address.is_err() {
            ssl.set_hostname(host)?;
        }
        if self.verify && self.verify_host {
            match address {
                Ok(address) => ssl.param_mut().set_ip(address)?,
                Err(_) => ssl.param_mut().set_host(host)?,
            }
        }
        if self.verify {
            ssl.set_verify_callback(SslVerifyMode::PEER, move |fine, context| {
                if !fine {
                    let mut bad = bad.lock().unwrap_or_else(PoisonError::into_inner);
                    bad.get_or_insert_with(|| BadCertificate::of(context));
                }
                fine
            });
        } else {
            ssl.set_verify(SslVerifyMode::NONE);
        }
        Ok(ssl)
    }
}

impl TlsError {
    /// Of a handshake, or of reading and writing after it: TLS 1.3 tells of a client's certificate only then.
    pub(in crate::kafka) fn of(error: &openssl::ssl::Error) -> Self {
        if let Some(error) = error.io_error() {
            return match error.kind() {
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => TlsError::Silent,
                _ => TlsError::NoTls,
            };
        }
        let Some(stack) = error.ssl_error() else { return TlsError::NoTls };
        if let Some(alert) = stack.errors().iter().find(|error| error.reason_code() > ALERTS) {
            let words = alert.reason().unwrap_or("an alert");
            let name = words.rsplit_once("alert ").map_or(words, |(_, name)| name);
            let about_certificate = CERTIFICATE_ALERTS.contains(&(alert.reason_code() - ALERTS));
            return TlsError::Alert { about_certificate, name: name.to_owned() };
        }
        let text = words(stack);
        let none = ["wrong version number", "unexpected eof", "packet length too long", "bad record type", "not ssl"];
        if none.iter().any(|words| text.contains(words)) { TlsError::NoTls } else { TlsError::Other(text) }
    }
}

/// Whom to trust: the settings' certificates, else the system's.
fn trust(
    context: &mut SslContextBuilder,
    settings: &ClientSettings,
    instead: &mut ClientSettings,
) -> Result<(), SecurityError> {
    let get = |name: &str| settings.get(name).map(String::as_str);
    let mut trusted = None;
    if let Some(path) = get("ssl.ca.location").filter(|path| *path != "probe") {
        const SETTING: &str = "ssl.ca.location";
        if Path::new(path).is_dir() {
            context.load_verify_locations(None, Some(Path::new(path))).map_err(|error| {
                SecurityError::new(SETTING, words(&error), "name a file in PEM, or a folder of them")
            })?;
            return Ok(());
        }
        trusted = Some((SETTING, stores::certificates(SETTING, &stores::read(SETTING, path)?, path)?));
    } else if let Some(text) = get("ssl.ca.pem") {
        trusted = Some(("ssl.ca.pem", stores::certificates("ssl.ca.pem", text.as_bytes(), "the text")?));
    } else if let Some(path) = get("ssl.truststore.location") {
        const SETTING: &str = "ssl.truststore.location";
        let store = stores::pkcs12(SETTING, path, "ssl.truststore.password", get("ssl.truststore.password"))?;
        let mut all = store.others;
        all.extend(store.identity.map(|(_, certificate)| certificate));
        if all.is_empty() {
            let hint = "put the CA's certificate in: keytool -importcert -file ca.pem -keystore truststore.p12";
            return Err(SecurityError::new(SETTING, format!("{path} holds no certificate"), hint));
        }
        instead.insert("ssl.ca.pem".into(), pem(&all));
        trusted = Some((SETTING, all));
    }
    let Some((setting, certificates)) = trusted else {
        let found = openssl_probe::probe();
        // the same for librdkafka, which would look in other places
        let same = found.cert_file.as_ref().or(found.cert_dir.first()).map(|path| path.display().to_string());
        instead.insert("ssl.ca.location".into(), same.unwrap_or_else(|| "probe".into()));
        let folder = found.cert_dir.first().map(|folder| folder.as_path());
        if found.cert_file.is_some() || folder.is_some() {
            // a store of the system that can't be read leaves nobody trusted, and says so at the handshake
            let _ = context.load_verify_locations(found.cert_file.as_deref(), folder);
        }
        return Ok(());
    };
    for certificate in certificates {
        context.cert_store_mut().add_cert(certificate).map_err(|error| {
            SecurityError::new(setting, words(&error), "is each certificate there once, and whole?")
        })?;
    }
    Ok(())
}

/// Our own certificate and key, if the settings have them.
fn identity(settings: &ClientSettings) -> Result<Option<Identity>, SecurityError> {
    let get = |name: &str| settings.get(name).map(String::as_str);
    if let Some(path) = get("ssl.keystore.location") {
        const SETTING: &str = "ssl.keystore.location";
        let store = stores::pkcs12(SETTING, path, "ssl.keystore.password", get("ssl.keystore.password"))?;
        let Some((key, certificate)) = store.identity else {
            let hint = "a keystore holds a private key with its certificate; certificates of others are a truststore";
            return Err(SecurityError::new(SETTING, format!("{path} holds no private key"), hint));
        };
        return Ok(Some(Identity { key, certificate, chain: store.others }));
    }
    let text = |file: &'static str, inline: &'static str| match (get(file), get(inline)) {
        (Some(path), _) => Ok(Some((file, stores::read(file, path)?, path.to_owned()))),
        (None, Some(text)) => Ok(Some((inline, text.as_bytes().to_vec(), "the text".to_owned()))),
        (None, None) => Ok(None),
    };
    let certificate = text("ssl.certificate.location", "ssl.certificate.pem")?;
    let key = text("ssl.key.location", "ssl.key.pem")?;
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some((setting, ..)), None) => {
            Err(SecurityError::new(setting, "the certificate's private key is missing", "give it as ssl.key.location"))
        }
        (None, Some((setting, ..))) => {
            Err(SecurityError::new(setting, "the key's certificate is missing", "give it as ssl.certificate.location"))
        }
        (Some((setting, certificate, place)), Some((key_setting, key, key_place))) => {
            let mut certificates = stores::certificates(setting, &certificate, &place)?.into_iter();
            let own = certificates.next().expect("there is one, or it was refused");
            let key = stores::key(key_setting, &key, get("ssl.key.password"), &key_place)?;
            Ok(Some(Identity { key, certificate: own, chain: certificates.collect() }))
        }
    }
}

fn pem(certificates: &[X509]) -> String {
    let texts = certificates.iter().filter_map(|certificate| certificate.to_pem().ok());
    texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
}
