//! No password, key or token that is given to khost is in anything that it says, wherever it was given and whatever comes of
//! it.

use crate::harness::guests::{manifest, producer};
use crate::harness::kafka::access::{Operation, Resource};
use crate::harness::kafka::listeners::Listener;
use crate::harness::khost::Khost;
use crate::harness::{Kafka, Output, Project};

/// Every secret of these tests has this in it, in letters of either case, and nothing else has.
const MARK: &str = "geheim";
const LOGIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\"";
const KEY: &str = "-----BEGIN PRIVATE KEY-----\\nMIIEgeheim4711\\n-----END PRIVATE KEY-----";
const CHAIN: &str = "-----BEGIN CERTIFICATE-----\\nMIID\\n-----END CERTIFICATE-----";

/// A way to give khost a secret, and the setting under which a plan shows that it has one.
struct Place {
    what: String,
    files: Vec<(&'static str, String)>,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    masked: &'static str,
}

impl Place {
    fn new(masked: &'static str, what: &str) -> Place {
        Place { what: what.into(), files: Vec::new(), arguments: Vec::new(), environment: Vec::new(), masked }
    }

    /// A `client.properties` of this text.
    fn properties(masked: &'static str, text: &str) -> Place {
        Place::new(masked, text).file("client.properties", text).arguments(&["--kafka-config", "client.properties"])
    }

    /// A profile of this text.
    fn profile(masked: &'static str, text: &str) -> Place {
        Place::new(masked, text).file("profile.toml", text).arguments(&["--profile", "profile.toml"])
    }

    fn typed(masked: &'static str, arguments: &[&str]) -> Place {
        Place::new(masked, &arguments.join(" ")).arguments(arguments)
    }

    fn variable(masked: &'static str, name: &'static str, value: &str) -> Place {
        let place = Place::new(masked, name);
        Place { environment: vec![(name, value.into())], ..place }
    }

    fn file(mut self, name: &'static str, text: &str) -> Place {
        self.files.push((name, text.into()));
        self
    }

