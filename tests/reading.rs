//! Consumers as a benchmark: where they begin and end, in groups or with assigned partitions, with and without a guest; the
//! counts are exact.

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::harness::guests::{Guest, Stamp, echoes, producer};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, MemoryLimit, Output, Project, unique};

const LIMIT: Duration = Duration::from_secs(20);

/// A topic that a client of the test's writes to.
struct Load {
    topic: Topic,
    producer: BaseProducer,
}

impl Load {
    fn new(kafka: &Kafka, topic: &Topic) -> Load {
        let producer = ClientConfig::new().set("bootstrap.servers", kafka.bootstrap()).create().expect("a client");
        Load { topic: topic.clone(), producer }
    }

    /// Writes one record each, of these partitions and timestamps; the value is as long as the number says, the key a byte.
    fn write(&self, partitions: impl IntoIterator<Item = i32>, timestamp: Option<i64>, value: &[u8]) -> &Self {
        for partition in partitions {
            let record = BaseRecord::to(&self.topic.name).partition(partition).key("k").payload(value);
            let record = if let Some(millis) = timestamp { record.timestamp(millis) } else { record };
            self.producer.send(record).map_err(|(error, _)| error).expect("it is queued");
        }
        self.producer.flush(LIMIT).expect("it is acknowledged");
        self
    }
}

/// A flow `app` that reads `load`, and may answer to `seen`.
fn manifest(load: &Topic, seen: Option<&Topic>, group: &str, app: &str) -> String {
    let seen = seen.map_or("partitions = 1".to_owned(), |seen| format!("name = \"{}\"", seen.name));
    format!(
        "[scenario]\nname = \"tests/reading\"\n\n\
         [topics.load]\nname = \"{}\"\naccess = [\"produce\", \"consume\"]\n\n\
         [topics.seen]\n{seen}\naccess = [\"produce\"]\n\n\
         [flows.app]\nkind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{group}\"\n{app}\n",
        load.name
    )
}

fn echo() -> Guest {
    echoes(producer(1), "")
}

/// Counts the records of `load`; `group` is a new one.
fn count(kafka: &Kafka, load: &Topic, app: &str) -> Output {
    let plan = manifest(load, None, &unique("group"), &format!("handler = false\n{app}"));
    let plan = plan.replace("[topics.seen]\npartitions = 1\naccess = [\"produce\"]\n\n", "");
    let output = Project::of(&echo(), &plan).run().brokers(kafka).json().output();
    output.exits(0).is_civil();
    output
}

fn handled(output: &Output) -> u64 {
    output.result().count_of("/flows/0/consume/records/handled")
}

#[test]
fn to_the_end_means_each_record_once_by_count_and_by_handler() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").partitions(6).create(), kafka.topic("seen").create());
    let writer = Load::new(&kafka, &load);
    writer.write((0..600).map(|n| n % 5), None, &[7; 99]);
    let output = count(&kafka, &load, "workers = 4\nfrom = \"earliest\"\nuntil = \"end\"");
    let result = output.result();
    assert_eq!(handled(&output), 600);
    assert_eq!(result.iterations(), 600);
    assert_eq!(result.count_of("/flows/0/consume/records/bytes"), 600 * 100, "key and value");
    output.check(result.number_of("/flows/0/consume/records/mb_per_s") > 0.0, "megabytes a second");
    output.check(result.number_of("/flows/0/consume/groups/0/join_s") > 0.0, "joining takes a while");
    output.check(result.count_of("/flows/0/consume/groups/0/skipped_offsets") == 0, "nothing is left out");
    output.check(result.is_null("/flows/0/consume/workers/0/busy"), "nobody handles anything");

    let group = unique("group");
    let plan = manifest(&load, Some(&seen), &group, "workers = 2\nfrom = \"earliest\"\nuntil = \"end\"");
    let output = Project::of(&echo(), &plan).run().brokers(&kafka).json().output();
    output.exits(0).is_civil();
    assert_eq!((handled(&output), seen.count()), (600, 600));
    assert_eq!(load.committed(&group), [120, 120, 120, 120, 120, 0].map(Some), "all of it is committed");
    // what is behind the end is nobody's
    let output = count(&kafka, &load, "from = \"earliest\"\nuntil = \"end\"\nmessages = 100");
    assert_eq!(handled(&output), 100);
}

