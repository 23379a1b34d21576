//! The certificates of a secured broker and its clients, in a folder of files as people have them.
//!
//! Every certificate but `other-ca` and `mallory` is signed by `ca`. Keys are elliptic (P-256) in PKCS#8.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use openssl::nid::Nid;
use openssl::pkcs12::Pkcs12;
use openssl::pkey::PKey;
use openssl::x509::X509;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// What opens every keystore, truststore and encrypted key here.
pub(crate) const STORE_PASSWORD: &str = "store secret";

/// The folder is its broker's, and goes with it.
pub(crate) struct Certificates {
    folder: PathBuf,
    keytool: PathBuf,
    stores: OnceLock<Stores>,
}

/// Java's stores, under [`STORE_PASSWORD`]. In the truststores is the CA, in the keystore Alice.
pub(crate) struct Stores {
    pub(crate) truststore_p12: PathBuf,
    pub(crate) truststore_jks: PathBuf,
    pub(crate) keystore_p12: PathBuf,
}

/// A certificate and its private key.
pub(crate) struct Identity {
    /// PEM.
    pub(crate) certificate: PathBuf,
    /// PEM, PKCS#8.
    pub(crate) key: PathBuf,
    /// PEM, PKCS#8, under [`STORE_PASSWORD`].
    pub(crate) encrypted_key: PathBuf,
    /// Key and certificate, as `ssl.keystore.type=PEM` wants them.
    pub(crate) both: PathBuf,
    /// The same with the encrypted key.
    pub(crate) both_encrypted: PathBuf,
}

impl Certificates {
    /// Whom ACLs call the holder of [`Certificates::alice`].
    pub(crate) const ALICE: &str = "User:CN=alice,O=khost";

    /// Fills a new folder.
    pub(super) fn make(folder: &Path, java: &Path) -> Certificates {
        fs::create_dir(folder).expect("the parent folder is ours");
        let keytool = java.with_file_name("keytool");
        let certificates = Certificates { folder: folder.into(), keytool, stores: OnceLock::new() };
        let ca = authority("khost test CA");
        let other = authority("another CA");
        certificates.write("ca.pem", &ca.pem());
        certificates.write("other-ca.pem", &other.pem());
        let server = ["127.0.0.1", "localhost"];
        certificates.sign("server", &ca, &leaf("broker", &server));
        certificates.sign("elsewhere", &ca, &leaf("elsewhere", &["kafka.elsewhere.test"]));
        let mut expired = leaf("broker", &server);
        expired.not_after = date_time_ymd(2001, 1, 1);
        certificates.sign("expired", &ca, &expired);
        certificates.sign("alice", &ca, &leaf("alice", &[]));
        certificates.sign("mallory", &other, &leaf("alice", &[]));
        certificates
    }

