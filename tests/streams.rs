//! What goes where: results on stdout, talk on stderr, and nothing that only a terminal understands unless there is one.

use std::time::Duration;

use crate::harness::Project;
use crate::harness::guests::{manifest_with_topic, producer};

fn three_seconds() -> Project {
    Project::of(&producer(1), &manifest_with_topic(1, "rate = \"100/s\"", "duration = \"3s\""))
}

#[test]
fn without_a_terminal_there_are_plain_lines_and_few() {
    let output = three_seconds().run().output();
    for stream in [&output.stdout, &output.stderr] {
        output.check(!stream.contains('\u{1b}') && !stream.contains('\r'), "no control characters");
    }
    output.exits(0).check(output.stderr.lines().count() <= 20, "a line every few seconds");
}

#[test]
fn progress_is_told_while_it_runs() {
    let khost = three_seconds().run().set("run.duration", "60s").start();
    khost.wait_for_stderr("acknowledged");
    khost.interrupt();
    khost.finish().exits(130).within(Duration::from_secs(10));
}

#[test]
fn on_a_terminal_there_is_a_live_line() {
    let output = three_seconds().run().env("TERM", "xterm").on_terminal().output();
    output
        .exits(0)
        .check(output.stderr.contains('\r') || output.stderr.contains('\u{1b}'), "a line that is drawn again");
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let output = three_seconds().run().env("TERM", "dumb").on_terminal().output();
    output.exits(0).check(!output.stderr.contains('\u{1b}'), "no escape codes");
}

#[test]
fn no_color_is_obeyed() {
    let output = three_seconds().run().env("TERM", "xterm").env("NO_COLOR", "1").on_terminal().output();
    output.exits(0).check(!output.stderr.contains("\u{1b}[3") && !output.stderr.contains("\u{1b}[1m"), "no colours");
}

#[test]
fn a_closed_stdout_neither_panics_nor_fails_the_run() {
    for arguments in [&[][..], &["--format", "json"]] {
        let output = three_seconds().run().args(arguments).first_line_only().output();
        output.exits(0).is_civil().says_not("broken pipe").within(Duration::from_secs(20));
    }
}

#[test]
fn figures_have_a_decimal_point_in_every_locale() {
    let project = three_seconds();
    let output = project.run().env("LC_ALL", "de_DE.UTF-8").env("LANG", "de_DE.UTF-8").output();
    let bytes = output.exits(0).stdout.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let comma = (1..bytes.len()).any(|at| {
        bytes[at] == b',' && digit(at - 1) && digit(at + 1) && !(digit(at + 2) && digit(at + 3) && !digit(at + 4))
    });
    output.check(!comma, "no decimal comma");
    project.run().env("LC_ALL", "de_DE.UTF-8").json().output().exits(0).result();
}

#[test]
fn stdout_has_the_result_document_and_nothing_else() {
    let output = three_seconds().run().json().output();
    output.exits(0).result();
    output
        .check(output.stdout.trim_start().starts_with('{') && output.stdout.trim_end().ends_with('}'), "one document");
}
