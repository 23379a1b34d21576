//! TLS and SASL: khost connects with what Java's client connects with; what is wrong is named, soon, and not tried over and
//! over.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::harness::forwarder::Forwarder;
use crate::harness::guests::{manifest, producer};
use crate::harness::kafka::access::{Operation, Resource};
use crate::harness::kafka::certificates::{Certificates, STORE_PASSWORD};
use crate::harness::kafka::client::Client;
use crate::harness::kafka::listeners::{ALICE, Listener, ODD, User};
use crate::harness::kafka::secured::Secured;
use crate::harness::khost::Khost;
use crate::harness::{Kafka, Output, Project, tokens};

const SOON: Duration = Duration::from_secs(5);
/// Connections that one failure may cost: to fail, and to find out why. An account is locked after more.
const A_HANDFUL: usize = 5;
const WRONG: User = User { password: "wrong", ..ALICE };

const TRUST_TYPE: &str = "ssl.truststore.type";
const TRUST_FILE: &str = "ssl.truststore.location";
const TRUST_PASSWORD: &str = "ssl.truststore.password";
const TRUST_PEM: &str = "ssl.truststore.certificates";
const KEY_TYPE: &str = "ssl.keystore.type";
const KEY_FILE: &str = "ssl.keystore.location";
const KEY_PASSWORD: &str = "ssl.keystore.password";
const KEY_PEM: &str = "ssl.keystore.key";
const CHAIN_PEM: &str = "ssl.keystore.certificate.chain";
const KEYS_OWN_PASSWORD: &str = "ssl.key.password";
const HOST_CHECK: &str = "ssl.endpoint.identification.algorithm";

/// Name and value, by librdkafka's names.
type Setting<'a> = (&'a str, &'a str);

/// A properties file, where it leads, and how it fares.
struct Row {
    name: &'static str,
    listener: Listener,
    client: Client,
    /// What Java's client says, unless it connects.
    java: Option<&'static str>,
    /// khost's exit code and words, unless it connects.
    khost: Option<(i32, &'static [&'static str])>,
}

impl Row {
    fn connects(name: &'static str, listener: Listener, client: Client) -> Row {
        Row { name, listener, client, java: None, khost: None }
    }

