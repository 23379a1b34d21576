use std::collections::HashSet;

use khost_guest::testing::{Host, Running, Sent};

use super::Write;

const MANIFEST: &str = include_str!("../scenario.toml");

/// The manifest's parameters, each a line such as `key = { default = "random", help = "…" }`, as khost hands them over.
fn defaults() -> Vec<(&'static str, String)> {
    let lines = MANIFEST.lines().filter_map(|line| line.split_once(" = { default = "));
    let params: Vec<_> =
        lines.map(|(name, rest)| (name, plain(rest.split(", help").next().expect("a default")))).collect();
    assert_eq!(params.len(), 8);
    params
}

/// A value as text: `1_048_576` and `"random"` without underscores and quotes.
fn plain(toml: &str) -> String {
    toml.replace(['_', '"'], "")
}

fn host(params: &[(&str, &str)]) -> Host {
    let manifest = Host::new().flow("write").topic("load", 12).seed(7);
    let host = defaults().into_iter().fold(manifest, |host, (name, value)| host.param(name, value));
    params.iter().fold(host, |host, (name, value)| host.param(name, value))
}

fn running(params: &[(&str, &str)]) -> Running {
    host(params).stream::<Write>().expect("these parameters are good")
}

fn sent(params: &[(&str, &str)], count: u32) -> Vec<Sent> {
    running(params).iterate(count)
}

fn refusal(params: &[(&str, &str)]) -> String {
    host(params).stream::<Write>().expect_err("these parameters are bad")
}

fn value(message: &Sent) -> &[u8] {
    message.value.as_deref().expect("every message has a value")
}

fn zeros(message: &Sent) -> f64 {
    value(message).iter().filter(|byte| **byte == 0).count() as f64 / value(message).len() as f64
}

#[test]
fn sizes_are_even_between_the_bounds() {
    for bodies in ["fresh", "copied", "repeated"] {
        let sent = sent(&[("bodies", bodies)], 20_000);
        let sizes: Vec<usize> = sent.iter().map(|message| value(message).len()).collect();
        assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&250), Some(&750)), "{bodies}");
        let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        assert!((mean - 500.0).abs() < 5.0, "{bodies}: mean {mean}");
        for quarter in [250, 375, 500, 625] {
            let within = sizes.iter().filter(|size| (quarter..quarter + 125).contains(*size)).count();
            assert!((4_800..5_200).contains(&within), "{bodies}: {within} from {quarter}");
        }
    }
}

#[test]
fn one_size_is_one_size() {
    let sent = sent(&[("min-size", "100"), ("max-size", "100")], 100);
    assert!(sent.iter().all(|message| value(message).len() == 100));
}

#[test]
fn random_keys_are_distinct_also_between_workers() {
    let messages: Vec<Sent> =
        (0..4).flat_map(|worker| host(&[]).seed(worker).stream::<Write>().expect("good").iterate(10_000)).collect();
    let keys: HashSet<&[u8]> = messages.iter().filter_map(|message| message.key.as_deref()).collect();
    assert_eq!(keys.len(), 40_000);
    assert!(keys.iter().all(|key| key.len() == 16));
}

#[test]
fn keys_of_a_set_are_all_used_and_the_same_for_every_worker() {
    let keys = |seed| -> HashSet<Vec<u8>> {
        let host = host(&[("key", "set"), ("key-count", "50")]).seed(seed);
        host.stream::<Write>().expect("good").iterate(2_000).into_iter().filter_map(|message| message.key).collect()
    };
    assert_eq!(keys(1).len(), 50);
    assert_eq!(keys(1), keys(2));
}

#[test]
fn without_keys_there_are_none() {
    assert!(sent(&[("key", "none")], 100).iter().all(|message| message.key.is_none()));
}

#[test]
fn the_partitioner_chooses() {
    assert!(sent(&[], 100).iter().all(|message| message.topic == "load" && message.partition.is_none()));
}

#[test]
fn compressibility_is_the_share_of_zeros() {
    for bodies in ["fresh", "copied", "repeated"] {
        for share in ["0", "0.25", "0.5", "0.9", "1"] {
            let sent = sent(&[("bodies", bodies), ("compressibility", share)], 2_000);
            let expected: f64 = share.parse().expect("a number");
            let random_zeros = (1.0 - expected) / 256.0;
            let mean = sent.iter().map(zeros).sum::<f64>() / sent.len() as f64;
            assert!((mean - expected - random_zeros).abs() < 0.005, "{bodies} {share}: {mean}");
            let worst = sent.iter().map(|message| (zeros(message) - expected).abs()).fold(0.0, f64::max);
            assert!(worst < 0.1, "{bodies} {share}: off by {worst}");
        }
    }
}

#[test]
fn fresh_bodies_are_all_different() {
    let sent = sent(&[("compressibility", "0.9")], 5_000);
    let distinct: HashSet<&[u8]> = sent.iter().map(value).collect();
    assert_eq!(distinct.len(), 5_000);
}

#[test]
fn repeated_bodies_come_from_one_pool() {
    let params = [("bodies", "repeated"), ("pool-size", "1000")];
    let whole = [("min-size", "1000"), ("max-size", "1000")];
    let pool = value(&sent(&[params, whole].concat(), 1)[0]).to_vec();
    for seed in 0..3 {
        let sent = host(&params).seed(seed).stream::<Write>().expect("good").iterate(200);
        assert!(sent.iter().all(|message| { pool.windows(value(message).len()).any(|part| part == value(message)) }));
    }
}

#[test]
fn a_run_repeats_and_a_batch_changes_nothing() {
    let messages = sent(&[], 64);
    let mut running = running(&[]);
    for message in &messages {
        let alone = running.iterate(1).remove(0);
        assert_eq!((&alone.key, &alone.value), (&message.key, &message.value));
    }
}

#[test]
fn wrong_parameters_are_refused_by_name() {
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[("min-size", "751")], "parameter `min-size` (751) is above `max-size` (750)"),
        (&[("min-size", "-1")], "parameter `min-size` is `-1`; it must be a whole number from 0 to 4294967295"),
        (&[("key", "sets")], "parameter `key` is `sets`; it must be one of none, random, set"),
        (&[("key", "set"), ("key-count", "0")], "parameter `key-count` is 0; a set has at least one key"),
        (&[("bodies", "old")], "parameter `bodies` is `old`; it must be one of fresh, copied, repeated"),
        (&[("bodies", "repeated"), ("pool-size", "749")], "parameter `pool-size` (749) is below `max-size` (750)"),
        (&[("compressibility", "1.5")], "parameter `compressibility` is 1.5; it must be from 0 to 1"),
    ];
    for (params, text) in cases {
        assert_eq!(refusal(params), text);
    }
}
