//! From when to when the figures of a run are.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use crate::harness::Project;
use crate::harness::guests::{Guest, manifest_with_topic, producer};

#[test]
fn stages_end_the_window_where_they_end_before_the_duration() {
    let flow = "threads = 1\nstages = [{ for = \"1s\", rate = \"200/s\" }]";
    let project = Project::of(&producer(1), &manifest_with_topic(1, flow, "duration = \"10m\""));
    let result = project.run().json().output().exits(0).result();
    assert_eq!(result.acknowledged(), 200);
    assert!(result.window_seconds() < 60.0, "{}", result.window_seconds());
}

#[test]
fn messages_end_the_window_of_a_flow_whose_iterations_send_several() {
    let project =
        Project::of(&producer(10), &manifest_with_topic(1, "threads = 1\nrate = \"100/s\"", "messages = 500"));
    let result = project.run().json().output().exits(0).result();
    assert_eq!((result.acknowledged(), result.iterations()), (500, 50));
    assert!(result.achieved_rate() > 50.0, "{}", result.achieved_rate());
}

#[test]
fn a_guest_that_has_nothing_left_to_do_ends_the_window_and_says_so() {
    let guest: Guest =
        producer(1).begins("(if (i64.ge_u (local.get $first) (i64.const 20)) (then (return (i32.const 0))))");
    let project = Project::of(&guest, &manifest_with_topic(1, "threads = 1\nrate = \"100/s\"", "duration = \"10m\""));
    let result = project.run().json().output().exits(0).result();
    assert!(result.window_seconds() < 60.0, "{}", result.window_seconds());
    assert_eq!(result.limited_by(), "guest");
}

#[test]
fn a_result_that_cannot_be_written_fails_the_run() {
    let project = Project::of(&producer(1), &manifest_with_topic(1, "threads = 1", "iterations = 10"));
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut khost = Command::new(env!("CARGO_BIN_EXE_khost"));
    let output = khost
        .args(["run", "scenario.wasm"])
        .current_dir(project.path("."))
        .stdout(full)
        .stderr(Stdio::piped())
        .output();
    let output = output.expect("khost starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("can't be written to stdout"), "{said}");
}
