//! Guests of the contract in WAT: core modules, which khost packs into components on the way in.
//!
//! [`Guest`] is the frame; the functions below it are the guests that several tests use. A guest of one test stays with its test.

use std::fmt::Write;

use super::unique;

const FLOW: &str = "khost:scenario/flow@0.1.0";
/// A message of the contract in a guest's memory.
const MESSAGE_BYTES: usize = 64;
const HEADER_BYTES: usize = 20;
/// Where static data begins; below is the guest's own scratch space.
const DATA: usize = 4096;

/// A core module that exports the flow; what isn't given does nothing.
#[derive(Clone)]
pub(crate) struct Guest {
    imports: String,
    functions: String,
    data: Vec<u8>,
    setup: String,
    iterate: String,
    handle: String,
    teardown: String,
    whole: Option<Vec<u8>>,
}

impl Guest {
    /// `iterate` is the body of a function with `$first` (i64) and `$count` (i32) that leaves how many iterations it ran.
    /// `$i`, `$p` and `$n` (i32), `$l` (i64) are there to be used.
    pub(crate) fn new(iterate: &str) -> Guest {
        Guest {
            imports: String::new(),
            functions: String::new(),
            data: Vec::new(),
            setup: String::new(),
            iterate: iterate.into(),
            handle: "(i32.const 0)".into(),
            teardown: String::new(),
            whole: None,
        }
    }

    /// A module or component that is none of ours to frame.
    pub(crate) fn whole(wat: &str) -> Guest {
        let bytes = wat::parse_str(wat).unwrap_or_else(|error| panic!("{error}\n{wat}"));
        Guest { whole: Some(bytes), ..Guest::new("") }
    }

    /// A function of `khost:scenario`, e.g. `("context", "worker", "(result i32)")`; it is called `$worker`.
    pub(crate) fn import(mut self, interface: &str, name: &str, signature: &str) -> Self {
        let _ = writeln!(
            self.imports,
            r#"  (import "khost:scenario/{interface}@0.1.0" "{name}" (func ${name} {signature}))"#
        );
        self
    }

    /// Puts this before what `iterate` does.
    pub(crate) fn begins(mut self, body: &str) -> Self {
        self.iterate.insert_str(0, body);
        self
    }

    /// What `iterate` does, as with `new`.
    pub(crate) fn iterates(mut self, body: &str) -> Self {
        self.iterate = body.into();
        self
    }

    /// The body of a function with `$bytes`, `$records`, `$count` and `$headers` (i32), the places of the batch's parts and how
    /// many records it has, that leaves how many it handled. `$i`, `$p`, `$r`, `$h` and `$n` (i32) are there to be used. A record
    /// takes 48 bytes, a header 16.
    pub(crate) fn handles(mut self, body: &str) -> Self {
        self.handle = body.into();
        self
    }

    pub(crate) fn setup(mut self, body: &str) -> Self {
        self.setup += body;
        self
    }

    pub(crate) fn teardown(mut self, body: &str) -> Self {
        self.teardown += body;
        self
    }

    /// Functions and globals of its own.
    pub(crate) fn functions(mut self, wat: &str) -> Self {
        self.functions += wat;
        self
    }

    /// Puts bytes into its memory, and says where.
    pub(crate) fn data(&mut self, bytes: &[u8]) -> usize {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        let at = DATA + self.data.len();
        self.data.extend_from_slice(bytes);
        at
    }

    /// Opens a topic of the manifest in `setup`, as `$topic`.
    pub(crate) fn topic(self, name: &str) -> Self {
        self.import("kafka", "open-topic", "(param i32 i32 i32 i32 i32) (result i32)").opens(name, "topic")
    }

    /// The same for another one, under another name.
    fn opens(mut self, name: &str, global: &str) -> Self {
        let (at, length) = (self.data(name.as_bytes()), name.len());
        self.functions(&format!("(global ${global} (mut i32) (i32.const 0))"))
            .setup(&format!(
                "(global.set ${global} (call $open-topic (i32.const {at}) (i32.const {length}) (i32.const 0) (i32.const 0) (i32.const 0)))"
            ))
    }

    /// Opens a channel of the manifest in `setup`, as `$channel`.
    pub(crate) fn channel(mut self, name: &str) -> Self {
        let (at, length) = (self.data(name.as_bytes()), name.len());
        self.import("kafka", "open-channel", "(param i32 i32) (result i32)")
            .functions("(global $channel (mut i32) (i32.const 0))")
            .setup(&format!("(global.set $channel (call $open-channel (i32.const {at}) (i32.const {length})))"))
    }

