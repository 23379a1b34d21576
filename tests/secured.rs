//! The secured broker of the tests does what its name says, by clients that are not khost: librdkafka and Kafka's own.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};

use crate::harness::kafka::access::{Operation, Resource};
use crate::harness::kafka::certificates::{Certificates, Identity, STORE_PASSWORD};
use crate::harness::kafka::java;
use crate::harness::kafka::listeners::{ADMIN, ALICE, Listener, ODD, User};
use crate::harness::{Kafka, Project, unique};

/// Keeps what a client complains about, and how its message fared.
#[derive(Default)]
struct Witness {
    errors: Mutex<Vec<String>>,
    delivery: Mutex<Option<Result<(), RDKafkaErrorCode>>>,
}

impl ClientContext for Witness {
    fn error(&self, error: KafkaError, reason: &str) {
        self.errors.lock().unwrap().push(format!("{error}: {reason}"));
    }
}

impl ProducerContext for Witness {
    type DeliveryOpaque = ();
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let result = result.as_ref().map(|_| ()).map_err(|(error, _)| error.rdkafka_error_code().unwrap());
        *self.delivery.lock().unwrap() = Some(result);
    }
}

fn client(address: &str, listener: Listener, settings: &[(&str, &str)]) -> BaseProducer<Witness> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address).set("security.protocol", listener.protocol());
    for (name, value) in settings {
        config.set(*name, *value);
    }
    config.create_with_context(Witness::default()).unwrap()
}

/// Whether a client gets the metadata, or else the first of its errors.
fn connects(address: &str, listener: Listener, settings: &[(&str, &str)]) -> Result<(), String> {
    let client = client(address, listener, settings);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        client.poll(Duration::ZERO);
        if client.client().fetch_metadata(None, Duration::from_millis(50)).is_ok() {
            return Ok(());
        }
        client.poll(Duration::ZERO);
        if let Some(error) = client.context().errors.lock().unwrap().first() {
            return Err(error.clone());
        }
    }
    panic!("neither a connection to {listener:?} nor an error")
}

#[track_caller]
fn refused(address: &str, listener: Listener, settings: &[(&str, &str)], reason: &str) {
    let error = connects(address, listener, settings).expect_err(reason);
    assert!(error.contains(reason), "{reason:?} is not in: {error}");
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn trusting(ca: &str) -> [(&str, &str); 1] {
    [("ssl.ca.location", ca)]
}

fn as_user<'a>(user: &'a User, mechanism: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("sasl.mechanism", mechanism), ("sasl.username", user.name), ("sasl.password", user.password)]
}

/// How one message to the topic fares.
fn delivery(client: &BaseProducer<Witness>, topic: &str) -> Result<(), RDKafkaErrorCode> {
    *client.context().delivery.lock().unwrap() = None;
    client.send(BaseRecord::<(), [u8]>::to(topic).payload(b"x")).map_err(|(error, _)| error).unwrap();
    client.flush(Duration::from_secs(20)).unwrap();
    client.context().delivery.lock().unwrap().take().unwrap()
}

#[test]
fn tls_wants_the_ca_that_signed_the_host() {
    let Some(kafka) = Kafka::secured() else { return };
    let certificates = kafka.certificates();
    let (ca, other) = (shown(&certificates.ca()), shown(&certificates.other_ca()));
    let at = |listener| kafka.at(listener);
    connects(&at(Listener::Tls), Listener::Tls, &trusting(&ca)).unwrap();
    let port = at(Listener::Tls).rsplit_once(':').unwrap().1.to_owned();
    connects(&format!("localhost:{port}"), Listener::Tls, &trusting(&ca)).unwrap();
    refused(&at(Listener::Tls), Listener::Tls, &trusting(&other), "certificate verify failed");
    refused(&at(Listener::Expired), Listener::Expired, &trusting(&ca), "could not be verified");
    refused(&at(Listener::Elsewhere), Listener::Elsewhere, &trusting(&ca), "could not be verified");
    let unnamed = [("ssl.ca.location", ca.as_str()), ("ssl.endpoint.identification.algorithm", "none")];
    connects(&at(Listener::Elsewhere), Listener::Elsewhere, &unnamed).unwrap();
}

