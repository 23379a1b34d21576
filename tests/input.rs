//! What a person gets wrong is told in one paragraph with a next step, in seconds, before any load.

use std::net::TcpListener;
use std::time::Duration;

use crate::harness::guests::{manifest, manifest_with_topic, producer};
use crate::harness::{Kafka, Output, Project};

const AT_ONCE: Duration = Duration::from_secs(3);
const SECONDS: Duration = Duration::from_secs(20);

fn with_manifest(manifest: &str, arguments: &[&str]) -> Output {
    Project::of(&producer(1), manifest).run().args(arguments).output()
}

fn good() -> String {
    manifest_with_topic(1, "threads = 1", "iterations = 3")
}

#[test]
fn a_good_run_on_the_embedded_broker_says_so() {
    let output = with_manifest(&good(), &[]);
    output.exits(0).is_civil().tells("embedded").prints("write");
    output.check(!output.stdout.contains("tell rights"), "no word of rights, which this broker does not have");
}

#[test]
fn a_wrong_key_is_named_with_its_place_and_the_nearest() {
    let output = with_manifest(&good().replace("threads", "treads"), &[]);
    output.exits(2).within(AT_ONCE).explains(&["scenario.toml:", "treads", "threads"]);
}

#[test]
fn a_wrong_table_is_named() {
    let output = with_manifest(&good().replace("[run]", "[runn]"), &[]);
    output.exits(2).within(AT_ONCE).explains(&["scenario.toml:", "runn", "run"]);
}

#[test]
fn a_manifest_that_is_not_toml_is_shown_where() {
    with_manifest(&good().replace("[run]", "[run"), &[]).exits(2).within(AT_ONCE).is_civil().says("scenario.toml:");
}

#[test]
fn a_wrong_type_of_parameter_is_named() {
    let manifest = format!("[params]\nitems = 5_000\n\n{}", good());
    with_manifest(&manifest, &["--param", "items=many"]).exits(2).within(AT_ONCE).explains(&["items", "many"]);
}

#[test]
fn an_unknown_parameter_is_named_with_the_nearest() {
    let manifest = format!("[params]\nitems = 5_000\n\n{}", good());
    with_manifest(&manifest, &["--param", "itmes=7"]).exits(2).within(AT_ONCE).explains(&["itmes", "items"]);
}

#[test]
fn a_set_path_that_does_not_exist_is_named_with_the_nearest() {
    with_manifest(&good(), &["--set", "flows.wrte.threads=2"]).exits(2).within(AT_ONCE).explains(&["wrte", "write"]);
}

#[test]
fn rates_that_are_none_are_refused() {
    for rate in ["-1", "nan", "1e18/s", "inf/s", "ten/s", "5/fortnight", "", "-5/s"] {
        let output = with_manifest(&good(), &["--set", &format!("flows.write.rate={rate}")]);
        output.exits(2).within(AT_ONCE).is_civil().says("flows.write.rate");
    }
}

#[test]
fn settings_that_librdkafka_would_misread_are_refused() {
    for (name, value) in [("linger.ms", "16k"), ("batch.size", "1e6"), ("linger.ms", "5ms"), ("acks", "some")] {
        let output = with_manifest(&good(), &["-X", &format!("{name}={value}")]);
        output.exits(2).within(AT_ONCE).is_civil().says(name);
    }
}

#[test]
fn an_unknown_setting_is_named_with_the_nearest() {
    with_manifest(&good(), &["-X", "linger.sm=5"]).exits(2).within(AT_ONCE).explains(&["linger.sm", "linger.ms"]);
}

#[test]
fn a_manifest_may_not_set_what_could_do_harm() {
    for line in [
        "\"bootstrap.servers\" = \"h:1\"",
        "\"plugin.library.paths\" = \"x.so\"",
        "\"sasl.password\" = \"x\"",
        "debug = \"all\"",
    ] {
        let name = line.split(' ').next().unwrap_or_default().trim_matches('"');
        let manifest = format!("{}\n[kafka]\n{line}\n", good());
        with_manifest(&manifest, &[]).exits(2).within(AT_ONCE).refuses(&[name]);
    }
}

#[test]
fn a_scenario_that_is_not_there_is_named() {
    let output = Project::new().khost(&["run", "nowhere.wasm"]).output();
    output.exits(2).within(AT_ONCE).explains(&["nowhere.wasm"]);
}

#[test]
fn a_component_without_a_manifest_says_where_one_could_be() {
    let output = Project::new().guest(&producer(1)).run().output();
    output.exits(2).within(AT_ONCE).explains(&["manifest", "scenario.toml"]);
}

#[test]
fn nothing_at_the_brokers_address_is_found_before_the_load() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = with_manifest(&manifest("t", "", "iterations = 3"), &["--brokers", &closed.to_string()]);
    output.exits(3).within(SECONDS).explains(&[&closed.to_string(), "refuse"]);
}

#[test]
fn a_port_that_is_not_kafkas_is_found_before_the_load() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let output = with_manifest(&manifest("t", "", "iterations = 3"), &["--brokers", &address]);
    output.exits(3).within(SECONDS).explains(&[&address]);
}

#[test]
fn a_controllers_port_is_found_before_the_load() {
    let Some(kafka) = Kafka::shared() else { return };
    let Some(address) = kafka.controller() else { return };
    let output = with_manifest(&manifest("t", "", "iterations = 3"), &["--brokers", &address]);
    output.exits(3).within(SECONDS).explains(&[&address]);
}
