use std::time::Duration;

use super::*;
use crate::plan::{End, FlowKind, Pace, Rate, Stream, Topic, WarmUp};

const SCENARIO: &str = "[scenario]\nname = \"acme/test\"\n";

pub(super) fn sources(text: &str) -> Sources {
    let manifest = Text { place: "scenario.toml".into(), text: format!("{SCENARIO}{text}") };
    Sources { manifest, cpus: 4, ..Sources::default() }
}

pub(super) fn plan(text: &str) -> Plan {
    resolve(&sources(text)).unwrap_or_else(|error| panic!("{error}"))
}

/// The error and its hint.
pub(super) fn refused(text: &str) -> String {
    refused_with(&sources(text))
}

fn refused_with(sources: &Sources) -> String {
    let error = resolve(sources).map(|_| ()).expect_err("it should be refused");
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

const FLOW: &str = "[flows.write]\nkind = \"stream\"\n";

fn stream(plan: &Plan) -> &Stream {
    let FlowKind::Stream(stream) = &plan.flows[0].kind else { panic!("a stream") };
    stream
}

fn setting(plan: &Plan, path: &str) -> Option<String> {
    let setting = plan.settings.iter().find(|setting| setting.path() == path)?;
    Some(format!("{}  # {}", setting.value, setting.origin))
}

#[test]
fn what_is_left_out_has_a_default_with_its_reason() {
    let plan = plan(FLOW);
    assert_eq!((plan.scenario.name.as_str(), plan.scenario.version.as_str()), ("acme/test", "0.0.0"));
    assert_eq!(plan.seed, 0);
    assert_eq!(*stream(&plan), Stream { threads: 2, clients: 1, pace: Pace::Unpaced, batch: 1_000 });
    assert_eq!(plan.flows[0].end, End { duration: Some(Duration::from_secs(10)), ..End::default() });
    assert!(plan.flows[0].measured);
    assert_eq!((plan.run.warm_up, plan.run.drain), (WarmUp::None, Duration::from_secs(30)));
    assert_eq!(plan.limits, Limits { memory_bytes: 256 << 20, call_time: Duration::from_millis(500), traps: 0 });
    assert!(plan.warnings.is_empty());
    let reason = "2  # default: half of 4 CPUs: each producer's own sending thread wants the other";
    assert_eq!(setting(&plan, "flows.write.threads").as_deref(), Some(reason));
    assert_eq!(setting(&plan, "run.duration").as_deref(), Some("\"10s\"  # default: nothing else ends the run"));
    assert_eq!(setting(&plan, "params.prefix").as_deref(), Some("\"khost-\"  # default: put before the topics' names"));
}

#[test]
fn threads_follow_the_cpus_that_khost_may_use() {
    for (cpus, threads) in [(0, 1), (1, 1), (2, 1), (3, 1), (64, 32)] {
        let plan = resolve(&Sources { cpus, ..sources(FLOW) }).expect("valid");
        assert_eq!(stream(&plan).threads, threads, "{cpus} CPUs");
    }
}

#[test]
fn what_is_written_is_taken() {
    let plan = plan(
        r#"
        version = "1.2.3"
        description = "a test"
        [params]
        rate = { default = "90/m", type = "rate" }
        [topics.events]
        name = "{prefix}events"
        partitions = 12
        replication = 3
        config = { "cleanup.policy" = "compact", retention.ms = 1000 }
        access = ["produce", "consume"]
        [flows.slow]
        kind = "stream"
        measured = false
        threads = 4
        clients = "dedicated"
        rate = "{rate}"
        batch = 10
        messages = "10k"
        kafka.linger.ms = 0.5
        [flows.off]
        kind = "stream"
        enabled = false
        [flows.early]
        kind = "stream"
        threads = 8
        clients = 2
        [run]
        warm-up = 500
        iterations = 25_000
        drain = "5s"
        seed = 7
        [limits]
        memory = "64MiB"
        call-time = "2s"
        traps = 3
        [kafka]
        acks = "all"
        "#,
    );
    assert_eq!(plan.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>(), ["slow", "early"]);
    assert_eq!(
        *stream(&plan),
        Stream { threads: 4, clients: 4, pace: Pace::Rate(Rate::parse("90/m").expect("rate")), batch: 10 }
    );
    assert_eq!(plan.flows[0].end, End { messages: Some(10_000), ..End::default() });
    assert_eq!(plan.flows[1].end, End { iterations: Some(25_000), ..End::default() });
    assert!(!plan.flows[0].measured);
    assert_eq!(plan.run.warm_up, WarmUp::Iterations(500));
    assert_eq!((plan.seed, plan.limits.traps, plan.limits.memory_bytes), (7, 3, 64 << 20));
    assert_eq!(plan.kafka.get("request.required.acks").map(String::as_str), Some("all"));
    assert_eq!(plan.flows[0].kafka.get("queue.buffering.max.ms").map(String::as_str), Some("0.5"));
    assert_eq!(
        plan.topics,
        [Topic {
            key: "events".into(),
            each: None,
            name: "khost-events".into(),
            partitions: Some(12),
            replication: Some(3),
            config: [("cleanup.policy", "compact"), ("retention.ms", "1000")].map(|(k, v)| (k.into(), v.into())).into(),
            holds: None,
            produce: true,
            consume: true,
        }]
    );
}

#[test]
fn one_topic_for_each_item() {
    let text = "[params]\ntenants = [\"a\", \"b\"]\n[topics.events]\neach = \"{tenants}\"\naccess = [\"consume\"]\nconfig.x = \"of {each}\"\n";
    let plan = plan(&format!("{text}{FLOW}"));
    let topics: Vec<_> = plan
        .topics
        .iter()
        .map(|topic| (topic.each.as_deref(), topic.name.as_str(), topic.config["x"].as_str()))
        .collect();
    assert_eq!(topics, [(Some("a"), "khost-a.events", "of a"), (Some("b"), "khost-b.events", "of b")]);
    assert!(plan.topics.iter().all(|topic| topic.consume && !topic.produce && topic.partitions.is_none()));
}

#[test]
fn topics_that_can_not_be_are_refused() {
    let topic = |settings: &str| refused(&format!("{FLOW}[topics.t]\naccess = [\"produce\"]\n{settings}"));
    for (settings, message) in [
        (
            "name = \"a b!\"",
            "scenario.toml:7:8: topics.t.name: \"a b!\" is no name for a topic: Kafka allows letters, digits, . _ and -",
        ),
        ("name = \"..\"", "topics.t.name: Kafka allows no topic named \"..\""),
        ("name = \"x{each}\"", "topics.t.name: {each} needs `each`"),
        ("config.x = \"{each}\"", "topics.t.config: {each} needs `each`"),
        ("name = \"x\"\neach = [\"a\", \"b\"]", "topics.t.name: the topics of `each` need {each} in their name"),
        ("each = []", "topics.t.each: `each` has no items"),
        (
            "each = [\"a\", \"a\"]",
            "topics.t.each: two topics would be named \"khost-a.t\" in Kafka: this one and \"a\" twice",
        ),
        ("each = \"a\"", "topics.t.each: expected a list, found \"a\""),
        ("partitions = 0", "topics.t.partitions: expected a whole number from 1 to 1000000, found 0"),
        ("partitions = \"2\"", "topics.t.partitions: expected a whole number from 1 to 1000000, found \"2\""),
        (
            "[topics.u]\nname = \"khost-t\"\naccess = []",
            "topics.u.name: two topics would be named \"khost-t\" in Kafka: this one and topics.t",
        ),
        ("[topics.u]\nname = \"u\"", "topics.u: the topic has no `access`"),
        ("[topics.\"u.v\"]\naccess = []", "topics.\"u.v\": the name of a topic is made of letters, digits, - and _"),
    ] {
        let error = topic(settings);
        assert!(error.contains(message), "{error}");
    }
    assert!(topic("name = \"{prefix}{x}\"").contains("topics.t.name: there is no parameter \"x\""));
    let access = refused(&format!("{FLOW}[topics.t]\naccess = [\"prodcue\"]"));
    assert!(access.ends_with("expected \"produce\" or \"consume\", found \"prodcue\"\n  6 | access = [\"prodcue\"]\n    |           ^^^^^^^^^\nhint: did you mean \"produce\"?"), "{access}");
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_name() {
    assert_eq!(
        refused(&format!("{FLOW}ratte = \"5/s\"\n")),
        "scenario.toml:5:1: unknown key `ratte` in [flows.write]\n  5 | ratte = \"5/s\"\n    | ^^^^^\nhint: did you mean `rate`?"
    );
    let top = refused("[flow.write]\nkind = \"stream\"");
    assert!(
        top.starts_with("scenario.toml:3:2: unknown key `flow`\n") && top.ends_with("hint: did you mean `flows`?"),
        "{top}"
    );
    let set = refused_with(&Sources { sets: vec!["flows.write.treads=4".into()], ..sources(FLOW) });
    assert_eq!(set, "--set flows.write.treads: unknown key\nhint: did you mean `threads`?");
    let profile = Text { place: "p.toml".into(), text: "run.drian = \"5s\"".into() };
    let in_profile = refused_with(&Sources { profiles: vec![profile], ..sources(FLOW) });
    assert!(in_profile.starts_with("p.toml:1:5: unknown key `drian` in [run]"), "{in_profile}");
    let far = refused(&format!("{FLOW}colour = 8"));
    assert!(far.contains("\nhint: known: kind, enabled, ") && far.ends_with(", iterations, duration, kafka"), "{far}");
}

#[test]
fn a_wrong_type_names_its_path_and_what_was_found() {
    for (text, message) in [
        ("threads = \"four\"", "flows.write.threads: expected a whole number from 1 to 1024, found \"four\""),
        ("threads = 0", "flows.write.threads: expected a whole number from 1 to 1024, found 0"),
        (
            "rate = 5",
            "flows.write.rate: expected a rate such as \"1500/s\", \"90/m\", \"10k/s\" or \"0.1/s\", found 5\n",
        ),
        ("rate = \"1e18/s\"", "flows.write.rate: expected a rate such as"),
        ("rate = true", "flows.write.rate: expected a rate such as \"1500/s\", or \"unpaced\", found true"),
        (
            "clients = \"own\"",
            "scenario.toml:5:11: flows.write.clients: expected a whole number from 1 to 1024 or \"dedicated\", found \"own\"",
        ),
        ("enabled = \"yes\"", "flows.write.enabled: expected a boolean, found \"yes\""),
        (
            "duration = 10",
            "flows.write.duration: expected a duration such as \"250ms\", \"1.5s\" or \"1h 30m\", found 10",
        ),
        (
            "messages = -1",
            "flows.write.messages: expected a count such as 1000, \"25_000_000\", \"10k\" or \"25M\", found -1",
        ),
        (
            "messages = 1.5",
            "flows.write.messages: expected a count such as 1000, \"25_000_000\", \"10k\" or \"25M\", found 1.5",
        ),
        ("stages = [{ for = \"1m\" }]", "flows.write.stages: a stage needs a `rate`, or `users`"),
        ("stages = [5]", "flows.write.stages: expected a stage such as { for = \"1m\", rate = \"100/s\" }, found 5"),
        ("kafka = 5", "flows.write.kafka: expected a table of librdkafka's settings, found something else"),
        ("kafka.acks = []", "flows.write.kafka.acks: expected a text, a number, true or false, found a list"),
        ("kafka.acks = {}", "flows.write.kafka.acks: expected a text, a number, true or false, found a table"),
        ("[flows]\nx = 5", "flows.x: expected a table, found 5"),
        (
            "[run]\nwarm-up = \"soon\"",
            "run.warm-up: expected a duration such as \"30s\" or a count of iterations such as \"10k\", found \"soon\"",
        ),
        ("[run]\nseed = \"x\"", "run.seed: expected a count such as"),
        (
            "[limits]\nmemory = \"10k\"",
            "limits.memory: expected a size such as 500, \"64KiB\" or \"1MB\", found \"10k\"",
        ),
        ("[limits]\nmemory = \"5GiB\"", "limits.memory: expected a size from 64KiB to 4GiB, found \"5GiB\""),
        ("[limits]\ncall-time = \"0s\"", "limits.call-time: expected at least \"1ms\", found \"0s\""),
        ("[limits]\ntraps = -1", "limits.traps: expected a whole number from 0 to 4294967295, found -1"),
    ] {
        let error = refused(&if text.starts_with("[flows]") { text.to_owned() } else { format!("{FLOW}{text}") });
        assert!(error.starts_with("scenario.toml:") && error.contains(message), "{error}");
    }
    let typed = refused_with(&Sources { sets: vec!["flows.write.rate=5".into()], ..sources(FLOW) });
    assert!(
        typed.starts_with("--set flows.write.rate: expected a rate") && typed.ends_with("hint: say per what: \"5/s\""),
        "{typed}"
    );
    let through = sources("[params]\nn = 1\n[flows.write]\nkind = \"stream\"\nthreads = \"{n}\"");
    let through = refused_with(&Sources { params: vec!["n=0".into()], ..through });
    assert_eq!(through, "--param n: flows.write.threads: expected a whole number from 1 to 1024, found 0");
}

#[test]
fn what_is_to_come_is_not_taken_for_a_slip() {
    for (text, what) in [
        ("[matrix]\nrepeat = 3", "[matrix] is not in this version of khost yet"),
        ("[thresholds]\nx = 1", "[thresholds] is not in this version of khost yet"),
        ("[observe.x]\nx = 1", "[observe] is not in this version of khost yet"),
    ] {
        let error = refused(&format!("{FLOW}{text}"));
        assert!(error.contains(what), "{error}");
    }
    assert!(refused("[flows.x]\nkind = \"steam\"").ends_with("hint: did you mean \"stream\"?"));
}

#[test]
fn a_run_needs_a_name_and_something_to_do() {
    for (text, message) in [
        ("", "scenario.toml:1:1: flows: the manifest has no flows, so there is nothing to run"),
        ("[flows.w]\nkind = \"stream\"\nenabled = false", "flows: no flow is enabled, so there is nothing to run"),
        ("[flows.w]\nrate = \"5/s\"", "flows.w: the flow has no `kind`"),
        ("[flows.\"a b\"]\nkind = \"stream\"", "flows.\"a b\": the name of a flow is made of letters, digits, - and _"),
        ("version = \"1\"", "scenario.version: expected a version such as \"1.2.3\", found \"1\""),
    ] {
        let error = refused(text);
        assert!(error.contains(message), "{error}");
    }
    let unnamed = Text { place: "s.toml".into(), text: FLOW.into() };
    let error = refused_with(&Sources { manifest: unnamed, ..Sources::default() });
    assert!(error.contains("the manifest has no `name` for its scenario"), "{error}");
    let unmeasured = plan(&format!("{FLOW}measured = false"));
    assert_eq!(unmeasured.warnings, ["no flow is measured: the report will have no figures"]);
}

#[test]
fn clients_without_a_thread_are_refused() {
    let error = refused(&format!("{FLOW}threads = 4\nclients = 8"));
    assert!(error.starts_with("scenario.toml:6:11: flows.write.clients: clients = 8 is more than threads = 4: a client without a thread would idle"), "{error}");
    assert!(error.ends_with("hint: clients = \"dedicated\" gives each thread its own"), "{error}");
    assert!(refused(&format!("{FLOW}clients = 3")).contains("clients = 3 is more than threads = 2"));
}

#[test]
fn rates_that_can_not_be_are_refused() {
    assert!(refused(&format!("{FLOW}rate = \"0/s\"")).ends_with("hint: enabled = false turns a flow off"));
    let both = refused(&format!("{FLOW}rate = \"unpaced\"\nstages = [{{ for = \"1m\", rate = \"1/s\" }}]"));
    assert!(both.contains("flows.write.rate: a flow with `stages` can't be unpaced"), "{both}");
    let unpaced = resolve(&Sources {
        sets: vec!["flows.write.rate=unpaced".into()],
        ..sources(&format!("{FLOW}rate = \"5/s\""))
    });
    assert_eq!(stream(&unpaced.expect("valid")).pace, Pace::Unpaced);
}

#[test]
fn kafka_settings_are_checked_wherever_they_come_from() {
    let with = |manifest: &str, x: &str| Sources { x: vec![x.into()], ..sources(&format!("{FLOW}{manifest}")) };
    for (manifest, x, message) in [
        (
            "",
            "linger.ms=5ms",
            "-X linger.ms: expected a number from 0 to 900000 (milliseconds), found \"5ms\"\nhint: librdkafka takes plain numbers: write 5",
        ),
        (
            "",
            "batch.num.messages=16k",
            "-X batch.num.messages: expected a whole number from 1 to 1000000 (messages), found \"16k\"",
        ),
        (
            "",
            "queue.buffering.max.messages=0",
            "-X queue.buffering.max.messages: expected a whole number from 1 to 2147483647 (messages), found \"0\"",
        ),
        ("", "lingerms=5", "-X lingerms: librdkafka has no such setting\nhint: did you mean `linger.ms`?"),
        (
            "",
            "buffer.memory=5",
            "-X buffer.memory: librdkafka has no such setting\nhint: this is `queue.buffering.max.kbytes` here",
        ),
        ("", "transactional.id=t", "-X transactional.id: this can't be set: khost begins no transactions yet"),
        (
            "",
            "bootstrap.servers=h:1",
            "-X bootstrap.servers: this can't be set: where the brokers are is said with --brokers",
        ),
        ("", "dr_cb=x", "-X dr_cb: this can't be set: it is for programs"),
        (
            "kafka.acks = 1",
            "enable.idempotence=true",
            "scenario.toml:5:14: flows.write.kafka.acks: enable.idempotence = true needs acks = \"all\", and this is 1",
        ),
        (
            "[kafka]\nenable.idempotence = true",
            "max.in.flight=6",
            "-X max.in.flight: enable.idempotence = true needs at most 5 requests in flight, and this is 6",
        ),
        (
            "kafka.fetch.min.bytes = 1",
            "acks=1",
            "flows.write.kafka.fetch.min.bytes: this is a consumer's setting, and this flow only produces",
        ),
        (
            "[kafka]\nlinger.ms = \"1s\"",
            "acks=1",
            "kafka.linger.ms: expected a number from 0 to 900000 (milliseconds), found \"1s\"",
        ),
        ("[kafka]\nclient.id = \"x\"", "acks=1", "kafka.client.id: a scenario may not set this by itself"),
    ] {
        let error = refused_with(&with(manifest, x));
        assert!(error.contains(message), "{error}");
    }
    assert!(refused_with(&with("", "acks")).contains("-X: expected name=value, found \"acks\""));
}

#[test]
fn what_is_typed_is_taken_to_the_byte_and_no_secret_is_shown() {
    let profile = Text { place: "p.toml".into(), text: "[kafka]\nsasl.password = \"hun{ter\"".into() };
    let sources = Sources {
        profiles: vec![profile],
        x: vec!["ssl.key.password=hunter".into(), "client.id={x}".into()],
        sets: vec!["kafka.ssl.keystore.password=hunter".into()],
        ..sources(FLOW)
    };
    let plan = resolve(&sources).expect("valid");
    assert_eq!(plan.kafka.get("sasl.password").map(String::as_str), Some("hun{ter"));
    assert_eq!(plan.kafka.get("client.id").map(String::as_str), Some("{x}"));
    assert_eq!(setting(&plan, "kafka.sasl.password").as_deref(), Some("\"***\"  # p.toml:2"));
    assert!(plan.settings.iter().all(|setting| !setting.value.contains("hun")));
}

#[test]
fn the_seed_of_the_command_line_stands_before_all() {
    let plan = resolve(&Sources { seed: Some(u64::MAX), ..sources(&format!("{FLOW}[run]\nseed = 5")) }).expect("valid");
    assert_eq!(plan.seed, u64::MAX);
    assert_eq!(setting(&plan, "run.seed").as_deref(), Some("\"18446744073709551615\"  # --seed"));
    assert_eq!(resolve(&Sources { seed: Some(3), ..sources(FLOW) }).expect("valid").seed, 3);
}
