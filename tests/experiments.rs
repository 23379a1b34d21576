//! The published experiments, as scenarios: what their pages promise is printed. Shortened; with their default settings they are
//! ignored tests, run by hand: `-- --ignored experiments::`.

use std::time::Duration;

use crate::harness::{Kafka, Output, Project, scenarios, unique};

const MINUTE: Duration = Duration::from_secs(60);

/// A scenario with these arguments: on the harness's Kafka, or on the embedded broker.
fn run(scenario: &str, kafka: Option<&Kafka>, arguments: &[&str]) -> Output {
    let khost = Project::new().khost(&["run"]).arg(scenarios::built(scenario));
    let khost = match kafka {
        Some(kafka) => khost.brokers(kafka).param("prefix", &format!("{}-", unique("experiment"))),
        None => khost,
    };
    let output = khost.args(arguments).limit(3 * MINUTE).output();
    output.exits(0).is_civil();
    output
}

/// On the embedded broker, and on the real one if there is one.
fn on_both(scenario: &str, arguments: &[&str], look: impl Fn(&Output)) {
    look(&run(scenario, None, arguments));
    if let Some(kafka) = Kafka::shared() {
        look(&run(scenario, Some(&kafka), arguments));
    }
}

const SHORT_IMPORT: [&str; 4] = ["--param", "import-sizes=50,100", "--set", "run.warm-up=300ms"];

#[track_caller]
fn prints_all(output: &Output, texts: &[&str]) {
    texts.iter().for_each(|text| {
        output.prints(text);
    });
}

fn check_in_check_out(output: &Output) {
    let rows = [
        "check-in ",
        "check-out ",
        "jobs (hh:mm:ss)",
        "job (profile=create, records=50)",
        "the reply is about the item",
    ];
    prints_all(output, &rows);
    prints_all(output, &["job (profile=update, records=100)", "chunk (profile=update)", "worker 3: "]);
}

#[test]
fn check_in_and_check_out_beside_an_import() {
    on_both("check-in-check-out", &SHORT_IMPORT, check_in_check_out);
}

#[test]
fn check_in_and_check_out_alone_and_an_import_alone() {
    let profile = |name: &str| scenarios::folder().join(format!("check-in-check-out/profiles/{name}.toml"));
    let (users, import) = (profile("users-only"), profile("import-only"));
    let users = users.to_str().expect("text");
    let output =
        run("check-in-check-out", None, &["--profile", users, "--set", "run.duration=1s", "--set", "run.warm-up=0s"]);
    output.prints("check-in ").says_not("jobs (hh:mm:ss)");
    let import = import.to_str().expect("text");
    let output = run("check-in-check-out", None, &[&["--profile", import], &SHORT_IMPORT[..]].concat());
    output.prints("job (profile=update, records=100)").says_not("check-in ");
}

const SHORT_PAGES: [&str; 6] = ["--param", "pages=4", "--param", "read-time=2ms", "--param", "write-time=3ms"];

fn list_refresh(output: &Output) {
    for (flow, users) in [("one", 1), ("three", 3), ("five", 5), ("ten", 10)] {
        output.prints(&format!("a refresh takes at most 600s (flow={flow}): {users} passed, 0 failed"));
    }
    output.prints("refresh (tenant=diku)");
}

#[test]
fn lists_are_refreshed_by_one_three_five_and_ten_at_once() {
    on_both("list-refresh", &SHORT_PAGES, list_refresh);
}

#[test]
fn lists_are_refreshed_on_three_tenants() {
    let profile = scenarios::folder().join("list-refresh/profiles/three-tenants.toml");
    let profile = ["--profile", profile.to_str().expect("text"), "--param", "read-write-split=true"];
    let output = run("list-refresh", None, &[&profile[..], &SHORT_PAGES].concat());
    for tenant in ["diku", "bethlehem", "tern"] {
        output.prints(&format!("refresh (tenant={tenant})"));
    }
    output.says_not("flow          five");
}

const FEW_RECORDS: [&str; 2] = ["--param", "records=30_000"];

#[test]
fn a_topic_is_drained_with_partitions_paused_in_both_ways() {
    on_both("paused-partitions", &FEW_RECORDS, |output| {
        for flow in ["none", "discard-50", "keep-50", "discard-80", "keep-80"] {
            output.prints(&format!("flow          {flow} (consume"));
        }
        prints_all(
            output,
            &["records       30,000 counted", "what was fetched is kept", "fetched again: 0 records, 0 MB"],
        );
        let drains = output.stdout.lines().filter(|line| line.starts_with("records       30,000 counted")).count();
        output.check(drains == 5, &format!("five drains of all records, not {drains}"));
    });
}

#[test]
fn one_drain_alone_has_the_share_that_is_asked_for() {
    let profile = scenarios::folder().join("paused-partitions/profiles/one.toml");
    let one = ["--profile", profile.to_str().expect("text"), "--param", "share=0.25", "--param", "data=keep"];
    let output = run("paused-partitions", None, &[&one[..], &FEW_RECORDS].concat());
    prints_all(&output, &["paused        25 % of the partitions", "what was fetched is kept"]);
    output.says_not("flow          none");
}

#[test]
fn a_fill_that_the_embedded_broker_would_drop_is_refused() {
    let output = Project::new().khost(&["run"]).arg(scenarios::built("paused-partitions")).output();
    output.refuses(&["topics.load", "600000 records", "30MiB", "6 partitions", "--brokers"]);
}

const SHORT_RUN: [&str; 4] = ["--set", "run.warm-up=500ms", "--set", "run.duration=2s"];

/// Both types of events have the same container where there are two of them for three partitions.
#[test]
fn containers_get_partitions_and_not_load() {
    for (workers, partitions, idle) in [("2", "1", 1), ("2", "2", 0), ("2", "3", 1), ("3", "3", 1)] {
        let (workers, partitions) = (format!("flows.app.workers={workers}"), format!("partitions={partitions}"));
        let arguments = [&["--set", &workers, "--param", &partitions], &SHORT_RUN[..]].concat();
        on_both("pub-sub-modules", &arguments, |output| {
            prints_all(output, &["check-in total ", "check-out total ", "event (type=ITEM_CHECKED_IN)"]);
            let without = output.stdout.lines().filter(|line| line.contains(": 0, busy for 0")).count();
            output.check(
                without == idle,
                &format!("{idle} containers without load, not {without}: {workers}, {partitions}"),
            );
        });
    }
}

#[test]
fn each_group_has_its_time_from_the_sender() {
    let arguments = [&["--set", "flows.read.groups=2", "--set", "flows.read.workers=2"], &SHORT_RUN[..]].concat();
    on_both("fan-out", &arguments, |output| {
        prints_all(output, &["read (group=", "end-to-end", "since-intended", "lag "]);
        let groups = output.stdout.lines().filter(|line| line.contains("read (group=")).count();
        output.check(groups >= 2, &format!("a part for each group, not {groups}"));
    });
    let slow = ["--set", "flows.read.handler=true", "--param", "work=100ms", "--set", "flows.write.rate=100/s"];
    on_both("fan-out", &[&slow[..], &SHORT_RUN[..]].concat(), |output| {
        prints_all(output, &["handled", "busy for"]);
    });
}

/// With their default settings, on both brokers: under a minute each.
#[test]
#[ignore = "takes minutes"]
fn the_defaults_take_less_than_a_minute() {
    for scenario in ["check-in-check-out", "fan-out", "list-refresh", "pub-sub-modules", "request-reply"] {
        on_both(scenario, &[], |output| {
            output.within(MINUTE);
            println!("{scenario}: {:?}", output.took);
        });
    }
}
