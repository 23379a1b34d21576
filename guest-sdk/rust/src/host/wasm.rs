//! The imports. Those that carry messages are declared by hand: the batch is in the contract's memory layout already.

use std::panic::PanicHookInfo;

use crate::bindings::khost::scenario::{clock, context, data, kafka, log, metrics, types};
use crate::run::Level;
use crate::wire::Outgoing;
use crate::{Acknowledgement, Outcomes};

pub(crate) use clock::{now, sleep, unix_millis};
pub(crate) use context::{fail, flow, param, param_list, run_id, seed, worker, worker_count};
pub(crate) use data::{columns, get as rows, next as next_rows, open_dataset, row_count};
pub(crate) use kafka::{expect, open_channel, open_topic, partition_count, share, topic_each};
pub(crate) use metrics::{add, check, observe, open_check, open_counter, open_operation};

#[link(wasm_import_module = "khost:scenario/kafka@0.1.0")]
unsafe extern "C" {
    #[link_name = "produce"]
    fn import_produce(messages: u32, count: u32);
    #[link_name = "produce-after"]
    fn import_produce_after(delay: u64, messages: u32, count: u32);
    #[link_name = "deliver"]
    fn import_deliver(messages: u32, count: u32, timeout: u64, answer: *mut List);
    #[link_name = "request"]
    fn import_request(messages: u32, count: u32, via: u32, timeout: u64, answer: *mut RawOutcomes);
    #[link_name = "send-requests"]
    fn import_send_requests(messages: u32, count: u32, via: u32, timeout: u64);
}

/// Where the host has put a list, through `cabi_realloc`.
#[repr(C)]
#[derive(Default)]
struct List {
    at: u32,
    length: u32,
}

#[repr(C)]
#[derive(Default)]
struct RawOutcomes {
    each: List,
    bytes: List,
    records: List,
    headers: List,
}

impl List {
    /// # Safety
    /// The host has put `length` of `T` there, whose layout is the contract's, and nobody else takes them.
    unsafe fn take<T>(self) -> Vec<T> {
        let length = self.length as usize;
        if length == 0 {
            return Vec::new();
        }
        // SAFETY: `cabi_realloc` is this instance's allocator, asked for exactly this length and alignment.
        unsafe { Vec::from_raw_parts(self.at as *mut T, length, length) }
    }
}

fn list(outgoing: Outgoing<'_>) -> (u32, u32) {
    (outgoing.messages.as_ptr() as u32, outgoing.messages.len() as u32)
}

pub(crate) fn produce(outgoing: Outgoing<'_>) {
    let (at, count) = list(outgoing);
    // SAFETY: the messages, and all that they point to, are borrowed until the call returns.
    unsafe { import_produce(at, count) }
}

pub(crate) fn produce_after(delay: u64, outgoing: Outgoing<'_>) {
    let (at, count) = list(outgoing);
    // SAFETY: as in `produce`.
    unsafe { import_produce_after(delay, at, count) }
}

pub(crate) fn deliver(outgoing: Outgoing<'_>, timeout: u64) -> Vec<Acknowledgement> {
    let ((at, count), mut answer) = (list(outgoing), List::default());
    // SAFETY: as in `produce`; `answer` has the layout of the answer, a list.
    let raw: Vec<types::Acknowledgement> = unsafe {
        import_deliver(at, count, timeout, &mut answer);
        answer.take()
    };
    raw.into_iter().map(Acknowledgement::from).collect()
}

pub(crate) fn request(outgoing: Outgoing<'_>, via: u32, timeout: u64) -> Outcomes {
    let ((at, count), mut answer) = (list(outgoing), RawOutcomes::default());
    // SAFETY: as in `produce`; `answer` has the layout of the answer, four lists.
    let raw = unsafe {
        import_request(at, count, via, timeout, &mut answer);
        let (bytes, records, headers) = (answer.bytes.take(), answer.records.take(), answer.headers.take());
        types::Outcomes { each: answer.each.take(), replies: types::Batch { bytes, records, headers } }
    };
    raw.into()
}

pub(crate) fn send_requests(outgoing: Outgoing<'_>, via: u32, timeout: u64) {
    let (at, count) = list(outgoing);
    // SAFETY: as in `produce`.
    unsafe { import_send_requests(at, count, via, timeout) }
}

pub(crate) fn wait(on: &[u32], least: u32, timeout: u64) -> Outcomes {
    kafka::wait(on, least, timeout).into()
}

pub(crate) fn log(level: Level, text: &str) {
    let level = match level {
        Level::Trace => log::Level::Trace,
        Level::Debug => log::Level::Debug,
        Level::Info => log::Level::Info,
        Level::Warn => log::Level::Warn,
        Level::Error => log::Level::Error,
    };
    log::log(level, text);
}

pub(crate) fn end_run(reason: &str) -> ! {
    context::end_run(reason);
    core::arch::wasm32::unreachable()
}

/// From here on a panic ends the instance with its text and place.
pub(crate) fn hook_panics() {
    std::panic::set_hook(Box::new(|panic| context::panic(&panic_text(panic))));
}

fn panic_text(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let literal = payload.downcast_ref::<&str>().copied();
    let text = literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
    match panic.location() {
        Some(place) => format!("{text} ({place})"),
        None => text.into(),
    }
}