#[test]
fn it_ends_past_the_marks_of_transactions_and_counts_what_they_leave() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").create();
    let writer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", kafka.bootstrap())
        .set("transactional.id", unique("writer"))
        .create()
        .expect("a client");
    writer.init_transactions(LIMIT).expect("a coordinator");
    let write = |count: usize, commit: bool| {
        writer.begin_transaction().expect("it begins");
        for _ in 0..count {
            writer.send(BaseRecord::<str, str>::to(&load.name).payload("x")).expect("it is queued");
        }
        writer.flush(LIMIT).expect("it is acknowledged");
        let end = if commit { writer.commit_transaction(LIMIT) } else { writer.abort_transaction(LIMIT) };
        end.expect("it ends");
    };
    write(10, true);
    write(5, false);
    write(3, true);
    write(4, false);
    let to_end = "from = \"earliest\"\nuntil = \"end\"";
    let output = count(&kafka, &load, to_end);
    assert_eq!(handled(&output), 13);
    let skipped = output.result().count_of("/flows/0/consume/groups/0/skipped_offsets");
    output.check(
        skipped == 7,
        &format!("the first mark, and five aborted with theirs: 7 between the records, not {skipped}"),
    );
    let output = count(&kafka, &load, &format!("{to_end}\nisolation = \"read_uncommitted\""));
    assert_eq!(handled(&output), 22, "aborted ones, too");
}

#[test]
fn where_it_begins_can_be_an_offset_a_distance_or_a_time() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").partitions(2).create();
    let writer = Load::new(&kafka, &load);
    let at = |seconds: i64| Some(1_777_622_400_000 + seconds * 1_000); // 2026-05-01T08:00:00Z
    writer.write([0; 30], at(0), b"x").write([1; 10], at(5), b"x").write([0; 20], at(60), b"x");
    for (from, expected) in [
        ("0", 60),
        ("45", 5),
        ("1_000", 0),
        ("-7", 14),
        ("-1_000", 60),
        ("\"2026-05-01T08:00:05Z\"", 30),
        ("\"2026-05-01 08:00:05.001\"", 20),
        ("\"2026-05-02T00:00:00Z\"", 0),
        ("\"1999-01-01T00:00:00Z\"", 60),
    ] {
        for dealer in ["group", "khost"] {
            let app = format!("from = {from}\nuntil = \"end\"\nassigned-by = \"{dealer}\"");
            assert_eq!(handled(&count(&kafka, &load, &app)), expected, "{from}, {dealer}");
        }
    }
}

#[test]
fn several_groups_read_everything_each() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").partitions(3).create(), kafka.topic("seen").create());
    Load::new(&kafka, &load).write((0..90).map(|n| n % 3), None, &[0; 24]);
    let group = unique("group");
    let plan = manifest(&load, Some(&seen), &group, "groups = 3\nworkers = 2\nfrom = \"earliest\"\nuntil = \"end\"");
    let output = Project::of(&echo(), &plan).run().brokers(&kafka).json().output();
    output.exits(0).is_civil();
    let result = output.result();
    assert_eq!((handled(&output), seen.count()), (270, 270));
    let groups = result.list_of("/flows/0/consume/groups");
    let of_groups: Vec<_> = groups.iter().map(|one| (one["name"].as_str(), one["handled"].as_u64())).collect();
    let names: Vec<String> = (1..=3).map(|number| format!("{group}-{number}")).collect();
    let expected: Vec<_> = names.iter().map(|name| (Some(name.as_str()), Some(90))).collect();
    assert_eq!(of_groups, expected);
    assert_eq!(result.list_of("/flows/0/consume/workers").len(), 6);
    assert_eq!(load.committed(&names[2]), [30, 30, 30].map(Some));
}

#[test]
fn assigned_partitions_are_dealt_out_evenly_and_nobody_joins() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").partitions(5).create();
    Load::new(&kafka, &load).write((0..50).map(|n| n % 5), None, b"x");
    let app = "workers = 7\nfrom = \"earliest\"\nuntil = \"end\"\nassigned-by = \"khost\"";
    let output = count(&kafka, &load, app);
    assert_eq!(handled(&output), 50);
    let result = output.result();
    let workers = result.list_of("/flows/0/consume/workers");
    let shares: Vec<usize> = workers
        .iter()
        .map(|worker| {
            worker["partitions"]
                .as_object()
                .map_or(0, |topics| topics.values().map(|l| l.as_array().map_or(0, Vec::len)).sum())
        })
        .collect();
    assert_eq!(shares, [1, 1, 1, 1, 1, 0, 0]);
    let idle = result.warnings().iter().any(|text| text.contains("2 of 7 workers had no partition"));
    output.check(idle, "the idle ones are told of");
}

#[test]
fn an_empty_topic_is_read_to_its_end_at_once_and_waited_for_from_there() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").partitions(2).create();
    assert_eq!(handled(&count(&kafka, &load, "from = \"earliest\"\nuntil = \"end\"")), 0);
    let output = count(&kafka, &load, "from = \"latest\"\nduration = \"500ms\"");
    assert_eq!(handled(&output), 0);
    let told = output.result().warnings().iter().any(|text| text.contains("no record that counts"));
    output.check(told, "that nothing came");
}

