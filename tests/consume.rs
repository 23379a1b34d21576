//! Consume flows: what is written arrives in the scenario's `handle`, once and unchanged, whoever else joins or leaves the
//! group; what is handled is committed; who can't read says so.

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::harness::guests::{Fixed, Guest, Stamp, echoes, producer, sends};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Output, Project, unique};

/// Two topics, of which khost makes those that have partitions, and two flows: `app` reads `load` and answers to `seen`,
/// `write` writes to `load`.
fn manifest(load: &str, seen: &str, app: &str, write: &str, run: &str) -> String {
    let group = unique("group");
    format!(
        "[scenario]\nname = \"tests/consume\"\n\n\
         [topics.load]\n{load}\naccess = [\"produce\", \"consume\"]\n\n\
         [topics.seen]\n{seen}\naccess = [\"produce\"]\n\n\
         [flows.app]\nkind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{group}\"\n{app}\n\n\
         [flows.write]\nkind = \"stream\"\nthreads = 1\n{write}\n\n\
         [run]\n{run}\n"
    )
}

fn named(topic: &Topic) -> String {
    format!("name = \"{}\"", topic.name)
}

fn on_kafka(load: &Topic, seen: &Topic, app: &str, write: &str, run: &str) -> String {
    manifest(&named(load), &named(seen), app, write, run)
}

fn embedded(partitions: u32, app: &str, write: &str, run: &str) -> String {
    manifest(&format!("partitions = {partitions}"), "partitions = 1", app, write, run)
}

/// Writes stamps, and sends on what it reads.
fn echo() -> Guest {
    echoes(producer(1), "")
}

/// The same, sleeping so long for each record.
fn slow_echo(ms: u64) -> Guest {
    let sleep = format!("(drop (call $sleep (i64.const {})))", ms * 1_000_000);
    echoes(producer(1), &sleep).import("clock", "sleep", "(param i64) (result i32)")
}

/// Iterations of the stamps in a topic, in the order of the partitions; each once.
fn stamps(topic: &Topic) -> Vec<u64> {
    let values: Vec<u64> =
        topic.records().iter().map(|record| Stamp::read(record.value.as_deref().expect("a stamp")).iteration).collect();
    let distinct: BTreeSet<u64> = values.iter().copied().collect();
    assert_eq!(distinct.len(), values.len(), "each is handled once");
    values
}

fn sorted(mut list: Vec<u64>) -> Vec<u64> {
    list.sort_unstable();
    list
}

#[track_caller]
fn has_handled(output: &Output, count: u64) {
    let result = output.result();
    let handled = result.count_of("/flows/0/consume/records/handled");
    output.check(handled == count, &format!("{count} records, not {handled}"));
    output.check(result.iterations() == count, "its iterations are records");
    output.check(result.acknowledged() == count, "each is answered");
}

#[test]
fn records_arrive_as_they_were_written() {
    let Some(kafka) = Kafka::shared() else { return };
    let payloads = [None, Some(&b""[..]), Some(&b"x"[..]), Some(&b"\0\xff\xfe\x80\n"[..])];
    let messages: Vec<Fixed> = payloads
        .iter()
        .flat_map(|key| {
            payloads.iter().map(move |value| {
                Fixed::new(*key, *value).header("null", None).header("empty", Some(b"")).header("x", *value)
            })
        })
        .chain([Fixed::new(None, Some(b"no headers"))])
        .collect();
    for compression in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
        let plan = on_kafka(&load, &seen, "iterations = 17", "iterations = 1", "");
        let project = Project::of(&echoes(sends(&messages), ""), &plan);
        let output = project.run().brokers(&kafka).kafka("compression.type", compression).json().output();
        has_handled(output.exits(0).is_civil(), 17);
        let records = seen.records();
        assert_eq!(records.len(), messages.len());
        for (record, message) in records.iter().zip(&messages) {
            let read = (&record.key, &record.value, &record.headers);
            assert_eq!(read, (&message.key, &message.value, &message.headers), "{compression}");
        }
    }
}

