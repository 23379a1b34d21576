//! Which flow begins when, which one ends the run, and how many users there are over time. On the embedded broker; bounds are such that a machine that is ten
//! times slower meets them.

use std::time::Duration;

use crate::harness::guests::{Guest, manifest_with_topic, producer};
use crate::harness::{Output, Project};

const SOON: Duration = Duration::from_secs(10);

/// A guest that sleeps so long in each iteration, in milliseconds.
fn sleeps(ms: u64) -> Guest {
    let sleep = format!("(drop (call $sleep (i64.const {})))", ms * 1_000_000);
    Guest::new("(i32.const 1)").import("clock", "sleep", "(param i64) (result i32)").begins(&sleep)
}

/// A session flow.
fn session(name: &str, settings: &str) -> String {
    format!("[flows.{name}]\nkind = \"session\"\n{settings}\n\n")
}

fn project(guest: &Guest, flows: &[String], run: &str) -> Project {
    let manifest = manifest_with_topic(1, "", run);
    Project::of(guest, &manifest.replacen("[flows.write]\nkind = \"stream\"\n", &flows.concat(), 1))
}

#[track_caller]
fn passes(guest: &Guest, flows: &[String], run: &str) -> Output {
    let output = project(guest, flows, run).run().json().output();
    output.exits(0).is_civil();
    output
}

#[test]
fn a_flow_begins_when_the_warm_up_is_over() {
    let flows = [session("users", "users = 2"), session("import", "users = 1\niterations = 3\nafter = \"warm-up\"")];
    let output = passes(&sleeps(50), &flows, "warm-up = \"500ms\"\nduration = \"1s\"");
    let result = output.result();
    assert_eq!((result.number_of("/flows/1/began_at_s"), result.number_of("/flows/1/window/start_s")), (0.5, 0.5));
    assert_eq!(result.text_of("/flows/1/after"), "warm-up");
    assert_eq!((result.number_of("/flows/0/began_at_s"), result.is_null("/flows/0/after")), (0.0, true));
    let ran = |at: u32| ["ran", "warm_up"].map(|what| result.count_of(&format!("/flows/{at}/iterations/{what}")));
    assert_eq!(ran(1), [3, 0], "{output}");
    output.check(ran(0)[1] > 0, "the users have a warm-up");
    // the first is due when the flow begins, and it would be late by half a second had it begun with the run
    let shortest = result.count_of("/flows/1/operations/0/measures/iteration/min_us");
    output.check((49_900..500_000).contains(&shortest), &format!("iterations of 50 ms, not {shortest} us"));
}

#[test]
fn a_warm_up_by_count_is_over_when_all_have_begun_to_measure() {
    let flows = [
        session("users", "users = 1"),
        session("slow", "users = 1\npace = \"50ms\""),
        session("import", "users = 1\niterations = 1\nafter = \"warm-up\""),
    ];
    let output = passes(&sleeps(10), &flows, "warm-up = 10\niterations = 30");
    let result = output.result();
    let start = |at: u32| result.number_of(&format!("/flows/{at}/window/start_s"));
    output.check(start(1) >= 0.5 && start(2) >= start(1) && start(2) > start(0), "after the last");
    assert_eq!(result.count_of("/flows/2/iterations/ran"), 1);
}

#[test]
fn a_flow_begins_when_another_has_ended_and_its_schedule_counts_from_then() {
    let flows = [
        "[flows.burst]\nkind = \"stream\"\nthreads = 2\nrate = \"100/s\"\nduration = \"500ms\"\nafter = \"first\"\n\n"
            .into(),
        session("first", "users = 1\npace = \"20ms\"\niterations = 20"),
        session("last", "rate = \"100/s\"\nmax-users = 5\nduration = \"300ms\"\nafter = \"burst\""),
    ];
    let output = passes(&producer(1), &flows, "");
    let result = output.result();
    let began = [1, 0, 2].map(|at| result.number_of(&format!("/flows/{at}/began_at_s")));
    output.check(began[0] == 0.0 && began[1] >= 0.38 && began[2] >= began[1] + 0.49, &format!("{began:?}"));
    let sent = [1, 0, 2].map(|at| result.count_of(&format!("/flows/{at}/messages/acknowledged")));
    assert_eq!(sent[..2], [20, 50], "{output}");
    let arrived = sent[2] + result.count_of("/flows/2/iterations/missed");
    assert_eq!(arrived, 30, "{output}");
    assert_eq!(result.target_rate(), 100.0);
    for flow in [0, 2] {
        let late = result.count_of(&format!("/flows/{flow}/operations/0/measures/lateness/min_us"));
        output.check(late < 300_000, &format!("due after its flow's beginning, and not {late} us late"));
    }
}

#[test]
fn a_flow_that_has_no_end_of_its_own_ends_with_the_run() {
    let flows = [session("first", "users = 1\niterations = 4"), session("then", "users = 1\nafter = \"first\"")];
    let output = passes(&sleeps(50), &flows, "duration = \"1s\"");
    let result = output.result();
    let (began, end) = (result.number_of("/flows/1/began_at_s"), result.number_of("/flows/1/window/schedule_end_s"));
    output.check(began >= 0.2 && (1.0..began + 1.0).contains(&end), &format!("from {began} s until 1 s, not {end} s"));
}

