//! The contract's types as they cross the boundary, and which of its functions this host has.

use wasmtime::component::{ComponentType, Lift, Lower, WasmList};

use crate::data::Cell;

/// The version of `khost:scenario` that this host speaks.
pub const CONTRACT_VERSION: &str = "0.1.0";

/// The package's name.
pub(super) const PACKAGE: &str = "khost:scenario";

/// What a scenario exports.
pub(super) const EXPORTS: [&str; 4] = ["setup", "iterate", "handle", "teardown"];

/// Functions by interface. Each is in the linker.
pub(super) const FUNCTIONS: [(&str, &[&str]); 6] = [
    (
        "context",
        &["flow", "worker", "worker-count", "seed", "run-id", "param", "param-list", "fail", "panic", "end-run"],
    ),
    (
        "kafka",
        &[
            "open-topic",
            "topic-each",
            "partition-count",
            "share",
            "produce",
            "produce-after",
            "deliver",
            "open-channel",
            "request",
            "send-requests",
            "expect",
            "wait",
        ],
    ),
    ("clock", &["now", "unix-millis", "sleep"]),
    ("metrics", &["open-operation", "observe", "open-counter", "add", "open-check", "check"]),
    ("data", &["open-dataset", "row-count", "columns", "get", "next"]),
    ("log", &["log"]),
];

/// A part of a body that was registered with `share`.
#[derive(ComponentType, Lift, Clone, Copy, Debug)]
#[component(record)]
pub(super) struct Slice {
    pub(super) body: u32,
    pub(super) start: u32,
    pub(super) length: u32,
}

/// A key or a value, where it lies.
#[derive(ComponentType, Lift)]
#[component(variant)]
pub(super) enum Payload {
    #[component(name = "none")]
    None,
    #[component(name = "bytes")]
    Bytes(WasmList<u8>),
    #[component(name = "shared")]
    Shared(Slice),
}

/// A header, where it lies.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(super) struct Header {
    pub(super) name: WasmList<u8>,
    pub(super) value: Option<WasmList<u8>>,
}

/// A record to send, where it lies.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(super) struct Message {
    pub(super) topic: u32,
    pub(super) partition: i32,
    pub(super) key: Payload,
    pub(super) value: Payload,
    pub(super) headers: WasmList<Header>,
    pub(super) timestamp: i64,
    pub(super) iteration: i32,
    pub(super) operation: u32,
}

/// What became of one message of `deliver`.
#[derive(ComponentType, Lower, Clone, Copy, Debug, PartialEq, Eq)]
#[component(record)]
pub struct Acknowledgement {
    /// 0, or why not.
    pub code: i32,
    /// -1 if unknown.
    pub partition: i32,
    /// -1 if unknown.
    pub offset: i64,
    /// Nanoseconds from the handing over to the acknowledgement.
    pub latency: u64,
}

/// A place in a buffer.
#[derive(ComponentType, Lower, Clone, Copy, Debug, PartialEq, Eq)]
#[component(record)]
pub struct Span {
    /// From where, in bytes.
    pub start: u32,
    /// How many bytes; -1 is null.
    pub length: i32,
}

impl From<Cell> for Span {
    /// Of a buffer that a guest has room for.
    fn from(cell: Cell) -> Span {
        Span { start: cell.start as u32, length: cell.length as i32 }
    }
}

/// A record that was read. Spans lie in its batch's bytes.
#[derive(ComponentType, Lower, Clone, Copy, Debug, PartialEq, Eq)]
#[component(record)]
pub struct Received {
    /// As `open-topic` answers it.
    pub topic: u32,
    /// From 0.
    pub partition: i32,
    /// Its place in the partition.
    pub offset: i64,
    /// Milliseconds since the Unix epoch, as the broker stores it.
    pub timestamp: i64,
    /// Its key.
    pub key: Span,
    /// Its value.
    pub value: Span,
    /// Its first header, in the batch's headers.
    #[component(name = "first-header")]
    pub first_header: u32,
    /// How many it has.
    #[component(name = "header-count")]
    pub header_count: u32,
}