/// What lies in a compacted topic reaches the scenario as it is: null is not empty, and bytes need not be text.
#[test]
fn a_handler_tells_null_from_empty_and_takes_any_bytes() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("compacted").config("cleanup.policy", "compact").create();
    let seen = kafka.topic("seen").create();
    let odd = [(&b"\xff\xfe\x80"[..], Some(&b"\0\xc3"[..])), (b"\xc3\x28", None), (b"\xf0\x9f", Some(b""))];
    let messages: Vec<Fixed> =
        [(&b""[..], Some(&b"v"[..])), (b"k", None), (b"l", Some(b"")), (b"\xff\0", Some(b"\xfe"))]
            .into_iter()
            .map(|(key, value)| {
                odd.iter().fold(Fixed::new(Some(key), value), |message, (name, value)| message.raw_header(name, *value))
            })
            .collect();
    // for each record its key and value, then for each of its headers the name as key and the value as value
    let guest = echoes(sends(&messages), "").handles(
        "(local.set $n (i32.const 1048576))
         (loop $all
           (local.set $r (i32.add (local.get $records) (i32.mul (local.get $i) (i32.const 48))))
           (call $tell (local.get $n) (local.get $bytes) (i32.add (local.get $r) (i32.const 24)) (i32.add (local.get $r) (i32.const 32)))
           (local.set $n (i32.add (local.get $n) (i32.const 64)))
           (local.set $h (i32.add (local.get $headers) (i32.mul (i32.load offset=40 (local.get $r)) (i32.const 16))))
           (local.set $p (i32.load offset=44 (local.get $r)))
           (loop $each
             (call $tell (local.get $n) (local.get $bytes) (local.get $h) (i32.add (local.get $h) (i32.const 8)))
             (local.set $n (i32.add (local.get $n) (i32.const 64)))
             (local.set $h (i32.add (local.get $h) (i32.const 16)))
             (br_if $each (local.tee $p (i32.sub (local.get $p) (i32.const 1)))))
           (br_if $all (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))
         (call $produce (i32.const 1048576) (i32.div_u (i32.sub (local.get $n) (i32.const 1048576)) (i32.const 64)))
         (local.get $count)",
    );
    let guest = guest.functions(
        "(func $tell (param $m i32) (param $bytes i32) (param $key i32) (param $value i32)
           (memory.fill (local.get $m) (i32.const 0) (i32.const 64))
           (i32.store (local.get $m) (global.get $seen))
           (i32.store offset=4 (local.get $m) (i32.const -1))
           (call $payload (i32.add (local.get $m) (i32.const 8)) (local.get $bytes) (local.get $key))
           (call $payload (i32.add (local.get $m) (i32.const 24)) (local.get $bytes) (local.get $value))
           (i64.store offset=48 (local.get $m) (i64.const -1)))",
    );
    let plan = on_kafka(&load, &seen, "from = \"earliest\"\niterations = 4", "iterations = 1", "");
    let output = Project::of(&guest, &plan).run().brokers(&kafka).json().output();
    output.exits(0).is_civil();
    let told: Vec<_> = seen.records().into_iter().map(|record| (record.key, record.value)).collect();
    let mut expected = Vec::new();
    for message in &messages {
        expected.push((message.key.clone(), message.value.clone()));
        expected.extend(message.raw_headers.iter().map(|(name, value)| (Some(name.clone()), value.clone())));
    }
    assert_eq!(told, expected, "{output}");
}

#[test]
fn workers_share_the_partitions_and_handle_each_record_once() {
    let Some(kafka) = Kafka::shared() else { return };
    for settings in [&[][..], &["partition.assignment.strategy=cooperative-sticky"], &["group.protocol=consumer"]] {
        let (load, seen) = (kafka.topic("in").partitions(4).create(), kafka.topic("seen").create());
        let plan = on_kafka(&load, &seen, "workers = 3\niterations = 20_000", "iterations = 20_000", "");
        let project = Project::of(&echo(), &plan);
        let khost = settings.iter().fold(project.run().brokers(&kafka).json(), |khost, one| khost.args(["-X", one]));
        let output = khost.output();
        has_handled(output.exits(0).is_civil(), 20_000);
        let result = output.result();
        let partitions: BTreeSet<u64> = result
            .list_of("/flows/0/consume/workers")
            .iter()
            .flat_map(|worker| worker["partitions"][&load.name].as_array().expect("each worker has some"))
            .map(|partition| partition.as_u64().expect("a number"))
            .collect();
        output.check(partitions.into_iter().eq(0..4), "each partition is somebody's");
        assert_eq!(sorted(stamps(&seen)), (0..20_000).collect::<Vec<_>>(), "{settings:?}");
    }
}

