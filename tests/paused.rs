//! Partitions that are paused by turns: every record is handled once, and what is fetched twice is told, as a proxy before the
//! broker counts it.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::harness::guests::{Guest, Stamp, echoes, producer};
use crate::harness::proxy::Proxy;
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Output, Project, unique};

const RECORDS: u64 = 60_000;

/// A flow that fills `load` with so many records of 500 bytes, and then one that drains it.
fn manifest(load: &Topic, app: &str) -> String {
    format!(
        "[scenario]\nname = \"tests/paused\"\n\n\
         [topics.load]\nname = \"{}\"\naccess = [\"produce\", \"consume\"]\n\n\
         [flows.app]\nkind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{}\"\nfrom = \"earliest\"\nuntil = \"end\"\n{app}\n",
        load.name,
        unique("group"),
    )
}

/// Writes records of 500 bytes, evenly.
fn fill(kafka: &Kafka, load: &Topic) {
    write_wide(kafka, load, RECORDS);
    assert_eq!(load.end_offsets(), [RECORDS as i64 / 6; 6]);
}

fn write_wide(kafka: &Kafka, load: &Topic, records: u64) {
    let plan = format!(
        "[scenario]\nname = \"tests/fill\"\n\n[topics.load]\nname = \"{}\"\naccess = [\"produce\"]\n\n\
         [flows.write]\nkind = \"stream\"\nthreads = 1\nmessages = {records}\nkafka.batch.size = 65536\n",
        load.name
    );
    let output = Project::of(&wide(), &plan).run().brokers(kafka).json().output();
    assert_eq!(output.exits(0).result().acknowledged(), records);
}

/// Sends records of 500 bytes without a key, one to each of six partitions.
fn wide() -> Guest {
    use crate::harness::guests::{Fixed, sends};
    sends(&[0, 1, 2, 3, 4, 5].map(|partition| Fixed::new(None, Some(&[b'x'; 500])).partition(partition)))
}

fn drain(kafka: &Proxy, load: &Topic, app: &str) -> Output {
    let plan = manifest(load, &format!("handler = false\n{app}"));
    Project::of(&wide(), &plan).run().args(["--brokers", &kafka.address]).json().output()
}

#[test]
fn what_is_fetched_twice_is_what_a_proxy_counts() {
    let Some(kafka) = Kafka::shared() else { return };
    let Some(proxy) = Proxy::before(&kafka) else { return };
    let load = kafka.topic("in").partitions(6).create();
    fill(&kafka, &load);
    let mut once = 0;
    for (share, data) in [("0.0", "discard"), ("0.0", "keep"), ("0.8", "keep"), ("0.25", "discard"), ("0.8", "discard")]
    {
        proxy.fetched();
        let output = drain(&proxy, &load, &format!("pause = {share}\npaused-data = \"{data}\"\nmax-records = 500"));
        let result = output.exits(0).is_civil().result();
        let counted = proxy.fetched();
        assert_eq!(result.count_of("/flows/0/consume/records/handled"), RECORDS, "{share} {data}");
        assert_eq!(result.count_of("/flows/0/consume/groups/0/repeated"), 0);
        assert_eq!(result.count_of("/flows/0/consume/groups/0/skipped_offsets"), 0);
        if share == "0.0" {
            output.check(output.stdout.contains("\"paused\": null"), "nothing is paused, and nothing told of it");
        }
        let fetched = result.count_of("/flows/0/consume/fetch/bytes");
        output.check(
            fetched.abs_diff(counted) <= counted / 100,
            &format!("{fetched} bytes, and the proxy has {counted}"),
        );
        let told = |what: &str| match share {
            "0.0" => 0,
            _ => result.count_of(&format!("/flows/0/consume/paused/{what}")),
        };
        let (records, bytes) = (told("refetched_records"), told("refetched_bytes"));
        if once == 0 {
            once = counted;
        }
        println!(
            "{share} {data}: fetched {counted}, of which again {} and by khost {bytes} in {records} records",
            counted.saturating_sub(once)
        );
        if data == "keep" || share == "0.0" {
            assert_eq!((records, bytes), (0, 0), "nothing is fetched twice: {share} {data}");
            output
                .check(counted.abs_diff(once) <= once / 50, &format!("{counted} bytes, not {once} as without pausing"));
        } else {
            let again = counted - once;
            output.check(records > 0, "some records are fetched twice");
            output
                .check(bytes.abs_diff(again) <= again / 20 + once / 100, &format!("{bytes} bytes again, not {again}"));
        }
    }
}

