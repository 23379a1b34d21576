//! Requests and their replies: whose is whose, and what is said of those that are nobody's.

use std::time::Duration;

use crate::harness::guests::{CHECKS, Fixed, Guest, manifest_with_channel, requests, sends_by, sends_requests};
use crate::harness::kafka::application::{Answer, Application, header};
use crate::harness::result::RunResult;
use crate::harness::{Kafka, Project};

const SECOND_NS: u64 = 1_000_000_000;
/// Long enough for any machine.
const LONG_NS: u64 = 30 * SECOND_NS;
const ID: &str = "correlation-id";
const BY_HEADER: &str = "request = \"header:correlation-id\"";

fn message() -> [Fixed; 1] {
    [Fixed::new(Some(b"k"), Some(b"please"))]
}

/// Sent, replied, failed, timed out, unanswered, of the flow itself.
fn asked(result: &RunResult) -> [u64; 5] {
    ["sent", "replied", "failed", "timed_out", "unanswered"]
        .map(|fate| result.count_of(&format!("/flows/0/operations/0/requests/{fate}")))
}

/// Of the first channel.
fn read(result: &RunResult, what: &str) -> u64 {
    result.count_of(&format!("/channels/0/{what}"))
}

/// A session of so many users.
fn as_session(manifest: String) -> String {
    manifest.replacen("kind = \"stream\"", "kind = \"session\"", 1)
}

#[test]
fn an_application_that_does_not_run_is_asked_for() {
    let Some(kafka) = Kafka::shared() else { return };
    let (requests, replies) = (kafka.topic("requests").create(), kafka.topic("replies").create());
    let manifest = manifest_with_channel(&requests.name, &replies.name, BY_HEADER, "threads = 1", "iterations = 2");
    let project = Project::of(&sends_requests(&message(), SECOND_NS / 5), &manifest);
    let result = project.run().brokers(&kafka).json().output().exits(1).is_civil().result();
    assert_eq!(asked(&result), [2, 0, 0, 2, 0]);
    let asks = format!("no reply was read in {}: is the application running?", replies.name);
    assert!(result.warnings().iter().any(|warning| warning.contains(&asks)), "{:?}", result.warnings());
}

#[test]
fn every_request_and_every_reply_is_accounted_for() {
    let Some(kafka) = Kafka::shared() else { return };
    let (requests, replies) = (kafka.topic("requests").create(), kafka.topic("replies").partitions(3).create());
    let to = replies.name.clone();
    let _application = Application::start(&kafka, &requests, move |number, request| {
        let reply = || Answer::to(&to).header(ID, header(request, ID));
        match number / 10 {
            // khost waits for 5 s
            0 => vec![reply().after(Duration::from_millis(5_500))],
            1 => vec![reply(), reply()],
            2 => vec![Answer::to(&to).header(ID, b"another's"), reply()],
            3 => vec![reply().header("error", b"no such item")],
            4 => vec![Answer::to(&to).value(b"garbage"), reply()],
            _ => vec![],
        }
    });
    let channel = format!("{BY_HEADER}\nfailure = \"header:error\"");
    let flow = "threads = 1\nrate = \"20/s\"";
    let manifest = manifest_with_channel(&requests.name, &replies.name, &channel, flow, "iterations = 60");
    let project = Project::of(&sends_requests(&message(), 5 * SECOND_NS), &manifest);
    let output = project.run().brokers(&kafka).kafka("linger.ms", "0").json().output();
    let result = output.exits(1).is_civil().result();
    assert_eq!(asked(&result), [60, 30, 10, 20, 0], "{output}");
    let counts =
        ["matched", "early", "late", "duplicate", "foreign", "old", "without_id"].map(|what| read(&result, what));
    assert_eq!(counts, [40, 0, 10, 10, 10, 0, 10], "{output}");
    assert_eq!((result.acknowledged(), result.failed()), (60, 0));
    let with_failures = "/flows/0/operations/0/with_failures/response";
    assert_eq!((result.measure("response", "count"), result.measure("service", "count")), (30, 30));
    assert_eq!(result.count_of(&format!("{with_failures}/count")), 60);
    output.check(result.count_of(&format!("{with_failures}/max_us")) >= 5_000_000, "time-outs are in it");
    let reasons = result.reasons().join("\n");
    assert!(reasons.contains("10 requests failed") && reasons.contains("20 requests timed out"), "{reasons}");
}