#[test]
fn the_embedded_broker_has_groups_too() {
    let plan = embedded(3, "workers = 2\niterations = 5_000", "rate = \"5000/s\"\niterations = 5_000", "");
    let output = Project::of(&echo(), &plan).run().json().output();
    has_handled(output.exits(0).is_civil(), 5_000);
    let result = output.result();
    output.check(result.measure("handle", "count") == 5_000, "a duration for each record");
    output.check(result.measure("response", "count") == 5_000, "an answer counts from the arrival of its record");
    output.check(result.warnings().iter().any(|text| text.contains("keeps 5 MiB a partition")), "a warning");
    Project::of(&echo(), &plan).run().output().exits(0).prints("consume").prints("records").prints("worker 1:");
}

#[test]
fn a_consumer_beside_others_goes_on_until_they_are_done() {
    // the end of [run] is not the consumer's
    let plan = embedded(1, "", "rate = \"100/s\"", "iterations = 50");
    let output = Project::of(&echo(), &plan).run().json().output();
    let result = output.exits(0).is_civil().result();
    output.check(result.count_of("/flows/1/messages/acknowledged") == 50, "the writer writes all");
    // what it has not read by then is nobody's: the last few may be
    let handled = result.count_of("/flows/0/consume/records/handled");
    output.check((1..=50).contains(&handled), &format!("some of the records, not {handled}"));
    output.check(result.acknowledged() == handled, "each is answered");
}

#[test]
fn consumers_alone_end_with_the_run() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    let plan = on_kafka(&load, &seen, "", "enabled = false", "duration = \"1s\"");
    let output = Project::of(&echo(), &plan).run().brokers(&kafka).json().output();
    let result = output.exits(0).is_civil().result();
    output.check(result.iterations() == 0, "nothing comes");
    output.check(result.warnings().iter().any(|text| text.contains("handled no record that counts")), "a warning");
}

#[test]
fn more_workers_than_partitions_are_idle_and_named() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").partitions(2).create(), kafka.topic("seen").create());
    for (name, value) in [
        ("partition.assignment.strategy", "range"),
        ("partition.assignment.strategy", "cooperative-sticky"),
        ("group.protocol", "consumer"),
    ] {
        let plan = on_kafka(&load, &seen, "workers = 3\niterations = 100", "iterations = 100", "");
        let khost = Project::of(&echo(), &plan).run().brokers(&kafka).kafka(name, value);
        let output = khost.json().output();
        has_handled(output.exits(0).is_civil(), 100);
        let idle = output.result().warnings().iter().any(|text| text.contains("1 of 3 workers had no partition"));
        output.check(idle, "the idle one is told of");
    }
}

/// Else the next run of the group would wait for those who went away without a word.
#[test]
fn an_interrupt_in_the_set_up_leaves_no_member_behind() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    // a worker without a partition makes the set-up last
    let plan = on_kafka(&load, &seen, "workers = 2\niterations = 100", "iterations = 100", "");
    let group = plan.split("group = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("it has one").to_owned();
    let running = Project::of(&echo(), &plan).run().brokers(&kafka).start();
    running.wait_for_stderr("setting up");
    running.interrupt();
    running.finish().exits(130).is_civil();
    let client: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", kafka.bootstrap()).create().expect("a client");
    let groups = client.fetch_group_list(Some(&group), Duration::from_secs(20)).expect("the broker answers");
    let members: usize = groups.groups().iter().map(|group| group.members().len()).sum();
    assert_eq!(members, 0, "members of {group}");
}

#[test]
fn where_it_begins_is_the_manifests_to_say() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").partitions(2).create(), kafka.topic("seen").create());
    let plan = on_kafka(&load, &seen, "iterations = 60", "iterations = 100", "");
    let project = Project::of(&echo(), &plan);
    let run = |arguments: &[&str]| project.run().brokers(&kafka).json().args(arguments).output();
    let read = |from: &str, count: &str| {
        let (from, count) = (format!("flows.app.from=\"{from}\""), format!("flows.app.iterations={count}"));
        let output = run(&["--set", "flows.write.enabled=false", "--set", &from, "--set", &count]);
        output.exits(0).is_civil();
        output.result().iterations()
    };
    run(&["--set", "flows.app.enabled=false"]).exits(0);
    assert_eq!(read("earliest", "60"), 60);
    assert_eq!(read("committed", "40"), 40, "the rest of the hundred");
    assert_eq!(sorted(stamps(&seen)), (0..100).collect::<Vec<_>>());
    // from the end: what is there is left alone, and what comes is read
    let output = run(&["--set", "flows.app.from=\"latest\"", "--set", "flows.app.iterations=100"]);
    has_handled(output.exits(0), 100);
    // and from the first record, whatever is committed
    assert_eq!(read("earliest", "200"), 200);
}

