//! Jobs: sessions of a few iterations, of which each duration is told. On the embedded broker.

use std::time::Duration;

use crate::harness::guests::{Guest, manifest_with_topic};
use crate::harness::{Output, Project};

const SOON: Duration = Duration::from_secs(10);

/// A guest that sleeps for 60 ms an iteration. Its second one fails, and each observes a `step` of the profile `create` of
/// 75.25 s; that of the second failed.
fn import() -> Guest {
    observing(1)
}

/// The same, which observes so many.
fn observing(times: u32) -> Guest {
    let mut guest = Guest::new("(i32.const 1)");
    let [step, name, value, text] =
        ["step", "profile", "create", "no such file"].map(|word| guest.data(word.as_bytes()));
    let words = [name, 7, value, 6].map(|word| (word as u32).to_le_bytes()).concat();
    let labels = guest.data(&words);
    guest
        .import("clock", "sleep", "(param i64) (result i32)")
        .import("context", "fail", "(param i32 i32 i32)")
        .import("metrics", "open-operation", "(param i32 i32 i32 i32) (result i32)")
        .import("metrics", "observe", "(param i32 i64 i32)")
        .functions("(global $step (mut i32) (i32.const 0))")
        .setup(&format!(
            "(global.set $step (call $open-operation (i32.const {step}) (i32.const 4) (i32.const {labels}) (i32.const 1)))"
        ))
        .begins(&format!(
            "(drop (call $sleep (i64.const 60_000_000)))
             (if (i64.eq (local.get $first) (i64.const 1))
               (then (call $fail (i32.const 0) (i32.const {text}) (i32.const 12))))
             (loop $steps
               (call $observe (global.get $step) (i64.const 75_250_000_000) (i64.ne (local.get $first) (i64.const 1)))
               (br_if $steps (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const {times}))))"
        ))
}

fn run(guest: &Guest, flow: &str, run: &str) -> Project {
    let manifest = manifest_with_topic(1, flow, run);
    Project::of(guest, &manifest.replacen("kind = \"stream\"", "kind = \"session\"", 1))
}

fn within_reason(output: &Output, at: usize) -> f64 {
    let seconds = output.result().number_of(&format!("/flows/0/jobs/0/durations_s/{at}"));
    output.check((0.06..1.0).contains(&seconds), &format!("60 ms, not {seconds} s"));
    seconds
}

#[test]
fn each_duration_of_a_job_is_in_the_document() {
    let output = run(&import(), "users = 1\niterations = 3", "").run().json().output();
    let result = output.exits(1).is_civil().result();
    let jobs = |pointer: &str| format!("/flows/0/jobs/{pointer}");
    assert_eq!(result.text_of(&jobs("0/operation")), "write");
    let all: f64 = (0..3).map(|at| within_reason(&output, at)).sum();
    output.check(all <= result.load_seconds(), "one after the other");
    output.check(!result.has(&jobs("0/durations_s/3")), "three of them");
    assert_eq!((result.count_of(&jobs("0/failed")), result.count_of(&jobs("0/failed_runs/0"))), (1, 1));
    assert_eq!(result.text_of(&jobs("1/operation")), "step");
    assert_eq!(
        (result.text_of(&jobs("1/labels/0/0")), result.text_of(&jobs("1/labels/0/1"))),
        ("profile".into(), "create".into())
    );
    // not 75.26 s, as a histogram would have it
    assert_eq!(
        (0..3).map(|at| result.number_of(&jobs(&format!("1/durations_s/{at}")))).collect::<Vec<_>>(),
        [75.25; 3]
    );
    assert_eq!((result.count_of(&jobs("1/failed")), result.count_of(&jobs("1/not_kept"))), (1, 0));
}

#[test]
fn a_job_is_told_as_durations_and_not_as_percentiles() {
    let output = run(&import(), "users = 1\niterations = 3", "").run().output();
    output.exits(1).is_civil().prints("jobs (hh:mm:ss)").prints("write ").prints("step (profile=create)");
    output.prints("00:01:15, 00:01:15 failed, 00:01:15");
    for percentiles in ["iteration  ", "observed", "lateness", "p99"] {
        output.check(!output.stdout.contains(percentiles), &format!("no {percentiles}"));
    }
    let row = output.stdout.lines().find(|line| line.starts_with("write ")).unwrap_or_default();
    output.check(
        row.matches("00:00:00.").count() == 6,
        "average, least, most and each, below a minute with milliseconds",
    );
    output.check(row.matches(" failed").count() == 1, "the second has failed");
}

#[test]
fn what_is_observed_in_a_job_is_bounded_and_counted() {
    let output = run(&observing(400), "users = 4\niterations = 4", "").run().json().output();
    // a user who takes two of them fails one
    let result = output.is_civil().within(SOON).result();
    let jobs = |pointer: &str| format!("/flows/0/jobs/1/{pointer}");
    output.check(result.has(&jobs("durations_s/999")) && !result.has(&jobs("durations_s/1000")), "1,000 are kept");
    assert_eq!(result.count_of(&jobs("not_kept")), 600);
    output.check(result.has("/flows/0/jobs/0/durations_s/3"), "and each iteration");
}

#[test]
fn more_iterations_or_iterations_from_outside_are_no_job() {
    for flow in ["users = 5\niterations = 21", "rate = \"50/s\"\nmax-users = 5\niterations = 3", "users = 2"] {
        let output = run(&observing(1), flow, "duration = \"300ms\"").run().json().output();
        output.is_civil().check(!output.result().has("/flows/0/jobs/0"), "no job");
    }
}

#[test]
fn the_warm_up_of_a_job_is_left_out() {
    let output = run(&import(), "users = 1\niterations = 2", "warm-up = 2").run().json().output();
    let result = output.is_civil().result();
    for at in [0, 1] {
        output.check(
            result.has(&format!("/flows/0/jobs/{at}/durations_s/1"))
                && !result.has(&format!("/flows/0/jobs/{at}/durations_s/2")),
            "two of four",
        );
        assert_eq!(result.count_of(&format!("/flows/0/jobs/{at}/failed")), 0, "{output}");
    }
}
