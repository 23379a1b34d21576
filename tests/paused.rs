//! Partitions that are paused by turns: every record is handled once, and what is fetched twice is told, as a proxy before the
//! broker counts it.

use std::collections::BTreeSet;

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
    let partitions = load.end_offsets().len();
    let plan = format!(
        "[scenario]\nname = \"tests/fill\"\n\n[topics.load]\nname = \"{}\"\naccess = [\"produce\"]\n\n\
         [flows.write]\nkind = \"stream\"\nthreads = 1\nmessages = {RECORDS}\nkafka.batch.size = 65536\n",
        load.name
    );
    let output =
        Project::of(&wide(), &plan).run().brokers(kafka).kafka("sticky.partitioning.linger.ms", "5").json().output();
    assert_eq!(output.exits(0).result().acknowledged(), RECORDS);
    assert_eq!(load.count(), RECORDS);
    assert!(load.end_offsets().iter().all(|end| *end > RECORDS as i64 / partitions as i64 / 3), "all have some");
}

/// Sends records of 500 bytes without a key.
fn wide() -> Guest {
    use crate::harness::guests::{Fixed, sends};
    sends(&[Fixed::new(None, Some(&[b'x'; 500]))])
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
        let fetched = result.count_of("/flows/0/consume/fetch/bytes");
        output.check(
            fetched.abs_diff(counted) <= counted / 100,
            &format!("{fetched} bytes, and the proxy has {counted}"),
        );
        let (records, bytes) = (
            result.count_of("/flows/0/consume/paused/refetched_records"),
            result.count_of("/flows/0/consume/paused/refetched_bytes"),
        );
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
                 [flows.write]\nkind = \"stream\"\nthreads = 1\niterations = 20_000\n\n[flows.app]\nafter = \"write\"",
                seen.name
            ),
        );
        let output = Project::of(&echoes(producer(1), ""), &plan).run().brokers(&kafka).json().output();
        let result = output.exits(0).is_civil().result();
        assert_eq!(result.count_of("/flows/1/consume/records/handled"), 20_000, "{data} {every}");
        let turns = result.count_of("/flows/1/consume/paused/turns");
        output.check(turns > if every == "poll" { 2 } else { 0 }, "partitions take turns");
        let all: Vec<u64> = seen
            .records()
            .iter()
            .map(|record| Stamp::read(record.value.as_deref().expect("a stamp")).iteration)
            .collect();
        assert_eq!(
            (all.len(), all.iter().collect::<BTreeSet<_>>().len()),
            (20_000, 20_000),
            "{data} {every}: each once"
        );
    }
}