#[test]
fn a_guest_handles_each_record_once_whatever_is_paused() {
    let Some(kafka) = Kafka::shared() else { return };
    for (data, every) in [("discard", "poll"), ("keep", "poll"), ("discard", "20ms"), ("keep", "20ms")] {
        let (load, seen) = (kafka.topic("in").partitions(6).create(), kafka.topic("seen").create());
        let app =
            format!("workers = 2\nmax-records = 100\npause = 0.5\npaused-data = \"{data}\"\npause-every = \"{every}\"");
        let plan = manifest(&load, &app).replace(
            "[flows.app]",
            &format!(
                "[topics.seen]\nname = \"{}\"\naccess = [\"produce\"]\n\n\
                 [flows.write]\nkind = \"stream\"\nthreads = 1\niterations = 2_000\n\
                 kafka.sticky.partitioning.linger.ms = 0\n\n[flows.app]\nafter = \"write\"",
                seen.name
            ),
        );
        let output = Project::of(&echo(), &plan).run().brokers(&kafka).json().output();
        let result = output.exits(0).is_civil().result();
        assert_eq!(result.count_of("/flows/1/consume/records/handled"), 2_000, "{data} {every}");
        let turns = result.count_of("/flows/1/consume/paused/turns");
        output.check(turns > 2 || every != "poll", "partitions take turns, as all of them have some");
        let all: Vec<u64> = seen
            .records()
            .iter()
            .map(|record| Stamp::read(record.value.as_deref().expect("a stamp")).iteration)
            .collect();
        assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (2_000, 2_000), "{data} {every}: each once");
    }
}

/// Where each stamp lies in a topic, by its iteration: partition and offset.
fn places(load: &Topic) -> HashMap<u64, (i32, i64)> {
    let place = |value: Option<&[u8]>| Stamp::read(value.expect("a stamp")).iteration;
    load.records().iter().map(|one| (place(one.value.as_deref()), (one.partition, one.offset))).collect()
}

/// A flow that fills `load` with stamps, and `app`, which sends on what it reads to `seen`.
fn echoing(load: &Topic, seen: &Topic, write: &str, app: &str) -> String {
    let flows = format!(
        "[topics.seen]\nname = \"{}\"\naccess = [\"produce\"]\n\n\
         [flows.write]\nkind = \"stream\"\nthreads = 1\n{write}\n\n[flows.app]",
        seen.name
    );
    manifest(load, app).replace("[flows.app]", &flows)
}

fn echo() -> Guest {
    echoes(producer(1), "")
}

#[test]
fn the_order_of_each_partition_is_kept() {
    let Some(kafka) = Kafka::shared() else { return };
    for (share, data) in [("0.25", "discard"), ("0.8", "discard"), ("0.25", "keep"), ("0.8", "keep")] {
        let (load, seen) = (kafka.topic("in").partitions(6).create(), kafka.topic("seen").create());
        let app = format!("after = \"write\"\nmax-records = 100\npause = {share}\npaused-data = \"{data}\"");
        let plan = echoing(&load, &seen, "iterations = 12_000", &app);
        Project::of(&echo(), &plan).run().brokers(&kafka).json().output().exits(0).is_civil();
        let places = places(&load);
        let mut next = HashMap::from([0, 1, 2, 3, 4, 5].map(|partition| (partition, 0)));
        for record in seen.records() {
            let (partition, offset) = places[&Stamp::read(record.value.as_deref().expect("a stamp")).iteration];
            assert_eq!(next.insert(partition, offset + 1), Some(offset), "{share} {data}, partition {partition}");
        }
        assert_eq!(next.values().sum::<i64>(), 12_000, "{share} {data}");
    }
}

#[test]
fn an_end_in_the_middle_leaves_the_rest_for_the_next_run() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").partitions(6).create();
    fill(&kafka, &load);
    for data in ["discard", "keep"] {
        let app = format!("handler = false\npause = 0.8\npaused-data = \"{data}\"\nmax-records = 300");
        let plan = manifest(&load, &app);
        let (first, rest) = (
            plan.replace("until = \"end\"", "messages = 7_777"),
            plan.replace("from = \"earliest\"", "from = \"committed\"\nkafka.auto.offset.reset = \"earliest\""),
        );
        for (plan, records) in [(first, 7_777), (rest, RECORDS - 7_777)] {
            let output = Project::of(&wide(), &plan).run().brokers(&kafka).json().output();
            let result = output.exits(0).is_civil().result();
            assert_eq!(result.count_of("/flows/0/consume/records/handled"), records, "{data}");
            let again = result.count_of("/flows/0/consume/paused/refetched_records");
            output.check(data == "discard" || again == 0, "what is kept is not fetched again");
        }
    }
}