#[test]
fn mutual_tls_wants_a_client_of_the_ca() {
    let Some(kafka) = Kafka::secured() else { return };
    let (at, certificates) = (kafka.at(Listener::MutualTls), kafka.certificates());
    let ca = shown(&certificates.ca());
    let connects_as = |Identity { certificate, key, .. }: &Identity| {
        let (certificate, key) = (shown(certificate), shown(key));
        let settings =
            [("ssl.ca.location", &ca), ("ssl.certificate.location", &certificate), ("ssl.key.location", &key)];
        connects(&at, Listener::MutualTls, &settings.map(|(name, value)| (name, value.as_str())))
    };
    connects_as(&certificates.alice()).unwrap();
    let error = connects_as(&certificates.mallory()).expect_err("it is of another CA");
    assert!(error.contains("bad certificate"), "{error}");
    refused(&at, Listener::MutualTls, &[("ssl.ca.location", &ca)], "bad certificate");

    let alice = certificates.alice();
    let (both, encrypted) = (shown(&alice.both), shown(&alice.encrypted_key));
    let mut settings = vec![
        ("ssl.ca.location", ca.as_str()),
        ("ssl.certificate.location", &both),
        ("ssl.key.location", &encrypted),
        ("ssl.key.password", STORE_PASSWORD),
    ];
    connects(&at, Listener::MutualTls, &settings).unwrap();
    let keystore = shown(&certificates.stores().keystore_p12);
    settings.truncate(1);
    settings.extend([("ssl.keystore.location", keystore.as_str()), ("ssl.keystore.password", STORE_PASSWORD)]);
    connects(&at, Listener::MutualTls, &settings).unwrap();
}

#[test]
fn sasl_wants_the_password() {
    let Some(kafka) = Kafka::secured() else { return };
    let ca = shown(&kafka.certificates().ca());
    for user in [ADMIN, ALICE, ODD] {
        let wrong = User { password: "wrong", ..user };
        for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
            let at = kafka.at(Listener::Sasl);
            connects(&at, Listener::Sasl, &as_user(&user, mechanism)).unwrap();
            refused(&at, Listener::Sasl, &as_user(&wrong, mechanism), "Authentication failed");
        }
        for mechanism in ["PLAIN", "SCRAM-SHA-512"] {
            let (at, tls) = (kafka.at(Listener::SaslTls), ("ssl.ca.location", ca.as_str()));
            connects(&at, Listener::SaslTls, &[as_user(&user, mechanism), vec![tls]].concat()).unwrap();
            refused(&at, Listener::SaslTls, &as_user(&user, mechanism), "certificate verify failed");
        }
        let settings = [as_user(&user, "SCRAM-SHA-256"), vec![("ssl.ca.location", ca.as_str())]].concat();
        refused(&kafka.at(Listener::SaslTls), Listener::SaslTls, &settings, "mechanism");
    }
}

#[test]
fn sasl_takes_tokens_that_have_not_expired() {
    let Some(kafka) = Kafka::secured() else { return };
    let bearer = |config| {
        [
            ("sasl.mechanism", "OAUTHBEARER"),
            ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
            ("sasl.oauthbearer.config", config),
        ]
    };
    let at = kafka.at(Listener::Sasl);
    connects(&at, Listener::Sasl, &bearer("principal=alice")).unwrap();
    refused(&at, Listener::Sasl, &bearer("principal=alice principalClaimName=name"), "invalid_token");
}

#[test]
fn a_user_can_be_made_and_given_another_password() {
    let Some(kafka) = Kafka::secured() else { return };
    let (at, name) = (kafka.at(Listener::Sasl), unique("user"));
    let settings =
        |password| [("sasl.mechanism", "SCRAM-SHA-512"), ("sasl.username", &*name), ("sasl.password", password)];
    refused(&at, Listener::Sasl, &settings("first"), "Authentication failed");
    kafka.user(&name, "first");
    connects(&at, Listener::Sasl, &settings("first")).unwrap();
    kafka.user(&name, "second");
    refused(&at, Listener::Sasl, &settings("first"), "Authentication failed");
    connects(&at, Listener::Sasl, &settings("second")).unwrap();
}

