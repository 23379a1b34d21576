//! Data sets: rows arrive as they are in the file, in their order, each as often as it should; what is wrong with a file
//! is told before any load.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use khost::package::Package;

use crate::harness::guests::{Guest, manifest, manifest_with_topic, reader};
use crate::harness::topics::{Record, Topic};
use crate::harness::{Kafka, Output, Project};

/// A manifest with a data set for the flow `write`.
fn with_data(manifest: &str, data: &str) -> String {
    format!("{manifest}\n[data.write]\n{data}\n")
}

/// Runs all of a file through one worker, row by row, and answers what arrived.
#[track_caller]
fn all_of(kafka: &Kafka, columns: u32, file: &str, bytes: impl AsRef<[u8]>, data: &str) -> (Output, Vec<Record>) {
    let topic = kafka.topic("data").create();
    let data = format!("file = \"{file}\"\norder = \"unique\"\n{data}");
    let manifest = with_data(&manifest(&topic.name, "threads = 1", "duration = \"20s\""), &data);
    let output = Project::of(&reader(columns), &manifest).file(file, bytes).run().brokers(kafka).json().output();
    output.exits(1).is_civil();
    let records = topic.records();
    assert_eq!(output.result().data().2, records.len() as u64, "{output}");
    (output, records)
}

fn values(records: &[Record]) -> Vec<&[u8]> {
    records.iter().map(|record| record.value.as_deref().expect("no null")).collect()
}

fn keys(topic: &Topic) -> Vec<String> {
    let key = |record: Record| String::from_utf8(record.key.expect("no null")).expect("text");
    topic.records().into_iter().map(key).collect()
}

#[test]
fn messages_of_a_file_arrive_to_the_byte() {
    let Some(kafka) = Kafka::shared() else { return };
    for (file, delimiter, expected, skipped) in [
        (&b"ab|cd|ef"[..], "delimiter = \"|\"", &[&b"ab"[..], b"cd", b"ef"][..], 0),
        (b"ab\r\ncd\r\n", "", &[b"ab", b"cd"], 0),
        (b"ab\r\ncd\r\n", "delimiter = \"\\n\"", &[b"ab\r", b"cd\r"], 0),
        (b"ab\n\ncd", "", &[b"ab", b"cd"], 1),
        (b"\x61\xff\xfe\x0a\x62", "", &[b"\x61\xff\xfe", b"\x62"], 0),
    ] {
        let (output, records) = all_of(&kafka, 1, "payloads.bin", file, delimiter);
        assert_eq!(values(&records), expected, "{}", file.escape_ascii());
        assert_eq!(output.result().data(), (expected.len() as u64, skipped, expected.len() as u64));
    }
}

#[test]
fn csv_arrives_as_spreadsheets_mean_it() {
    let Some(kafka) = Kafka::shared() else { return };
    let file = "\u{feff}\"id\",\"note\"\r\n1,\"a, b\"\r\n\r\n2,\"two\r\nlines\"\r\n3,\"he said \"\"hi\"\"\"\r\n6,";
    let expected = [("1", "a, b"), ("2", "two\r\nlines"), ("3", "he said \"hi\""), ("6", "")];
    let semicolons = "id;note\n1;a, b\n2;\"two\r\nlines\"\n3;\"he said \"\"hi\"\"\"\n6;\n";
    for (file, delimiter) in [(file, ""), (semicolons, "delimiter = \";\"")] {
        let (_, records) = all_of(&kafka, 2, "items.csv", file, delimiter);
        let text = |bytes: &Option<Vec<u8>>| String::from_utf8(bytes.clone().expect("no null")).expect("text");
        let rows: Vec<_> = records.iter().map(|record| (text(&record.key), text(&record.value))).collect();
        assert_eq!(rows, expected.map(|(id, note)| (id.to_owned(), note.to_owned())));
    }
}

#[test]
fn json_lines_arrive_as_they_are() {
    let Some(kafka) = Kafka::shared() else { return };
    let (_, records) = all_of(&kafka, 1, "events.jsonl", "{\"a\": 1}\r\n\n[ ]", "");
    assert_eq!(values(&records), [&b"{\"a\": 1}"[..], b"[ ]"]);
}

/// A run that reads rows `1` to `rows` of CSV in this order, with three workers.
fn of_three(kafka: &Kafka, rows: u32, order: &str, run: &str, arguments: &[&str]) -> (Topic, Output) {
    let topic = kafka.topic("data").create();
    let data = format!("file = \"items.csv\"\norder = \"{order}\"");
    let manifest = with_data(&manifest(&topic.name, "threads = 3\nbatch = 1", run), &data);
    let items = (1..=rows).fold("id\n".to_owned(), |text, row| text + &format!("{row}\n"));
    let project = Project::of(&reader(1), &manifest).file("items.csv", items);
    let output = project.run().brokers(kafka).json().args(arguments).output();
    (topic, output)
}

