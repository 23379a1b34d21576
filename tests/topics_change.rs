//! Topics that change under a run: partitions that are added, leaders that move, and topics that are deleted and created anew.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::growth;
use crate::harness::guests::{Guest, echoes, manifest, producer};
use crate::harness::topics::Topic;
use crate::harness::{Kafka, Output, Project, unique};

const LIMIT: Duration = Duration::from_secs(90);
/// An end that no test waits for.
const LONG: &str = "duration = \"10m\"\ndrain = \"2s\"";

/// One flow that reads the topic alone.
fn reads(topic: &Topic) -> String {
    let group = unique("group");
    let flow = format!("kind = \"consume\"\ntopics = [\"load\"]\nfrom = \"earliest\"\ngroup = \"{group}\"");
    manifest(&topic.name, "", LONG).replace("[\"produce\"]", "[\"consume\"]").replace("kind = \"stream\"", &flow)
}

/// The run has ended by itself, as the topic is another one.
#[track_caller]
fn tells_that_it_is_another(output: &Output, topic: &Topic) {
    let result = output.exits(1).is_civil().result();
    let named = format!("topic `{}` was deleted and created anew", topic.name);
    output.check(result.verdict() == "failed", "a verdict that is no pass");
    output.check(
        result.reasons().iter().any(|reason| reason.starts_with(&named)),
        &format!("{named:?} among the reasons"),
    );
    output.check(result.text_of("/topics/0/changes/0/what") == "created-anew", "the change in the document");
}

#[test]
fn partitions_that_are_added_are_written_read_and_noted() {
    let Some(kafka) = Kafka::shared() else { return };
    let (load, seen) = (kafka.topic("grows").partitions(2).create(), kafka.topic("seen").create());
    let plan = format!(
        "[scenario]\nname = \"tests/grows\"\n\n\
         [topics.load]\nname = \"{}\"\naccess = [\"produce\", \"consume\"]\n\n\
         [topics.seen]\nname = \"{}\"\naccess = [\"produce\"]\n\n\
         [flows.write]\nkind = \"stream\"\nthreads = 1\nbatch = 1\nrate = \"200/s\"\n\n\
         [flows.app]\nkind = \"consume\"\ntopics = [\"load\"]\ngroup = \"{}\"\nworkers = 2\n\n\
         [run]\n{LONG}\n",
        load.name,
        seen.name,
        unique("group")
    );
    // each record has a key of its own, and says how many partitions there are
    let guest = growth::sends("(call $partition-count (global.get $topic))", "(i32.const -1)", "(local.get $p)");
    let khost = Project::of(&echoes(guest, ""), &plan).run().brokers(&kafka).json().limit(LIMIT).start();
    load.wait_for_messages(100);
    kafka.grow(&load, 4);
    growth::wait_until("records of both new partitions read, and 4 partitions told", || {
        let (written, read) = (load.records(), seen.records());
        let keys: BTreeSet<_> = read.iter().map(|record| &record.key).collect();
        let is_read = |number| written.iter().any(|one| one.partition == number && keys.contains(&one.key));
        is_read(2) && is_read(3) && read.iter().any(|record| growth::told(record) == 4)
    });
    khost.interrupt();
    let output = khost.finish();
    let result = output.exits(130).is_civil().result();
    let note = format!("topic `{}` got partitions in the run: 4 partitions, 2 before, seen at ", load.name);
    output.check(result.warnings().iter().any(|text| text.contains(&note)), "a note with the numbers");
    assert_eq!(result.text_of("/topics/0/changes/0/what"), "partitions");
    let at_s = result.number_of("/topics/0/changes/0/at_s");
    output.check(at_s > 0.0 && at_s < result.load_seconds(), &format!("when they were seen, not {at_s}"));
    assert_eq!(result.count_of("/flows/0/partitions/0/grown/0/partitions"), 4);
    let spread: Vec<i64> = result.partitions().iter().map(|count| *count as i64).collect();
    assert_eq!(spread, load.end_offsets());
}