#[test]
fn an_acl_is_in_force_as_soon_as_it_is_given_and_until_it_is_revoked() {
    let Some(kafka) = Kafka::secured() else { return };
    let topic = kafka.topic("guarded").create();
    let certificates = kafka.certificates();
    let (ca, alice) = (shown(&certificates.ca()), certificates.alice());
    let (certificate, key) = (shown(&alice.certificate), shown(&alice.key));
    let by_certificate =
        [("ssl.ca.location", ca.as_str()), ("ssl.certificate.location", &certificate), ("ssl.key.location", &key)];
    let clients = [
        ("User:alice", Listener::Sasl, as_user(&ALICE, "PLAIN")),
        (Certificates::ALICE, Listener::MutualTls, by_certificate.to_vec()),
    ];
    for (principal, listener, settings) in clients {
        let refused = Err(RDKafkaErrorCode::TopicAuthorizationFailed);
        for resource in [Resource::Topic(&topic.name), Resource::Topics("guarded-")] {
            let try_once = || delivery(&client(&kafka.at(listener), listener, &settings), &topic.name);
            assert_eq!(try_once(), refused, "{principal} before");
            kafka.allow(principal, Operation::Write, resource);
            assert_eq!(try_once(), Ok(()), "{principal} with the ACL");
            let connected = client(&kafka.at(listener), listener, &settings);
            assert_eq!(delivery(&connected, &topic.name), Ok(()));
            kafka.revoke(principal, Operation::Write, resource);
            assert_eq!(delivery(&connected, &topic.name), refused, "{principal}, connected, afterwards");
            assert_eq!(try_once(), refused, "{principal} afterwards");
        }
    }
    assert_eq!(topic.count(), 8);
}

#[test]
fn everything_that_an_acl_is_about_can_be_given_and_revoked() {
    let Some(kafka) = Kafka::secured() else { return };
    let pairs = [
        (Operation::Read, Resource::Group("g")),
        (Operation::Read, Resource::Topic("t")),
        (Operation::Describe, Resource::Topic("t")),
        (Operation::Create, Resource::Cluster),
        (Operation::IdempotentWrite, Resource::Cluster),
    ];
    for (operation, resource) in pairs {
        kafka.allow("User:nobody", operation, resource);
        kafka.revoke("User:nobody", operation, resource);
    }
}

#[test]
fn kafkas_own_client_says_whether_it_connects() {
    let Some(kafka) = Kafka::secured() else { return };
    let limits = "default.api.timeout.ms=5000\nrequest.timeout.ms=4000\n";
    let project = Project::new();
    let stores = kafka.certificates().stores();
    let with_store = |kind: &str, store: &Path| {
        format!(
            "security.protocol=SSL\nssl.truststore.type={kind}\nssl.truststore.location={}\n\
             ssl.truststore.password={STORE_PASSWORD}\n{limits}",
            store.display()
        )
    };
    let other_ca = format!(
        "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={}\n{limits}",
        kafka.certificates().other_ca().display()
    );
    let keystore = format!(
        "{}ssl.keystore.type=PKCS12\nssl.keystore.location={}\nssl.keystore.password={STORE_PASSWORD}\n",
        with_store("PKCS12", &stores.truststore_p12),
        stores.keystore_p12.display()
    );
    let cases = [
        (Listener::Tls, with_store("PKCS12", &stores.truststore_p12), Ok(())),
        (Listener::Tls, with_store("JKS", &stores.truststore_jks), Ok(())),
        (Listener::Tls, other_ca, Err("unable to find valid certification path")),
        (Listener::Expired, with_store("PKCS12", &stores.truststore_p12), Err("NotAfter")),
        (
            Listener::Elsewhere,
            with_store("PKCS12", &stores.truststore_p12),
            Err("No subject alternative names matching"),
        ),
        (Listener::MutualTls, keystore, Ok(())),
        (Listener::MutualTls, with_store("PKCS12", &stores.truststore_p12), Err("certificate")),
    ];
    for (listener, text, wanted) in cases {
        let path = project.path("client.properties");
        fs::write(&path, text).unwrap();
        let Some(output) = kafka.java_connects(&kafka.at(listener), &path) else { return };
        match wanted {
            Ok(()) => output.exits(0),
            Err(reason) => output.exits(1).tells(reason),
        }
        .within(Duration::from_secs(20));
    }
}

#[test]
fn javas_own_reading_of_properties_is_told_in_full() {
    let project = Project::new()
        .file("odd.properties", b"b = x\\u00e9y \n a:1=2\\\n   3\n! c=d\n\xe9\\ =\nb=last\ttab\\n")
        .file("broken.properties", "x=\\u12\n")
        .file("empty.properties", "");
    let files = ["odd.properties", "broken.properties", "empty.properties"].map(|name| project.path(name));
    let Some(read) = java::properties(&files) else { return };
    let pairs = [("a", "1=23"), ("b", "last\ttab\n"), ("é ", "")];
    assert_eq!(read[0], Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()));
    assert!(read[1].as_ref().is_err_and(|error| error.contains("Malformed")), "{:?}", read[1]);
    assert_eq!(read[2], Ok(Vec::new()));
}
