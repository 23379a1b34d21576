//! TLS: where Java's client has its certificates and keys, by the rules of Kafka's `DefaultSslEngineFactory`.
//!
//! A store in a file that is not PEM becomes a setting of khost's own; whether that file is PKCS#12 is seen when it is read.

use super::file::{Entry, File};
use super::pem;
use super::translate::{Refused, Translated};

const TRUST_TYPE: &str = "ssl.truststore.type";
const TRUST_FILE: &str = "ssl.truststore.location";
const TRUST_PASSWORD: &str = "ssl.truststore.password";
const TRUST_PEM: &str = "ssl.truststore.certificates";
const KEY_TYPE: &str = "ssl.keystore.type";
const KEY_FILE: &str = "ssl.keystore.location";
const KEY_PASSWORD: &str = "ssl.keystore.password";
const KEY_PEM: &str = "ssl.keystore.key";
const CHAIN_PEM: &str = "ssl.keystore.certificate.chain";
const PROTOCOLS: &str = "ssl.enabled.protocols";
const IDENTITY: &str = "ssl.endpoint.identification.algorithm";

/// Whether a name is translated here.
pub(super) fn takes(name: &str) -> bool {
    [
        TRUST_TYPE,
        TRUST_FILE,
        TRUST_PASSWORD,
        TRUST_PEM,
        KEY_TYPE,
        KEY_FILE,
        KEY_PASSWORD,
        KEY_PEM,
        CHAIN_PEM,
        PROTOCOLS,
        IDENTITY,
    ]
    .contains(&name)
}

pub(super) fn translate(file: &File<'_>, out: &mut Translated) -> Result<(), Refused> {
    truststore(file, out)?;
    keystore(file, out)?;
    if let Some(entry) = file.active(IDENTITY) {
        match entry.value.to_ascii_lowercase().as_str() {
            "" => out.give(&entry, IDENTITY, "none"),
            "https" => out.give(&entry, IDENTITY, "https"),
            _ => return Err(entry.refused("expected https, or nothing for no check", "leave it out for https")),
        }
    }
    let narrow = |entry: &Entry<'_>| !entry.value.is_empty() && !entry.value.split(',').any(|v| v.trim() == "TLSv1.2");
    match file.active(PROTOCOLS) {
        Some(entry) if narrow(&entry) => {
            let hint = "take it out, and let the brokers say which they accept";
            Err(entry
                .refused("khost takes TLS 1.2 or 1.3, whichever the broker has, and can't be told otherwise", hint))
        }
        _ => Ok(()),
    }
}

#[derive(PartialEq)]
enum Type {
    Pem,
    Store,
}

/// The type of a store; Java's default is JKS, and the JDK reads PKCS#12 under that name as well.
fn type_of(file: &File<'_>, name: &str) -> Result<Type, Refused> {
    let Some(entry) = file.get(name) else { return Ok(Type::Store) };
    match entry.value.to_ascii_uppercase().as_str() {
        "PEM" => Ok(Type::Pem),
        "PKCS12" | "JKS" => Ok(Type::Store),
        _ => Err(entry.refused("khost reads stores of the types PEM and PKCS12", "make one of it with `keytool`")),
    }
}

fn truststore(file: &File<'_>, out: &mut Translated) -> Result<(), Refused> {
    let [path, password, inline] = [TRUST_FILE, TRUST_PASSWORD, TRUST_PEM].map(|name| file.active(name));
    if path.is_none() && password.is_none() && inline.is_none() {
        return Ok(());
    }
    let kind = type_of(file, TRUST_TYPE)?;
    if let Some(inline) = inline {
        alone(&inline, &kind, TRUST_TYPE, path)?;
        no_password(password)?;
        return give_pem(&inline, "CERTIFICATE", "ssl.ca.pem", out);
    }
    match (path, password) {
        (Some(path), password) => {
            not_empty(&path)?;
            if kind == Type::Pem {
                no_password(password)?;
                out.give(&path, "ssl.ca.location", path.value);
            } else {
                out.give(&path, TRUST_FILE, path.value);
                give_all(password, TRUST_PASSWORD, out);
            }
        }
        (None, Some(password)) => return Err(without_store(&password, TRUST_FILE)),
        (None, None) => {}
    }
    Ok(())
}