    pub(crate) fn wasm(&self) -> Vec<u8> {
        if let Some(bytes) = &self.whole {
            return bytes.clone();
        }
        let wat = self.wat();
        wat::parse_str(&wat).unwrap_or_else(|error| panic!("{error}\n{}", &wat[..wat.len().min(4000)]))
    }

    fn wat(&self) -> String {
        let Guest { imports, functions, setup, iterate, handle, teardown, .. } = self;
        let top = (DATA + self.data.len()).next_multiple_of(65_536);
        let pages = top / 65_536 + 64;
        let mut bytes = String::with_capacity(self.data.len() * 3);
        for byte in &self.data {
            let _ = write!(bytes, "\\{byte:02x}");
        }
        format!(
            r#"(module
{imports}
  (memory (export "memory") {pages})
  (data (i32.const {DATA}) "{bytes}")
  (global $heap (mut i32) (i32.const {top}))
  {functions}
  (func (export "cabi_realloc") (param $old i32) (param $had i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 15)) (i32.const -16)))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (local.get $at))
  (func (export "{FLOW}#setup") {setup})
  (func (export "{FLOW}#iterate") (param $first i64) (param $count i32) (result i32)
    (local $i i32) (local $p i32) (local $n i32) (local $l i64)
    {iterate})
  (func $handle (param $bytes i32) (param $records i32) (param $count i32) (param $headers i32) (result i32)
    (local $i i32) (local $p i32) (local $r i32) (local $h i32) (local $n i32)
    {handle})
  (func (export "{FLOW}#handle") (param $b i32) (param i32) (param $r i32) (param $c i32) (param $h i32) (param i32) (result i32)
    (call $handle (local.get $b) (local.get $r) (local.get $c) (local.get $h))
    ;; the batch was put there
    (global.set $heap (i32.const {top})))
  (func (export "{FLOW}#teardown") {teardown}))"#
        )
    }
}

/// A message that a guest sends as it stands here.
#[derive(Clone, Default)]
pub(crate) struct Fixed {
    pub(crate) partition: Option<i32>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Option<Vec<u8>>)>,
    /// Headers behind the others, whose names may be any bytes.
    pub(crate) raw_headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    pub(crate) timestamp: Option<i64>,
}

impl Fixed {
    pub(crate) fn new(key: Option<&[u8]>, value: Option<&[u8]>) -> Fixed {
        Fixed { key: key.map(<[u8]>::to_vec), value: value.map(<[u8]>::to_vec), ..Fixed::default() }
    }

    pub(crate) fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    pub(crate) fn header(mut self, name: &str, value: Option<&[u8]>) -> Self {
        self.headers.push((name.into(), value.map(<[u8]>::to_vec)));
        self
    }

    pub(crate) fn raw_header(mut self, name: &[u8], value: Option<&[u8]>) -> Self {
        self.raw_headers.push((name.to_vec(), value.map(<[u8]>::to_vec)));
        self
    }

    pub(crate) fn timestamp(mut self, millis: i64) -> Self {
        self.timestamp = Some(millis);
        self
    }
}

/// Sends all these messages to the topic `load` in one `produce`, once an iteration.
pub(crate) fn sends(messages: &[Fixed]) -> Guest {
    sends_by(messages, |at, count| format!("(call $produce (i32.const {at}) (i32.const {count}))"))
}

/// The same with another call, made of the list's place and length.
pub(crate) fn sends_by(messages: &[Fixed], call: impl Fn(usize, usize) -> String) -> Guest {
    let mut guest = Guest::new("").topic("load").import("kafka", "produce", "(param i32 i32)");
    let mut list = Vec::with_capacity(messages.len() * MESSAGE_BYTES);
    for message in messages {
        let start = list.len();
        let word = |list: &mut Vec<u8>, value: i64| list.extend_from_slice(&(value as i32).to_le_bytes());
        word(&mut list, 0);
        word(&mut list, message.partition.unwrap_or(-1).into());
        for payload in [&message.key, &message.value] {
            let (tag, at, length) = match payload {
                Some(bytes) => (1, guest.data(bytes), bytes.len()),
                None => (0, 0, 0),
            };
            for value in [tag, at as i64, length as i64, 0] {
                word(&mut list, value);
            }
        }
        let named = message.headers.iter().map(|(name, value)| (name.as_bytes(), value));
        let all: Vec<_> = named.chain(message.raw_headers.iter().map(|(name, value)| (&name[..], value))).collect();
        let headers = headers(&mut guest, &all);
        word(&mut list, headers as i64);
        word(&mut list, all.len() as i64);
        list.extend_from_slice(&message.timestamp.unwrap_or(-1).to_le_bytes());
        word(&mut list, 0);
        word(&mut list, 0);
        assert_eq!(list.len() - start, MESSAGE_BYTES, "the contract's layout");
    }
    let (at, count) = (guest.data(&list), messages.len());
    let call = call(at, count);
    guest.iterate = format!(
        "(loop $iterations
           (local.set $n (i32.const 0))
           (loop $messages
             (local.set $p (i32.add (i32.const {at}) (i32.mul (local.get $n) (i32.const {MESSAGE_BYTES}))))
             (i32.store (local.get $p) (global.get $topic))
             (i32.store offset=56 (local.get $p) (local.get $i))
             (br_if $messages (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const {count}))))
           {call}
           (br_if $iterations (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))
         (local.get $i)"
    );
    guest
}