#[test]
fn two_processes_share_a_group() {
    let Some(kafka) = Kafka::shared() else { return };
    for strategy in ["range", "cooperative-sticky"] {
        let (load, seen) = (kafka.topic("in").partitions(4).create(), kafka.topic("seen").create());
        let app = "workers = 2\nfrom = \"committed\"\nduration = \"5m\"";
        let plan = on_kafka(&load, &seen, app, "rate = \"200/s\"\nmessages = 4_000", "");
        let project = Project::of(&echo(), &plan);
        let start = || {
            let khost = project.run().brokers(&kafka).kafka("partition.assignment.strategy", strategy);
            khost.kafka("heartbeat.interval.ms", "500").json()
        };
        let first = start().start();
        seen.wait_for_messages(100);
        // the second one joins, handles some of its share, and leaves again
        let second = start().set("flows.write.enabled", "false").set("flows.app.iterations", "50").output();
        has_handled(second.exits(0).is_civil(), 50);
        seen.wait_for_messages(4_000);
        first.interrupt();
        let first = first.finish();
        first.exits(130).is_civil();
        has_handled(&first, 3_950);
        let rebalances = first.result().count_of("/flows/0/consume/groups/0/rebalances");
        first.check(rebalances >= 2, &format!("one joined and left again: new assignments, not {rebalances}"));
        assert_eq!(sorted(stamps(&seen)), (0..4_000).collect::<Vec<_>>(), "{strategy}");
    }
}

#[test]
fn a_sleeping_worker_is_a_server_of_finite_capacity() {
    let plan = embedded(1, "max-records = 1", "rate = \"100/s\"", "duration = \"3s\"");
    let output = Project::of(&slow_echo(50), &plan).run().json().output();
    let result = output.exits(0).is_civil().result();
    let handled = result.count_of("/flows/0/consume/records/handled");
    // 20 a second, and one that was begun before
    output.check((1..=63).contains(&handled), &format!("at most 20 records a second, not {handled} in 3 s"));
    let shortest = result.measure("handle", "min_us");
    output.check(shortest >= 49_900, &format!("50 ms each, not {shortest} us"));
    let busy = result.number_of("/flows/0/consume/workers/0/busy");
    output.check(busy > 0.5, &format!("it was busy, not for {busy} of its time"));
}

#[test]
fn the_end_cuts_a_sleeping_handler_short() {
    let plan = embedded(1, "max-records = 1", "rate = \"20/s\"", "duration = \"10m\"");
    let khost = Project::of(&slow_echo(3_600_000), &plan).run().json().start();
    khost.wait_for_stderr("acknowledged");
    khost.interrupt();
    let output = khost.finish();
    let result = output.exits(130).is_civil().result();
    output.check(result.count_of("/flows/0/iterations/cut") == 1, "the record that it was at is cut short");
    output.check(result.iterations() == 0, "and is no outcome");
}

#[test]
fn a_consumer_that_still_waits_for_another_ends_with_the_run() {
    let app = "max-records = 1\nduration = \"500ms\"";
    let plan = embedded(1, app, "rate = \"50/s\"\niterations = 10", "");
    let then = format!("[flows.then]\nkind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{}\"", unique("group"));
    let plan = plan.replace("[run]", &format!("{then}\nafter = \"app\"\n\n[run]"));
    let output = Project::of(&slow_echo(3_600_000), &plan).run().json().output();
    let result = output.exits(0).is_civil().result();
    output.check(result.count_of("/flows/0/iterations/cut") == 1, "the first one is held up until the end");
    output.check(result.is_null("/flows/2/began_at_s"), "the second one never began");
}