#[test]
fn two_processes_on_one_reply_topic_do_not_disturb_each_other() {
    let Some(kafka) = Kafka::shared() else { return };
    let (topic, replies) = (kafka.topic("requests").create(), kafka.topic("replies").partitions(2).create());
    let to = replies.name.clone();
    let _application =
        Application::start(&kafka, &topic, move |_, request| vec![Answer::to(&to).header(ID, header(request, ID))]);
    let project = |run: &str| {
        let flow = "users = 3\nthink-time = \"20ms\"";
        let manifest = manifest_with_channel(&topic.name, &replies.name, BY_HEADER, flow, run);
        Project::of(&requests(&message(), LONG_NS), &as_session(manifest))
    };
    let first = project("duration = \"10m\"").run().brokers(&kafka).kafka("linger.ms", "0").json().start();
    first.wait_for_stderr("iterations");
    let output = project("iterations = 100").run().brokers(&kafka).kafka("linger.ms", "0").json().output();
    let second = output.exits(0).is_civil().result();
    first.interrupt();
    let first = first.finish();
    first.exits(130).is_civil();
    let first_result = first.result();
    for (result, output) in [(&first_result, &first), (&second, &output)] {
        let [sent, replied, ..] = asked(result);
        assert_eq!((sent, read(result, "matched")), (replied, replied), "{output}");
        assert_eq!((read(result, "late"), read(result, "duplicate"), read(result, "early")), (0, 0, 0), "{output}");
        assert!(read(result, "foreign") > 0, "{output}");
    }
    assert_eq!(asked(&second)[1], 100);
}

