//! The result document of a run with one flow, and the only place that knows where in it things are.

use std::collections::BTreeMap;

use serde_json::Value;

/// What `--format json` prints.
pub(crate) struct RunResult {
    document: Value,
}

impl RunResult {
    pub(super) fn new(document: Value) -> RunResult {
        RunResult { document }
    }

    /// Messages that the broker has acknowledged, within the measured window.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.count("/flows/0/messages/acknowledged")
    }

    /// The same with the warm-up.
    pub(crate) fn all_acknowledged(&self) -> u64 {
        self.count("/flows/0/messages/acknowledged_with_warm_up")
    }

    /// Messages that failed.
    pub(crate) fn failed(&self) -> u64 {
        self.count("/flows/0/messages/failed")
    }

    /// Messages of which nobody knows whether they arrived.
    pub(crate) fn unknown(&self) -> u64 {
        self.count("/flows/0/messages/unknown")
    }

    /// Delayed messages that were dropped at the end.
    pub(crate) fn delayed_dropped(&self) -> u64 {
        self.count("/flows/0/messages/delayed_dropped")
    }

    /// How long the window of the figures is, in seconds.
    pub(crate) fn window_seconds(&self) -> f64 {
        self.number("/flows/0/window/seconds")
    }

    /// What limited the run, in one word.
    pub(crate) fn limited_by(&self) -> String {
        self.text("/honesty/limited_by/what")
    }

    /// Failed messages by the name of their Kafka code.
    pub(crate) fn failures(&self) -> BTreeMap<String, u64> {
        let mut by_name = BTreeMap::new();
        for failure in self.list("/flows/0/failures") {
            let name = failure["name"].as_str().expect("a name").to_owned();
            *by_name.entry(name).or_default() += failure["count"].as_u64().expect("a count");
        }
        by_name
    }

    pub(crate) fn iterations(&self) -> u64 {
        self.count("/flows/0/iterations/ran")
    }

    pub(crate) fn iterations_failed(&self) -> u64 {
        self.count("/flows/0/iterations/failed")
    }

    /// Iterations that were due and never began.
    pub(crate) fn missed(&self) -> u64 {
        self.count("/flows/0/iterations/missed")
    }

    /// `stream` or `session`.
    pub(crate) fn kind(&self) -> String {
        self.text("/flows/0/kind")
    }

    /// The most users at once, of a session.
    pub(crate) fn users(&self) -> u64 {
        self.count("/flows/0/users")
    }

    /// Of a measure of the flow itself, such as `iteration`, one figure, such as `max_us`.
    pub(crate) fn measure(&self, measure: &str, figure: &str) -> u64 {
        self.count(&format!("/flows/0/operations/0/measures/{measure}/{figure}"))
    }

    /// From the load's start until the last worker was done.
    pub(crate) fn load_seconds(&self) -> f64 {
        self.number("/load_s")
    }

    /// Any count, by its JSON pointer.
    pub(crate) fn count_of(&self, pointer: &str) -> u64 {
        self.count(pointer)
    }

    /// Whether there is something at a JSON pointer.
    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.document.pointer(pointer).is_some()
    }

    /// Whether there is nothing, by a JSON pointer.
    pub(crate) fn is_null(&self, pointer: &str) -> bool {
        self.at(pointer).is_null()
    }

    /// Any list, by its JSON pointer.
    pub(crate) fn list_of(&self, pointer: &str) -> &[Value] {
        self.list(pointer)
    }

    /// Any number, by its JSON pointer.
    pub(crate) fn number_of(&self, pointer: &str) -> f64 {
        self.number(pointer)
    }

    /// Any text, by its JSON pointer.
    pub(crate) fn text_of(&self, pointer: &str) -> String {
        self.text(pointer)
    }

    /// Acknowledged messages by partition of the only topic.
    pub(crate) fn partitions(&self) -> Vec<u64> {
        self.list("/flows/0/partitions/0/messages").iter().map(|count| count.as_u64().expect("a count")).collect()
    }

    /// Guests that trapped.
    pub(crate) fn traps(&self) -> u64 {
        self.count("/honesty/traps")
    }

    /// How the run ended: `passed`, `failed` or `interrupted`.
    pub(crate) fn verdict(&self) -> String {
        self.text("/outcome/verdict")
    }

    /// How the clients reached the cluster: `protocol`, `tls`, `mechanism` or `principal`; `None` where there is none.
    pub(crate) fn security(&self, field: &str) -> Option<String> {
        Some(self.at("/cluster/security").get(field)?.as_str().expect("a text").to_owned())
    }

    /// Iterations a second, of a flow that has a rate.
    pub(crate) fn achieved_rate(&self) -> f64 {
        self.number("/flows/0/achieved_rate")
    }

    /// Why it did not pass.
    pub(crate) fn reasons(&self) -> Vec<String> {
        self.list("/outcome/reasons").iter().map(|reason| reason.as_str().expect("a text").to_owned()).collect()
    }

    /// What a person should know.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.list("/warnings").iter().map(|warning| warning.as_str().expect("a text").to_owned()).collect()
    }

    /// Rows of the first data set, empty messages in it that are none, and rows that were handed out.
    pub(crate) fn data(&self) -> (u64, u64, u64) {
        (self.count("/data/0/rows"), self.count("/data/0/skipped"), self.count("/data/0/handed_out"))
    }

    /// Iterations a second that were asked for, of a flow that has a rate.
    pub(crate) fn target_rate(&self) -> f64 {
        self.number("/flows/0/target_rate")
    }

    /// Acknowledged messages a second.
    #[allow(dead_code, reason = "for benchmarks")]
    pub(crate) fn messages_per_second(&self) -> f64 {
        self.number("/flows/0/throughput/messages_per_s")
    }

    /// How many messages took longer than a second, by measure, such as `service`.
    pub(crate) fn above_a_second(&self, measure: &str) -> u64 {
        self.count(&format!("/flows/0/operations/0/measures/{measure}/above_1s"))
    }

    /// A setting that the client really holds, by librdkafka's own name.
    pub(crate) fn client(&self, name: &str) -> String {
        self.text(&format!("/flows/0/client/{name}"))
    }

    pub(crate) fn threads(&self) -> u64 {
        self.count("/flows/0/threads")
    }

    /// Processors that khost may run on.
    pub(crate) fn processors(&self) -> u64 {
        self.count("/honesty/machine/affinity")
    }

    /// Processor time of the run by message, in nanoseconds.
    #[allow(dead_code, reason = "for benchmarks")]
    pub(crate) fn cpu_ns_per_message(&self) -> f64 {
        self.number("/honesty/cpu_ns_per_message")
    }

    fn count(&self, pointer: &str) -> u64 {
        self.at(pointer).as_u64().unwrap_or_else(|| panic!("{pointer} is no count in {:#}", self.document))
    }

    fn number(&self, pointer: &str) -> f64 {
        self.at(pointer).as_f64().unwrap_or_else(|| panic!("{pointer} is no number in {:#}", self.document))
    }

    fn text(&self, pointer: &str) -> String {
        self.at(pointer).as_str().unwrap_or_else(|| panic!("{pointer} is no text in {:#}", self.document)).to_owned()
    }

    fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).as_array().unwrap_or_else(|| panic!("{pointer} is no list in {:#}", self.document))
    }

    fn at(&self, pointer: &str) -> &Value {
        self.document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {:#}", self.document))
    }
}