/// A header of a record that was read.
#[derive(ComponentType, Lower, Clone, Copy, Debug, PartialEq, Eq)]
#[component(record)]
pub struct ReceivedHeader {
    /// Its name.
    pub name: Span,
    /// Its value.
    pub value: Span,
}

/// Records that were read.
#[derive(ComponentType, Lower, Clone, Debug, Default, PartialEq, Eq)]
#[component(record)]
pub struct Batch {
    /// What all spans lie in.
    pub bytes: Vec<u8>,
    /// In the order of each partition.
    pub records: Vec<Received>,
    /// Those of all records.
    pub headers: Vec<ReceivedHeader>,
}

impl Batch {
    /// Empties it, and keeps its room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.headers.clear();
    }

    /// Copies bytes into the batch.
    pub fn put(&mut self, bytes: Option<&[u8]>) -> Span {
        let start = self.bytes.len() as u32;
        let Some(bytes) = bytes else { return Span { start, length: -1 } };
        self.bytes.extend_from_slice(bytes);
        Span { start, length: bytes.len() as i32 }
    }
}

/// What came in for one request or expectation.
#[derive(ComponentType, Lower, Clone, Copy, Debug, PartialEq, Eq)]
#[component(record)]
pub struct Outcome {
    /// 0, or why not all that was expected is in.
    pub code: i32,
    /// How many replies came.
    pub count: u32,
    /// How many of them are failures.
    pub failed: u32,
    /// Nanoseconds to the last of them.
    pub latency: u64,
    /// The first of those that are shown.
    #[component(name = "first-reply")]
    pub first_reply: u32,
    /// How many are shown.
    #[component(name = "reply-count")]
    pub reply_count: u32,
}

/// What came in for requests or tickets.
#[derive(ComponentType, Lower, Clone, Debug, Default, PartialEq, Eq)]
#[component(record)]
pub struct Outcomes {
    /// In their order.
    pub each: Vec<Outcome>,
    /// The replies that are shown.
    pub replies: Batch,
}

/// Rows of a data set, as many cells each as there are columns.
#[derive(ComponentType, Lower, Clone, Debug, Default, PartialEq, Eq)]
#[component(record)]
pub struct Rows {
    /// What the cells lie in.
    pub bytes: Vec<u8>,
    /// Row by row.
    pub cells: Vec<Span>,
}

/// One label of an operation, a counter or a check.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(super) struct Label {
    pub(super) name: String,
    pub(super) value: String,
}

/// How much a log line matters.
#[derive(ComponentType, Lift, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[component(enum)]
#[repr(u8)]
pub enum Level {
    /// Of interest to the scenario's author only.
    #[component(name = "trace")]
    Trace,
    /// Of interest when looking for a mistake.
    #[component(name = "debug")]
    Debug,
    /// Of interest to whoever runs it.
    #[component(name = "info")]
    Info,
    /// Something looks wrong.
    #[component(name = "warn")]
    Warn,
    /// Something is wrong.
    #[component(name = "error")]
    Error,
}

impl Level {
    /// In lower case.
    pub fn name(self) -> &'static str {
        ["trace", "debug", "info", "warn", "error"][self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_nothing_that_the_contract_lacks() {
        let wit = include_str!("../../../wit/scenario.wit");
        assert!(wit.contains(&format!("package {PACKAGE}@{CONTRACT_VERSION};")));
        for (interface, functions) in FUNCTIONS {
            let from = wit.find(&format!("interface {interface} {{")).expect(interface);
            let body = &wit[from..from + wit[from..].find("\n}").expect("it ends")];
            for function in functions {
                assert!(body.contains(&format!("\n  {function}: func(")), "{interface}.{function}");
            }
        }
    }
}
