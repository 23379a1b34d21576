//! What `flows!` exports: finds the type that plays the flow, and runs its iterations.

use std::cell::RefCell;
use std::error::Error as StdError;

use crate::bindings::khost::scenario::types;
use crate::{Batch, Consume, Error, Progress, Records, Result, Session, Stream, host, run};

/// Says which type plays which flow of the manifest, once in a scenario.
///
/// ```
/// # use khost_guest::prelude::*;
/// # struct Load; struct App;
/// # impl Stream for Load {
/// #     fn setup() -> Result<Self> { Ok(Load) }
/// #     fn iterate(&mut self, _: u64, _: &mut Batch) -> Result<Progress> { Ok(More) }
/// # }
/// # impl Consume for App {
/// #     fn setup() -> Result<Self> { Ok(App) }
/// #     fn handle(&mut self, _: Record, _: &mut Batch) -> Result<Progress> { Ok(More) }
/// # }
/// khost_guest::flows! {
///     "load" => stream Load,
///     "app" => consume App,
/// }
/// # fn main() {}
/// ```
///
/// The word before the type is the flow's kind: `stream`, `session` or `consume`. Natively, where nothing is exported,
/// the types are only checked.
#[macro_export]
macro_rules! flows {
    ($($name:literal => $kind:ident $flow:ty),+ $(,)?) => {
        #[allow(dead_code)]
        struct KhostFlows;
        impl $crate::bindings::exports::khost::scenario::flow::Guest for KhostFlows {
            fn setup() {
                $crate::worker::setup(&[$(($name, $crate::worker::$kind::<$flow>)),+])
            }
            fn iterate(first: u64, count: u32) -> u32 {
                $crate::worker::iterate(first, count)
            }
            fn handle(records: $crate::worker::RawBatch) -> u32 {
                $crate::worker::handle(records)
            }
            fn teardown() {
                $crate::worker::teardown()
            }
        }
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::export_flow!(KhostFlows with_types_in $crate::bindings);
        #[cfg(not(target_arch = "wasm32"))]
        const _: &[(&str, $crate::worker::Factory)] = &[$(($name, $crate::worker::$kind::<$flow>)),+];
    };
}

pub type RawBatch = types::Batch;
/// Makes the worker of one flow; the error is that of its `setup`.
pub type Factory = fn() -> Result<Box<dyn Worker>>;

/// A flow's type, whatever its kind.
pub trait Worker {
    /// Runs iterations; answers how many.
    fn iterate(&mut self, first: u64, count: u32, out: &mut Batch) -> u32;
    /// Handles records; answers how many.
    fn handle(&mut self, records: &Records, out: &mut Batch) -> u32;
    fn teardown(&mut self) -> Result;
}

struct Player<F> {
    flow: F,
    done: bool,
}

impl<F> Player<F> {
    /// Runs the items of a call; answers how many it ran. One that fails is said, and leaves nothing in `out`.
    #[inline]
    fn each(&mut self, count: u32, out: &mut Batch, one: impl Fn(&mut F, u32, &mut Batch) -> Result<Progress>) -> u32 {
        for i in 0..count {
            if self.done {
                return i;
            }
            out.begin(i as i32);
            match one(&mut self.flow, i, out) {
                Ok(Progress::More) => {}
                Ok(Progress::Done) => self.done = true,
                Ok(Progress::Nothing) => {
                    out.roll_back();
                    self.done = true;
                    return i;
                }
                Err(error) => {
                    out.roll_back();
                    if is_ending(&*error) {
                        return i;
                    }
                    host::fail(i as i32, &text(&*error));
                }
            }
        }
        count
    }
}

struct OfStream<F>(Player<F>);
struct OfSession<F>(Player<F>);
struct OfConsume<F>(Player<F>);

impl<F: Stream> Worker for OfStream<F> {
    fn iterate(&mut self, first: u64, count: u32, out: &mut Batch) -> u32 {
        self.0.each(count, out, |flow, i, out| flow.iterate(first + i as u64, out))
    }
    fn handle(&mut self, _: &Records, _: &mut Batch) -> u32 {
        wrong_kind("a stream")
    }
    fn teardown(&mut self) -> Result {
        self.0.flow.teardown()
    }
}