    fn arguments(mut self, arguments: &[&str]) -> Place {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// Shows all that khost says with it to `look`, for each of these commands.
    fn each(&self, manifest: &str, commands: &[&[&str]], mut look: impl FnMut(&[&str], &Output)) {
        let project = Project::of(&producer(1), manifest);
        let project = self.files.iter().fold(project, |project, (name, text)| project.file(name, text));
        for command in commands {
            let khost: Khost = project.khost(command).args(&self.arguments);
            let khost = self.environment.iter().fold(khost, |khost, (name, value)| khost.env(name, value));
            look(command, &khost.output());
        }
    }
}

/// What may fail is collected, so that one look shows all that is said.
#[derive(Default)]
struct Told(Vec<String>);

impl Told {
    fn look(&mut self, place: &Place, code: i32, output: &Output) {
        let lines = output.stdout.lines().chain(output.stderr.lines());
        let told: Vec<&str> = lines.filter(|line| line.to_lowercase().contains(MARK)).collect();
        if !told.is_empty() {
            self.0.push(format!("{:?}\n  {}\n  {}", place.what, output.command, told.join("\n  ")));
        }
        if output.code != Some(code) {
            self.0.push(format!("{:?}\nwanted: exit code {code}\n{output}", place.what));
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

/// As good as any other on a cluster without security.
fn places_that_are_taken() -> Vec<Place> {
    let tls = |lines: &str| format!("security.protocol=PLAINTEXT\n{lines}");
    let jaas = |options: &str| format!("sasl.mechanism=PLAIN\nsasl.jaas.config={LOGIN} {options}\n");
    let pem = format!("ssl.keystore.type=PEM\nssl.keystore.key={KEY}\nssl.keystore.certificate.chain={CHAIN}\n");
    vec![
        Place::properties("sasl.password", "sasl.username=a\nsasl.password=Geheim4711\n"),
        Place::properties("sasl.password", "sasl.pass\\\n  word : Geh\\\n  eim4711"),
        Place::properties("sasl.password", "s\\u0061sl.p\\u0061ssword=\\u0047eheim\\u0034711\\"),
        Place::properties("sasl.password", &jaas("password=\"geheim;4711\";")),
        Place::properties("sasl.password", &jaas("\\\n  pass\\\n  word='geh\\\n   eim4711';")),
        Place::properties("ssl.key.password", "ssl.key.password=geheim4711\n"),
        Place::properties("ssl.keystore.password", "ssl.keystore.location=k.p12\nssl.keystore.password=geheim4711\n"),
        Place::properties(
            "ssl.truststore.password",
            "ssl.truststore.location=t.p12\nssl.truststore.password=geheim4711\n",
        ),
        Place::properties("ssl.key.pem", &pem),
        Place::properties(
            "ssl.key.pem",
            "ssl.key.pem=-----BEGIN PRIVATE KEY-----\\ngeheim\\n-----END PRIVATE KEY-----\n",
        ),
        // not looked at, as in Java
        Place::properties("", &tls(&jaas("password=\"geheim4711\";"))),
        Place::properties(
            "",
            &tls("ssl.keystore.password=geheim4711\nssl.keystore.key=geheim\nssl.truststore.password=geheim"),
        ),
        Place::properties("", "sasl.oauthbearer.client.credentials.client.secret=geheim4711\n"),
        // a name that is none, and lines that have lost their backslash
        Place::properties("", "sasl.pasword=geheim4711\nsasl.jaas.conf=a.B required password=\"geheim\";\nGEHEIM\n"),
        Place::properties(
            "sasl.password",
            "sasl.password=x\\\n\ngeheim.4711\ngeheim.4711 geheim\ngeheim.4711=geheim\n",
        ),
        Place::properties("ssl.key.pem", &format!("{pem}geheim+4711/ABC==\ngeheim4711abc\nGeheim: geheim\n")),
        Place::profile("sasl.password", "[kafka]\nsasl.password = \"geheim4711\"\n"),
        Place::profile("sasl.password", "[kafka]\n\"sasl.password\" = '''\ngeheim\n4711'''\n"),
        Place::profile("sasl.password", "kafka = { sasl.password = \"{geheim}\" }\n"),
        Place::profile("ssl.key.pem", "[kafka]\nssl.key.pem = \"\"\"\n-----BEGIN PRIVATE KEY-----\ngeheim\n\"\"\"\n"),
        Place::typed("sasl.password", &["-X", "sasl.password=geheim4711"]),
        Place::typed("sasl.password", &["-Xsasl.password=geheim=4711"]),
        Place::typed("ssl.key.password", &["-X", "ssl.key.password=geheim4711"]),
        Place::typed("sasl.oauthbearer.config", &["-X", "sasl.oauthbearer.config=principal=geheim"]),
        Place::typed("sasl.password", &["--set", "kafka.sasl.password=geheim4711"]),
        Place::typed("sasl.password", &["--set", "kafka.sasl.password=\"geheim\\u00344711\""]),
        Place::typed("sasl.password", &["--set", "kafka.sasl.password=[\"geheim"]),
        Place::variable("sasl.password", "KHOST_KAFKA_SASL_PASSWORD", "geheim4711"),
        Place::variable("sasl.password", "KHOST_KAFKA_SASL_PASSWORD_FILE", "secret").file("secret", "Geheim4711\n"),
        Place::variable("ssl.key.pem", "KHOST_KAFKA_SSL_KEY_PEM_FILE", "secret").file("secret", "-----BEGIN\ngeheim\n"),
        Place::typed("", &["-X", "sasl.oauthbearer.token.file=token"]).file("token", "geheim4711\n"),
        Place::typed("", &["-X", "sasl.oauthbearer.token.command=cat token"]).file("token", "geheim4711\n"),
    ]
}

/// Where khost says what is wrong, beside the secret.
fn places_that_are_refused() -> Vec<Place> {
    let properties = |text: &str| Place::properties("", text);
    let profile = |text: &str| Place::profile("", text);
    let typed = |arguments: &[&str]| Place::typed("", arguments);
    let jaas = |text: &str| properties(&format!("sasl.mechanism=PLAIN\nsasl.jaas.config={text}\n"));
    vec![
        // malformed right at the secret
        properties("sasl.password=geheim\\u47\n"),
        properties("sasl.pasword=geheim\\u47\n"),
        properties("sasl.p\\u0061ssword=geheim\\u47\n"),
        properties("ssl.keystore.key=geheim\\u47\n"),
        properties("client.id=x\nsasl.password=\\\n  geheim\\u47\n"),
        properties("sasl.password=geheim\\u0000x\n"),
        // logins that can't be read
        jaas(&format!("{LOGIN} password=\"geheim4711\"")),
        jaas(&format!("{LOGIN} password=geheim!;")),
        jaas(&format!("{LOGIN} password geheim;")),
        jaas(&format!("{LOGIN} password=\"geheim\\\"4711\";")),
        jaas(&format!("{LOGIN} password=\"x\"; geheim")),
        jaas("geheim"),
        jaas("geheim required;"),
        jaas(&format!("\\\n  {LOGIN} \\\n  password=\"geheim4711\"")),
        properties("sasl.ja\\u0061s.config=a.B geheim\n"),
        properties("sasl.mechanism=GSSAPI\nsasl.jaas.config=a.B required password=\"geheim\";\n"),
        properties(&format!("sasl.mechanism=OAUTHBEARER\nsasl.jaas.config={LOGIN} password=\"geheim\";\n")),
        properties("sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=https://a:geheim@h/\n"),
        // stores that can't be had
        properties("ssl.keystore.key=geheim\nssl.keystore.certificate.chain=x\n"),
        properties("ssl.keystore.type=PEM\nssl.keystore.key=MIIEgeheim\nssl.keystore.certificate.chain=x\n"),
        properties(&format!(
            "ssl.keystore.type=PEM\nssl.keystore.key={KEY}{KEY}\nssl.keystore.certificate.chain={CHAIN}\n"
        )),
        properties(&format!("ssl.keystore.type=PEM\nssl.keystore.key={KEY}\n")),
        properties("ssl.keystore.type=PEM\nssl.keystore.location=x\nssl.keystore.password=geheim\n"),
        properties("ssl.truststore.password=geheim\n"),
        properties("ssl.keystore.password=geheim\n"),
        // what is wrong is elsewhere
        properties("sasl.password=geheim\nlinger.ms=soon\n"),
        properties("sasl.password=geheim\ntransactional.id=t\n"),
        // TOML that is none, or of another shape
        profile("[kafka]\nsasl.password = geheim4711\n"),
        profile("[kafka]\nsasl.password = \"geheim4711\n"),
        profile("[kafka]\nsasl.password = \"geheim\"4711\"\n"),
        profile("[kafka]\nsasl.password = \"geheim\\q\"\n"),
        profile("[kafka]\nsasl.password geheim\n"),
        profile("[kafka]\nssl.key.pem = \"\"\"\ngeheim\n\"\"\"\"x\ngeheim\n"),
        profile("[kafka]\nsasl.password = \"x\"\nsasl.password = \"geheim\"\n"),
        profile("[kafka]\nsasl.password = [\"geheim\"]\n"),
        profile("[kafka]\nsasl.password = { is = \"geheim\" }\n"),
        profile("[kafka]\nsasl.password = 2026-01-01\nssl.key.password = \"geheim\"\n"),
        profile("kafka = \"sasl.password=geheim\"\n"),
        profile("sasl.password = \"geheim\"\n"),
        profile("[run]\nsasl.password = \"geheim\"\n"),
        profile("[flows.write.kafka]\nsasl.password = \"geheim\"\n"),
        // a name that is none
        profile("[kafka]\nsasl.pasword = \"geheim\"\n"),
        profile("kafka = { sasl.pasword = \"geheim\" }\n"),
        profile("[kafka]\nsasl.pasword = geheim\n"),
        typed(&["-X", "sasl.pasword=geheim"]),
        typed(&["--set", "kafka.sasl.pasword=geheim"]),
        typed(&["--set", "kafka={sasl.pasword=\"geheim\"}"]),
        Place::variable("", "KHOST_KAFKA_SASL_PASWORD", "geheim"),
        Place::variable("", "KHOST_KAFKA_SASL_PASWORD_FILE", "secret").file("secret", "geheim"),
        // not written as it has to be
        typed(&["-X", "sasl.password geheim"]),
        typed(&["-X", "sasl.password:geheim"]),
        typed(&["--sasl.password=geheim"]),
        typed(&["--set", "kafka.sasl.password geheim"]),
        typed(&["--set", "kafka.sasl.password=[\"geheim\"]"]),
        typed(&["--set", "kafka=\"sasl.password=geheim\""]),
        typed(&["--set", "kafka={sasl.password=\"geheim\""]),
        typed(&["--param", "sasl.password=geheim"]),
        Place::variable("", "KHOST_KAFKA_SASL_PASSWORD", "geheim").arguments(&["-X", "linger.ms=soon"]),
    ]
}

const RUN: &[&str] = &["run", "scenario.wasm"];

#[test]
fn a_secret_that_is_taken_is_nowhere_to_be_seen() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("secrets").create();
    let with = |command: &[&'static str], more: &[&'static str]| [command, more].concat();
    let brokers: &'static str = String::leak(kafka.bootstrap().to_owned());
    let to = ["--brokers", brokers];
    let commands = [
        with(RUN, &["--dry-run"]),
        with(RUN, &to),
        with(RUN, &with(&to, &["--format", "json", "-X", "debug=all"])),
        with(&["check"], &to),
        with(&["check", "scenario.wasm", "--format", "json"], &to),
    ];
    let commands: Vec<&[&str]> = commands.iter().map(Vec::as_slice).collect();
    let mut told = Told::default();
    for place in places_that_are_taken() {
        place.each(&manifest(&topic.name, "", "iterations = 3"), &commands, |command, output| {
            told.look(&place, 0, output);
            let is_masked = |line: &str| line.contains(place.masked) && line.contains("\"***\"");
            if command.contains(&"--dry-run") && !place.masked.is_empty() && !output.stdout.lines().any(is_masked) {
                told.0.push(format!("{:?}\nwanted: {} = \"***\"\n{output}", place.what, place.masked));
            }
        });
    }
}

#[test]
fn an_error_beside_a_secret_does_not_show_it() {
    let commands: [&[&str]; 3] =
        [&["run", "scenario.wasm"], &["run", "scenario.wasm", "--dry-run"], &["check", "scenario.wasm"]];
    let mut told = Told::default();
    for place in places_that_are_refused() {
        place.each(&manifest("t", "", "iterations = 3"), &commands, |_, output| told.look(&place, 2, output));
    }
}

#[test]
fn a_setting_that_librdkafka_was_built_without_is_refused_without_its_value() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("secrets").create();
    let commands: [&[&str]; 2] = [&["run", "scenario.wasm"], &["check"]];
    let mut told = Told::default();
    for setting in ["sasl.oauthbearer.client.secret=geheim", "sasl.oauthbearer.scope=geheim"] {
        let place = Place::typed("", &["--brokers", kafka.bootstrap(), "-X", setting]);
        place.each(&manifest(&topic.name, "", "iterations = 3"), &commands, |_, output| told.look(&place, 2, output));
    }
}

#[test]
fn a_login_that_succeeds_or_fails_tells_nothing_of_its_secret() {
    let Some(kafka) = Kafka::secured() else { return };
    let topic = kafka.topic("secrets").create();
    kafka.user("marked", "Geheim4711");
    for operation in [Operation::Describe, Operation::Write] {
        kafka.allow("User:marked", operation, Resource::Topic(&topic.name));
    }
    let certificates = kafka.certificates();
    let (stores, encrypted) = (certificates.stores(), certificates.alice());
    let sasl = |listener: Listener, mechanism: &str, more: &str| {
        let (protocol, ca) = (listener.protocol(), certificates.ca());
        format!(
            "security.protocol={protocol}\nsasl.mechanism={mechanism}\nssl.truststore.type=PEM\nssl.truststore.location={}\n{more}\n",
            ca.display()
        )
    };
    let jaas = |user: &str| {
        format!("sasl.jaas.config={}", LOGIN.replace("\"a\"", &format!("\"{user}\" password=\"Geheim4711\";")))
    };
    let bearer = |more: &str| sasl(Listener::Sasl, "OAUTHBEARER", more);
    let by_command = "sasl.oauthbearer.token.command=";
    let tls = |more: &str| format!("security.protocol=SSL\n{more}\n");
    let cases = [
        (0, Listener::Sasl, sasl(Listener::Sasl, "SCRAM-SHA-256", &jaas("marked"))),
        (0, Listener::SaslTls, sasl(Listener::SaslTls, "SCRAM-SHA-512", &jaas("marked"))),
        (3, Listener::Sasl, sasl(Listener::Sasl, "PLAIN", &jaas("alice"))),
        (3, Listener::Sasl, sasl(Listener::Sasl, "SCRAM-SHA-256", &jaas("alice"))),
        (3, Listener::SaslTls, sasl(Listener::SaslTls, "SCRAM-SHA-512", &jaas("nobody"))),
        (3, Listener::SaslTls, sasl(Listener::SaslTls, "SCRAM-SHA-256", &jaas("marked"))),
        (3, Listener::Tls, sasl(Listener::Sasl, "PLAIN", &jaas("marked"))),
        (3, Listener::Sasl, tls(&jaas("marked"))),
        (3, Listener::Sasl, bearer("sasl.oauthbearer.token.file=token")),
        (3, Listener::Sasl, bearer("sasl.oauthbearer.token.file=broken")),
        (3, Listener::Sasl, bearer(&format!("{by_command}cat token"))),
        (3, Listener::Sasl, bearer(&format!("{by_command}cat broken"))),
        (3, Listener::Sasl, bearer(&format!("{by_command}cat token; exit 7"))),
        (
            2,
            Listener::MutualTls,
            tls(&format!(
                "ssl.key.location={0}\nssl.certificate.location={0}\nssl.key.password=geheim",
                encrypted.encrypted_key.display()
            )),
        ),
        (
            2,
            Listener::MutualTls,
            tls(&format!("ssl.keystore.location={}\nssl.keystore.password=geheim", stores.keystore_p12.display())),
        ),
        (
            2,
            Listener::Tls,
            tls(&format!(
                "ssl.truststore.location={}\nssl.truststore.password=geheim",
                stores.truststore_p12.display()
            )),
        ),
        (
            2,
            Listener::Tls,
            tls(&format!("ssl.keystore.type=PEM\nssl.keystore.key={KEY}\nssl.keystore.certificate.chain={CHAIN}")),
        ),
    ];
    let mut told = Told::default();
    for (code, listener, settings) in cases {
        let address = kafka.at(listener);
        let place = Place::properties("", &format!("bootstrap.servers={address}\n{settings}"));
        let place = place.file("token", "geheim4711\n").file("broken", "geheim geheim\n");
        let commands: [&[&str]; 2] =
            [&["check", "scenario.wasm"], &["run", "scenario.wasm", "--format", "json", "-X", "debug=all"]];
        place
            .each(&manifest(&topic.name, "", "iterations = 3"), &commands, |_, output| told.look(&place, code, output));
    }
    assert_eq!(topic.count(), 6);
}