#[test]
fn unique_rows_are_handed_out_once_and_one_more_ends_the_flow() {
    let Some(kafka) = Kafka::shared() else { return };
    let nine: Vec<String> = (1..=9).map(|row| row.to_string()).collect();
    let arrived = |topic: &Topic| {
        let mut keys = keys(topic);
        keys.sort_unstable();
        keys
    };
    let (topic, output) = of_three(&kafka, 9, "unique", "iterations = 9", &[]);
    assert_eq!(arrived(&topic), nine);
    let result = output.exits(0).result();
    assert_eq!((result.verdict(), result.data()), ("passed".into(), (9, 0, 9)));

    let (topic, output) = of_three(&kafka, 9, "unique", "iterations = 10", &[]);
    assert_eq!(arrived(&topic), nine);
    let result = output.exits(1).is_civil().result();
    assert_eq!((result.verdict(), result.acknowledged(), result.iterations()), ("failed".into(), 9, 9));
    let exhausted = "data set `write` exhausted after 9 rows at ";
    assert!(result.reasons()[0].starts_with(&format!("flow `write`: {exhausted}")), "{output}");
    assert!(result.warnings().iter().any(|warning| warning.starts_with(exhausted)), "{output}");
}

#[test]
fn a_flow_without_rows_leaves_the_others_alone() {
    let Some(kafka) = Kafka::shared() else { return };
    let topic = kafka.topic("data").create();
    let write = manifest(&topic.name, "threads = 1\nrate = \"100/s\"", "duration = \"2s\"");
    let manifest = with_data(&write, "file = \"unique.csv\"\norder = \"unique\"")
        + "[data.other]\nfile = \"other.csv\"\n[flows.other]\nkind = \"stream\"\nthreads = 1\nrate = \"100/s\"\n";
    let project = Project::of(&reader(1), &manifest).file("unique.csv", "id\na\nb\n").file("other.csv", "id\nc\n");
    let output = project.run().brokers(&kafka).output();
    output.exits(1).within(Duration::from_secs(20)).prints("2 rows of unique.csv, unique: 2 handed out; exhausted");
    let keys = keys(&topic);
    let of = |wanted: &str| keys.iter().filter(|key| *key == wanted).count();
    assert_eq!((of("a"), of("b"), of("c")), (1, 1, 200));
}

#[test]
fn rows_in_sequence_begin_again_and_shuffled_ones_follow_the_seed() {
    let Some(kafka) = Kafka::shared() else { return };
    let (topic, output) = of_three(&kafka, 4, "sequential", "iterations = 9", &["--set", "flows.write.threads=1"]);
    output.exits(0);
    assert_eq!(keys(&topic), ["1", "2", "3", "4", "1", "2", "3", "4", "1"]);

    let shuffled = |seed: &str| {
        let arguments = ["--set", "flows.write.threads=1", "--seed", seed];
        let (topic, output) = of_three(&kafka, 20, "random", "iterations = 40", &arguments);
        output.exits(0);
        keys(&topic)
    };
    let (first, again, other) = (shuffled("1"), shuffled("1"), shuffled("2"));
    let (one, two) = first.split_at(20);
    assert_eq!(one.iter().collect::<BTreeSet<_>>(), two.iter().collect::<BTreeSet<_>>());
    assert_eq!(one.iter().collect::<BTreeSet<_>>().len(), 20);
    assert!(one != two && first == again && first != other, "{first:?}");
}