#[test]
fn what_a_worker_still_holds_is_handled_when_another_has_left() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").partitions(2).create(), kafka.topic("seen").create());
    // more than one taking of records, so that the partition's end comes with the last of them
    Load::new(&kafka, &load).write((0..700).map(|_| 0), None, &[7; 99]);
    let sleeps = echoes(producer(1), "(drop (call $sleep (i64.const 5000000)))").import(
        "clock",
        "sleep",
        "(param i64) (result i32)",
    );
    for strategy in ["range", "cooperative-sticky"] {
        let app = "workers = 2\nfrom = \"earliest\"\nuntil = \"end\"\nmax-bytes = \"150B\"";
        let plan = manifest(&load, Some(&seen), &unique("group"), app);
        let khost = Project::of(&sleeps, &plan).run().brokers(&kafka).json();
        let output = khost.kafka("partition.assignment.strategy", strategy).output();
        output.exits(0).is_civil();
        output.check(handled(&output) == 700, "all of them, though the other worker has nothing to do and leaves");
    }
}

#[test]
fn after_an_abrupt_end_nothing_is_skipped_and_repeats_are_one_batch_at_most() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").partitions(2).create(), kafka.topic("seen").create());
    let writer = Load::new(&kafka, &load);
    let stamped: Vec<Vec<u8>> = (0..400_u64).map(|n| [n.to_le_bytes(), [0; 8], [0; 8]].concat()).collect();
    stamped.iter().enumerate().for_each(|(n, value)| {
        let record = BaseRecord::<[u8], [u8]>::to(&load.name).partition(n as i32 % 2).payload(value);
        writer.producer.send(record).expect("it is queued");
    });
    writer.producer.flush(LIMIT).expect("it is acknowledged");
    let sleep = "(drop (call $sleep (i64.const 2000000)))";
    let slow = echoes(producer(1), sleep).import("clock", "sleep", "(param i64) (result i32)");
    let app = "workers = 2\nmax-records = 10\ncommit = \"batch\"";
    let group = unique("group");
    let plan = |rest: &str| manifest(&load, Some(&seen), &group, &format!("{app}\n{rest}"));
    // a group without commits begins where auto.offset.reset says
    let first = plan("from = \"committed\"\nkafka.auto.offset.reset = \"earliest\"\nduration = \"10m\"");
    let running = Project::of(&slow, &first).run().brokers(&kafka).json().start();
    seen.wait_for_messages(100);
    running.kill();
    let before = seen.count();
    assert!(before < 400, "it is killed in the middle");
    // the group finds out that its members are gone, which static members' ids would spare
    let second = plan("from = \"committed\"\nuntil = \"end\"\nassigned-by = \"khost\"");
    let output = Project::of(&slow, &second).run().brokers(&kafka).json().output();
    output.exits(0).is_civil();
    let all: Vec<u64> =
        seen.records().iter().map(|r| Stamp::read(r.value.as_deref().expect("a stamp")).iteration).collect();
    let distinct: BTreeSet<u64> = all.iter().copied().collect();
    assert_eq!(distinct.len(), 400, "nothing is skipped");
    let repeats = all.len() - distinct.len();
    output.check(repeats <= 20, &format!("at most one batch of 10 a worker is repeated, not {repeats} records"));
    output.check(output.result().count_of("/flows/0/consume/groups/0/commits/count") > 0, "commits are counted");
}

#[test]
fn what_is_never_committed_leaves_the_group_alone() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    Load::new(&kafka, &load).write([0; 50], None, &[0; 24]);
    let group = unique("group");
    let app = "from = \"earliest\"\nuntil = \"end\"\ncommit = \"never\"";
    let output = Project::of(&echo(), &manifest(&load, Some(&seen), &group, app)).run().brokers(&kafka).json().output();
    output.exits(0).is_civil();
    assert_eq!((handled(&output), load.committed(&group)), (50, vec![None]));
}

#[test]
fn static_members_keep_their_place_when_they_leave() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").partitions(2).create();
    Load::new(&kafka, &load).write([0, 1], None, b"x");
    let (group, ids) = (unique("group"), unique("app"));
    let app = format!("handler = false\nworkers = 2\nfrom = \"earliest\"\nuntil = \"end\"\ninstance-ids = \"{ids}\"");
    let project = Project::of(&echo(), &manifest(&load, None, &group, &app));
    let first = project.run().brokers(&kafka).json().output();
    assert_eq!(handled(first.exits(0).is_civil()), 2);
    assert_eq!(first.result().text_of("/flows/0/consume/client/group.instance.id"), format!("{ids}-1"));
    let client: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", kafka.bootstrap()).create().expect("a client");
    let groups = client.fetch_group_list(Some(&group), LIMIT).expect("the broker answers");
    let members: usize = groups.groups().iter().map(|group| group.members().len()).sum();
    assert_eq!(members, 2, "they are waited for");
    let second = project.run().brokers(&kafka).json().output();
    assert_eq!(handled(second.exits(0).is_civil()), 2);
}

