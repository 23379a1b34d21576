//! Settings that don't fit the run's shape are refused when it is planned; what is in force is in the report.

use std::time::Duration;

use crate::harness::guests::{manifest_with_topic, producer};
use crate::harness::{Kafka, Project};

const AT_ONCE: Duration = Duration::from_secs(3);

fn project(flow: &str) -> Project {
    Project::of(&producer(1), &manifest_with_topic(1, flow, "iterations = 10"))
}

fn x<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    settings.iter().flat_map(|setting| ["-X", setting]).collect()
}

#[track_caller]
fn refused(flow: &str, settings: &[&str], words: &[&str]) {
    project(flow).run().args(x(settings)).output().exits(2).within(AT_ONCE).refuses(words);
}

#[test]
fn transactions_are_refused_whoever_shares_the_id() {
    refused("threads = 1", &["transactional.id=t"], &["transactional.id"]);
    refused("threads = 2\nclients = 2", &["transactional.id=t"], &["transactional.id"]);
}

#[test]
fn idempotence_is_refused_with_settings_that_would_undo_it() {
    refused("", &["enable.idempotence=true", "acks=1"], &["enable.idempotence", "acks"]);
    refused("", &["enable.idempotence=true", "request.required.acks=0"], &["enable.idempotence", "acks"]);
    refused("", &["enable.idempotence=true", "max.in.flight=10"], &["enable.idempotence", "max.in.flight"]);
}

#[test]
fn the_report_says_which_guarantees_are_in_force() {
    let Some(kafka) = Kafka::shared() else { return };
    let in_force = |settings: &[&str]| {
        let project = Project::of(&producer(1), &manifest_with_topic(1, "", "iterations = 10"));
        let result = project.run().brokers(&kafka).json().args(x(settings)).output().exits(0).result();
        (result.client("acks"), result.client("enable.idempotence"))
    };
    assert_eq!(in_force(&[]), ("-1".into(), "false".into()));
    assert_eq!(in_force(&["acks=1"]), ("1".into(), "false".into()));
    assert_eq!(in_force(&["enable.idempotence=true"]), ("-1".into(), "true".into()));
}

#[test]
fn a_secret_is_never_shown() {
    let project = project("");
    for arguments in [&["--dry-run"][..], &["--format", "json"], &[]] {
        let output = project.run().kafka("sasl.password", "hunter2").args(arguments).output();
        output.check(
            !output.stdout.contains("hunter2") && !output.stderr.contains("hunter2"),
            "no password in the output",
        );
    }
}

#[test]
fn defaults_follow_the_processors_that_khost_may_use() {
    let project = Project::of(&producer(1), &manifest_with_topic(1, "", "iterations = 10"));
    let result = project.run().on_cpu(0).json().output().exits(0).result();
    assert_eq!((result.processors(), result.threads()), (1, 1));
}