impl<F: Session> Worker for OfSession<F> {
    fn iterate(&mut self, first: u64, count: u32, out: &mut Batch) -> u32 {
        self.0.each(count, out, |flow, i, out| flow.iterate(first + i as u64, out))
    }
    fn handle(&mut self, _: &Records, _: &mut Batch) -> u32 {
        wrong_kind("a session")
    }
    fn teardown(&mut self) -> Result {
        self.0.flow.teardown()
    }
}

impl<F: Consume> Worker for OfConsume<F> {
    fn iterate(&mut self, _: u64, _: u32, _: &mut Batch) -> u32 {
        wrong_kind("a consumer")
    }
    fn handle(&mut self, records: &Records, out: &mut Batch) -> u32 {
        self.0.each(records.len() as u32, out, |flow, i, out| {
            let progress = flow.handle(records.at(i as usize), out)?;
            if progress != Progress::Nothing && run::sleeps() {
                out.produce();
            }
            Ok(progress)
        })
    }
    fn teardown(&mut self) -> Result {
        self.0.flow.teardown()
    }
}

fn wrong_kind(is: &str) -> u32 {
    let flow = host::flow();
    host::fail(-1, &format!("flow `{flow}` is {is} in the scenario's `flows!`, and another kind in the manifest"));
    0
}

pub fn stream<F: Stream>() -> Result<Box<dyn Worker>> {
    Ok(Box::new(OfStream(Player { flow: F::setup()?, done: false })))
}

pub fn session<F: Session>() -> Result<Box<dyn Worker>> {
    Ok(Box::new(OfSession(Player { flow: F::setup()?, done: false })))
}

pub fn consume<F: Consume>() -> Result<Box<dyn Worker>> {
    Ok(Box::new(OfConsume(Player { flow: F::setup()?, done: false })))
}

/// An error with its causes, outermost first.
pub(crate) fn text(error: &(dyn StdError + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Whether it says that the run is ending: nothing failed then, and what the call answers is not counted.
fn is_ending(error: &(dyn StdError + 'static)) -> bool {
    let mut chain = std::iter::successors(Some(error), |error| (*error).source());
    chain.any(|error| error.downcast_ref() == Some(&Error::ENDING))
}

thread_local! {
    static WORKER: RefCell<Option<(Box<dyn Worker>, Batch)>> = const { RefCell::new(None) };
}

/// The factory of the flow that this instance plays.
///
/// Errors: a text that names the flow, and those that the scenario has.
pub(crate) fn find(flows: &[(&str, Factory)]) -> Result<Factory, String> {
    let name = host::flow();
    let found = flows.iter().find(|(known, _)| *known == name);
    found.map(|(_, factory)| *factory).ok_or_else(|| {
        let known: Vec<String> = flows.iter().map(|(known, _)| format!("`{known}`")).collect();
        format!("the scenario has no flow `{name}`; its `flows!` has {}", known.join(", "))
    })
}

pub fn setup(flows: &[(&str, Factory)]) {
    host::hook_panics();
    let made = find(flows).and_then(|factory| factory().map_err(|error| text(&*error)));
    match made {
        Ok(worker) => WORKER.set(Some((worker, Batch::default()))),
        Err(text) => host::fail(-1, &text),
    }
}

fn with_worker<T>(call: impl FnOnce(&mut dyn Worker, &mut Batch) -> T) -> T {
    WORKER.with_borrow_mut(|worker| {
        let (worker, out) = worker.as_mut().expect("khost calls nothing more when `setup` has failed");
        let answer = call(worker.as_mut(), out);
        out.produce();
        answer
    })
}

pub fn iterate(first: u64, count: u32) -> u32 {
    with_worker(|worker, out| worker.iterate(first, count, out))
}

pub fn handle(records: RawBatch) -> u32 {
    with_worker(|worker, out| worker.handle(&Records(records), out))
}

pub fn teardown() {
    if let Err(error) = with_worker(|worker, _| worker.teardown()) {
        host::fail(-1, &text(&*error));
    }
}

#[cfg(test)]
mod tests;