#[test]
fn rows_by_number_and_what_a_data_set_says_of_itself() {
    // 4 rows of 2 columns: the third and fourth, and no fifth
    let guest = reader(2)
        .import("data", "get", "(param i32 i64 i32 i32)")
        .import("data", "row-count", "(param i32) (result i64)")
        .import("data", "columns", "(param i32 i32)")
        .functions("(func $must (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))")
        .begins(
            "(call $must (i64.eq (call $row-count (global.get $set)) (i64.const 4)))
             (call $columns (global.get $set) (i32.const 1024))
             (call $must (i32.eq (i32.load offset=4 (i32.const 1024)) (i32.const 2)))
             (call $must (i32.eq (i32.load8_u (i32.load offset=8 (i32.load (i32.const 1024)))) (i32.const 98)))
             (call $get (global.get $set) (i64.const 2) (i32.const 5) (i32.const 1024))
             (call $must (i32.eq (i32.load offset=4 (i32.const 1024)) (i32.const 6)))
             (call $must (i32.eq (i32.load offset=12 (i32.const 1024)) (i32.const 4)))
             (call $must (i64.eq (i64.load offset=24 (i32.load offset=8 (i32.const 1024))) (i64.const 0x100000005)))
             (call $get (global.get $set) (i64.const -1) (i32.const -1) (i32.const 1024))
             (call $must (i32.eqz (i32.load offset=12 (i32.const 1024))))",
        );
    let manifest = with_data(&manifest_with_topic(1, "threads = 1\nbatch = 1", "iterations = 4"), "file = \"a.csv\"");
    let output = Project::of(&guest, &manifest).file("a.csv", "a,b\n1,x\n2,x\nabc,d\ne,f\n").run().output();
    output.exits(0).prints("4 rows of a.csv, sequential: 4 handed out");
}

#[test]
fn rows_that_were_asked_for_in_vain_fail_a_flow_only_if_it_ends_there() {
    let guest = reader(1).setup("(call $next (global.get $set) (i32.const 100) (i32.const 1024))");
    let run = |iterate: &str, run: &str| {
        let data = "file = \"a.csv\"\norder = \"unique\"";
        let manifest = with_data(&manifest_with_topic(1, "threads = 1", run), data);
        Project::of(&guest.clone().iterates(iterate), &manifest).file("a.csv", "id\n1\n2\n").run().json().output()
    };
    let goes_on = run("(local.get $count)", "iterations = 5");
    let result = goes_on.exits(0).result();
    assert!(result.reasons().is_empty(), "{goes_on}");
    assert!(
        result.warnings().iter().any(|text| text.starts_with("data set `write` exhausted after 2 rows at ")),
        "{goes_on}"
    );
    let ends = run("(i32.const 0)", "duration = \"30s\"");
    let result = ends.exits(1).within(Duration::from_secs(20)).result();
    assert_eq!(result.reasons().len(), 1, "{ends}");
}

/// A run that would last, whose guest does this first in an iteration.
fn begins(body: &str) -> Output {
    let manifest = with_data(&manifest_with_topic(1, "threads = 1", "duration = \"30s\""), "file = \"a.csv\"");
    Project::of(&reader(1).begins(body), &manifest).file("a.csv", "id\n1\n").run().output()
}

#[test]
fn a_guest_that_misuses_data_sets_is_told_so() {
    let next = |set: &str, count: &str| format!("(call $next (i32.const {set}) (i32.const {count}) (i32.const 1024))");
    begins(&next("7", "1")).exits(1).is_civil().tells("7 is no data set that was opened");
    begins(&next("1", "-1")).exits(1).is_civil().tells("`write`").tells("limits.memory");
    let misnamed = manifest_with_topic(1, "", "duration = \"30s\"").replace("flows.write", "flows.wrote");
    let output =
        Project::of(&reader(1), &with_data(&misnamed, "file = \"a.csv\"")).file("a.csv", "id\n1\n").run().output();
    output.exits(2).explains(&["the data set `wrote`, which the manifest lacks", "the nearest is `write`"]);
}

#[test]
fn a_file_that_is_no_data_set_is_refused_before_the_load() {
    let run = |file: &str, bytes: &str, data: &str| {
        let manifest = with_data(&manifest_with_topic(1, "", "iterations = 3"), data);
        Project::of(&reader(1), &manifest).file(file, bytes).run().output()
    };
    let refuses = |bytes: &str, words: &[&str]| {
        let output = run("items.csv", bytes, "file = \"items.csv\"");
        output.exits(2).within(Duration::from_secs(5)).explains(words);
    };
    let good = "\u{feff}\"id\",\"note\"\r\n1,\"a, b\"\r\n\r\n2,\"two\r\nlines\"\r\n3,\"he said \"\"hi\"\"\"\r\n";
    refuses(&format!("{good}4\r\n"), &["`write`", "items.csv:7:", "1 cell"]);
    refuses(&format!("{good}5,x,extra\r\n6,"), &["items.csv:7:", "3 cells", "the header has 2"]);
    refuses("id,note\r\n", &["items.csv has no rows below its header"]);
    refuses("", &["items.csv is empty"]);
    run("items.jsonl", "{}\n\n{]\n", "file = \"items.jsonl\"").exits(2).explains(&["items.jsonl:3:", "not JSON"]);
    run("other.csv", "id\n1\n", "file = \"items.csv\"").exits(2).explains(&[
        "items.csv",
        "No such file",
        "--set data.write.file",
    ]);
    run("items.csv", "id\n1\n", "order = \"unique\"").exits(2).explains(&[
        "data.write",
        "`file`",
        "--set data.write.file",
    ]);
    let order = "file = \"items.csv\"\norder = \"uniqe\"";
    run("items.csv", "id\n1\n", order).exits(2).explains(&["scenario.toml:", "data.write.order", "unique"]);
    let delimiter = "file = \"items.csv\"\ndelimiter = \"ab\"";
    run("items.csv", "id\n1\n", delimiter).exits(2).explains(&["data.write.delimiter", "one character"]);
    for path in ["/etc/hostname", "../items.csv"] {
        let output = run("items.csv", "id\n1\n", &format!("file = \"{path}\""));
        output.exits(2).explains(&["scenario.toml:", "data.write.file", "own folder", "--set"]);
    }
}

