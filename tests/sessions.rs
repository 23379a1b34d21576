//! Virtual users: how many iterations they make, when these begin, and what is said of them. On the embedded broker; bounds
//! are such that a machine that is ten times slower meets them.

use std::time::Duration;

use crate::harness::guests::{Guest, manifest_with_topic, producer};
use crate::harness::{Output, Project};

const SOON: Duration = Duration::from_secs(10);
const SLEEP: (&str, &str, &str) = ("clock", "sleep", "(param i64) (result i32)");

/// A guest that sleeps so long in each iteration, in milliseconds, and does nothing else.
fn sleeps(ms: u64) -> Guest {
    with_sleep(Guest::new("(i32.const 1)"), ms)
}

/// A guest that sleeps before what it does.
fn with_sleep(guest: Guest, ms: u64) -> Guest {
    let (interface, name, signature) = SLEEP;
    guest.import(interface, name, signature).begins(&format!("(drop (call $sleep (i64.const {})))", ms * 1_000_000))
}

fn project(guest: &Guest, flow: &str, run: &str) -> Project {
    let manifest = manifest_with_topic(1, flow, run);
    Project::of(guest, &manifest.replacen("kind = \"stream\"", "kind = \"session\"", 1))
}

#[track_caller]
fn passes(guest: &Guest, flow: &str, run: &str) -> Output {
    let output = project(guest, flow, run).run().json().output();
    output.exits(0).is_civil();
    output
}

/// Or by a machine that others keep busy.
#[track_caller]
fn is_limited_by_its_users(output: &Output) {
    let what = output.result().limited_by();
    output.check(["users", "generator-cpu"].contains(&what.as_str()), &format!("limited by its users, not {what}"));
}

#[test]
fn users_without_think_time_begin_again_at_once() {
    let output = passes(&sleeps(50), "users = 4", "duration = \"2s\"");
    let result = output.result();
    // 4 users of 50 ms each are 80 a second at most
    let rate = result.achieved_rate();
    output.check((8.0..=81.0).contains(&rate), &format!("at most 80 iterations a second, not {rate}"));
    output.check((16..=164).contains(&result.iterations()), "at most 4 in 50 ms for 2 s");
    let shortest = result.measure("iteration", "min_us");
    output.check(shortest >= 49_900, &format!("iterations of 50 ms, not {shortest} us"));
    is_limited_by_its_users(&output);
    assert_eq!((result.kind().as_str(), result.users(), result.threads()), ("session", 4, 4));
}

#[test]
fn think_time_counts_from_the_end_of_an_iteration() {
    // 5 iterations of 50 ms and four thinks of 100 ms
    let output = passes(&sleeps(50), "users = 1\nthink-time = \"100ms\"", "iterations = 5");
    let result = output.result();
    assert_eq!(result.iterations(), 5);
    let load = result.load_seconds();
    output.check((0.65..6.5).contains(&load), &format!("0.65 s, not {load}"));
}

#[test]
fn think_time_in_a_range_is_the_same_for_the_same_seed() {
    let output = passes(&sleeps(1), "users = 1\nthink-time = \"10ms..190ms\"", "iterations = 21");
    let load = output.result().load_seconds();
    output.check((0.2 + 0.021..38.0).contains(&load), &format!("20 thinks of 10 ms to 190 ms, not {load} s"));
}

#[test]
fn pace_counts_from_start_to_start() {
    // two users every 200 ms, the second begins half-way: starts at 0, 100, ... 900 ms
    let output = passes(&sleeps(20), "users = 2\npace = \"200ms\"", "iterations = 10");
    let result = output.result();
    assert_eq!(result.iterations(), 10);
    let load = result.load_seconds();
    output.check((0.9..5.0).contains(&load), &format!("the last begins at 0.9 s, not {load}"));
}

#[test]
fn an_iteration_that_takes_longer_than_the_pace_holds_up_the_next() {
    let output = passes(&sleeps(100), "users = 1\npace = \"50ms\"", "iterations = 5");
    let result = output.result();
    output.check(result.load_seconds() >= 0.5, "one after the other");
    // each of the last four was to begin 50 ms before the one before it returned
    output.check(result.measure("iteration", "max_us") >= 149_000, "the wait is in the iteration");
    output.check(result.measure("lateness", "max_us") >= 49_000, "the wait is lateness");
}

#[test]
fn users_share_the_iterations_of_their_flow() {
    for (iterations, users) in [(1, 7), (100, 7), (40, 1)] {
        let flow = format!("users = {users}");
        let output = passes(&sleeps(2), &flow, &format!("warm-up = 3\niterations = {iterations}"));
        assert_eq!(output.result().iterations(), iterations, "{output}");
        assert_eq!(output.result().count_of("/flows/0/iterations/warm_up"), 3, "{output}");
    }
}

