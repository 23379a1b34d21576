//! Guests that misbehave: each ends soon, with a message of its own, and never takes the host down.

use std::time::Duration;

use crate::harness::guests::{Fixed, Guest, manifest_with_topic, producer, sends};
use crate::harness::{Output, Project};

/// A generous bound for what should take less than two seconds.
const SOON: Duration = Duration::from_secs(6);

const FAIL: (&str, &str, &str) = ("context", "fail", "(param i32 i32 i32)");

/// A run that would last, on the embedded broker.
fn run(guest: &Guest) -> Output {
    let project = Project::of(guest, &manifest_with_topic(1, "threads = 2", "duration = \"30s\""));
    let output = project.run().output();
    output.is_civil().within(SOON);
    output
}

/// A run whose guests can't be set up.
#[track_caller]
fn does_not_start(guest: &Guest, words: &[&str]) {
    let output = run(guest);
    output.check(matches!(output.code, Some(1 | 2)), "exit code 1 or 2").says("write");
    for word in words {
        output.says(word);
    }
}

/// A run that begins, fails, and still tells what was measured.
#[track_caller]
fn fails(guest: &Guest, words: &[&str]) -> Output {
    let output = run(guest);
    output.exits(1).prints("write");
    for word in words {
        output.tells(word);
    }
    output
}

/// A run that doesn't begin.
#[track_caller]
fn is_refused(guest: &Guest, words: &[&str]) {
    run(guest).exits(2).explains(words);
}

#[test]
fn a_guest_that_loops_for_ever_is_stopped() {
    fails(&Guest::new("(loop $ever (br $ever)) (i32.const 1)"), &["worker", "time"]);
}

#[test]
fn a_guest_that_loops_for_ever_in_setup_is_stopped() {
    let guest = Guest::new("(local.get $count)").setup("(loop $ever (br $ever))");
    let manifest = manifest_with_topic(1, "threads = 2", "duration = \"30s\"\n\n[limits]\ncall-time = \"50ms\"");
    let output = Project::of(&guest, &manifest).run().output();
    output
        .is_civil()
        .within(SOON)
        .says("write")
        .says("time")
        .check(matches!(output.code, Some(1 | 2)), "exit code 1 or 2");
}

#[test]
fn a_guest_that_recurses_without_end_is_stopped() {
    let guest = Guest::new("(call $deeper (i32.const 1))")
        .functions("(func $deeper (param i32) (result i32) (i32.add (call $deeper (local.get 0)) (i32.const 1)))");
    fails(&guest, &["worker", "stack"]);
}

#[test]
fn a_guest_that_traps_is_reported() {
    fails(&Guest::new("unreachable"), &["worker", "unreachable"]);
}

#[test]
fn a_guest_that_traps_in_setup_is_reported() {
    does_not_start(&Guest::new("(local.get $count)").setup("unreachable"), &["unreachable"]);
}

#[test]
fn a_guest_that_traps_in_teardown_is_reported() {
    let guest = producer(1).teardown("unreachable");
    let project = Project::of(&guest, &manifest_with_topic(1, "", "iterations = 10"));
    let output = project.run().output();
    output.is_civil().within(SOON).exits(1).prints("write").tells("unreachable");
}

#[test]
fn a_guest_that_allocates_without_end_meets_its_limit() {
    let grow = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    fails(&Guest::new(grow), &["worker", "memory"]);
}

#[test]
fn a_guest_that_imports_wasi_is_refused_by_the_imports_name() {
    is_refused(&Guest::whole(WASI), &["wasi:random/random@0.2.0"]);
}

#[test]
fn a_guest_that_imports_what_the_contract_lacks_is_refused_by_name() {
    let guest = Guest::new("(local.get $count)").import("kafka", "send-nothing", "(param i32 i32 i32 i64)");
    is_refused(&guest, &["send-nothing"]);
}

#[test]
fn a_guest_that_exports_nothing_is_refused() {
    is_refused(&Guest::whole("(component)"), &["khost:scenario/flow"]);
    is_refused(&Guest::whole("(module)"), &["khost:scenario/flow"]);
}

