//! Calls go to the `testing` host of this thread.

use crate::bindings::khost::scenario::{data, metrics};
use crate::run::Level;
use crate::testing::state::{State, current};
use crate::wire::Outgoing;
use crate::{Acknowledgement, Outcomes};

pub(crate) fn flow() -> String {
    current(|host| host.flow.clone())
}

pub(crate) fn worker() -> u32 {
    current(|host| host.worker)
}

pub(crate) fn worker_count() -> u32 {
    current(|host| host.worker_count)
}

pub(crate) fn seed() -> u64 {
    current(|host| host.seed)
}

pub(crate) fn run_id() -> u64 {
    current(|host| host.run_id)
}

pub(crate) fn param(name: &str) -> Option<String> {
    current(|host| host.params.get(name).cloned())
}

pub(crate) fn param_list(name: &str) -> Option<Vec<String>> {
    current(|host| host.param_lists.get(name).cloned())
}

pub(crate) fn fail(iteration: i32, text: &str) {
    current(|host| host.fail(iteration, text))
}

pub(crate) fn end_run(reason: &str) -> ! {
    panic!("the scenario ends the run: {reason}")
}

/// A test's own report of a panic is better.
pub(crate) fn hook_panics() {}

pub(crate) fn open_topic(name: &str, each: Option<&str>) -> u32 {
    current(|host| host.open_topic(name, each))
}

pub(crate) fn topic_each(of: u32) -> Option<String> {
    current(|host| host.topic(of).each.clone())
}

pub(crate) fn partition_count(of: u32) -> u32 {
    current(|host| host.topic(of).partitions)
}

pub(crate) fn share(bytes: &[u8]) -> u32 {
    current(|host| host.share(bytes))
}

pub(crate) fn produce(outgoing: Outgoing<'_>) {
    current(|host| host.send(outgoing, 0))
}

pub(crate) fn produce_after(delay: u64, outgoing: Outgoing<'_>) {
    current(|host| host.send(outgoing, delay))
}

pub(crate) fn deliver(outgoing: Outgoing<'_>, _timeout: u64) -> Vec<Acknowledgement> {
    current(|host| {
        host.send(outgoing, 0);
        outgoing.messages.iter().map(|message| host.acknowledge(message)).collect()
    })
}

pub(crate) fn now() -> u64 {
    current(|host| host.now)
}

pub(crate) fn unix_millis() -> i64 {
    current(|host| State::EPOCH_MILLIS + (host.now / 1_000_000) as i64)
}

pub(crate) fn sleep(duration: u64) -> bool {
    current(|host| {
        host.now += duration;
        !host.ending
    })
}

pub(crate) fn open_operation(name: &str, labels: &[metrics::Label]) -> u32 {
    current(|host| host.row(name, labels))
}

pub(crate) fn open_counter(name: &str, labels: &[metrics::Label]) -> u32 {
    current(|host| host.row(name, labels))
}

pub(crate) fn open_check(name: &str, labels: &[metrics::Label]) -> u32 {
    current(|host| host.row(name, labels))
}

pub(crate) fn observe(of: u32, duration: u64, ok: bool) {
    current(|host| host.rows[of as usize - 1].observed.push((duration, ok)))
}

pub(crate) fn add(to: u32, amount: u64) {
    current(|host| host.rows[to as usize - 1].sum += amount)
}

pub(crate) fn check(of: u32, ok: bool) {
    current(|host| host.rows[of as usize - 1].observed.push((0, ok)))
}

pub(crate) fn log(level: Level, text: &str) {
    current(|host| host.logs.push((level, text.into())))
}

pub(crate) fn open_channel(name: &str) -> u32 {
    current(|host| host.open_channel(name))
}

pub(crate) fn request(outgoing: Outgoing<'_>, via: u32, timeout: u64) -> Outcomes {
    current(|host| {
        let from = host.sent.len();
        host.send(outgoing, 0);
        let replies = host.request(from, via);
        host.outcomes(&replies, timeout)
    })
}

pub(crate) fn send_requests(outgoing: Outgoing<'_>, via: u32, _timeout: u64) {
    current(|host| {
        let from = host.sent.len();
        host.send(outgoing, 0);
        host.request(from, via);
    })
}

pub(crate) fn expect(via: u32, correlation: &[u8], count: u32, _operation: u32) -> u32 {
    current(|host| host.expect(via, correlation, count))
}

pub(crate) fn wait(on: &[u32], least: u32, timeout: u64) -> Outcomes {
    current(|host| host.wait(on, least, timeout))
}

pub(crate) fn open_dataset(name: &str) -> u32 {
    current(|host| host.open_dataset(name))
}

pub(crate) fn row_count(of: u32) -> u64 {
    current(|host| host.table(of).rows.len() as u64)
}

pub(crate) fn columns(of: u32) -> Vec<String> {
    current(|host| host.table(of).columns.clone())
}

pub(crate) fn rows(of: u32, first: u64, count: u32) -> data::Rows {
    current(|host| host.table(of).get(first, count))
}

pub(crate) fn next_rows(of: u32, count: u32) -> data::Rows {
    current(|host| host.table(of).next(count))
}