/// Sends all these messages to the topic `load` as requests through the channel `answers`, once an iteration, and waits so long
/// for their replies. Traps unless each came, and none was a failure.
pub(crate) fn requests(messages: &[Fixed], timeout_ns: u64) -> Guest {
    sends_by(messages, |at, count| {
        format!(
            "(local.set $p (global.get $heap))
             (call $request (i32.const {at}) (i32.const {count}) (global.get $channel) (i64.const {timeout_ns}) (i32.const 64))
             (global.set $heap (local.get $p))
             (call $all-are-there (i32.const {count}))"
        )
    })
    .channel("answers")
    .import("kafka", "request", "(param i32 i32 i32 i64 i32)")
    .functions(CHECKS)
}

/// Of outcomes at 64, one of 32 bytes each: code, count, failed, latency, first reply, count of replies.
pub(crate) const CHECKS: &str = "
    (func $all-are-there (param $count i32)
      (local $at i32) (local $n i32)
      (if (i32.ne (i32.load offset=4 (i32.const 64)) (local.get $count)) (then unreachable))
      (local.set $at (i32.load (i32.const 64)))
      (loop $outcomes
        (if (i32.load (local.get $at)) (then unreachable))
        (if (i32.eqz (i32.load offset=4 (local.get $at))) (then unreachable))
        (if (i32.load offset=8 (local.get $at)) (then unreachable))
        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (br_if $outcomes (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (local.get $count)))))";

/// Sends all these messages to the topic `load` as requests through the channel `answers`, once an iteration, and waits for nothing.
pub(crate) fn sends_requests(messages: &[Fixed], timeout_ns: u64) -> Guest {
    sends_by(messages, |at, count| {
        format!(
            "(call $send-requests (i32.const {at}) (i32.const {count}) (global.get $channel) (i64.const {timeout_ns}))"
        )
    })
    .channel("answers")
    .import("kafka", "send-requests", "(param i32 i32 i32 i64)")
}

fn headers(guest: &mut Guest, headers: &[(&[u8], &Option<Vec<u8>>)]) -> usize {
    let mut list = Vec::with_capacity(headers.len() * HEADER_BYTES);
    for (name, value) in headers {
        let bytes = value.as_deref().unwrap_or_default();
        let (name_at, value_at) = (guest.data(name), guest.data(bytes));
        for word in [name_at, name.len(), usize::from(value.is_some()), value_at, bytes.len()] {
            list.extend_from_slice(&(word as u32).to_le_bytes());
        }
    }
    guest.data(&list)
}