    /// Who signed what the brokers and Alice have.
    pub(crate) fn ca(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// Who signed nothing that a broker has.
    pub(crate) fn other_ca(&self) -> PathBuf {
        self.file("other-ca.pem")
    }

    /// A client that brokers trust.
    pub(crate) fn alice(&self) -> Identity {
        self.identity("alice")
    }

    /// A client of the same name as Alice, by the other CA.
    pub(crate) fn mallory(&self) -> Identity {
        self.identity("mallory")
    }

    /// The server's own, and no client's.
    pub(super) fn server(&self) -> Identity {
        self.identity("server")
    }

    pub(super) fn elsewhere(&self) -> Identity {
        self.identity("elsewhere")
    }

    pub(super) fn expired(&self) -> Identity {
        self.identity("expired")
    }

    /// Made when first asked for, with Java's keytool.
    pub(crate) fn stores(&self) -> &Stores {
        self.stores.get_or_init(|| {
            let stores = Stores {
                truststore_p12: self.file("truststore.p12"),
                truststore_jks: self.file("truststore.jks"),
                keystore_p12: self.file("alice.p12"),
            };
            self.import_ca("PKCS12", &stores.truststore_p12);
            self.import_ca("JKS", &stores.truststore_jks);
            self.import_alice(&stores.keystore_p12);
            stores
        })
    }

    fn import_ca(&self, kind: &str, store: &Path) {
        let mut keytool = Command::new(&self.keytool);
        keytool.args(["-importcert", "-noprompt", "-alias", "ca", "-storepass", STORE_PASSWORD, "-storetype", kind]);
        run(keytool.arg("-file").arg(self.ca()).arg("-keystore").arg(store));
    }

    /// keytool can't read a key in PEM, but a store that OpenSSL made.
    fn import_alice(&self, store: &Path) {
        let read = |path: &Path| fs::read(path).expect("it was written");
        let alice = self.alice();
        let key = PKey::private_key_from_pem(&read(&alice.key)).expect("a key");
        let certificate = X509::from_pem(&read(&alice.certificate)).expect("a certificate");
        let made = Pkcs12::builder().name("alice").pkey(&key).cert(&certificate).build2(STORE_PASSWORD);
        let by_openssl = self.file("alice.openssl.p12");
        fs::write(&by_openssl, made.and_then(|store| store.to_der()).expect("a store")).expect("the folder is ours");
        let mut keytool = Command::new(&self.keytool);
        keytool.args(["-importkeystore", "-noprompt", "-srcstoretype", "PKCS12", "-deststoretype", "PKCS12"]);
        keytool.args(["-srcstorepass", STORE_PASSWORD, "-deststorepass", STORE_PASSWORD]);
        run(keytool.arg("-srckeystore").arg(by_openssl).arg("-destkeystore").arg(store));
    }

    fn identity(&self, name: &str) -> Identity {
        let file = |ending: &str| self.file(&format!("{name}{ending}"));
        Identity {
            certificate: file(".crt"),
            key: file(".key"),
            encrypted_key: file(".encrypted.key"),
            both: file(".pem"),
            both_encrypted: file(".encrypted.pem"),
        }
    }

    fn sign(&self, name: &str, issuer: &CertifiedIssuer<'_, KeyPair>, params: &CertificateParams) {
        let key = KeyPair::generate().expect("P-256 is there");
        let certificate = params.signed_by(&key, issuer).expect("what we ask for can be signed").pem();
        let pem = key.serialize_pem();
        self.write(&format!("{name}.crt"), &certificate);
        self.write(&format!("{name}.key"), &pem);
        let encrypted = encrypted(&pem);
        self.write(&format!("{name}.encrypted.key"), &encrypted);
        self.write(&format!("{name}.pem"), &(pem + &certificate));
        self.write(&format!("{name}.encrypted.pem"), &(encrypted + &certificate));
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).expect("the folder is ours");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// With Triple DES, as Java 17 reads nothing newer here. The binding of OpenSSL encrypts a key like that in PKCS#12 only: it
/// stands there after the name of its bag, within one more tag.
fn encrypted(key: &str) -> String {
    const SHROUDED_KEY_BAG: &[u8] = b"\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x02";
    let key = PKey::private_key_from_pem(key.as_bytes()).expect("a key");
    let mut builder = Pkcs12::builder();
    builder.pkey(&key).key_algorithm(Nid::PBE_WITHSHA1AND3_KEY_TRIPLEDES_CBC);
    let store = builder.build2(STORE_PASSWORD).and_then(|store| store.to_der()).expect("a store");
    let bag = store.windows(SHROUDED_KEY_BAG.len()).position(|part| part == SHROUDED_KEY_BAG).expect("a bag");
    let tagged = &store[bag + SHROUDED_KEY_BAG.len()..];
    let (begin, length) = der_header(tagged);
    let letters = BASE64_STANDARD.encode(&tagged[begin..begin + length]);
    let lines: Vec<&str> = letters.as_bytes().chunks(64).map(|line| str::from_utf8(line).expect("ASCII")).collect();
    format!("-----BEGIN ENCRYPTED PRIVATE KEY-----\n{}\n-----END ENCRYPTED PRIVATE KEY-----\n", lines.join("\n"))
}

/// Where the value begins that the first tag is about, and how long it is.
fn der_header(der: &[u8]) -> (usize, usize) {
    match der[1] {
        length @ ..=0x7f => (2, length.into()),
        0x81 => (3, der[2].into()),
        _ => (4, usize::from(u16::from_be_bytes([der[2], der[3]]))),
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stdout));
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = valid(name, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().expect("P-256 is there");
    CertifiedIssuer::self_signed(params, key).expect("what we ask for can be signed")
}

fn leaf(name: &str, hosts: &[&str]) -> CertificateParams {
    let mut params = valid(name, hosts);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params
}

/// From 2000 to 2100. Java shows the last part of a name first.
fn valid(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("hosts of ASCII");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "khost");
    params.distinguished_name.push(DnType::CommonName, name);
    (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(2100, 1, 1));
    params
}