#[test]
fn what_is_not_delivered_looks_like_null() {
    let Some(kafka) = Kafka::shared() else { return };
    for (deliver, key, value) in [("\"key\"", true, false), ("\"value\"", false, true), ("", false, false)] {
        let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
        Load::new(&kafka, &load).write([0; 3], None, b"value");
        let app = format!("from = \"earliest\"\nuntil = \"end\"\ndeliver = [{deliver}]");
        let plan = manifest(&load, Some(&seen), &unique("group"), &app);
        let output = Project::of(&echo(), &plan).run().brokers(&kafka).json().output();
        output.exits(0).is_civil();
        let records = seen.records();
        assert_eq!(records.len(), 3);
        for record in records {
            assert_eq!(record.key.as_deref(), key.then_some(&b"k"[..]), "{deliver}");
            assert_eq!(record.value.as_deref(), value.then_some(&b"value"[..]), "{deliver}");
        }
        assert_eq!(output.result().count_of("/flows/0/consume/records/bytes"), 3 * 6, "they are read all the same");
    }
}

#[test]
fn a_batch_has_at_most_so_many_records_and_bytes() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("in").create(), kafka.topic("seen").create());
    Load::new(&kafka, &load).write([0; 100], None, &[0; 499]);
    // each batch is committed, so commits tell their number; one more is where it begins
    for (app, batches) in [("max-records = 10", 10), ("max-bytes = 1_000", 50), ("max-bytes = 1", 100)] {
        let app = format!("from = \"earliest\"\nuntil = \"end\"\ncommit = \"batch\"\n{app}");
        let plan = manifest(&load, Some(&seen), &unique("group"), &app);
        let output = Project::of(&echo(), &plan).run().brokers(&kafka).json().output();
        output.exits(0).is_civil();
        assert_eq!(handled(&output), 100);
        let commits = output.result().count_of("/flows/0/consume/groups/0/commits/count");
        output.check(commits > batches, &format!("at least {batches} batches, and not {commits} commits"));
    }
}

#[test]
fn an_end_and_no_workers_are_refused_where_they_make_no_sense() {
    let Some(kafka) = Kafka::shared() else { return };
    let load = kafka.topic("in").create();
    for (app, words) in [
        ("workers = 0", &["flows.app.workers", "from 1 to 1024"][..]),
        ("until = \"end\"", &["flows.app.until", "from = \"earliest\""]),
        ("from = \"tomorrow\"", &["flows.app.from", "a time such as"]),
        ("until = \"ned\"", &["flows.app.until", "end"]),
    ] {
        let plan = manifest(&load, None, &unique("group"), app);
        Project::of(&echo(), &plan).run().brokers(&kafka).output().exits(2).explains(words);
    }
}

/// What it fetches ahead is held against the container's limit: on a backlog the defaults take more.
#[test]
fn a_backlog_is_read_in_a_container_of_little_memory() {
    let Some(kafka) = Kafka::shared() else { return };
    let Some(limit) = MemoryLimit::of(256 << 20) else { return };
    let load = kafka.topic("in").partitions(16).create();
    let (megabyte, writer) = (vec![7; 900_000], Load::new(&kafka, &load));
    for _ in 0..6 {
        writer.write((0..48).map(|n| n % 16), None, &megabyte);
    }
    let sleep = "(drop (call $sleep (i64.const 3600000000000)))";
    let slow = echoes(producer(1), sleep).import("clock", "sleep", "(param i64) (result i32)");
    let app = "workers = 16\nmax-records = 1\nfrom = \"earliest\"\nduration = \"4s\"\nassigned-by = \"khost\"";
    let seen = kafka.topic("seen").create();
    let plan = manifest(&load, Some(&seen), &unique("group"), app);
    let output = Project::of(&slow, &plan).run().brokers(&kafka).within(&limit).json().output();
    output.exits(0).tells("flow `app`: what consumers fetch ahead is lowered to");
    let result = output.result();
    let prefetch = |field: &str| result.count_of(&format!("/flows/0/consume/prefetch/{field}"));
    output.check(prefetch("memory_bytes") == 256 << 20, "the container's limit is known");
    output.check(prefetch("total_bytes") <= 128 << 20, "half of it is for records");
    let peak = output.peak_bytes >> 20;
    output.check(peak < 256, &format!("{peak} MiB at most"));
}
