//! Java's `client.properties`: read as Java reads it, taken over to the letter or refused with the way out, and what lies over
//! it. Who is let in with such a file is in `security.rs`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::docs;
use crate::harness::guests::{manifest, manifest_with_topic, producer};
use crate::harness::kafka::java;
use crate::harness::khost::Khost;
use crate::harness::{Kafka, Output, Project};

const AT_ONCE: Duration = Duration::from_secs(3);

/// Legal Java, each odd in its own way.
const ODD: &[&[u8]] = &[
    b"! note\n# note\nlinger.ms 20\nclient.id=\\u006coad-\\\n    test\nacks = all\nretries=7\\",
    b"a=1\r\nb : 2\r\n\r\nc 3\r\nd=\\\r\n   4\\\r\n\t5\r\n",
    b"a=1\rb:2\r\rc\t3\rd=4\\\r  5\r#6\r! 7\\\re=8\\\r",
    b"   \t\x0cindented=1\n\x0c\n  # comment\\\nnot.a.continuation=2\n",
    b"twice=first\nother=x\ntwice=second\ntw\\u0069ce=third\n",
    b"trailing=blanks  \ntab=\t\tx\t\nonly=   \nempty=\nnothing\n=no name\n: no name either\n",
    b"value=a#b=c!d:e # f\nurl=https://h:1/p?q=1#f\nx = = y\nx: : y\nx =: y\n",
    b"key\\ with\\ blanks=1\nkey\\:with\\=marks : 2\n\\#key=3\n\\!key=4\nk\\u0020ey=5\nkey\\\\=6\n\\ =7\n",
    b"grin=\\ud83d\\ude00\nsplit=\\ud83d\\\n  \\ude00\n\\u00e9t\\u00e9=\\u20AC\\u20ac\nnul=\\u0000x\n",
    b"latin=caf\xe9 \xa0\x85\nutf8=caf\xc3\xa9\n\xfc=\xff\n\xef\xbb\xbfmark=1\n",
    b"formfeed\x0cvalue\x0c\nb\x0c=\x0c2\nc=x\x0c\\\n\x0c y\nvertical=\x0b1\x0b\n",
    b"escapes=\\t\\n\\r\\f\\a\\q\\\"\\'\\0\\\\n\nend=\\\\\nodd=\\\\\\\n  next\neven=\\\\\\\\\nafter=1\n",
    b"long=a,\\\n     b,\\\n\n     c\nafter=\\\n# no comment=1\\\n! neither\nblank=\\\n\nlast=1",
    b"jaas=a.B required \\\n  user=\"x\" \\\n  password=\"p;=#\\\\\"\\u0022 \";\n",
    b"\xef\xbb\xbf",
    b"\n\n\\\n",
    b"",
];