#[test]
fn ids_are_written_and_read_where_the_manifest_says() {
    let Some(kafka) = Kafka::shared() else { return };
    let without_key = || [Fixed::new(None, Some(b"please")).header("other", Some(b"stays"))];
    let ok_json = |id: &[u8]| format!(r#"{{"job":{{"a/b":["{}"]}},"ok":true}}"#, String::from_utf8_lossy(id));
    let text = |id: &[u8]| String::from_utf8_lossy(id).into_owned();
    type Reply = Box<dyn Fn(&str, &crate::harness::topics::Record) -> Answer + Send>;
    let cases: [(&str, Reply); 4] = [
        (BY_HEADER, Box::new(|to, request| Answer::to(to).header(ID, header(request, ID)))),
        ("request = \"key\"", Box::new(|to, request| Answer::to(to).key(request.key.as_ref().expect("a key")))),
        (
            "request = \"header:id\"\nreply = \"json:/job/a~1b/0\"",
            Box::new(move |to, request| Answer::to(to).value(ok_json(header(request, "id")))),
        ),
        (
            "spring = true\nreply-partition = \"header:kafka_replyPartition\"",
            Box::new(move |_, request| {
                let partition = header(request, "kafka_replyPartition").try_into().expect("four bytes");
                Answer::to(&text(header(request, "kafka_replyTopic")))
                    .partition(i32::from_be_bytes(partition))
                    .header("kafka_correlationId", header(request, "kafka_correlationId"))
            }),
        ),
    ];
    for (channel, reply) in cases {
        let (topic, replies) = (kafka.topic("requests").create(), kafka.topic("replies").partitions(2).create());
        let to = replies.name.clone();
        let _application = Application::start(&kafka, &topic, move |_, request| {
            assert_eq!(header(request, "other"), b"stays");
            vec![reply(&to, request)]
        });
        let manifest =
            manifest_with_channel(&topic.name, &replies.name, channel, "users = 2", "warm-up = 2\niterations = 20");
        let project = Project::of(&requests(&without_key(), LONG_NS), &as_session(manifest));
        let output = project.run().brokers(&kafka).kafka("linger.ms", "0").json().output();
        let result = output.exits(0).is_civil().result();
        assert_eq!(asked(&result), [20, 20, 0, 0, 0], "{channel}: {output}");
        assert_eq!(read(&result, "matched"), 22, "{channel}: {output}");
        assert_eq!(result.count_of("/flows/0/requests_with_warm_up/sent"), 22, "{channel}: {output}");
        let partitions = replies.end_offsets();
        assert!(!channel.contains("reply-partition") || partitions == [11, 11], "{partitions:?}");
    }
}

#[test]
fn failures_are_told_by_topic_header_or_json() {
    let Some(kafka) = Kafka::shared() else { return };
    for (channel, failing) in [
        ("failure = \"topic:errors\"", 0),
        ("failure = \"header:status=failed\"", 1),
        ("failure = \"json:/ok=false\"", 2),
    ] {
        let (topic, replies) = (kafka.topic("requests").create(), kafka.topic("replies").create());
        let errors = kafka.topic("errors").create();
        let (to, no) = (replies.name.clone(), errors.name.clone());
        let _application = Application::start(&kafka, &topic, move |number, request| {
            let fails = number % 2 == 0;
            let reply = Answer::to(if fails && failing == 0 { &no } else { &to }).header(ID, header(request, ID));
            let reply = reply.header("status", if fails && failing == 1 { "failed" } else { "done" });
            vec![reply.value(if fails && failing == 2 { r#"{"ok":false}"# } else { r#"{"ok":true}"# })]
        });
        let channel = format!("{BY_HEADER}\n{channel}");
        let flow = "threads = 1\nrate = \"100/s\"";
        let manifest = manifest_with_channel(&topic.name, &replies.name, &channel, flow, "iterations = 20");
        let manifest = manifest.replacen("topics = [\"replies\"]", "topics = [\"replies\", \"errors\"]", 1).replacen(
            "[channels",
            &format!("[topics.errors]\nname = \"{}\"\naccess = [\"consume\"]\n\n[channels", errors.name),
            1,
        );
        let project = Project::of(&sends_requests(&message(), LONG_NS), &manifest);
        let output = project.run().brokers(&kafka).json().output();
        let result = output.exits(1).is_civil().result();
        assert_eq!(asked(&result), [20, 10, 10, 0, 0], "{channel}: {output}");
    }
}

/// Announces two replies with the id `job-17` before, or after, it sends what causes them.
fn expects(announces_first: bool, waits_before_ns: u64) -> Guest {
    let announce = "(i32.store (i32.const 128)
        (call $expect (global.get $channel) (i32.const 200) (i32.const 6) (i32.const 2) (i32.const 0)))";
    let call = |at, count| {
        let send = format!("(call $produce (i32.const {at}) (i32.const {count}))");
        let first = if announces_first { format!("{announce}{send}") } else { send };
        let pause = format!("(drop (call $sleep (i64.const {waits_before_ns})))");
        let then = if announces_first { String::new() } else { format!("{pause}{announce}") };
        format!(
            "(i64.store (i32.const 200) (i64.const 0x37312d626f6a))
             {first}{then}
             (call $wait (i32.const 128) (i32.const 1) (i32.const 1) (i64.const {LONG_NS}) (i32.const 64))
             (call $all-are-there (i32.const 1))
             (if (i32.ne (i32.load offset=4 (i32.load (i32.const 64))) (i32.const 2)) (then unreachable))"
        )
    };
    sends_by(&message(), call)
        .channel("answers")
        .import("kafka", "expect", "(param i32 i32 i32 i32 i32) (result i32)")
        .import("kafka", "wait", "(param i32 i32 i32 i64 i32)")
        .import("clock", "sleep", "(param i64) (result i32)")
        .functions(CHECKS)
}

#[test]
fn replies_that_were_announced_are_waited_for_and_early_ones_count() {
    let Some(kafka) = Kafka::shared() else { return };
    for announces_first in [true, false] {
        let (topic, replies) = (kafka.topic("requests").create(), kafka.topic("replies").create());
        let to = replies.name.clone();
        let _application = Application::start(&kafka, &topic, move |_, _| {
            vec![Answer::to(&to).key("job-17"), Answer::to(&to).key("job-17")]
        });
        let channel = "reply = \"key\"";
        let manifest = manifest_with_channel(&topic.name, &replies.name, channel, "users = 1", "iterations = 1");
        let project = Project::of(&expects(announces_first, 3 * SECOND_NS), &as_session(manifest));
        let output = project.run().brokers(&kafka).kafka("linger.ms", "0").json().output();
        let result = output.exits(0).is_civil().result();
        let expected = if announces_first { (2, 0) } else { (0, 2) };
        assert_eq!((read(&result, "matched"), read(&result, "early")), expected, "{output}");
        assert_eq!(result.count_of("/flows/0/operations/0/expectations/complete"), 1, "{output}");
    }
}

#[test]
fn a_request_may_be_its_own_reply_on_the_embedded_broker() {
    let manifest = crate::harness::guests::manifest_with_topic(2, "threads = 1\nrate = \"50/s\"", "iterations = 100");
    let manifest = manifest.replacen("access = [\"produce\"]", "access = [\"produce\", \"consume\"]", 1).replacen(
        "[flows.write]",
        &format!("[channels.answers]\ntopics = [\"load\"]\n{BY_HEADER}\n\n[flows.write]"),
        1,
    );
    let output = Project::of(&requests(&message(), LONG_NS), &manifest).run().json().output();
    let result = output.exits(0).is_civil().result();
    assert_eq!(asked(&result), [100, 100, 0, 0, 0], "{output}");
    let output = Project::of(&requests(&message(), LONG_NS), &manifest).run().output();
    output.exits(0).is_civil().prints("requests").prints("answers: 100 matched");
}

#[test]
fn partitions_that_are_added_in_mid_run_are_read() {
    let Some(kafka) = Kafka::shared() else { return };
    let (topic, replies) = (kafka.topic("requests").create(), kafka.topic("replies").create());
    let to = replies.name.clone();
    let grown = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = grown.clone();
    let _application = Application::start(&kafka, &topic, move |_, request| {
        let partition = i32::from(seen.load(std::sync::atomic::Ordering::Acquire));
        vec![Answer::to(&to).partition(partition).header(ID, header(request, ID))]
    });
    let manifest = manifest_with_channel(
        &topic.name,
        &replies.name,
        BY_HEADER,
        "users = 1\npace = \"50ms\"",
        "duration = \"10m\"",
    );
    let project = Project::of(&requests(&message(), LONG_NS), &as_session(manifest));
    let khost = project.run().brokers(&kafka).kafka("linger.ms", "0").json().start();
    khost.wait_for_stderr("iterations");
    kafka.grow(&replies, 2);
    grown.store(true, std::sync::atomic::Ordering::Release);
    let started = std::time::Instant::now();
    while replies.end_offsets()[1] < 3 {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing came in the new partition");
        std::thread::sleep(Duration::from_millis(50));
    }
    khost.interrupt();
    let output = khost.finish();
    let result = output.exits(130).is_civil().result();
    let [sent, replied, ..] = asked(&result);
    assert_eq!(sent, replied, "{output}");
}

#[test]
fn a_reply_topic_that_is_deleted_ends_the_run_and_what_was_measured_stays() {
    let Some(kafka) = Kafka::shared() else { return };
    let (topic, replies) = (kafka.topic("requests").create(), kafka.topic("replies").create());
    let to = replies.name.clone();
    let application =
        Application::start(&kafka, &topic, move |_, request| vec![Answer::to(&to).header(ID, header(request, ID))]);
    let manifest = manifest_with_channel(
        &topic.name,
        &replies.name,
        BY_HEADER,
        "users = 2\npace = \"50ms\"",
        "duration = \"10m\"",
    );
    let project = Project::of(&requests(&message(), LONG_NS), &as_session(manifest));
    let khost = project.run().brokers(&kafka).kafka("linger.ms", "0").json().start();
    khost.wait_for_stderr("iterations");
    replies.wait_for_messages(20);
    drop(application);
    kafka.delete(&replies);
    let output = khost.finish();
    let result = output.exits(1).is_civil().result();
    let reasons = result.reasons().join("\n");
    // the channel's reader and the watch of the topics look for themselves: whoever sees it first says so
    assert!(reasons.contains(&replies.name), "{reasons}");
    let [sent, replied, failed, timed_out, unanswered] = asked(&result);
    assert!(replied > 0 && timed_out == 0, "{output}");
    assert_eq!(sent, replied + failed + unanswered, "{output}");
}

#[test]
fn what_can_not_be_is_refused() {
    let manifest = |channel: &str| manifest_with_channel("a", "b", channel, "threads = 1", "iterations = 1");
    let run = |channel: &str| Project::of(&requests(&message(), LONG_NS), &manifest(channel)).run().output();
    for (channel, words) in [
        ("reply = \"json:job\"", ["scenario.toml:", "channels.answers.reply"]),
        ("requst = \"key\"", ["scenario.toml:", "unknown key `requst`"]),
        ("request = \"key\"\nfailure = \"topic:load\"", ["channels.answers.failure", "none of the channel's `topics`"]),
        ("", ["scenario.toml:", "channels.answers"]),
    ] {
        run(channel).exits(2).within(Duration::from_secs(3)).explains(&words);
    }
}

#[test]
fn a_request_that_its_channel_can_not_carry_traps_with_a_text() {
    for (channel, text) in [
        ("request = \"none\"\nreply = \"key\"", "channels.answers.request"),
        ("request = \"key\"", "has a key, which is where its id is to be written"),
    ] {
        let manifest = crate::harness::guests::manifest_with_topic(1, "threads = 1", "iterations = 1").replacen(
            "[flows.write]",
            &format!("[channels.answers]\ntopics = [\"load\"]\n{channel}\n\n[flows.write]"),
            1,
        );
        let manifest = manifest.replacen("access = [\"produce\"]", "access = [\"produce\", \"consume\"]", 1);
        let output = Project::of(&requests(&message(), LONG_NS), &manifest).run().output();
        output.exits(1).is_civil().prints(text);
    }
}