#[test]
fn partitions_that_move_while_some_are_paused_are_read_once() {
    let Some(kafka) = Kafka::shared() else { return };
    for (data, strategy) in [("discard", "range"), ("keep", "cooperative-sticky")] {
        let (load, seen) = (kafka.topic("in").partitions(4).create(), kafka.topic("seen").create());
        let app =
            format!("workers = 2\nduration = \"5m\"\npause = 0.5\npause-every = \"20ms\"\npaused-data = \"{data}\"");
        let write = "rate = \"200/s\"\nmessages = 4_000";
        let plan = echoing(&load, &seen, write, &app);
        let plan = plan.replace("from = \"earliest\"\nuntil = \"end\"", "from = \"committed\"");
        let project = Project::of(&echo(), &plan);
        let start = || {
            let khost = project.run().brokers(&kafka).kafka("partition.assignment.strategy", strategy);
            // a fetch that waits for longer than a turn would come back in another one
            khost.kafka("heartbeat.interval.ms", "500").kafka("fetch.wait.max.ms", "10").json()
        };
        let first = start().start();
        seen.wait_for_messages(100);
        let second = start().set("flows.write.enabled", "false").set("flows.app.iterations", "50").output();
        second.exits(0).is_civil();
        assert_eq!(second.result().count_of("/flows/0/consume/records/handled"), 50);
        seen.wait_for_messages(4_000);
        first.interrupt();
        let first = first.finish();
        first.exits(130).is_civil();
        let places = places(&load);
        let mut once = BTreeSet::new();
        let mut twice = Vec::new();
        for record in seen.records() {
            let iteration = Stamp::read(record.value.as_deref().expect("a stamp")).iteration;
            if !once.insert(iteration) {
                twice.push(places[&iteration]);
            }
        }
        first.check(twice.is_empty(), &format!("{data} {strategy}: each once, and not twice {twice:?}"));
        let handled = first.result().count_of("/flows/1/consume/records/handled");
        assert_eq!((once.len(), handled), (4_000, 3_950), "{data} {strategy}");
    }
}

/// By hand, on a quiet machine: `-- --ignored paused::the_table --nocapture`.
#[test]
#[ignore = "holds processor time to percents of a quiet machine"]
fn the_table_of_shares() {
    const EACH: u64 = 500_000;
    const PAIRS: usize = 5;
    let Some(kafka) = Kafka::own().fast().start() else { return };
    let load = kafka.topic("in").partitions(6).create();
    for _ in 0..EACH / RECORDS + 1 {
        write_wide(&kafka, &load, RECORDS);
    }
    let records = load.count();
    let drained = |share: &str, data: &str| {
        let app = format!("handler = false\npause = {share}\npaused-data = \"{data}\"");
        let khost = Project::of(&wide(), &manifest(&load, &app)).run().brokers(&kafka).json();
        let output = khost.limit(Duration::from_secs(600)).output();
        let result = output.exits(0).result();
        assert_eq!(result.count_of("/flows/0/consume/records/handled"), records, "{share} {data}");
        let again = if share == "0.0" { 0 } else { result.count_of("/flows/0/consume/paused/refetched_bytes") };
        let cpu_ns = result.number_of("/honesty/cpu_s") * 1e9 / records as f64;
        let seconds = result.window_seconds();
        let (rate, bytes) = (records as f64 / seconds, result.count_of("/flows/0/consume/records/bytes") as f64);
        let (rate, megabytes) = (rate.round(), bytes / seconds / 1e6);
        println!(
            "{share:4} {data:7} {rate:9} records/s {megabytes:6.1} MB/s {:8.1} MB again {cpu_ns:5.0} ns a record",
            again as f64 / 1e6
        );
        cpu_ns
    };
    for share in ["0.0", "0.25", "0.5", "0.8"] {
        for data in ["keep", "discard"] {
            drained(share, data);
        }
    }
    let mut ratios: Vec<f64> = (0..PAIRS)
        .map(|_| {
            let without = drained("0.0", "keep");
            drained("0.8", "keep") / without
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("keep at 0.8 / without pausing: {ratios:.3?}");
    assert!(ratios[PAIRS / 2] <= 1.15, "{ratios:?}");
}
