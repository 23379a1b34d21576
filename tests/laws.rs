//! What queueing theory says of an application of known capacity, and what khost measures, on a real Kafka.
//!
//! The tests that hold figures to percents of a quiet machine are ignored: run them by hand, `-- --ignored laws::`.

use std::time::Duration;

use crate::harness::{Kafka, Output, Project, scenarios, unique};

const ASKS: &str = "/flows/0";

/// `scenarios/request-reply` with these arguments; the prefix of its topics besides.
fn request_reply(kafka: &Kafka, arguments: &[&str]) -> (Output, String) {
    let scenario = scenarios::built("request-reply");
    let prefix = format!("{}-", unique("laws"));
    let khost = Project::new().khost(&["run"]).arg(scenario).brokers(kafka).param("prefix", &prefix).json();
    let output = khost.args(arguments).limit(Duration::from_secs(180)).output();
    (output, prefix)
}

/// Replies a second, and the mean response in seconds, of the users.
fn throughput_and_mean(output: &Output) -> (f64, f64) {
    let result = output.result();
    let replied = result.count_of(&format!("{ASKS}/operations/0/requests/replied")) as f64;
    (
        replied / result.window_seconds(),
        result.number_of(&format!("{ASKS}/operations/0/measures/response/mean_us")) / 1e6,
    )
}

fn closed(service_ms: u32, workers: u32, partitions: u32, seconds: u32) -> Vec<String> {
    let set = |path: &str, value: String| ["--set".to_owned(), format!("{path}={value}")];
    let param = |name: &str, value: String| ["--param".to_owned(), format!("{name}={value}")];
    [
        param("service-time", format!("{service_ms}ms")),
        param("partitions", partitions.to_string()),
        set("flows.app.workers", workers.to_string()),
        set("run.warm-up", "1s".into()),
        set("run.duration", format!("{seconds}s")),
    ]
    .concat()
}

#[track_caller]
fn near(what: &str, value: f64, expected: f64, share: f64) {
    println!("{what}: {value:.4}, of {expected:.4}: {:+.2} %", (value / expected - 1.0) * 100.0);
    assert!((value / expected - 1.0).abs() <= share, "{what}: {value}, not {expected} within {share}");
}

/// However slow the machine is: ten users who do nothing but wait make throughput times response ten, and a worker of 20 ms
/// serves at most 50 a second.
#[test]
fn users_in_the_system_are_throughput_times_response() {
    let Some(kafka) = Kafka::shared() else { return };
    for (workers, partitions) in [(1, 1), (2, 2), (2, 1)] {
        let arguments = closed(20, workers, partitions, 4);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (output, _) = request_reply(&kafka, &arguments);
        output.exits(0);
        let (throughput, mean) = throughput_and_mean(&output);
        // the window begins with ten users whose requests are the warm-up's
        near("users in the system", throughput * mean, 10.0, 0.05 + mean / 4.0);
        let most = 50.0 * f64::from(workers.min(partitions));
        assert!(throughput <= most * 1.05, "{throughput} a second of a server of {most}");
    }
}

#[test]
#[ignore = "holds figures to 5 % of a quiet machine"]
fn littles_law() {
    let Some(kafka) = Kafka::shared() else { return };
    for (workers, partitions, per_second, mean_s) in [(1, 1, 20.0, 0.5), (2, 2, 40.0, 0.25), (2, 1, 20.0, 0.5)] {
        let arguments = closed(50, workers, partitions, 20);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (output, _) = request_reply(&kafka, &arguments);
        output.exits(0);
        let (throughput, mean) = throughput_and_mean(&output);
        let who = format!("{workers} workers on {partitions} partitions");
        near(&format!("{who}, replies a second"), throughput, per_second, 0.05);
        near(&format!("{who}, mean response in s"), mean, mean_s, 0.05);
    }
}

/// Poisson arrivals at an exponential server: the mean response by Lindley's recursion over the run's own draws, in seconds.
/// A request that finds the server busy waits for what is left: W(n+1) = max(0, W(n) + S(n) - A(n+1)).
fn lindley(kafka: &Kafka, prefix: &str) -> f64 {
    let arrivals: Vec<f64> = kafka
        .existing(&format!("{prefix}requests"))
        .records()
        .iter()
        .map(|record| record.timestamp as f64 / 1e3)
        .collect();
    let nanos = |value: &[u8]| std::str::from_utf8(value).expect("text").parse::<f64>().expect("nanoseconds");
    let services: Vec<f64> = kafka
        .existing(&format!("{prefix}replies"))
        .records()
        .iter()
        .map(|record| nanos(record.value.as_deref().expect("a reply")) / 1e9)
        .collect();
    assert_eq!(arrivals.len(), services.len(), "every request has its reply");
    let (mut wait, mut sum) = (0.0_f64, 0.0);
    for (n, service) in services.iter().enumerate() {
        sum += wait + service;
        let gap = arrivals.get(n + 1).map_or(0.0, |next| next - arrivals[n]);
        wait = (wait + service - gap).max(0.0);
    }
    sum / services.len() as f64
}

fn open(rate: &str, seconds: u32) -> Vec<String> {
    let profile = scenarios::folder().join("request-reply/profiles/open.toml");
    let mut arguments = vec!["--profile".to_owned(), profile.to_str().expect("text").to_owned()];
    arguments.extend(closed(50, 1, 1, seconds));
    for (option, value) in [
        ("--param", "service=exponential".to_owned()),
        ("--set", format!("flows.arrivals.rate={rate}")),
        ("--set", "run.warm-up=0s".to_owned()),
        ("--seed", "7".to_owned()),
    ] {
        arguments.extend([option.to_owned(), value]);
    }
    arguments
}

/// A slow machine adds to what the recursion says, and takes nothing away.
#[test]
fn nobody_is_served_faster_than_the_queue_allows() {
    let Some(kafka) = Kafka::shared() else { return };
    let arguments = open("10/s", 6);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (output, prefix) = request_reply(&kafka, &arguments);
    output.exits(0);
    let (_, mean) = throughput_and_mean(&output);
    let theory = lindley(&kafka, &prefix);
    assert!(mean > theory - 0.003, "{mean} s, and the queue alone takes {theory} s");
}

#[test]
#[ignore = "holds figures to 5 % of a quiet machine"]
fn a_poisson_queue_responds_as_lindleys_recursion_says() {
    let Some(kafka) = Kafka::shared() else { return };
    let arguments = open("10/s", 60);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (output, prefix) = request_reply(&kafka, &arguments);
    output.exits(0);
    let (_, mean) = throughput_and_mean(&output);
    let theory = lindley(&kafka, &prefix);
    println!("mean response: {mean:.4} s; by the recursion {theory:.4} s");
    assert!((mean - theory).abs() <= 0.05 * theory + 0.003);
}

/// More than the server can do: the response grows for as long as the run lasts, and nothing of that is hidden.
#[test]
fn a_queue_that_is_fed_too_much_grows_over_the_whole_run() {
    let Some(kafka) = Kafka::shared() else { return };
    let arguments = open("25/s", 20);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (output, _) = request_reply(&kafka, &arguments);
    output.exits(0);
    let result = output.result();
    let response = |figure: &str| result.number_of(&format!("{ASKS}/operations/0/measures/response/{figure}")) / 1e6;
    let (mean, max) = (response("mean_us"), response("max_us"));
    // 5 a second too many for 20 s: the last one waits for about 100 x 50 ms, and the mean is half of that
    assert!(max >= 2.5 && mean >= 1.0 && mean <= max, "mean {mean} s, max {max} s");
}