#[test]
fn users_who_think_leave_when_the_iterations_are_used_up() {
    let output = passes(&sleeps(1), "users = 5\nthink-time = \"5m\"", "iterations = 1");
    output.within(SOON);
    assert_eq!(output.result().iterations(), 1);
}

#[test]
fn what_finds_all_users_busy_waits_and_nothing_of_it_is_hidden() {
    let output = passes(&sleeps(100), "rate = \"20/s\"\nmax-users = 1", "duration = \"3s\"");
    let result = output.result();
    let (ran, missed, cut) = (result.iterations(), result.missed(), result.count_of("/flows/0/iterations/cut"));
    output.check(ran + missed + cut == 60, &format!("all 60 that were due, not {ran} + {missed} + {cut}"));
    output.check(missed > 0, "one user can't do all of them");
    let (late, took) = (result.measure("lateness", "max_us"), result.measure("iteration", "max_us"));
    output.check(late > 1_000_000 && took >= late, &format!("waits beyond a second, not {late} and {took} us"));
    output.check(result.above_a_second("iteration") >= 5, "they are in the percentiles");
    output.check(result.achieved_rate() < 15.0, &format!("not the rate, {}", result.achieved_rate()));
    is_limited_by_its_users(&output);
}

#[test]
fn an_open_load_that_its_users_can_do_is_held() {
    let output = passes(&sleeps(20), "rate = \"50/s\"\nmax-users = 50", "warm-up = \"200ms\"\nduration = \"2s\"");
    let result = output.result();
    assert_eq!(result.iterations() + result.missed(), 100, "{output}");
    output.check(result.achieved_rate() > 40.0, &format!("50 a second, not {}", result.achieved_rate()));
    assert_eq!(result.text_of("/flows/0/arrivals"), "uniform");
}

#[test]
fn poisson_arrivals_are_the_same_for_the_same_seed() {
    let arrived = |seed: &str| {
        let flow = "rate = \"200/s\"\nmax-users = 50\narrivals = \"poisson\"";
        let output = passes(&sleeps(1), flow, &format!("duration = \"3s\"\nseed = {seed}"));
        let result = output.result();
        let arrived = result.iterations() + result.missed() + result.count_of("/flows/0/iterations/cut");
        let target = result.target_rate();
        output.check((target * 3.0 - arrived as f64).abs() < 6.0, &format!("what arrived is asked for, not {target}"));
        arrived
    };
    let (first, again, other) = (arrived("5"), arrived("5"), arrived("6"));
    assert_eq!(first, again);
    assert_ne!(first, other);
    // 600 on average, with a standard deviation of 24.5
    assert!(first.abs_diff(600) < 110 && other.abs_diff(600) < 110, "{first} and {other}");
}

#[test]
fn messages_of_a_session_count_from_their_call() {
    let guest = with_sleep(producer(1), 300);
    let output = passes(&guest, "rate = \"10/s\"\nmax-users = 1", "iterations = 5");
    let result = output.result();
    assert_eq!((result.iterations(), result.acknowledged()), (5, 5));
    output.check(result.measure("iteration", "max_us") > 1_000_000, "the last iteration waits for the first four");
    output.check(result.measure("wait", "max_us") < 300_000, "neither the user's sleep nor its wait is the message's");
    output.check(result.measure("response", "count") == 5, "each has a response");
}

#[test]
fn two_thousand_users_start_and_end() {
    let output = passes(&sleeps(1_000), "users = 2000\nthink-time = \"1s\"", "duration = \"3s\"");
    output.within(Duration::from_secs(60));
    let result = output.result();
    output.check(result.iterations() >= 2_000, &format!("each at least once, not {}", result.iterations()));
    output.check(result.measure("iteration", "min_us") >= 999_000, "of a second each");
}

/// What the guests themselves see of it: each sleeps for a second, and says how much more that was.
#[test]
#[ignore = "holds figures to those of a quiet machine"]
fn five_thousand_users_wake_when_they_want_to() {
    let guest = Guest::new("(i32.const 1)")
        .import("clock", "now", "(result i64)")
        .import("metrics", "observe", "(param i32 i64 i32)")
        .import(SLEEP.0, SLEEP.1, SLEEP.2)
        .begins(
            "(local.set $l (call $now))
             (drop (call $sleep (i64.const 1000000000)))
             (call $observe (i32.const 0)
               (i64.sub (i64.sub (call $now) (local.get $l)) (i64.const 1000000000)) (i32.const 1))",
        );
    let output = passes(&guest, "users = 5000", "duration = \"10s\"");
    let late = output.result().measure("observed", "p99_us");
    println!("5,000 users wake {late} us late at p99");
    assert!(late <= 2_000, "{late} us");
}

