//! What a guest's calls need of the rest of khost. The load implements it with a real client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::contract::{Acknowledgement, Level, Outcomes, Rows};
use crate::plan::Value;

/// Who an instance is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The flow's name in the manifest.
    pub flow: String,
    /// This worker among the flow's, from 0.
    pub worker: u32,
    /// How many workers the flow has.
    pub workers: u32,
    /// What its random numbers start from.
    pub seed: u64,
    /// Differs in every run.
    pub run_id: u64,
    /// Every parameter.
    pub params: Arc<BTreeMap<String, Value>>,
}

/// Names and values of labels.
pub type Labels = Vec<(String, String)>;

/// What is to be done with the messages of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// Queue them.
    Now,
    /// Queue them after a delay.
    After(Duration),
    /// Queue them and wait for their acknowledgements, at most this long.
    Deliver(Duration),
    /// Send them as requests through a channel, and wait for the replies, at most this long.
    Request(u32, Duration),
    /// The same without waiting.
    SendRequests(u32, Duration),
}

/// A key or a value.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// Kafka's null.
    Null,
    /// In the guest's memory.
    Bytes(&'a [u8]),
    /// A slice of a body that was shared.
    Shared {
        /// Its handle.
        body: u32,
        /// From where, in bytes.
        start: u32,
        /// How long, in bytes.
        length: u32,
    },
}

/// A message in the guest's memory.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// A topic's handle.
    pub topic: u32,
    /// -1 leaves the choice to the partitioner.
    pub partition: i32,
    /// Its key.
    pub key: Part<'a>,
    /// Its value.
    pub value: Part<'a>,
    /// Names and values.
    pub headers: &'a [(&'a [u8], Option<&'a [u8]>)],
    /// Milliseconds since the Unix epoch; -1 is the time of sending.
    pub timestamp: i64,
    /// Which iteration of the call, or -1.
    pub iteration: i32,
    /// An operation's handle; 0 is the flow.
    pub operation: u32,
}

/// What stands behind the contract's imports for one instance. A text as error is a mistake of the scenario: it traps.
pub trait Host: Send {
    /// A topic of the manifest.
    fn open_topic(&mut self, name: &str, each: Option<&str>) -> Result<u32, String>;
    /// Which of a repeated topic this is.
    fn topic_each(&self, of: u32) -> Result<Option<String>, String>;
    /// How many partitions it has.
    fn partition_count(&mut self, of: u32) -> Result<u32, String>;
    /// Keeps bytes to be sent many times.
    fn share(&mut self, bytes: &[u8]) -> Result<u32, String>;

    /// Begins a call that sends `count` messages.
    fn begin(&mut self, sending: Sending, count: usize) -> Result<(), String>;
    /// Adds one of them.
    ///
    /// # Safety
    /// The message's bytes stay where they are until `finish` or `abandon` returns.
    unsafe fn push(&mut self, message: &Outgoing<'_>) -> Result<(), String>;
    /// Ends the call; acknowledgements are those of `Sending::Deliver`.
    fn finish(&mut self) -> Result<Vec<Acknowledgement>, String>;
    /// Ends the call of a mistaken guest.
    fn abandon(&mut self);

    /// A channel of the manifest.
    fn open_channel(&mut self, name: &str) -> Result<u32, String>;
    /// What came in for the requests of a `Sending::Request` that `finish` has ended.
    fn outcomes(&mut self) -> Outcomes;
    /// Announces replies.
    fn expect(&mut self, via: u32, correlation: &[u8], count: u32, operation: u32) -> Result<u32, String>;
    /// Waits for announced replies.
    fn wait(&mut self, on: &[u32], least: u32, timeout: Duration) -> Result<Outcomes, String>;
    /// A call of the guest is over: what it announced and did not wait for is given up.
    fn returned(&mut self);

    /// Nanoseconds on the run's clock.
    fn now(&self) -> u64;
    /// Waits; false when the run is ending.
    fn sleep(&mut self, duration: Duration) -> bool;
    /// Whether a call is to be stopped at once.
    fn must_stop(&self) -> bool;

    /// What messages and measurements count towards.
    fn open_operation(&mut self, name: &str, labels: Labels) -> Result<u32, String>;
    /// Records a duration.
    fn observe(&mut self, operation: u32, duration: Duration, ok: bool) -> Result<(), String>;
    /// A counter of the scenario's own.
    fn open_counter(&mut self, name: &str, labels: Labels) -> Result<u32, String>;
    /// Adds to it.
    fn add(&mut self, counter: u32, amount: u64) -> Result<(), String>;
    /// A check of the scenario's own.
    fn open_check(&mut self, name: &str, labels: Labels) -> Result<u32, String>;
    /// Counts a pass or a failure.
    fn check(&mut self, check: u32, ok: bool) -> Result<(), String>;

    /// A data set of the manifest.
    fn open_dataset(&mut self, name: &str) -> Result<u32, String>;
    /// How many rows it has.
    fn row_count(&self, of: u32) -> Result<u64, String>;
    /// Its columns' names.
    fn columns(&self, of: u32) -> Result<Vec<String>, String>;
    /// Rows by number.
    fn get_rows(&mut self, of: u32, first: u64, count: u32) -> Result<Rows, String>;
    /// The next rows in the manifest's order.
    fn next_rows(&mut self, of: u32, count: u32) -> Result<Rows, String>;

    /// A line for a person.
    fn log(&mut self, level: Level, text: &str);
}