fn keystore(file: &File<'_>, out: &mut Translated) -> Result<(), Refused> {
    let [path, password, key, chain] = [KEY_FILE, KEY_PASSWORD, KEY_PEM, CHAIN_PEM].map(|name| file.active(name));
    if path.is_none() && password.is_none() && key.is_none() && chain.is_none() {
        return Ok(());
    }
    let kind = type_of(file, KEY_TYPE)?;
    match (key, chain) {
        (Some(key), Some(chain)) => {
            alone(&key, &kind, KEY_TYPE, path)?;
            no_password(password)?;
            give_pem(&key, "PRIVATE KEY", "ssl.key.pem", out)?;
            return give_pem(&chain, "CERTIFICATE", "ssl.certificate.pem", out);
        }
        (Some(one), None) | (None, Some(one)) => {
            let hint = format!("`{KEY_PEM}` and `{CHAIN_PEM}` go together");
            return Err(one.refused("a private key and its certificates are needed, and one is missing", hint));
        }
        (None, None) => {}
    }
    match (path, password) {
        (Some(path), password) => {
            not_empty(&path)?;
            if kind == Type::Pem {
                no_password(password)?;
                out.give(&path, "ssl.certificate.location", path.value);
                out.give(&path, "ssl.key.location", path.value);
            } else {
                let Some(password) = password else {
                    return Err(path.refused("a store has to have a password", format!("give it as `{KEY_PASSWORD}`")));
                };
                out.give(&path, KEY_FILE, path.value);
                out.give(&password, KEY_PASSWORD, password.value);
            }
        }
        (None, Some(password)) => return Err(without_store(&password, KEY_FILE)),
        (None, None) => {}
    }
    Ok(())
}

fn give_all(entry: Option<Entry<'_>>, name: &str, out: &mut Translated) {
    if let Some(entry) = entry {
        out.give(&entry, name, entry.value);
    }
}

fn give_pem(entry: &Entry<'_>, kind: &str, name: &str, out: &mut Translated) -> Result<(), Refused> {
    let blocks = pem::blocks(entry.value, kind);
    match (blocks.len(), kind) {
        (0, _) => {
            let hint = "each line of it but the last ends with a backslash, or with \\n and a backslash";
            Err(entry.refused(format!("there is no {kind} in PEM"), hint))
        }
        (2.., "PRIVATE KEY") => Err(entry.refused("there is more than one private key", "leave one")),
        _ => {
            out.give(entry, name, blocks.concat());
            Ok(())
        }
    }
}

/// PEM in the file itself is of type PEM, and there is no other store.
fn alone(inline: &Entry<'_>, kind: &Type, type_name: &str, path: Option<Entry<'_>>) -> Result<(), Refused> {
    if *kind != Type::Pem {
        return Err(inline.refused("this is only for stores of type PEM", format!("write {type_name}=PEM")));
    }
    match path {
        Some(path) => Err(path.refused(format!("`{}` is set too", inline.name), "leave one of the two out")),
        None => Ok(()),
    }
}

fn no_password(password: Option<Entry<'_>>) -> Result<(), Refused> {
    match password {
        Some(password) => {
            let hint = "leave it out; the password of a private key is `ssl.key.password`";
            Err(password.refused("a store of type PEM has no password", hint))
        }
        None => Ok(()),
    }
}

fn not_empty(path: &Entry<'_>) -> Result<(), Refused> {
    if path.value.is_empty() { Err(path.refused("no file is named", "name one, or leave it out")) } else { Ok(()) }
}

fn without_store(password: &Entry<'_>, store: &str) -> Refused {
    password.refused("there is a password and no store", format!("name it as `{store}`, or leave the password out"))
}

#[cfg(test)]
mod tests {
    use crate::plan::java::translate::tests::{notes, refused, settings};

    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE----- QUJD -----END CERTIFICATE-----";
    const KEY: &str = "-----BEGIN PRIVATE KEY----- QUJD -----END PRIVATE KEY-----";

