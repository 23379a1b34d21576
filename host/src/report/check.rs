//! What `khost check` says of a cluster that lets a load in.

use serde::Serialize;

use super::numbers::plural;
use super::terminal::Page;
use crate::kafka::{Cluster, TopicFacts};

/// The document's `schema`.
const SCHEMA: &str = "khost/check/1";

/// The cluster as one JSON object.
pub fn check_json(cluster: &Cluster, bootstrap: &str) -> String {
    #[derive(Serialize)]
    struct Checked<'a> {
        schema: &'static str,
        fit: bool,
        bootstrap: &'a str,
        #[serde(flatten)]
        cluster: &'a Cluster,
        warnings: &'a [String],
    }
    let checked = Checked { schema: SCHEMA, fit: true, bootstrap, cluster, warnings: &cluster.warnings };
    let mut json = serde_json::to_string_pretty(&checked).expect("the document has only text keys");
    json.push('\n');
    json
}

/// Why a cluster does not let a load in, as one JSON object.
pub fn check_failed_json(error: &str, hint: Option<&str>, exit_code: u8) -> String {
    let document = serde_json::json!({
        "schema": SCHEMA, "fit": false, "error": error, "hint": hint, "exit_code": exit_code
    });
    format!("{document:#}\n")
}

/// The cluster for people, line by line, ending with the verdict.
pub fn check_text(cluster: &Cluster, bootstrap: &str, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    let brokers = plural(cluster.brokers.len() as u64, "broker");
    page.line("cluster", &format!("{bootstrap}, {brokers}, each reached at its advertised address"));
    for broker in &cluster.brokers {
        let kafka =
            broker.kafka.map_or(String::new(), |release| format!(", Kafka {release} (by the requests it speaks)"));
        page.line("broker", &format!("{} at {}{kafka}", broker.id, broker.address));
    }
    let access = &cluster.security;
    let tls = access.tls.map_or(String::new(), |version| format!(", {version}"));
    let mechanism = access.mechanism.map_or(String::new(), |name| format!(", {name}"));
    page.line("access", &format!("{}{tls}{mechanism}; {}", access.protocol, access.principal));
    for topic in &cluster.topics {
        page.line("topic", &describe(topic));
    }
    for group in &cluster.groups {
        page.line("group", &format!("{group}: read allowed"));
    }
    for group in &cluster.watched_groups {
        page.line("group", &format!("{group}: describe allowed, so its lag can be told"));
    }
    match &cluster.clock {
        Some(clock) => {
            let side = if clock.ahead_ms > 0.0 { "ahead" } else { "behind" };
            page.line(
                "clock",
                &format!(
                    "the controller's (node {}) is {:.1} ms {side} (± {:.1} ms)",
                    clock.controller,
                    clock.ahead_ms.abs(),
                    clock.uncertain_ms
                ),
            );
        }
        None => page.line("clock", "not told: it takes the right Describe on the cluster, and a controller of KRaft"),
    }
    for warning in &cluster.warnings {
        page.line("note", warning);
    }
    page.line("verdict", "fit: a load may begin");
    page.text
}

fn describe(topic: &TopicFacts) -> String {
    let TopicFacts { name, exists, partitions, replication, config, rights, .. } = topic;
    if !exists {
        return format!("{name}: not there yet; khost run would create it");
    }
    let limit =
        config.get("max.message.bytes").map_or(String::new(), |limit| format!(", batches of {limit} bytes at most"));
    let rights = if rights.is_empty() { String::new() } else { format!("; {} allowed", rights.join(" and ")) };
    format!(
        "{name}: {}, replication {replication}, all with leaders{limit}{rights}",
        plural((*partitions).into(), "partition")
    )
}