/// Files of what matters to the format, and a few letters.
fn made_at_random(count: u64) -> Vec<Vec<u8>> {
    const PARTS: [&str; 19] = [
        "a", "b", "é", "=", ":", " ", "\t", "\x0c", "\n", "\r", "\r\n", "\\", "\\\n", "\\\r\n", "#", "!", "\\u0041",
        "\\u00e9", "\\\\",
    ];
    let mut state = 20_260_801_u64;
    let mut next = move |below: usize| {
        // Knuth's MMIX generator, whose high bits are good
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    // what is malformed ends the reading of a file, so few have it
    let mut part = || if next(64) == 0 { "\\u2" } else { PARTS[next(PARTS.len())] };
    let mut file = || (0..24).map(|_| part()).collect::<String>();
    (0..count).map(|_| file().into_bytes()).collect()
}

#[test]
fn files_read_as_java_reads_them() {
    let files: Vec<Vec<u8>> = ODD.iter().map(|file| file.to_vec()).chain(made_at_random(400)).collect();
    let names: Vec<String> = (0..files.len()).map(|at| format!("{at}.properties")).collect();
    let project = names.iter().zip(&files).fold(Project::new(), |project, (name, file)| project.file(name, file));
    let paths: Vec<PathBuf> = names.iter().map(|name| project.path(name)).collect();
    let Some(read_by_java) = java::properties(&paths) else { return };
    let mut malformed = 0;
    for (file, java) in files.iter().zip(read_by_java) {
        let ours = khost::plan::parse_java_properties(file)
            .map(|lines| lines.into_iter().map(|line| (line.name, line.value)).collect::<BTreeMap<_, _>>());
        malformed += u32::from(java.is_err());
        assert_eq!(ours.ok(), java.ok().map(BTreeMap::from_iter), "{}", file.escape_ascii());
    }
    assert!((20..200).contains(&malformed), "{malformed} files are malformed");
}

#[test]
fn every_name_of_javas_clients_is_known_and_on_its_page() {
    let known: Vec<[String; 3]> = khost::plan::java_names().collect();
    assert_eq!(docs::table("docs/java-properties.md", "## Every name"), known);
    let Some(javas) = java::setting_names() else { return };
    let known: Vec<&str> = known.iter().map(|[name, ..]| name.trim_matches('`')).collect();
    assert_eq!(known, javas.iter().collect::<Vec<_>>());
}

/// `khost run` with a file of this text, for `H:P` a broker that nobody asks.
fn with_file(text: &str) -> Khost {
    project("").file("client.properties", text.replace("H:P", "127.0.0.1:1")).run().args(FILE)
}

const FILE: [&str; 2] = ["--kafka-config", "client.properties"];

fn project(flow: &str) -> Project {
    Project::of(&producer(1), &manifest_with_topic(1, flow, "iterations = 10"))
}

impl Output {
    /// A setting as `--dry-run` shows it: its value in TOML, and where it came from.
    fn planned(&self, name: &str) -> Option<(String, String)> {
        let (_, kafka) = self.exits(0).stdout.split_once("[kafka]\n")?;
        let line = kafka
            .lines()
            .find(|line| line.split(" = ").next().is_some_and(|key| key.trim().trim_matches('"') == name))?;
        let (value, origin) = line.split_once(" = ")?.1.rsplit_once("  # ")?;
        Some((value.trim().to_owned(), origin.to_owned()))
    }

    #[track_caller]
    fn plans(&self, name: &str, value: &str, origin: &str) -> &Self {
        let planned = self.planned(name);
        let wanted = Some((value.to_owned(), origin.to_owned()));
        self.check(planned == wanted, &format!("{name} = {value} from {origin}, not {planned:?}"))
    }
}

#[test]
fn a_file_is_taken_to_the_letter_whatever_ends_its_lines() {
    let Some(kafka) = Kafka::shared() else { return };
    let file = format!(
        "! note\nbootstrap.servers : {}\nlinger.ms 20\nclient.id=\\u006coad-\\\n    test\nacks = all\ncompression.type=lz4\n\
         compression.type=zstd  \nsasl.username=a#b=c\nretries=7\\",
        kafka.bootstrap()
    );
    for end in ["\n", "\r\n", "\r"] {
        let topic = kafka.topic("letter").create();
        let project = Project::of(&producer(1), &manifest(&topic.name, "", "iterations = 10"))
            .file("client.properties", file.replace('\n', end));
        let output = project.run().args(FILE).json().output();
        let result = output.exits(0).is_civil().result();
        let held = ["client.id", "linger.ms", "acks", "compression.type", "sasl.username", "retries"]
            .map(|name| result.client(name));
        assert_eq!(held, ["load-test", "20", "-1", "zstd", "a#b=c", "7"], "{output}");
        assert_eq!(topic.count(), 10);
        let warnings = result.warnings();
        let twice = warnings.iter().find(|warning| warning.contains("compression.type")).expect("a note");
        assert!(twice.contains("client.properties:7") && twice.contains("line 8"), "{twice}");
    }
}

#[test]
fn what_only_java_has_is_mapped_or_said() {
    let text = "bootstrap.servers=H:P\nbuffer.memory=33554432\nmax.request.size=2000000\nmax.block.ms=5000\n\
                key.serializer=org.apache.kafka.common.serialization.StringSerializer\nlinger.mss=5\nsasl.pasword=x\n";
    let output = with_file(text).arg("--dry-run").output();
    output
        .plans("queue.buffering.max.kbytes", "\"32768\"", "client.properties:2")
        .plans("message.max.bytes", "\"2000000\"", "client.properties:3")
        .says("client.properties:4: `max.block.ms` is not used")
        .says("client.properties:5: `key.serializer` is not used")
        .says("client.properties:6: `linger.mss` is no setting of Kafka's clients")
        .says("did you mean `linger.ms`?")
        .says("client.properties:7: `sasl.pasword` is no setting of Kafka's clients")
        .says("did you mean `sasl.password`?");
    let held = project("").file("client.properties", text.replace("bootstrap.servers=H:P", "")).run();
    let Some(kafka) = Kafka::shared() else { return };
    let result = held.args(FILE).brokers(&kafka).json().output().exits(0).result();
    let held = ["queue.buffering.max.kbytes", "message.max.bytes"].map(|name| result.client(name));
    assert_eq!(held, ["32768", "2000000"]);
}

#[test]
fn an_unset_batch_size_is_said_to_be_another_than_in_java() {
    let said = "batch.size (1,000,000 here, 16,384 in Java)";
    with_file("bootstrap.servers=H:P\n").arg("--dry-run").output().exits(0).says(said);
    with_file("bootstrap.servers=H:P\nbatch.size=16384\n").arg("--dry-run").output().exits(0).says_not("batch.size (");
    with_file("bootstrap.servers=H:P\n")
        .kafka("batch.size", "5")
        .arg("--dry-run")
        .output()
        .exits(0)
        .says_not("batch.size (");
    let Some(kafka) = Kafka::shared() else { return };
    project("").file("client.properties", "acks=all\n").run().args(FILE).brokers(&kafka).output().exits(0).tells(said);
}

#[test]
fn a_login_of_java_becomes_a_user_and_a_masked_password() {
    let text = "bootstrap.servers=H:P\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n\
                sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n\
                    username=\"al ice\" \\\n    password=\"a;b=c#d \\\\\"e\\\\\"\";\n";
    let output = with_file(text).arg("--dry-run").output();
    output
        .plans("sasl.username", "\"al ice\"", "client.properties:4")
        .plans("sasl.password", "\"***\"", "client.properties:4")
        .plans("sasl.mechanism", "\"SCRAM-SHA-512\"", "client.properties:3")
        .plans("security.protocol", "\"SASL_SSL\"", "client.properties:2");
    assert_eq!(output.planned("sasl.jaas.config"), None, "{output}");
    // Java drops a single backslash, and its reader of JAAS then sees the end of the password.
    let half = text.replace("\\\\\"", "\\\"");
    with_file(&half).output().exits(2).within(AT_ONCE).explains(&["client.properties:4", "sasl.jaas.config"]);
}

#[test]
fn a_store_in_javas_own_format_is_refused_with_the_way_out() {
    let text = "bootstrap.servers=H:P\nsecurity.protocol=SSL\nssl.truststore.location=trust.jks\nssl.truststore.password=abc\n";
    let project = project("").file("client.properties", text.replace("H:P", "127.0.0.1:1"));
    let run = || project.run().args(FILE).output();
    run().exits(2).within(AT_ONCE).explains(&["trust.jks", "can't be read"]);
    let magic = [&b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\0"[..], &[0; 64]].concat();
    let project = project.file("trust.jks", magic);
    let way_out = ["ssl.truststore.location", "trust.jks", "JKS", "keytool", "PKCS12"];
    project.run().args(FILE).output().exits(2).within(AT_ONCE).explains(&way_out);
}

#[test]
fn what_only_java_has_is_refused_as_an_argument_with_what_stands_for_it() {
    let cases = [
        ("buffer.memory=33554432", "`queue.buffering.max.kbytes`"),
        ("max.request.size=2000000", "`message.max.bytes`"),
        ("max.block.ms=5000", "leave it out"),
        ("key.serializer=org.apache.kafka.common.serialization.StringSerializer", "leave it out"),
        ("sasl.jaas.config=a.B required x=\"y\";", "`sasl.username`"),
        ("ssl.truststore.type=JKS", "PKCS12"),
        ("interceptor.classes=a.B", "Java classes"),
    ];
    for (setting, way_out) in cases {
        let name = setting.split('=').next().unwrap();
        let output = project("").run().args(["-X", setting]).output();
        output.exits(2).within(AT_ONCE).explains(&[&format!("-X {name}"), way_out]);
    }
}

#[test]
fn an_argument_is_split_at_its_first_equals_sign() {
    let dry_run = |arguments: &[&str]| project("").run().args(arguments).arg("--dry-run").output();
    dry_run(&["-X", "sasl.username=a=b= c#"]).plans("sasl.username", "\"a=b= c#\"", "-X");
    dry_run(&["-X", "sasl.username="]).plans("sasl.username", "\"\"", "-X");
    dry_run(&["-X", "linger.ms=5=6"]).exits(2).explains(&["linger.ms", "5=6"]);
    dry_run(&["-X", "linger.ms"]).exits(2).explains(&["-X", "name=value", "linger.ms"]);
}

#[test]
fn each_layer_holds_over_those_below_it() {
    let project = Project::new()
        .guest(&producer(1))
        .manifest(&format!("{}\n[kafka]\nlinger.ms = 1\n", manifest_with_topic(1, "", "iterations = 10")))
        .file("client.properties", "# first\nbootstrap.servers=127.0.0.1:1\nlinger.ms=2\n")
        .file("one.toml", "kafka.linger.ms = 3\n")
        .file("two.toml", "\n\n[kafka]\nlinger.ms = 4\n");
    type Layer = (&'static str, &'static str, fn(Khost) -> Khost);
    let layers: [Layer; 7] = [
        ("1", "scenario.toml:", |khost| khost),
        ("\"2\"", "client.properties:3", |khost| khost.args(FILE)),
        ("3", "one.toml:1", |khost| khost.args(["--profile", "one.toml"])),
        ("4", "two.toml:4", |khost| khost.args(["--profile", "two.toml"])),
        ("\"5\"", "KHOST_KAFKA_LINGER_MS", |khost| khost.env("KHOST_KAFKA_LINGER_MS", "5")),
        ("\"6\"", "--set", |khost| khost.set("kafka.linger.ms", "6")),
        ("\"7\"", "-X", |khost| khost.kafka("linger.ms", "7")),
    ];
    for top in 0..layers.len() {
        // what is typed last is not what holds, but for profiles
        let (files, typed) = layers[..=top].split_at(top.min(4) + 1);
        let dry_run = project.run().arg("--dry-run");
        let output = typed.iter().chain(files).fold(dry_run, |khost, (_, _, add)| add(khost)).output();
        let (value, origin, _) = layers[top];
        let planned = output.planned("linger.ms").expect("it is shown");
        output.check(
            planned.0 == value && planned.1.starts_with(origin),
            &format!("{value} of {origin}, not {planned:?}"),
        );
    }
    let without_file = project.run().kafka("linger.ms", "7").arg("--dry-run").output();
    without_file.plans("linger.ms", "\"7\"", "-X");
}

#[test]
fn a_variable_of_the_environment_is_a_setting_or_refused() {
    let with = |name: &str, value: &str| project("").run().env(name, value).arg("--dry-run").output();
    with("KHOST_KAFKA_SASL_USERNAME", "a=b #c ").plans("sasl.username", "\"a=b #c \"", "KHOST_KAFKA_SASL_USERNAME");
    with("KHOST_KAFKA_SASL_PASSWORD", "x").plans("sasl.password", "\"***\"", "KHOST_KAFKA_SASL_PASSWORD");
    let typo = with("KHOST_KAFKA_SASL_PASWORD", "x");
    typo.exits(2).within(AT_ONCE).explains(&["KHOST_KAFKA_SASL_PASWORD", "KHOST_KAFKA_SASL_PASSWORD?"]);
    with("KHOST_KAFKA_", "x").exits(2).explains(&["KHOST_KAFKA_"]);
    with("KHOST_KAFKA_LINGER_MS", "soon").exits(2).explains(&["KHOST_KAFKA_LINGER_MS", "soon"]);
    let twice = project("").run().env("KHOST_KAFKA_ACKS", "1").env("KHOST_KAFKA_REQUEST_REQUIRED_ACKS", "1").output();
    twice.exits(2).explains(&["KHOST_KAFKA_ACKS", "KHOST_KAFKA_REQUEST_REQUIRED_ACKS"]);
    with("KAFKA_LINGER_MS", "soon").exits(0);
}

#[test]
fn a_variable_may_name_a_file_whose_last_line_break_does_not_count() {
    for (text, value) in [("a b\n", "a b"), ("a b\r\n", "a b"), ("a b", "a b"), (" a\n\n", r" a\n"), ("", "")] {
        let project = project("").file("user", text);
        let output = project.run().env("KHOST_KAFKA_SASL_USERNAME_FILE", "user").arg("--dry-run").output();
        output.plans("sasl.username", &format!("\"{value}\""), "KHOST_KAFKA_SASL_USERNAME_FILE");
    }
    let missing = project("").run().env("KHOST_KAFKA_SASL_PASSWORD_FILE", "no/such").arg("--dry-run").output();
    missing.exits(2).within(AT_ONCE).explains(&["no/such", "KHOST_KAFKA_SASL_PASSWORD_FILE"]);
    let both = project("")
        .file("p", "x")
        .run()
        .env("KHOST_KAFKA_SASL_PASSWORD", "x")
        .env("KHOST_KAFKA_SASL_PASSWORD_FILE", "p");
    both.output().exits(2).explains(&["KHOST_KAFKA_SASL_PASSWORD", "KHOST_KAFKA_SASL_PASSWORD_FILE"]);
    let binary = project("").file("p", b"\xff\xfe").run().env("KHOST_KAFKA_SASL_PASSWORD_FILE", "p");
    binary.output().exits(2).explains(&["KHOST_KAFKA_SASL_PASSWORD_FILE", "UTF-8"]);
}

#[test]
fn brokers_are_named_in_the_file_or_as_an_argument_which_holds() {
    with_file("linger.ms=5\n").output().exits(2).within(AT_ONCE).explains(&[
        "client.properties",
        "bootstrap.servers",
        "--brokers",
    ]);
    with_file("bootstrap.servers= \n").output().exits(2).within(AT_ONCE).explains(&["bootstrap.servers", "--brokers"]);
    let check = project("").file("client.properties", "linger.ms=5\n").khost(&["check"]).args(FILE).output();
    check.exits(2).within(AT_ONCE).explains(&["client.properties", "bootstrap.servers", "--brokers"]);
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("named").create();
    let project = Project::of(&producer(1), &manifest(&topic.name, "", "iterations = 10"));
    let project = project.file("client.properties", "bootstrap.servers=127.0.0.1:1, kafka.invalid\n");
    project.run().args(FILE).brokers(&kafka).output().exits(0);
    assert_eq!(topic.count(), 10);
    project.khost(&["check"]).args(FILE).brokers(&kafka).output().exits(0);
}

#[test]
fn a_list_in_the_file_is_read_as_an_argument_is() {
    let bad = [
        ("SASL_SSL://127.0.0.1:1,127.0.0.1:2", "SASL_SSL://127.0.0.1:1"),
        ("127.0.0.1:1 127.0.0.1:2", "127.0.0.1:1 127.0.0.1:2"),
        ("127.0.0.1:1;127.0.0.1:2", "127.0.0.1:1;127.0.0.1:2"),
        ("localhost", "localhost"),
        ("127.0.0.1:9o92", "9o92"),
        ("::1:19092", "::1:19092"),
        ("127.0.0.1:1, :9092", ":9092"),
    ];
    for (list, entry) in bad {
        with_file(&format!("bootstrap.servers={list}\n")).output().exits(2).within(AT_ONCE).explains(&[entry]);
    }
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("list").create();
    let project = Project::of(&producer(1), &manifest(&topic.name, "", "iterations = 10"));
    let list = format!("bootstrap.servers=PLAINTEXT://{0}, \\\n    {0},\n", kafka.bootstrap());
    project.file("client.properties", list).run().args(FILE).output().exits(0).is_civil();
    assert_eq!(topic.count(), 10);
}

#[test]
fn a_file_that_is_missing_or_malformed_is_named_with_the_line() {
    let run = |khost: Khost, words: &[&str]| {
        khost.output().exits(2).within(AT_ONCE).explains(words);
    };
    run(project("").run().args(["--kafka-config", "no/such.properties"]), &["no/such.properties"]);
    run(project("").run().args(["--kafka-config", "."]), &["can't be read"]);
    let check = project("").file("client.properties", "a=1\n\nclient.id=\\u00zz\n").khost(&["check"]).args(FILE);
    run(check, &["client.properties:3", "\\u", "hexadecimal"]);
    run(with_file("a=1\nclient.id=\\u00zz\n"), &["client.properties:2", "\\u", "hexadecimal"]);
    run(with_file("bootstrap.servers=H:P\r\rlinger.ms=\\\r  soon\r"), &["client.properties:3", "linger.ms", "soon"]);
    run(with_file("bootstrap.servers=H:P\nacks=2 \n"), &["client.properties:2", "acks", "\"2\""]);
    run(
        with_file("bootstrap.servers=H:P\ncompression.type=lz5\n"),
        &["client.properties:2", "compression.type", "lz5", "lz4"],
    );
}

#[test]
fn a_flow_has_no_connection_of_its_own() {
    for setting in
        ["sasl.username = \"x\"", "security.protocol = \"ssl\"", "ssl.ca.location = \"x\"", "aws.region = \"x\""]
    {
        let profile = project("").file("profile.toml", format!("[flows.write.kafka]\n{setting}\n"));
        let output = profile.run().args(["--profile", "profile.toml"]).output();
        let name = setting.split(' ').next().unwrap();
        output.exits(2).within(AT_ONCE).explains(&["profile.toml:2", &format!("flows.write.kafka.{name}"), "[kafka]"]);
    }
    let brokers = project("").file("profile.toml", "[flows.write.kafka]\nbootstrap.servers = \"h:1\"\n");
    brokers.run().args(["--profile", "profile.toml"]).output().exits(2).explains(&["bootstrap.servers", "--brokers"]);
    let output = project("").run().set("flows.write.kafka.sasl.username", "x").output();
    output.exits(2).within(AT_ONCE).explains(&["flows.write.kafka.sasl.username", "[kafka]"]);
}

#[test]
fn a_setting_of_kafka_that_is_no_table_is_refused() {
    for text in ["kafka = 5\n", "kafka = \"linger.ms=5\"\n", "kafka = []\n"] {
        let output =
            project("").file("profile.toml", text).run().args(["--profile", "profile.toml", "--dry-run"]).output();
        output.exits(2).within(AT_ONCE).explains(&["profile.toml:1", "kafka", "a table"]);
    }
}

#[test]
fn guarantees_that_would_be_weakened_are_refused() {
    let with = |lines: &str| with_file(&format!("bootstrap.servers=H:P\n{lines}")).output();
    let refused = |lines: &str, words: &[&str]| {
        with(lines).exits(2).within(AT_ONCE).explains(words);
    };
    refused("transactional.id=t\n", &["client.properties:2", "transactional.id", "transactions"]);
    refused("enable.idempotence=true\nacks=1\n", &["client.properties:3", "acks", "enable.idempotence"]);
    refused("enable.idempotence=true\nretries=0\n", &["client.properties:3", "retries", "enable.idempotence"]);
    let in_flight = "max.in.flight.requests.per.connection";
    refused(
        &format!("{in_flight}=6\nenable.idempotence=true\n"),
        &["client.properties:2", in_flight, "enable.idempotence"],
    );
    let over = project("").file("client.properties", "acks=1\n").run().args(FILE).kafka("enable.idempotence", "true");
    over.output().exits(2).within(AT_ONCE).explains(&["acks", "enable.idempotence"]);
    let member = with_file("bootstrap.servers=H:P\ngroup.id=g\ngroup.instance.id=a\n").arg("--dry-run").output();
    member
        .exits(0)
        .says("client.properties:2: `group.id` is not used")
        .says("client.properties:3: `group.instance.id` is not used");
    for id in ["group.instance.id=a", "group.id=g", "transactional.id=t"] {
        let name = id.split('=').next().unwrap();
        project("").run().args(["-X", id]).output().exits(2).within(AT_ONCE).refuses(&[&format!("-X {name}")]);
    }
}