#[test]
fn a_trap_costs_the_records_of_its_call_and_no_others() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    // the record of iteration 30 is its end
    let trap = "(if (i64.eq (i64.load (i32.add (local.get $bytes) (i32.load offset=32 (local.get $r)))) (i64.const 30))
                  (then unreachable))";
    let plan = on_kafka(&load, &seen, "max-records = 10\niterations = 100", "rate = \"500/s\"\niterations = 100", "");
    let plan = format!("{plan}\n[limits]\ntraps = 1\n");
    let output = Project::of(&echoes(producer(1), trap), &plan).run().brokers(&kafka).json().output();
    let result = output.exits(1).is_civil().result();
    output.check((result.traps(), result.iterations()) == (1, 100), "one trap, and all records are accounted for");
    let failed = result.iterations_failed();
    output.check((1..=10).contains(&failed), &format!("the records of one call, not {failed}"));
    output.check(result.count_of("/flows/0/consume/records/handled") == 100 - failed, "the others are handled");
    let seen = stamps(&seen);
    output.check(seen.len() as u64 == 100 - failed && !seen.contains(&30), "they are not delivered again");
}

#[test]
fn a_handler_that_takes_too_long_is_thrown_out_of_its_group_and_told_of() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    let plan = on_kafka(&load, &seen, "max-records = 1\niterations = 3", "iterations = 3", "");
    let khost = Project::of(&slow_echo(9_000), &plan).run().brokers(&kafka).json();
    let output = khost.kafka("max.poll.interval.ms", "6000").kafka("session.timeout.ms", "6000").output();
    let result = output.exits(0).is_civil().result();
    output.check(result.iterations() == 3, "all are handled");
    output.check(result.count_of("/flows/0/consume/groups/0/times_left") >= 1, "it has left its group");
    let told = result.warnings().iter().any(|text| text.contains("handle took longer than max.poll.interval.ms"));
    output.check(told, "a warning");
    assert_eq!(sorted(stamps(&seen)), [0, 1, 2]);
}

#[test]
fn a_consumer_that_waits_for_the_warm_up_s_end_stays_in_its_group() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    let plan = on_kafka(&load, &seen, "after = \"warm-up\"", "rate = \"10/s\"\niterations = 10", "warm-up = \"9s\"");
    let khost = Project::of(&echo(), &plan).run().brokers(&kafka).json();
    let output = khost.kafka("max.poll.interval.ms", "6000").kafka("session.timeout.ms", "6000").output();
    let result = output.exits(0).is_civil().result();
    output.check(result.count_of("/flows/0/consume/groups/0/times_left") == 0, "it has asked for records in time");
}

#[test]
fn a_topic_that_goes_away_ends_the_run_with_its_name() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    let plan = on_kafka(&load, &seen, "", "enabled = false", "duration = \"60s\"");
    let plan = plan.replace("enabled = false", "rate = \"20/s\"");
    let khost = Project::of(&echo(), &plan).run().brokers(&kafka).json().kafka("delivery.timeout.ms", "2000").start();
    seen.wait_for_messages(10);
    kafka.delete(&load);
    let output = khost.finish();
    let result = output.exits(1).is_civil().result();
    // the consumer and the watch of the topics look for themselves: whoever sees it first says so
    let named = result.reasons().iter().any(|text| text.contains(&load.name));
    output.check(named, "why it ended");
}

#[test]
fn what_a_manifest_does_not_grant_is_refused_before_the_load() {
    let plan = embedded(1, "", "", "");
    let refused = |plan: &str, arguments: &[&str], words: &[&str]| {
        Project::of(&echo(), plan).run().args(arguments).output().exits(2).explains(words);
    };
    refused(
        &plan.replace("topics = [\"load\"]", "topics = [\"seen\"]"),
        &[],
        &["scenario.toml:", "topics.seen does not grant reading"],
    );
    refused(&plan.replace("topics = [\"load\"]", "topics = [\"laod\"]"), &[], &["scenario.toml:", "no topic", "load"]);
    refused(&plan.replace("topics = [\"load\"]", ""), &[], &["scenario.toml:", "needs `topics`"]);
    refused(&plan, &["--set", "flows.app.rate=5/s"], &["flows.app.rate", "another kind's setting"]);
    refused(&plan, &["--set", "flows.write.group=x"], &["flows.write.group", "consume flow's setting"]);
}

#[test]
fn one_name_for_several_members_is_refused() {
    let plan = embedded(1, "workers = 2", "", "");
    let output = Project::of(&echo(), &plan).run().kafka("group.instance.id", "a").output();
    output.exits(2).refuses(&["-X group.instance.id", "each worker is a member of its own"]);
}