#[test]
fn an_interrupt_wakes_users_who_sleep() {
    for (guest, flow) in [(sleeps(600_000), "users = 50"), (sleeps(1), "users = 50\nthink-time = \"10m\"")] {
        let khost = project(&guest, flow, "duration = \"20m\"").run().json().start();
        khost.wait_for_stderr("iterations");
        khost.interrupt();
        let output = khost.finish();
        output.exits(130).within(SOON).is_civil();
        assert_eq!(output.result().verdict(), "interrupted");
    }
}

#[test]
fn an_iteration_that_the_end_cuts_short_is_counted_and_no_figure() {
    let output = passes(&sleeps(600_000), "users = 3", "duration = \"100ms\"");
    let result = output.within(SOON).result();
    assert_eq!((result.iterations(), result.count_of("/flows/0/iterations/cut")), (0, 3), "{output}");
    output.tells("cut 3 iterations short");
}

#[test]
fn a_trap_costs_its_iteration_and_the_user_goes_on() {
    let guest = sleeps(1).begins("(if (i64.eq (local.get $first) (i64.const 2)) (then (unreachable)))");
    let run = "iterations = 10\n\n[limits]\ntraps = 1";
    let output = project(&guest, "users = 1", run).run().json().output();
    let result = output.exits(1).is_civil().result();
    assert_eq!((result.iterations(), result.iterations_failed(), result.traps()), (10, 1, 1), "{output}");
    let output = project(&guest, "users = 2", "duration = \"30s\"").run().output();
    output.exits(1).within(SOON).is_civil().prints("limits.traps = 0");
}

#[test]
fn users_who_recurse_for_ever_do_not_take_khost_down() {
    let guest = Guest::new("(call $down (i64.const 1)) (i32.const 1)").functions(
        "(func $down (param $n i64) (call $down (i64.add (local.get $n) (i64.const 1))) (drop (i64.const 0)))",
    );
    let output = project(&guest, "users = 200", "duration = \"30s\"").run().output();
    output.exits(1).within(SOON).is_civil().prints("stack");
}

#[test]
fn a_user_who_has_nothing_left_to_do_leaves_and_it_is_said() {
    let guest = sleeps(1).begins("(if (i64.ge_u (local.get $first) (i64.const 4)) (then (return (i32.const 0))))");
    let output = passes(&guest, "users = 3", "duration = \"10m\"");
    let result = output.within(SOON).result();
    assert_eq!((result.iterations(), result.limited_by().as_str()), (12, "guest"), "{output}");
}

#[test]
fn the_summary_has_the_users_and_their_iterations() {
    let output = project(&sleeps(5), "users = 2\npace = \"20ms\"", "iterations = 26").run().output();
    output.exits(0).is_civil();
    output.prints("write (session, one every 20ms a user, 2 users, 1 client)").prints("iterations    26 (");
    output.prints("write      iteration").prints("write      lateness");
}

#[test]
fn a_stream_beside_users_runs_as_ever() {
    let manifest = manifest_with_topic(1, "threads = 1\nrate = \"100/s\"", "duration = \"1s\"").replacen(
        "[run]",
        "[flows.users]\nkind = \"session\"\nusers = 3\nthink-time = \"10ms\"\n\n[run]",
        1,
    );
    let output = Project::of(&producer(1), &manifest).run().json().output();
    let result = output.exits(0).is_civil().result();
    assert_eq!(result.acknowledged(), 100);
    output.check(result.count_of("/flows/1/messages/acknowledged") > 3, "the users send, too");
}

#[test]
fn a_session_that_can_not_be_is_refused_with_its_place() {
    for (flow, words) in [
        ("users = 8\nrate = \"5/s\"", ["scenario.toml:", "flows.write.users"]),
        ("users = 8\nthink-time = \"1s\"\npace = \"1s\"", ["scenario.toml:", "flows.write.think-time"]),
        ("users = 8\nbatch = 10", ["scenario.toml:", "flows.write.batch"]),
        ("users = 8\nmessages = 10", ["flows.write.messages", "iterations"]),
        ("rate = \"5/s\"", ["flows.write.rate", "max-users"]),
    ] {
        let output = project(&sleeps(1), flow, "").run().output();
        output.exits(2).within(Duration::from_secs(3)).explains(&words);
    }
}

#[test]
fn more_users_than_the_system_takes_are_refused_before_the_start() {
    let most: u64 = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    if most >= 900_000 {
        return;
    }
    let output = project(&sleeps(1), "users = 100_000", "duration = \"1s\"").run().output();
    output.exits(2).within(SOON).explains(&["100000 workers", "sysctl -w"]);
}

#[test]
fn a_dry_run_says_what_the_users_may_take() {
    let output = project(&sleeps(1), "users = 200\nthink-time = \"1s..3s\"", "").run().arg("--dry-run").output();
    output.exits(0).prints("200 users, each beginning again after 1s to 3s").prints("200 users × 256MiB = 50GiB");
}
