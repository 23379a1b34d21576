//! Certificates and keys: read from PEM and PKCS#12, in files and in settings. Java's JKS is told apart and refused.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use openssl::error::ErrorStack;
use openssl::pkcs12::Pkcs12;
use openssl::pkey::{PKey, Private};
use openssl::x509::X509;

use super::SecurityError;

/// What a client shows of itself.
pub(super) struct Identity {
    pub(super) key: PKey<Private>,
    pub(super) certificate: X509,
    pub(super) chain: Vec<X509>,
}

/// What a file of Java's settings turns out to be.
#[derive(Debug, PartialEq)]
enum Format {
    Pem,
    Pkcs12,
    Jks,
    Unknown,
}

impl Format {
    fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xfe, 0xed, 0xfe, 0xed, ..] | [0xce, 0xce, 0xce, 0xce, ..] => Format::Jks,
            // a DER sequence of more than 127 bytes
            [0x30, 0x80..=0x84, ..] => Format::Pkcs12,
            _ if find(bytes, b"-----BEGIN ") => Format::Pem,
            _ => Format::Unknown,
        }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Larger than any certificates.
const MOST_BYTES: u64 = 16 << 20;

/// A file that a setting names.
pub(super) fn read(setting: &'static str, path: &str) -> Result<Vec<u8>, SecurityError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| {
        let hint = if Path::new(path).is_absolute() {
            "name a file that khost may read"
        } else {
            "name a file that khost may read; a path is taken from the folder that khost runs in"
        };
        SecurityError::new(setting, format!("{path} can't be read: {error}"), hint)
    })
}

/// The certificates of a text in PEM.
pub(super) fn certificates(setting: &'static str, pem: &[u8], place: &str) -> Result<Vec<X509>, SecurityError> {
    let found = X509::stack_from_pem(pem).unwrap_or_default();
    if found.is_empty() {
        let problem = format!("{place} holds no certificate in PEM");
        return Err(SecurityError::new(setting, problem, "PEM begins with -----BEGIN CERTIFICATE-----"));
    }
    Ok(found)
}

/// A private key in PEM, with its password if it has one.
pub(super) fn key(
    setting: &'static str,
    pem: &[u8],
    password: Option<&str>,
    place: &str,
) -> Result<PKey<Private>, SecurityError> {
    let read = match password {
        Some(password) => PKey::private_key_from_pem_passphrase(pem, password.as_bytes()),
        // without a callback OpenSSL would ask on the terminal
        None => PKey::private_key_from_pem_callback(pem, |_| Ok(0)),
    };
    read.map_err(|error| {
        let encrypted = find(pem, b"ENCRYPTED");
        let hint = match (encrypted, password.is_some()) {
            (true, true) => "is ssl.key.password the key's?",
            (true, false) => {
                "the key is encrypted: give its password as ssl.key.password (KHOST_KAFKA_SSL_KEY_PASSWORD)"
            }
            _ => "PEM begins with -----BEGIN PRIVATE KEY-----",
        };
        SecurityError::new(setting, format!("{place} holds no private key that can be read ({})", words(&error)), hint)
    })
}

/// How to make a store that OpenSSL reads.
fn as_pkcs12(path: &str) -> String {
    let new = Path::new(path).with_extension("new.p12");
    let new = new.display();
    format!(
        "make it PKCS#12, and name that: keytool -importkeystore -srckeystore {path} -destkeystore {new} -deststoretype PKCS12"
    )
}

/// What is in a PKCS#12 file.
pub(super) struct Store {
    pub(super) identity: Option<(PKey<Private>, X509)>,
    pub(super) others: Vec<X509>,
}

/// Reads a PKCS#12 store; `password` names the setting that has its password.
pub(super) fn pkcs12(
    setting: &'static str,
    path: &str,
    password_setting: &'static str,
    password: Option<&str>,
) -> Result<Store, SecurityError> {
    let bytes = read(setting, path)?;
    let fail = |problem: String, hint: String| Err(SecurityError::new(setting, problem, hint));
    match Format::of(&bytes) {
        Format::Pkcs12 => {}
        Format::Jks => {
            return fail(format!("{path} is a JKS store, which only Java reads"), as_pkcs12(path));
        }
        Format::Pem if setting == "ssl.truststore.location" => {
            return fail(
                format!("{path} is PEM, which Java takes only with ssl.truststore.type=PEM"),
                "add that line, or give it as ssl.ca.location".into(),
            );
        }
        Format::Pem => {
            return fail(
                format!("{path} is PEM, which Java takes only with ssl.keystore.type=PEM"),
                "add that line, or give it as ssl.certificate.location and ssl.key.location".into(),
            );
        }
        Format::Unknown => {
            return fail(format!("{path} is no PKCS#12 store"), "PKCS#12 files often end in .p12 or .pfx".into());
        }
    }
    let parsed = Pkcs12::from_der(&bytes).and_then(|store| store.parse2(password.unwrap_or_default()));
    match parsed {
        Ok(parsed) => Ok(Store {
            identity: parsed.pkey.zip(parsed.cert),
            others: parsed.ca.map(|stack| stack.into_iter().collect()).unwrap_or_default(),
        }),
        Err(error) => {
            let text = words(&error);
            let hint = if text.contains("mac verify") {
                match password {
                    Some(_) => format!("is {password_setting} the store's?"),
                    None => format!("give its password as {password_setting}"),
                }
            } else if text.contains("unsupported") {
                format!("its encryption is too old for OpenSSL 3; with the keytool of Java 17, {}", as_pkcs12(path))
            } else {
                "PKCS#12 files often end in .p12 or .pfx".into()
            };
            fail(format!("{path} can't be opened ({text})"), hint)
        }
    }
}

/// OpenSSL's own words, the last first.
pub(super) fn words(error: &ErrorStack) -> String {
    let reasons: Vec<&str> = error.errors().iter().rev().filter_map(|error| error.reason()).take(2).collect();
    if reasons.is_empty() { "OpenSSL does not take it".into() } else { reasons.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_how_they_begin() {
        assert_eq!(Format::of(b"\xfe\xed\xfe\xed\0\0\0\x02"), Format::Jks);
        assert_eq!(Format::of(b"0\x82\x0a\x0b"), Format::Pkcs12);
        assert_eq!(Format::of(b"# mine\n-----BEGIN CERTIFICATE-----\n"), Format::Pem);
        assert_eq!(Format::of(b""), Format::Unknown);
        assert_eq!(Format::of(b"hello"), Format::Unknown);
    }

    #[test]
    fn what_is_no_certificate_is_refused_with_its_place() {
        let error = certificates("ssl.ca.pem", b"hunter2", "the text").expect_err("none");
        assert_eq!(error.to_string(), "Kafka setting `ssl.ca.pem`: the text holds no certificate in PEM");
    }
}