/// Sends `each` messages an iteration to `load`, all of a call in one `produce`. Their values are 16 bytes, little-endian: the
/// iteration's number (u64), the worker (u32) and the message's number in the iteration (u32). See [`Stamp`].
pub(crate) fn producer(each: u32) -> Guest {
    const LIST: usize = 1 << 20;
    const VALUES: usize = 3 << 20;
    Guest::new(&format!(
        "(local.set $n (i32.mul (local.get $count) (i32.const {each})))
         (loop $messages
           (local.set $p (i32.add (i32.const {VALUES}) (i32.mul (local.get $i) (i32.const 16))))
           (i64.store (local.get $p) (i64.add (local.get $first) (i64.extend_i32_u (i32.div_u (local.get $i) (i32.const {each})))))
           (i32.store offset=8 (local.get $p) (call $worker))
           (i32.store offset=12 (local.get $p) (i32.rem_u (local.get $i) (i32.const {each})))
           (call $message (i32.add (i32.const {LIST}) (i32.mul (local.get $i) (i32.const {MESSAGE_BYTES})))
             (local.get $p) (i32.div_u (local.get $i) (i32.const {each})))
           (br_if $messages (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
         (call $produce (i32.const {LIST}) (local.get $n))
         (local.get $count)"
    ))
    .topic("load")
    .import("kafka", "produce", "(param i32 i32)")
    .import("context", "worker", "(result i32)")
    .functions(
        "(func $message (param $m i32) (param $value i32) (param $iteration i32)
           (memory.fill (local.get $m) (i32.const 0) (i32.const 64))
           (i32.store (local.get $m) (global.get $topic))
           (i32.store offset=4 (local.get $m) (i32.const -1))
           (i32.store offset=24 (local.get $m) (i32.const 1))
           (i32.store offset=28 (local.get $m) (local.get $value))
           (i32.store offset=32 (local.get $m) (i32.const 16))
           (i64.store offset=48 (local.get $m) (i64.const -1))
           (i32.store offset=56 (local.get $m) (local.get $iteration)))",
    )
}

/// Sends the next row of the data set that is named like the flow, once an iteration: the first cell is the key, the last of
/// `columns` the value. Without a row it has nothing left to do.
pub(crate) fn reader(columns: u32) -> Guest {
    const ANSWER: usize = 1024;
    const MESSAGE: usize = 2048;
    Guest::new(&format!(
        "(loop $iterations
           (local.set $n (global.get $heap))
           (call $next (global.get $set) (i32.const 1) (i32.const {ANSWER}))
           (if (i32.eqz (i32.load offset=12 (i32.const {ANSWER}))) (then (return (local.get $i))))
           (memory.fill (i32.const {MESSAGE}) (i32.const 0) (i32.const {MESSAGE_BYTES}))
           (i32.store (i32.const {MESSAGE}) (global.get $topic))
           (i32.store offset=4 (i32.const {MESSAGE}) (i32.const -1))
           (call $cell (i32.const 0) (i32.add (i32.const {MESSAGE}) (i32.const 8)))
           (call $cell (i32.const {last}) (i32.add (i32.const {MESSAGE}) (i32.const 24)))
           (i64.store offset=48 (i32.const {MESSAGE}) (i64.const -1))
           (i32.store offset=56 (i32.const {MESSAGE}) (local.get $i))
           (call $produce (i32.const {MESSAGE}) (i32.const 1))
           (global.set $heap (local.get $n))
           (br_if $iterations (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))
         (local.get $i)",
        last = columns - 1
    ))
    .topic("load")
    .import("kafka", "produce", "(param i32 i32)")
    .import("context", "flow", "(param i32)")
    .import("data", "open-dataset", "(param i32 i32) (result i32)")
    .import("data", "next", "(param i32 i32 i32)")
    .functions(&format!(
        "(global $set (mut i32) (i32.const 0))
         (func $cell (param $number i32) (param $payload i32)
           (local $span i32)
           (local.set $span (i32.add (i32.load offset=8 (i32.const {ANSWER})) (i32.mul (local.get $number) (i32.const 8))))
           (i32.store (local.get $payload) (i32.const 1))
           (i32.store offset=4 (local.get $payload) (i32.add (i32.load (i32.const {ANSWER})) (i32.load (local.get $span))))
           (i32.store offset=8 (local.get $payload) (i32.load offset=4 (local.get $span))))"
    ))
    .setup(&format!(
        "(call $flow (i32.const {ANSWER}))
         (global.set $set (call $open-dataset (i32.load (i32.const {ANSWER})) (i32.load offset=4 (i32.const {ANSWER}))))"
    ))
}

/// Adds a `handle` that sends each record on to the topic `seen` as it came, and does `before` with it first: `$r` is where the
/// record lies, `$i` its number.
pub(crate) fn echoes(guest: Guest, before: &str) -> Guest {
    const LIST: usize = 1 << 20;
    const HEADERS: usize = 2 << 20;
    let guest = guest.opens("seen", "seen").functions(
        "(func $payload (param $payload i32) (param $bytes i32) (param $span i32)
           (if (i32.ge_s (i32.load offset=4 (local.get $span)) (i32.const 0)) (then
             (i32.store (local.get $payload) (i32.const 1))
             (i32.store offset=4 (local.get $payload) (i32.add (local.get $bytes) (i32.load (local.get $span))))
             (i32.store offset=8 (local.get $payload) (i32.load offset=4 (local.get $span))))))",
    );
    guest.handles(&format!(
        "(loop $all
           (local.set $r (i32.add (local.get $records) (i32.mul (local.get $i) (i32.const 48))))
           {before}
           (local.set $p (i32.add (i32.const {LIST}) (i32.mul (local.get $i) (i32.const {MESSAGE_BYTES}))))
           (memory.fill (local.get $p) (i32.const 0) (i32.const {MESSAGE_BYTES}))
           (i32.store (local.get $p) (global.get $seen))
           (i32.store offset=4 (local.get $p) (i32.const -1))
           (call $payload (i32.add (local.get $p) (i32.const 8)) (local.get $bytes) (i32.add (local.get $r) (i32.const 24)))
           (call $payload (i32.add (local.get $p) (i32.const 24)) (local.get $bytes) (i32.add (local.get $r) (i32.const 32)))
           (i64.store offset=48 (local.get $p) (i64.const -1))
           (i32.store offset=56 (local.get $p) (local.get $i))
           (i32.store offset=40 (local.get $p) (i32.add (i32.const {HEADERS})
             (i32.mul (i32.load offset=40 (local.get $r)) (i32.const {HEADER_BYTES}))))
           (i32.store offset=44 (local.get $p) (i32.load offset=44 (local.get $r)))
           (local.set $n (i32.const 0))
           (block $none (loop $each
             (br_if $none (i32.ge_u (local.get $n) (i32.load offset=44 (local.get $r))))
             (local.set $h (i32.add (i32.load offset=40 (local.get $r)) (local.get $n)))
             (call $header (i32.add (i32.const {HEADERS}) (i32.mul (local.get $h) (i32.const {HEADER_BYTES})))
               (local.get $bytes) (i32.add (local.get $headers) (i32.mul (local.get $h) (i32.const 16))))
             (local.set $n (i32.add (local.get $n) (i32.const 1)))
             (br $each)))
           (br_if $all (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))
         (call $produce (i32.const {LIST}) (local.get $count))
         (local.get $count)"
    ))
    .functions(
        "(func $header (param $to i32) (param $bytes i32) (param $from i32)
           (memory.fill (local.get $to) (i32.const 0) (i32.const 20))
           (i32.store (local.get $to) (i32.add (local.get $bytes) (i32.load (local.get $from))))
           (i32.store offset=4 (local.get $to) (i32.load offset=4 (local.get $from)))
           (if (i32.ge_s (i32.load offset=12 (local.get $from)) (i32.const 0)) (then
             (i32.store offset=8 (local.get $to) (i32.const 1))
             (i32.store offset=12 (local.get $to) (i32.add (local.get $bytes) (i32.load offset=8 (local.get $from))))
             (i32.store offset=16 (local.get $to) (i32.load offset=12 (local.get $from))))))",
    )
}