#[test]
fn a_topic_that_is_created_anew_ends_a_producer() {
    let Some(kafka) = Kafka::shared() else { return };
    // in the window, and in the warm-up
    for run in [LONG.to_owned(), format!("{LONG}\nwarm-up = \"5m\"")] {
        let topic = kafka.topic("anew").partitions(2).create();
        let project = Project::of(&producer(1), &manifest(&topic.name, "rate = \"100/s\"", &run));
        let khost = project.run().brokers(&kafka).json().limit(LIMIT).start();
        topic.wait_for_messages(50);
        kafka.recreate(&topic, 2);
        tells_that_it_is_another(&khost.finish(), &topic);
    }
}

#[test]
fn a_topic_that_is_created_anew_ends_a_consumer() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("anew").create();
    let project = Project::of(&Guest::new("(i32.const 0)").handles("(local.get $count)"), &reads(&topic));
    let khost = project.run().brokers(&kafka).json().limit(LIMIT).start();
    khost.wait_for_stderr("records");
    kafka.recreate(&topic, 1);
    tells_that_it_is_another(&khost.finish(), &topic);
}

#[test]
fn a_topic_that_is_created_anew_in_the_set_up_ends_the_run() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("anew").create();
    let guest = producer(1)
        .import("clock", "sleep", "(param i64) (result i32)")
        .setup("(drop (call $sleep (i64.const 3600000000000)))");
    let plan = format!("{}\n[limits]\ncall-time = \"2h\"\n", manifest(&topic.name, "rate = \"100/s\"", LONG));
    let khost = Project::of(&guest, &plan).run().brokers(&kafka).json().limit(LIMIT).start();
    khost.wait_for_stderr("setting up");
    kafka.recreate(&topic, 1);
    let output = khost.finish();
    tells_that_it_is_another(&output, &topic);
    output.check(output.result().number_of("/topics/0/changes/0/at_s") < 0.0, "seen before the load began");
    output.check(output.result().acknowledged() == 0, "no load");
}

#[test]
fn a_topic_that_is_deleted_ends_the_run() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("gone").create();
    let project = Project::of(&producer(1), &manifest(&topic.name, "rate = \"100/s\"", LONG));
    let khost = project.run().brokers(&kafka).limit(LIMIT).start();
    topic.wait_for_messages(50);
    kafka.delete(&topic);
    let output = khost.finish();
    output.exits(1).is_civil().prints(&format!("topic `{}` was deleted: seen at ", topic.name));
}

/// Leaders and in-sync replicas move, and nothing is taken for gone.
#[test]
fn a_broker_that_goes_away_and_comes_back_shows_in_the_report() {
    let Some(kafka) = Kafka::own().nodes(3).start() else { return };
    let topic = kafka.topic("moves").partitions(6).create();
    let project = Project::of(&producer(1), &manifest(&topic.name, "rate = \"100/s\"", LONG));
    let khost = project.run().brokers(&kafka).json().limit(Duration::from_secs(180)).start();
    topic.wait_for_messages(300);
    // the one that is asked first
    kafka.node(0).stop();
    topic.wait_for_messages(topic.count() + 700);
    kafka.node(0).restart();
    topic.wait_for_messages(topic.count() + 700);
    khost.interrupt();
    let output = khost.finish();
    let result = output.exits(130).is_civil().result();
    output.check(result.reasons().is_empty(), "nothing failed");
    output.check(result.count_of("/topics/0/leader_changes") > 0, "leaders changed");
    output.check(result.count_of("/topics/0/in_sync_changes") > 0, "in-sync replicas changed");
    let changes = result.list_of("/topics/0/changes");
    output.check(changes.iter().any(|change| change["what"] == "leaders"), "which ones, and when");
    let complains = result.list_of("/honesty/complaints").iter().any(|one| one["text"].to_string().contains("watched"));
    output.check(!complains, "the others were asked meanwhile");
}