#[test]
fn a_file_that_is_no_guest_is_refused() {
    for bytes in [&b""[..], b"hello", b"\0asm", &producer(1).wasm()[..200]] {
        let project =
            Project::new().file("scenario.wasm", bytes).manifest(&manifest_with_topic(1, "", "iterations = 1"));
        project.run().output().exits(2).within(SOON).explains(&["scenario.wasm"]);
    }
}

#[test]
fn a_failure_of_a_megabyte_is_cut() {
    let mut guest = Guest::new("").import(FAIL.0, FAIL.1, FAIL.2);
    let at = guest.data(&vec![b'x'; 1 << 20]);
    let guest =
        guest.iterates(&format!("(call $fail (i32.const 0) (i32.const {at}) (i32.const 1048576)) (local.get $count)"));
    let project = Project::of(&guest, &manifest_with_topic(1, "", "iterations = 20"));
    project.run().output().is_civil().within(SOON).exits(1).tells("xxxx").prints("write");
}

#[test]
fn a_failed_iteration_is_counted_and_the_run_goes_on() {
    let mut guest = producer(1).import(FAIL.0, FAIL.1, FAIL.2);
    let at = guest.data(b"no item with this barcode");
    let fail = format!(
        "(if (i64.eq (local.get $first) (i64.const 3)) (then (call $fail (i32.const 0) (i32.const {at}) (i32.const 25))))"
    );
    let guest = guest.begins(&fail);
    let project = Project::of(&guest, &manifest_with_topic(1, "threads = 1\nbatch = 1", "iterations = 10"));
    let output = project.run().json().output();
    let result = output.is_civil().exits(1).tells("no item with this barcode").result();
    assert_eq!((result.iterations(), result.iterations_failed()), (10, 1));
}

#[test]
fn a_panic_ends_the_instance_with_its_text() {
    let mut guest = Guest::new("").import("context", "panic", "(param i32 i32)");
    let at = guest.data(b"no such customer");
    let guest = guest.iterates(&format!("(call $panic (i32.const {at}) (i32.const 16)) unreachable"));
    fails(&guest, &["no such customer"]);
}

#[test]
fn a_guest_may_end_the_run() {
    let mut guest = producer(1).import("context", "end-run", "(param i32 i32)");
    let at = guest.data(b"enough is enough");
    let end = format!(
        "(if (i64.gt_u (local.get $first) (i64.const 5)) (then (call $end-run (i32.const {at}) (i32.const 16))))"
    );
    fails(&guest.begins(&end), &["enough is enough"]);
}

#[test]
fn a_topic_that_the_manifest_lacks_is_refused_with_the_nearest_name() {
    does_not_start(&Guest::new("(local.get $count)").topic("laod"), &["laod", "load"]);
}

#[test]
fn a_topic_that_is_not_granted_is_refused() {
    let guest = producer(1);
    let manifest = manifest_with_topic(1, "", "duration = \"30s\"").replace("[\"produce\"]", "[\"consume\"]");
    let output = Project::of(&guest, &manifest).run().output();
    output.is_civil().within(SOON).tells("load").tells("produce");
    output.check(matches!(output.code, Some(1 | 2)), "exit code 1 or 2");
}

#[test]
fn a_handle_that_was_never_opened_is_refused() {
    let guest = sends(&[Fixed::new(None, Some(b"x"))]).setup("(global.set $topic (i32.const 99))");
    fails(&guest, &["99"]);
}

#[test]
fn a_partition_that_does_not_exist_is_a_failed_message() {
    let guest = sends(&[Fixed::new(None, Some(b"x")).partition(77)]);
    let project = Project::of(&guest, &manifest_with_topic(1, "threads = 1", "iterations = 5"));
    let output = project.run().json().output();
    assert_eq!(output.is_civil().within(SOON).exits(1).result().failed(), 5);
}