#[test]
fn the_end_of_a_flow_ends_the_run_as_planned() {
    let flows = [
        session("users", "users = 2"),
        session("arrivals", "rate = \"50/s\"\nmax-users = 20"),
        session("thinks", "users = 3\nthink-time = \"10m\""),
        "[flows.stream]\nkind = \"stream\"\nthreads = 2\nrate = \"100/s\"\n\n".into(),
        session("import", "users = 1\niterations = 20\nends-run = true"),
    ];
    let output = passes(&sleeps(20), &flows, "");
    output.within(SOON);
    let result = output.result();
    assert_eq!((result.verdict().as_str(), result.count_of("/flows/4/iterations/ran")), ("passed", 20));
    let end = result.number_of("/flows/4/window/end_s");
    output.check(end >= 0.4, "20 of 20 ms");
    for flow in [0, 1, 3] {
        let schedule_end = result.number_of(&format!("/flows/{flow}/window/schedule_end_s"));
        output.check(schedule_end >= end, &format!("until the run's end, not {schedule_end} s"));
        for what in ["missed", "cut"] {
            assert_eq!(result.count_of(&format!("/flows/{flow}/iterations/{what}")), 0, "{output}");
        }
    }
    assert_eq!(result.number_of("/flows/3/target_rate"), 100.0);
    output.check(result.load_seconds() < end + 1.5, "nobody waits until what would have been due later");
}

#[test]
fn the_runs_duration_bounds_a_run_that_a_flow_ends() {
    let flows = [session("users", "users = 1"), session("import", "users = 1\niterations = 10_000\nends-run = true")];
    let output = passes(&sleeps(20), &flows, "duration = \"500ms\"");
    let result = output.within(SOON).result();
    output.check(result.count_of("/flows/1/iterations/ran") <= 26, "at most half a second of it");
}

#[test]
fn the_first_of_several_that_end_the_run_does() {
    let flows = [
        session("long", "users = 1\niterations = 10_000\nends-run = true"),
        session("short", "users = 1\niterations = 5\nends-run = true"),
    ];
    let output = passes(&sleeps(20), &flows, "");
    assert_eq!(output.within(SOON).result().count_of("/flows/1/iterations/ran"), 5);
}

#[test]
fn a_flow_that_never_began_is_told() {
    let flows = [
        session("import", "users = 1\nends-run = true"),
        session("after-it", "users = 1\niterations = 5\nafter = \"import\""),
        session("late", "users = 1\niterations = 5\nafter = \"warm-up\""),
        session("stream-like", "rate = \"5/s\"\nmax-users = 2\niterations = 5\nafter = \"late\""),
    ];
    // it has nothing left to do long before the warm-up is over
    let guest = sleeps(20).begins("(if (i64.ge_u (local.get $first) (i64.const 5)) (then (return (i32.const 0))))");
    let output = passes(&guest, &flows, "warm-up = \"10m\"");
    let result = output.within(SOON).result();
    output.check(result.load_seconds() < 2.0, "nobody waits for the warm-up");
    for (at, name) in [(1, "after-it"), (2, "late"), (3, "stream-like")] {
        output.check(result.is_null(&format!("/flows/{at}/began_at_s")), "it never began");
        output.check(result.is_null(&format!("/flows/{at}/window")), "there is nothing of it");
        let told = result.warnings().iter().filter(|text| text.starts_with(&format!("flow `{name}`"))).count();
        output.check(told == 1, &format!("one note on {name}"));
    }
    output.tells("flow `late` never began: the run was over before the warm-up was over");
    output.tells("flow `after-it` never began: the run was over before flow `import` had ended");
}

#[test]
fn an_interrupt_ends_flows_that_wait() {
    let flows = [
        session("first", "users = 1\niterations = 1"),
        session("then", "users = 2\niterations = 5\nafter = \"first\""),
        session("late", "users = 2\niterations = 5\nafter = \"warm-up\""),
    ];
    let khost = project(&sleeps(600_000), &flows, "warm-up = \"20m\"").run().json().start();
    khost.wait_for_stderr("iterations");
    khost.interrupt();
    let output = khost.finish();
    let result = output.exits(130).within(SOON).is_civil().result();
    output.check(result.is_null("/flows/1/began_at_s") && result.is_null("/flows/2/began_at_s"), "they never began");
}

#[test]
fn an_order_that_can_not_be_is_refused_with_its_place() {
    for (flows, words) in [
        (
            vec![session("a", "users = 1\nafter = \"b\""), session("b", "users = 1\nafter = \"a\"")],
            ["flows.a.after", "a -> b -> a"],
        ),
        (vec![session("a", "users = 1\nafter = \"wram-up\"")], ["flows.a.after", "`warm-up`"]),
        (
            vec![session("a", "users = 1\nafter = \"b\""), session("b", "users = 1\nenabled = false")],
            ["flows.a.after", "flows.b is not enabled"],
        ),
    ] {
        let output = project(&sleeps(1), &flows, "").run().output();
        output.exits(2).within(Duration::from_secs(3)).explains(&words).explains(&["scenario.toml:"]);
    }
}