/// What [`producer`] writes into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub(crate) worker: u32,
    pub(crate) iteration: u64,
    pub(crate) message: u32,
}

impl Stamp {
    pub(crate) fn read(value: &[u8]) -> Stamp {
        let word = |at: usize| u32::from_le_bytes(value[at..at + 4].try_into().expect("four bytes"));
        let iteration = u64::from_le_bytes(value[..8].try_into().expect("eight bytes"));
        Stamp { worker: word(8), iteration, message: word(12) }
    }
}

/// A manifest for one stream flow `write` on one topic `load`, with these lines for the flow and the run.
pub(crate) fn manifest(topic: &str, flow: &str, run: &str) -> String {
    format!(
        "[scenario]\n\
         name = \"tests/inline\"\n\
         version = \"0.1.0\"\n\
         description = \"A guest of the integration tests\"\n\n\
         [topics.load]\n\
         name = \"{topic}\"\n\
         access = [\"produce\"]\n\n\
         [flows.write]\n\
         kind = \"stream\"\n\
         {flow}\n\n\
         [run]\n\
         {run}\n"
    )
}

/// The same with a channel `answers` on the topic of this name in Kafka, with these lines.
pub(crate) fn manifest_with_channel(topic: &str, replies: &str, channel: &str, flow: &str, run: &str) -> String {
    let more = format!(
        "[topics.replies]\nname = \"{replies}\"\naccess = [\"consume\"]\n\n\
         [channels.answers]\ntopics = [\"replies\"]\n{channel}\n\n[flows.write]"
    );
    manifest(topic, flow, run).replacen("[flows.write]", &more, 1)
}

/// The same with a topic that khost creates, as a run on the embedded broker needs.
pub(crate) fn manifest_with_topic(partitions: u32, flow: &str, run: &str) -> String {
    let access = "access = [\"produce\"]";
    manifest(&unique("guest"), flow, run).replacen(access, &format!("partitions = {partitions}\n{access}"), 1)
}