#[test]
fn pointers_beyond_the_guests_memory_trap() {
    let guest = sends(&[Fixed::new(None, Some(b"x"))]).begins("(call $produce (i32.const -64) (i32.const 1000000))");
    fails(&guest, &["worker"]);
}

#[test]
fn a_guest_that_logs_without_end_does_not_drown_the_run() {
    let mut guest = producer(1).import("log", "log", "(param i32 i32 i32)");
    let at = guest.data(b"here I am");
    let log = format!(
        "(loop $again (call $log (i32.const 2) (i32.const {at}) (i32.const 9))
           (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))"
    );
    let project = Project::of(&guest.begins(&log), &manifest_with_topic(1, "threads = 1", "iterations = 2000"));
    project.run().output().is_civil().exits(0).says("here I am");
}

#[test]
fn a_worker_that_has_nothing_to_do_ends() {
    run(&Guest::new("(i32.const 0)")).exits(0);
}

#[test]
fn healthy_workers_go_on_within_the_allowed_traps() {
    let once = "(if (i32.and (i32.eqz (call $worker)) (i64.eqz (local.get $first))) (then unreachable))";
    let manifest = manifest_with_topic(4, "threads = 4\nrate = \"400/s\"", "duration = \"2s\"\n\n[limits]\ntraps = 3");
    let output = Project::of(&producer(1).begins(once), &manifest).run().json().output();
    let result = output.is_civil().tells("unreachable").result();
    assert_eq!(result.traps(), 1);
    assert!(result.acknowledged() >= 750, "{output}");
}

#[test]
fn a_run_ends_beyond_the_allowed_traps() {
    let always = "(if (i32.eqz (call $worker)) (then unreachable))";
    let manifest = manifest_with_topic(4, "threads = 4\nrate = \"400/s\"", "duration = \"30s\"\n\n[limits]\ntraps = 3");
    let output = Project::of(&producer(1).begins(always), &manifest).run().json().output();
    let result = output.is_civil().within(SOON).exits(1).tells("unreachable").result();
    assert_eq!(result.traps(), 4);
    assert_eq!(result.failed() + result.unknown(), 0, "the healthy workers' messages arrived");
}

/// A whole scenario, but for what it imports.
const WASI: &str = r#"
(component
  (import "wasi:random/random@0.2.0" (instance $wasi (export "get-random-u64" (func (result u64)))))
  (import "khost:scenario/types@0.1.0" (instance $types
    (type $span' (record (field "start" u32) (field "length" s32)))
    (export "span" (type $span (eq $span')))
    (type $received' (record (field "topic" u32) (field "partition" s32) (field "offset" s64) (field "timestamp" s64)
      (field "key" $span) (field "value" $span) (field "first-header" u32) (field "header-count" u32)))
    (export "received" (type $received (eq $received')))
    (type $header' (record (field "name" $span) (field "value" $span)))
    (export "received-header" (type $header (eq $header')))
    (type $batch' (record (field "bytes" (list u8)) (field "records" (list $received)) (field "headers" (list $header))))
    (export "batch" (type (eq $batch')))))
  (alias export $types "batch" (type $batch))
  (core module $m
    (import "" "random" (func $random (result i64)))
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable)
    (func (export "setup"))
    (func (export "iterate") (param i64 i32) (result i32) (drop (call $random)) (local.get 1))
    (func (export "handle") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 0)))
  (core func $random (canon lower (func $wasi "get-random-u64")))
  (core instance $i (instantiate $m (with "" (instance (export "random" (func $random))))))
  (func $setup (canon lift (core func $i "setup")))
  (func $iterate (param "first" u64) (param "count" u32) (result u32) (canon lift (core func $i "iterate")))
  (func $handle (param "records" $batch) (result u32)
    (canon lift (core func $i "handle") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
  (instance $flow
    (export "setup" (func $setup))
    (export "iterate" (func $iterate))
    (export "handle" (func $handle))
    (export "teardown" (func $setup)))
  (export "khost:scenario/flow@0.1.0" (instance $flow)))
"#;