    fn fails(self, java: &'static str, code: i32, words: &'static [&'static str]) -> Row {
        Row { java: Some(java), khost: Some((code, words)), ..self }
    }

    fn file(&self) -> String {
        format!("{}.properties", self.name)
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn rows(certificates: &Certificates) -> Vec<Row> {
    use Listener::{Elsewhere, Expired, MutualTls, Sasl, SaslTls, Tls};
    let (alice, stores) = (certificates.alice(), certificates.stores());
    let to = |listener| Client::for_listener(listener, certificates);
    let p12 = |client: Client| {
        client
            .with(TRUST_TYPE, "PKCS12")
            .with(TRUST_FILE, stores.truststore_p12.display())
            .with(TRUST_PASSWORD, STORE_PASSWORD)
    };
    let mutual = to(MutualTls).with(KEY_TYPE, "PEM");
    let inline = mutual.clone().with(CHAIN_PEM, text(&alice.certificate)).with(KEY_PEM, text(&alice.key));
    let encrypted = inline.clone().with(KEY_PEM, text(&alice.encrypted_key));
    let one_encrypted = mutual.clone().with(KEY_FILE, alice.both_encrypted.display());
    let keystore = mutual.clone().with(KEY_TYPE, "PKCS12").with(KEY_FILE, stores.keystore_p12.display());
    let row = Row::connects;
    vec![
        row("tls-pem", Tls, to(Tls)),
        row(
            "tls-pem-in-one-line",
            Tls,
            to(Tls).without(TRUST_FILE).with(TRUST_PEM, text(&certificates.ca()).replace('\n', " ")),
        ),
        row("tls-pkcs12", Tls, p12(to(Tls))),
        row("tls-pkcs12-of-no-type", Tls, p12(to(Tls)).without(TRUST_TYPE)),
        row("tls-no-host-check", Elsewhere, to(Elsewhere).with(HOST_CHECK, "")),
        row("mutual-pem", MutualTls, mutual.clone().with(KEY_FILE, alice.both.display())),
        row("mutual-pem-encrypted", MutualTls, one_encrypted.clone().with(KEYS_OWN_PASSWORD, STORE_PASSWORD)),
        row("mutual-pem-inline", MutualTls, inline),
        row("mutual-pem-inline-encrypted", MutualTls, encrypted.clone().with(KEYS_OWN_PASSWORD, STORE_PASSWORD)),
        row("mutual-pkcs12", MutualTls, p12(keystore.clone().with(KEY_PASSWORD, STORE_PASSWORD))),
        row("plain", Sasl, to(Sasl).log_in("PLAIN", ALICE)),
        row("plain-odd", Sasl, to(Sasl).log_in("PLAIN", ODD)),
        row("plain-with-tls-odd", SaslTls, to(SaslTls).log_in("PLAIN", ODD)),
        row("scram-sha-256", Sasl, to(Sasl).log_in("SCRAM-SHA-256", ALICE)),
        row("scram-sha-256-odd", Sasl, to(Sasl).log_in("SCRAM-SHA-256", ODD)),
        row("scram-sha-512-with-tls", SaslTls, p12(to(SaslTls)).log_in("SCRAM-SHA-512", ALICE)),
        row("scram-sha-512-with-tls-odd", SaslTls, to(SaslTls).log_in("SCRAM-SHA-512", ODD)),
        row("lower-case", SaslTls, to(SaslTls).with("security.protocol", "sasl_ssl").log_in("PLAIN", ALICE)),
        row("idle-tls", Sasl, to(Sasl).log_in("PLAIN", ALICE).with(TRUST_FILE, "/nowhere").with(TRUST_TYPE, "?")),
        row("wrong-ca", Tls, to(Tls).with(TRUST_FILE, certificates.other_ca().display())).fails(
            "unable to find valid certification path",
            3,
            &["khost test CA", "does not trust"],
        ),
        row("cas-of-the-system", Tls, Client::of("SSL")).fails(
            "unable to find valid certification path",
            3,
            &["khost test CA", "does not trust"],
        ),
        row("wrong-host", Elsewhere, to(Elsewhere)).fails(
            "No subject alternative names matching",
            3,
            &["kafka.elsewhere.test", "not for this host"],
        ),
        row("expired", Expired, to(Expired)).fails("NotAfter", 3, &["expired", "2001"]),
        row("no-certificate", MutualTls, to(MutualTls)).fails("certificate", 3, &["wants a client certificate"]),
        row("certificate-of-another-ca", MutualTls, mutual.with(KEY_FILE, certificates.mallory().both.display()))
            .fails("certificate", 3, &["does not accept our client certificate"]),
        row("wrong-password", Sasl, to(Sasl).log_in("SCRAM-SHA-512", WRONG)).fails(
            "invalid credentials",
            3,
            &["User:alice", "SCRAM-SHA-512"],
        ),
        row("wrong-mechanism", SaslTls, to(SaslTls).log_in("SCRAM-SHA-256", ALICE)).fails(
            "mechanism",
            3,
            &["does not take SCRAM-SHA-256", "PLAIN, SCRAM-SHA-512"],
        ),
        row("pem-of-no-type", Tls, to(Tls).without(TRUST_TYPE)).fails("keystore", 2, &["ssl.truststore.type=PEM"]),
        row("wrong-store-password", Tls, p12(to(Tls)).with(TRUST_PASSWORD, "wrong")).fails(
            "password",
            2,
            &["truststore.p12", TRUST_PASSWORD],
        ),
        row("wrong-keystore-password", MutualTls, keystore.clone().with(KEY_PASSWORD, "wrong")).fails(
            "password",
            2,
            &["alice.p12", KEY_PASSWORD],
        ),
        row("no-keystore-password", MutualTls, keystore).fails("password", 2, &[KEY_PASSWORD]),
        row("no-key-password", MutualTls, one_encrypted).fails("PEM", 2, &[KEYS_OWN_PASSWORD, "encrypted"]),
        row("wrong-key-password", MutualTls, encrypted.with(KEYS_OWN_PASSWORD, "wrong")).fails(
            "PEM",
            2,
            &[KEYS_OWN_PASSWORD],
        ),
        Row {
            khost: Some((2, &["truststore.jks", "keytool -importkeystore", "PKCS12"])),
            ..row("jks", Tls, p12(to(Tls)).with(TRUST_TYPE, "JKS").with(TRUST_FILE, stores.truststore_jks.display()))
        },
    ]
}

#[test]
fn a_properties_file_connects_or_fails_as_with_javas_client() {
    /// JVMs at a time.
    const AT_ONCE: usize = 4;
    let Some(kafka) = Kafka::secured() else { return };
    let kafka: &Secured = &kafka;
    let rows = rows(kafka.certificates());
    let project = rows.iter().fold(Project::new(), |project, row| {
        let client = row.client.clone().with("bootstrap.servers", kafka.at(row.listener));
        project.file(&row.file(), client.text())
    });
    for rows in rows.chunks(AT_ONCE) {
        let by_java: Vec<Option<Output>> = thread::scope(|scope| {
            let start = |row: &Row| {
                let (address, file) = (kafka.at(row.listener), project.path(&row.file()));
                scope.spawn(move || kafka.java_connects(&address, &file))
            };
            let started: Vec<_> = rows.iter().map(start).collect();
            started.into_iter().map(|tool| tool.join().unwrap()).collect()
        });
        for (row, by_java) in rows.iter().zip(by_java) {
            if let Some(output) = by_java {
                match row.java {
                    Some(words) => output.exits(1).tells(words),
                    None => output.exits(0),
                };
            }
            let output = project.khost(&["check", "--kafka-config", &row.file()]).output();
            match row.khost {
                Some((code, words)) => output.exits(code).within(SOON).explains(words),
                None => output.exits(0).prints("fit: a load may begin"),
            };
        }
    }
}

/// With settings, and with a password in the environment.
fn with(khost: Khost, settings: &[Setting<'_>]) -> Khost {
    settings.iter().fold(khost, |khost, (name, value)| match *name {
        "sasl.password" => khost.env("KHOST_KAFKA_SASL_PASSWORD", value),
        _ => khost.kafka(name, value),
    })
}

#[test]
fn what_stands_between_khost_and_a_broker_is_named_after_a_handful_of_tries() {
    let Some(kafka) = Kafka::secured() else { return };
    let certificates = kafka.certificates();
    let shown = |path: &Path| path.display().to_string();
    let (ca, other) = (shown(&certificates.ca()), shown(&certificates.other_ca()));
    let mallory = certificates.mallory();
    let (certificate, key) = (shown(&mallory.certificate), shown(&mallory.key));
    let tls = |ca| vec![("security.protocol", "ssl"), ("ssl.ca.location", ca)];
    let sasl = |mechanism, user: User| {
        vec![
            ("security.protocol", "sasl_plaintext"),
            ("sasl.mechanism", mechanism),
            ("sasl.username", user.name),
            ("sasl.password", user.password),
        ]
    };
    let both = |mechanism, user| {
        let mut settings = sasl(mechanism, user);
        settings[0] = ("security.protocol", "sasl_ssl");
        settings.push(("ssl.ca.location", ca.as_str()));
        settings
    };
    let foreign = [tls(&ca), vec![("ssl.certificate.location", &certificate), ("ssl.key.location", &key)]].concat();
    let nobody = User { name: "nobody", password: "x" };
    let plain = kafka.bootstrap();
    let [tls_port, mutual, elsewhere, expired, sasl_port, both_port] =
        [Listener::Tls, Listener::MutualTls, Listener::Elsewhere, Listener::Expired, Listener::Sasl, Listener::SaslTls]
            .map(|listener| kafka.at(listener));
    type Failing<'a> = (&'a str, Vec<Setting<'a>>, &'a [&'a str]);
    let certificates: Vec<Failing<'_>> = vec![
        (&tls_port, tls(&other), &["khost test CA", "trust", "ssl.ca.location"]),
        (&tls_port, vec![("security.protocol", "ssl")], &["khost test CA", "trust", "ssl.ca.location"]),
        (&elsewhere, tls(&ca), &["kafka.elsewhere.test", "not for this host", "advertised.listeners"]),
        (&expired, tls(&ca), &["expired", "2001", "renew", "clock"]),
        (&mutual, tls(&ca), &["wants a client certificate", "ssl.certificate.location", "ssl.keystore.location"]),
        (&mutual, foreign, &["client certificate", "CN=alice,O=khost", "truststore"]),
    ];
    let credentials: Vec<Failing<'_>> = vec![
        (&sasl_port, sasl("PLAIN", WRONG), &["User:alice", "PLAIN", "password"]),
        (&sasl_port, sasl("SCRAM-SHA-256", WRONG), &["User:alice", "SCRAM-SHA-256", "password"]),
        (&both_port, both("SCRAM-SHA-512", WRONG), &["User:alice", "SCRAM-SHA-512", "password"]),
        (&sasl_port, sasl("PLAIN", nobody), &["User:nobody", "sasl.username"]),
        (&sasl_port, sasl("SCRAM-SHA-512", nobody), &["User:nobody", "sasl.username"]),
        (&both_port, both("SCRAM-SHA-256", ALICE), &["SCRAM-SHA-256", "PLAIN, SCRAM-SHA-512", "sasl.mechanism="]),
    ];
    let protocols: Vec<Failing<'_>> = vec![
        (&tls_port, vec![], &["speaks TLS", "security.protocol=ssl"]),
        (&both_port, vec![], &["speaks TLS", "sasl_ssl"]),
        (&both_port, sasl("PLAIN", ALICE), &["speaks TLS", "sasl_ssl"]),
        (&sasl_port, vec![], &["log in", "SCRAM-SHA-512", "sasl_plaintext"]),
        (&both_port, tls(&ca), &["log in", "SCRAM-SHA-512", "sasl_ssl"]),
        (plain, tls(&ca), &["does not speak TLS", "security.protocol=plaintext"]),
        (&sasl_port, tls(&ca), &["does not speak TLS", "security.protocol=sasl_plaintext"]),
        (&sasl_port, both("PLAIN", ALICE), &["does not speak TLS", "security.protocol=sasl_plaintext"]),
        (plain, both("PLAIN", ALICE), &["does not speak TLS", "security.protocol=plaintext"]),
        (plain, sasl("PLAIN", ALICE), &["no SASL", "security.protocol=plaintext"]),
        (&tls_port, sasl("PLAIN", ALICE), &["speaks TLS"]),
        (&tls_port, both("PLAIN", ALICE), &["no SASL", "security.protocol=ssl"]),
    ];
    let project = Project::of(&producer(1), &manifest("none", "", "iterations = 3"));
    for rows in [certificates, credentials, protocols] {
        for (at, (target, settings, words)) in rows.iter().enumerate() {
            let forwarder = Forwarder::to(target);
            let fails = |khost: Khost| {
                let output = with(khost.args(["--brokers", &forwarder.address]), settings).output();
                output.exits(3).within(SOON).explains(words).explains(&[&forwarder.address]);
                let tries = forwarder.accepted();
                output.check((1..=A_HANDFUL).contains(&tries), &format!("a handful of connections, not {tries}"));
            };
            fails(project.khost(&["check"]));
            if at == 0 {
                fails(project.run());
            }
        }
    }
}

#[test]
fn a_token_that_is_none_is_named() {
    let Some(kafka) = Kafka::secured() else { return };
    let project = Project::new()
        .file("expired.jwt", tokens::unsigned("alice", -60))
        .file("nobodys.jwt", tokens::unsigned("", 600))
        .file("opaque", "opaque");
    let forwarder = Forwarder::to(&kafka.at(Listener::Sasl));
    let check = |settings: &[Setting<'_>]| {
        let bearer = [("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "OAUTHBEARER")];
        let khost = project.khost(&["check", "--brokers", &forwarder.address]);
        with(khost, &[&bearer, settings].concat()).output()
    };
    let (file, command) = ("sasl.oauthbearer.token.file", "sasl.oauthbearer.token.command");
    let rows: [(&[Setting<'_>], i32, &[&str]); 6] = [
        (&[(file, "expired.jwt")], 3, &["expired.jwt", "expired at", "get a new one"]),
        (&[(command, "cat expired.jwt")], 3, &["the token command", "expired at", "get a new one"]),
        (&[(file, "missing.jwt")], 2, &["missing.jwt", "path"]),
        (&[(command, "echo denied >&2; exit 7")], 3, &["the token command", "7", "denied", "sh -c"]),
        (&[(command, "true")], 3, &["the token command", "empty"]),
        (&[], 2, &["needs a token", file, command]),
    ];
    for (settings, code, words) in rows {
        check(settings).exits(code).within(SOON).explains(words);
    }
    assert_eq!(forwarder.accepted(), 0, "no broker is asked");
    // What only a broker can tell. Neither says whose it is.
    for path in ["nobodys.jwt", "opaque"] {
        let output = check(&[(file, path)]);
        output.exits(3).within(SOON).explains(&[&forwarder.address, "OAUTHBEARER", "invalid_token", "signed by"]);
        output
            .says_not("User:khost")
            .check((1..=A_HANDFUL).contains(&forwarder.accepted()), "a handful of connections");
    }
}

#[test]
fn a_load_gets_through_as_who_it_is_and_needs_no_right_but_to_write() {
    let Some(kafka) = Kafka::secured() else { return };
    let certificates = kafka.certificates();
    let alice = certificates.alice();
    let [ca, certificate, key] =
        [certificates.ca(), alice.certificate, alice.key].map(|path| path.display().to_string());
    let with_certificate = [
        ("security.protocol", "ssl"),
        ("ssl.ca.location", &ca),
        ("ssl.certificate.location", &certificate),
        ("ssl.key.location", &key),
    ];
    let with_password = [
        ("security.protocol", "sasl_ssl"),
        ("ssl.ca.location", &ca),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.username", ALICE.name),
        ("sasl.password", ALICE.password),
    ];
    let with_token =
        |(name, value)| [("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "OAUTHBEARER"), (name, value)];
    let from_file = with_token(("sasl.oauthbearer.token.file", "alice.jwt"));
    let from_command = with_token(("sasl.oauthbearer.token.command", "cat alice.jwt"));
    type Way<'a> = (Listener, &'a [Setting<'a>], &'a str, Option<&'a str>, Option<&'a str>);
    let ways: [Way<'_>; 4] = [
        (Listener::MutualTls, &with_certificate, Certificates::ALICE, Some("TLSv1.3"), None),
        (Listener::SaslTls, &with_password, "User:alice", Some("TLSv1.3"), Some("SCRAM-SHA-512")),
        (Listener::Sasl, &from_file, "User:alice", None, Some("OAUTHBEARER")),
        (Listener::Sasl, &from_command, "User:alice", None, Some("OAUTHBEARER")),
    ];
    for (listener, settings, principal, tls, mechanism) in ways {
        let topic = kafka.topic("secured").create();
        kafka.allow(principal, Operation::Write, Resource::Topic(&topic.name));
        let project =
            Project::of(&producer(1), &manifest(&topic.name, "threads = 2\nclients = 2", "iterations = 2000"))
                .file("alice.jwt", tokens::unsigned("alice", 600));
        let run = project.run().args(["--brokers", &kafka.at(listener)]).json();
        let output = with(run, settings).output();
        let result = output.exits(0).result();
        assert_eq!((result.acknowledged(), result.failed(), topic.count()), (2000, 0, 2000), "{output}");
        let told = ["protocol", "tls", "mechanism", "principal"].map(|field| result.security(field));
        let protocol = listener.protocol().to_lowercase();
        let wanted = [Some(protocol.as_str()), tls, mechanism, Some(principal)].map(|text| text.map(str::to_owned));
        assert_eq!(told, wanted, "{output}");
    }
}
