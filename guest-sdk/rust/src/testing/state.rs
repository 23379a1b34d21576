//! What the stand-in holds, and which one the calls of this thread go to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::channel::{Channel, Ticket};
use super::{Failure, Sent};
use crate::bindings::khost::scenario::metrics::Label;
use crate::bindings::khost::scenario::{data, types};
use crate::run::Level;
use crate::wire::{self, Outgoing, Payload};
use crate::{Acknowledgement, Code};

pub(crate) struct State {
    pub(crate) flow: String,
    pub(crate) worker: u32,
    pub(crate) worker_count: u32,
    pub(crate) seed: u64,
    pub(crate) run_id: u64,
    pub(crate) params: BTreeMap<String, String>,
    pub(crate) param_lists: BTreeMap<String, Vec<String>>,
    pub(crate) acknowledge_with: Code,
    /// Nanoseconds since the start.
    pub(crate) now: u64,
    pub(crate) ending: bool,
    pub(crate) set_up: bool,
    topics: Vec<Topic>,
    bodies: Vec<Vec<u8>>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) tickets: Vec<Ticket>,
    pub(crate) rows: Vec<Row>,
    pub(crate) tables: Vec<Table>,
    pub(crate) logs: Vec<(Level, String)>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) failures: Vec<Failure>,
}

pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) each: Option<String>,
    pub(crate) partitions: u32,
    offset: i64,
}

/// A data set.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Vec<u8>>>,
    /// Each row is handed out once.
    pub(crate) unique: bool,
    /// Rows that were handed out.
    pub(crate) taken: u64,
}

/// An operation, a counter or a check.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) sum: u64,
    pub(crate) observed: Vec<(u64, bool)>,
}

impl Default for State {
    fn default() -> Self {
        State {
            flow: "flow".into(),
            worker: 0,
            worker_count: 1,
            seed: 0,
            run_id: 1,
            params: BTreeMap::new(),
            param_lists: BTreeMap::new(),
            acknowledge_with: Code::OK,
            now: 0,
            ending: false,
            set_up: false,
            topics: Vec::new(),
            bodies: Vec::new(),
            channels: Vec::new(),
            tickets: Vec::new(),
            rows: Vec::new(),
            tables: Vec::new(),
            logs: Vec::new(),
            sent: Vec::new(),
            failures: Vec::new(),
        }
    }
}

impl State {
    /// The time at which each test begins: 2025-01-01, 00:00 UTC.
    pub(crate) const EPOCH_MILLIS: i64 = 1_735_689_600_000;

    pub(crate) fn add_topic(&mut self, name: &str, each: Option<&str>, partitions: u32) {
        self.topics.push(Topic { name: name.into(), each: each.map(String::from), partitions, offset: 0 });
    }

    pub(crate) fn open_topic(&self, name: &str, each: Option<&str>) -> u32 {
        let wanted = |topic: &Topic| topic.name == name && topic.each.as_deref() == each;
        match self.topics.iter().position(wanted) {
            Some(at) => at as u32 + 1,
            None => {
                let one = |name: &str, each: Option<&str>| match each {
                    Some(each) => format!("`{name}` for `{each}`"),
                    None => format!("`{name}`"),
                };
                let known: Vec<String> =
                    self.topics.iter().map(|topic| one(&topic.name, topic.each.as_deref())).collect();
                panic!("the test host has no topic {}; it has {}", one(name, each), known.join(", "))
            }
        }
    }

    /// The handle of a topic by its name, whichever of a repeated one it is.
    pub(crate) fn handle_of(&self, name: &str) -> u32 {
        let at = self.topics.iter().position(|topic| topic.name == name);
        at.unwrap_or_else(|| panic!("the test host has no topic `{name}`")) as u32 + 1
    }

    pub(crate) fn topic(&self, handle: u32) -> &Topic {
        let at = (handle as usize).checked_sub(1).and_then(|at| self.topics.get(at));
        at.unwrap_or_else(|| panic!("{handle} is no topic"))
    }

    pub(crate) fn open_dataset(&self, name: &str) -> u32 {
        let at = self.tables.iter().position(|table| table.name == name).unwrap_or_else(|| {
            let known: Vec<String> = self.tables.iter().map(|table| format!("`{}`", table.name)).collect();
            panic!("the test host has no data set `{name}`; it has {}", known.join(", "))
        });
        at as u32 + 1
    }

    pub(crate) fn table(&mut self, handle: u32) -> &mut Table {
        let at = (handle as usize).checked_sub(1).and_then(|at| self.tables.get_mut(at));
        at.unwrap_or_else(|| panic!("{handle} is no data set"))
    }

    pub(crate) fn share(&mut self, bytes: &[u8]) -> u32 {
        assert!(!self.set_up, "bodies are shared in `setup` only");
        self.bodies.push(bytes.into());
        self.bodies.len() as u32
    }