    #[test]
    fn stores_become_files_of_pem_or_khosts_own_settings() {
        for (written, given) in [
            ("ssl.truststore.type=PEM\nssl.truststore.location=/a", "ssl.ca.location=/a"),
            ("ssl.truststore.location=/a", "ssl.truststore.location=/a"),
            (
                "ssl.truststore.type=JKS\nssl.truststore.location=/a\nssl.truststore.password= p ",
                "ssl.truststore.location=/a ssl.truststore.password=p",
            ),
            (
                "ssl.keystore.type=PEM\nssl.keystore.location=/a\nssl.key.password=p",
                "ssl.key.password=p ssl.certificate.location=/a ssl.key.location=/a",
            ),
            (
                "ssl.keystore.type=pkcs12\nssl.keystore.password=p\nssl.keystore.location=/a",
                "ssl.keystore.location=/a ssl.keystore.password=p",
            ),
            ("ssl.keystore.type=BCFKS\nssl.truststore.type=BCFKS", ""),
            ("ssl.endpoint.identification.algorithm=", "ssl.endpoint.identification.algorithm=none"),
            ("ssl.endpoint.identification.algorithm=HTTPS", "ssl.endpoint.identification.algorithm=https"),
            ("ssl.enabled.protocols=TLSv1.3, TLSv1.2", ""),
        ] {
            assert_eq!(settings(written), given, "{written}");
        }
    }

    #[test]
    fn pem_in_the_file_itself_is_written_as_openssl_reads_it() {
        let given =
            settings(&format!("ssl.truststore.type=PEM\nssl.truststore.certificates={CERTIFICATE} {CERTIFICATE}"));
        let block = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
        assert_eq!(given, format!("ssl.ca.pem={block}{block}"));
        let given = settings(&format!(
            "ssl.keystore.type=PEM\nssl.keystore.key={KEY}\nssl.keystore.certificate.chain={CERTIFICATE}"
        ));
        assert!(given.starts_with("ssl.key.pem=-----BEGIN PRIVATE KEY-----\nQUJD\n"));
        assert!(given.ends_with(&format!("ssl.certificate.pem={block}")));
    }

    #[test]
    fn what_java_refuses_is_refused() {
        for (written, name) in [
            (format!("ssl.truststore.certificates={CERTIFICATE}"), "ssl.truststore.certificates"),
            ("ssl.truststore.type=PEM\nssl.truststore.certificates=hunter2".into(), "ssl.truststore.certificates"),
            (
                format!(
                    "ssl.truststore.type=PEM\nssl.truststore.certificates={CERTIFICATE}\nssl.truststore.location=/a"
                ),
                "ssl.truststore.location",
            ),
            (
                "ssl.truststore.type=PEM\nssl.truststore.location=/a\nssl.truststore.password=hunter2".into(),
                "ssl.truststore.password",
            ),
            ("ssl.truststore.password=hunter2".into(), "ssl.truststore.password"),
            ("ssl.truststore.location=".into(), "ssl.truststore.location"),
            ("ssl.truststore.type=BCFKS\nssl.truststore.location=/a".into(), "ssl.truststore.type"),
            ("ssl.keystore.location=/a".into(), "ssl.keystore.location"),
            ("ssl.keystore.password=hunter2".into(), "ssl.keystore.password"),
            (format!("ssl.keystore.type=PEM\nssl.keystore.key={KEY}"), "ssl.keystore.key"),
            (format!("ssl.keystore.certificate.chain={CERTIFICATE}"), "ssl.keystore.certificate.chain"),
            (
                format!(
                    "ssl.keystore.type=PEM\nssl.keystore.key={KEY}{KEY}\nssl.keystore.certificate.chain={CERTIFICATE}"
                ),
                "ssl.keystore.key",
            ),
            ("ssl.endpoint.identification.algorithm=LDAP".into(), "ssl.endpoint.identification.algorithm"),
            ("ssl.enabled.protocols=TLSv1.3".into(), "ssl.enabled.protocols"),
        ] {
            let refused = refused(&written);
            assert_eq!(refused.name, name, "{written}");
            assert!(!format!("{refused} {}", refused.hint).contains("hunter2"));
        }
    }

    #[test]
    fn without_tls_nothing_of_it_is_looked_at() {
        let written = "security.protocol=SASL_PLAINTEXT\nssl.keystore.location=\nssl.truststore.password=hunter2";
        assert_eq!(settings(written), "security.protocol=SASL_PLAINTEXT");
        assert_eq!(notes(written)[0], "2: `ssl.keystore.location` is not used with security.protocol=SASL_PLAINTEXT");
    }
}