#[test]
fn what_is_not_measured_is_shown_and_no_note_is_on_its_figures() {
    let flows = [
        session("users", "users = 1\niterations = 25"),
        session("beside", "rate = \"1000/s\"\nmax-users = 1\nmeasured = false\nduration = \"300ms\""),
    ];
    let output = passes(&sleeps(20), &flows, "");
    let result = output.result();
    output.check(result.count_of("/flows/1/iterations/missed") > 0, "one user can't do them all");
    output.check(result.warnings().iter().all(|text| !text.contains("beside")), "no note on it");
    let sentence = result.text_of("/honesty/limited_by/sentence");
    output.check(!sentence.contains("asked for"), "the limit of the flow that is measured, which has no rate");
}

fn ramp(stages: &[(&str, u32)], more: &str) -> String {
    let stages: Vec<String> =
        stages.iter().map(|(length, users)| format!("{{ for = \"{length}\", users = {users} }}")).collect();
    session("users", &format!("stages = [{}]\n{more}", stages.join(", ")))
}

#[test]
fn users_come_and_go_with_their_stages() {
    let flows = [ramp(&[("0s", 0), ("1s", 4), ("500ms", 4), ("500ms", 0)], "")];
    let output = passes(&sleeps(200), &flows, "");
    let result = output.result();
    // they go round for 2, 1.625, 1.25 and 0.875 s: 5.75 s, and each may be in an iteration at the end
    let ran = result.iterations();
    output.check((15..=32).contains(&ran), &format!("more than one of them, and not all four all the time: {ran}"));
    assert_eq!((result.users(), result.missed(), result.count_of("/flows/0/iterations/cut")), (4, 0, 0));
    let end = result.number_of("/flows/0/window/schedule_end_s");
    output.check((2.0..4.0).contains(&end), &format!("it ends with its stages, not at {end} s"));
}

#[test]
fn a_user_who_is_not_wanted_waits_and_its_next_iteration_counts_from_when_it_is() {
    let stages = [("0s", 3), ("300ms", 3), ("0s", 1), ("1500ms", 1), ("0s", 3), ("300ms", 3)];
    let output = passes(&sleeps(50), &[ramp(&stages, "")], "");
    let result = output.result();
    // one goes round for 2.1 s, two for 300 ms twice
    let ran = result.iterations();
    output.check(ran <= 43 + 2 * 14, &format!("two of them wait, not {ran} iterations"));
    output.check(result.measure("lateness", "max_us") < 1_400_000, "the time that they wait is nobody's lateness");
}

#[test]
fn stages_of_users_are_told_and_end_with_an_interrupt() {
    let flows = [ramp(&[("0s", 0), ("10m", 0), ("1m", 5)], "pace = \"1s\"")];
    let project = project(&sleeps(1), &flows, "");
    let shown = project.run().arg("--dry-run").output();
    shown
        .exits(0)
        .prints("0 users for 10m, then 0 to 5 users in 1m, each beginning every 1s")
        .prints("ends with its stages");
    let khost = project.run().start();
    khost.wait_for_stderr("iterations");
    khost.interrupt();
    let output = khost.finish();
    output.exits(130).within(SOON).is_civil().prints("0 to 5 users in 1m").prints("at most 5 users");
}

#[test]
fn what_lies_over_stages_of_users_keeps_the_think_time() {
    let flows = [session("users", "users = 2\nthink-time = \"10ms\"\niterations = 5")];
    let project = project(&sleeps(1), &flows, "");
    let set = "[{ for = \"1s\", users = 3 }]";
    let output = project.run().set("flows.users.stages", set).json().output();
    output.exits(0).tells("flows.users.users = 2");
    let result = output.result();
    assert_eq!((result.users(), result.text_of("/flows/0/pace").as_str()), (3, "3 to 3 users in 1s, think time 10ms"));
}

#[test]
fn what_would_begin_after_the_runs_duration_never_does_nor_what_waits_for_it() {
    let flows = [
        session("first", "users = 1\niterations = 8"),
        session("then", "users = 1\nafter = \"first\""),
        session("last", "users = 1\niterations = 5\nafter = \"then\""),
        session("own", "users = 1\niterations = 5\nafter = \"first\""),
    ];
    let output = passes(&sleeps(50), &flows, "duration = \"200ms\"");
    let result = output.within(SOON).result();
    let never = |at: u32| result.is_null(&format!("/flows/{at}/began_at_s"));
    assert_eq!([0, 1, 2, 3].map(never), [false, true, true, false], "{output}");
    assert_eq!(result.count_of("/flows/3/iterations/ran"), 5, "one with an end of its own goes on beyond");
}