    pub(crate) fn row(&mut self, name: &str, labels: &[Label]) -> u32 {
        let labels: Vec<String> = labels.iter().map(|label| format!("{}={}", label.name, label.value)).collect();
        let name = if labels.is_empty() { name.into() } else { format!("{name}{{{}}}", labels.join(",")) };
        let at = self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            self.rows.push(Row { name, ..Row::default() });
            self.rows.len() - 1
        });
        at as u32 + 1
    }

    pub(crate) fn fail(&mut self, iteration: i32, text: &str) {
        self.failures.push(Failure { iteration: u32::try_from(iteration).ok(), text: text.into() });
    }

    pub(crate) fn send(&mut self, outgoing: Outgoing<'_>, delay: u64) {
        for message in outgoing.messages {
            let sent = self.resolve(outgoing, message, delay);
            self.sent.push(sent);
        }
    }

    fn resolve(&self, outgoing: Outgoing<'_>, message: &wire::Message, delay: u64) -> Sent {
        let bytes = |start: u32, length: u32| outgoing.bytes[start as usize..][..length as usize].to_vec();
        let payload = |payload: Payload| match payload.tag {
            Payload::NONE => None,
            Payload::SHARED => {
                let body = &self.bodies[payload.a as usize - 1];
                Some(body[payload.b as usize..][..payload.c as usize].to_vec())
            }
            _ => Some(bytes(payload.a, payload.b)),
        };
        let header = |header: &wire::Header| {
            let name = String::from_utf8(bytes(header.name, header.name_length)).expect("it was a `str`");
            (name, (header.has_value == 1).then(|| bytes(header.value, header.value_length)))
        };
        let headers = &outgoing.headers[message.headers as usize..][..message.header_count as usize];
        let topic = self.topic(message.topic);
        let partition = u32::try_from(message.partition).ok();
        assert!(
            partition.is_none_or(|partition| partition < topic.partitions),
            "topic `{}` has no partition {}: it has {}",
            topic.name,
            message.partition,
            topic.partitions
        );
        Sent {
            topic: topic.name.clone(),
            each: topic.each.clone(),
            partition,
            key: payload(message.key),
            value: payload(message.value),
            headers: headers.iter().map(header).collect(),
            timestamp: (message.timestamp >= 0).then_some(message.timestamp),
            iteration: u32::try_from(message.iteration).ok(),
            operation: (message.operation as usize).checked_sub(1).map(|at| self.rows[at].name.clone()),
            at: Duration::from_nanos(self.now),
            delay: Duration::from_nanos(delay),
        }
    }

    pub(crate) fn acknowledge(&mut self, message: &wire::Message) -> Acknowledgement {
        let code = self.acknowledge_with;
        let topic = &mut self.topics[message.topic as usize - 1];
        let (partition, offset) = if code.is_ok() { (message.partition.max(0), topic.offset) } else { (-1, -1) };
        topic.offset += code.is_ok() as i64;
        Acknowledgement { code, partition, offset, latency: Duration::ZERO }
    }
}

impl Table {
    /// These rows, as far as there are such.
    pub(crate) fn get(&self, first: u64, count: u32) -> data::Rows {
        self.pick((first..).take(count as usize).take_while(|row| *row < self.rows.len() as u64))
    }

    /// The next rows, in their order.
    pub(crate) fn next(&mut self, count: u32) -> data::Rows {
        let (first, rows) = (self.taken, self.rows.len() as u64);
        let last = first + u64::from(count);
        self.taken = if self.unique { last.min(rows) } else { last };
        self.pick((first..self.taken).map(|place| place % rows))
    }

    fn pick(&self, rows: impl Iterator<Item = u64>) -> data::Rows {
        let mut picked = data::Rows { bytes: Vec::new(), cells: Vec::new() };
        for cell in rows.flat_map(|row| &self.rows[row as usize]) {
            picked.cells.push(types::Span { start: picked.bytes.len() as u32, length: cell.len() as i32 });
            picked.bytes.extend_from_slice(cell);
        }
        picked
    }
}

type Shared = Rc<RefCell<State>>;

thread_local! {
    static CURRENT: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// Runs `call` with all calls to khost going to this state.
pub(crate) fn enter<T>(state: &Shared, call: impl FnOnce() -> T) -> T {
    struct Leave(Option<Shared>);
    impl Drop for Leave {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _leave = Leave(CURRENT.replace(Some(state.clone())));
    call()
}

/// The state that `enter` has set.
pub(crate) fn current<T>(call: impl FnOnce(&mut State) -> T) -> T {
    let state = CURRENT.with_borrow(Clone::clone);
    let state = state.expect("outside khost a flow runs in `khost_guest::testing::Host`");
    call(&mut state.borrow_mut())
}