/// A packed scenario: the component of a guest, with its manifest and files in sections.
fn packed(guest: &Guest, manifest: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let project = Project::of(guest, manifest);
    let mut wasm = Package::open(&project.path("scenario.wasm"), None).unwrap().wasm;
    let number = |bytes: &mut Vec<u8>, mut number: usize| {
        while number > 0x7f {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    };
    for (name, text) in [("manifest", manifest)].iter().chain(files) {
        let name = format!("khost:{name}");
        let mut section = Vec::new();
        number(&mut section, name.len());
        section.extend_from_slice(name.as_bytes());
        section.extend_from_slice(text.as_bytes());
        wasm.push(0);
        number(&mut wasm, section.len());
        wasm.extend_from_slice(&section);
    }
    wasm
}

#[test]
fn a_packed_scenario_has_the_rows_that_it_carries_and_those_of_whoever_runs_it() {
    let manifest = with_data(&manifest_with_topic(1, "threads = 1", "iterations = 3"), "file = \"items.csv\"");
    let wasm = packed(&reader(1), &manifest, &[("data:write", "id\n1\n2\n")]);
    let project = Project::new().file("packed.wasm", wasm).file("own/items.csv", "id\n1\n2\n3\n");
    // a file of that name beside it is none of its own
    let project = project.file("items.csv", "id\n").file("own/big.toml", "[data.write]\nfile = \"items.csv\"\n");
    project.khost(&["run", "packed.wasm"]).output().exits(0).prints("write: 2 rows of items.csv");
    let run = |arguments: &[&str]| project.khost(&["run", "packed.wasm"]).args(arguments).output();
    run(&["--profile", "own/big.toml"]).exits(0).prints("write: 3 rows of own/items.csv");
    run(&["--set", "data.write.file=own/items.csv"]).exits(0).prints("write: 3 rows of own/items.csv");

    let without = Project::new().file("packed.wasm", packed(&reader(1), &manifest, &[])).file("items.csv", "id\n1\n");
    let output = without.khost(&["run", "packed.wasm"]).output();
    output.exits(2).explains(&["packed.wasm does not carry items.csv", "`write`", "--set data.write.file=PATH"]);
}

const MIB: u64 = 1 << 20;

/// The peak memory of a run of so many workers over this file.
fn peak(workers: u32, order: &str, file: &str, bytes: &[u8]) -> u64 {
    let flow = format!("threads = {workers}\nrate = \"2000/s\"");
    let data = format!("file = \"{file}\"\norder = \"{order}\"");
    let manifest = with_data(&manifest_with_topic(1, &flow, "duration = \"1s\""), &data);
    let output = Project::of(&reader(1), &manifest).file(file, bytes).run().output();
    output.exits(0).prints(&format!("{order}: 2,000 handed out"));
    output.peak_bytes
}

#[test]
fn workers_share_one_copy_of_a_data_set() {
    let mut csv = String::from("id,text\n");
    (0..500_000).for_each(|row| writeln!(csv, "{row},\"{row:090}\"").expect("a String takes all"));
    assert!(csv.len() > 48_000_000);
    let (small, large) = (peak(200, "random", "a.csv", b"id\n1\n"), peak(200, "random", "a.csv", csv.as_bytes()));
    // one copy, 8 bytes a row, and what the index needs while it grows
    assert!(large - small < 70 * MIB, "{} MiB more than with one row", (large - small) / MIB);
}

#[test]
fn a_large_file_is_not_read_into_memory() {
    let line = [&b"x".repeat(9_999)[..], b"\n"].concat();
    let small = peak(2, "sequential", "a.txt", &line);
    let large = peak(2, "sequential", "a.txt", &line.repeat(30_000));
    assert!(large < small + 10 * MIB, "{} MiB more than with one line", (large - small) / MIB);
}
