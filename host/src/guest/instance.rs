//! One instance of a component: one worker's, on that worker's thread.

use std::sync::Arc;

use wasmtime::component::TypedFunc;
use wasmtime::{Store, StoreContextMut, Trap, UpdateDeadline, WasmBacktrace};

use super::contract::{Batch, CONTRACT_VERSION, PACKAGE};
use super::engine::Compiled;
use super::error::{GuestError, clip};
use super::host::{Host, Identity};
use super::limits::{Account, GuestLimits, Memory, SETUP_FACTOR};

/// Texts of failed iterations that are kept of one call.
const MOST_TEXTS: usize = 8;
/// Functions of a trap's backtrace that are shown.
const MOST_FRAMES: usize = 6;

/// What an instance's imports work on.
pub(super) struct State<H> {
    /// Taken while messages are read out of the guest's memory.
    pub(super) host: Option<H>,
    pub(super) identity: Identity,
    pub(super) setting_up: bool,
    pub(super) failed: Failed,
    /// Why the current call is to end.
    pub(super) stop: Option<GuestError>,
    pub(super) account: Account,
    memory: Memory,
}

/// What `context.fail` said in the current call.
#[derive(Debug, Default)]
pub(super) struct Failed {
    iterations: Vec<bool>,
    whole: Option<String>,
    texts: Vec<String>,
}

impl Failed {
    fn begin(&mut self, count: usize) {
        self.iterations.clear();
        self.iterations.resize(count, false);
        self.whole = None;
        self.texts.clear();
    }

    /// -1 is the whole call.
    pub(super) fn add(&mut self, iteration: i32, text: &str) -> Result<(), String> {
        if iteration == -1 {
            self.whole.get_or_insert_with(|| clip(text));
            return Ok(());
        }
        let count = self.iterations.len();
        let place = usize::try_from(iteration).ok().and_then(|at| self.iterations.get_mut(at));
        *place.ok_or_else(|| format!("`fail` of iteration {iteration} in a call of {count}"))? = true;
        if self.texts.len() < MOST_TEXTS {
            self.texts.push(clip(text));
        }
        Ok(())
    }

    /// Allocates nothing where none failed.
    fn list(&self) -> Vec<usize> {
        let failed = self.iterations.iter().enumerate().filter(|(_, failed)| **failed);
        failed.map(|(at, _)| at).collect()
    }
}

/// What a call cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Processor time inside the guest's own code, in nanoseconds.
    pub guest_cpu_ns: u64,
}

/// What an `iterate`, or a `handle`, that returned answers.
#[derive(Debug)]
pub struct Answer {
    /// How many iterations it ran, or records it handled.
    pub ran: u32,
    /// Which of them it says failed, by their place in the call.
    pub failed: Vec<usize>,
    /// Some of what it said of them.
    pub texts: Vec<String>,
}

/// A live instance.
pub struct Instance<H: Host + 'static> {
    store: Store<State<H>>,
    setup: TypedFunc<(), ()>,
    iterate: TypedFunc<(u64, u32), (u32,)>,
    handle: TypedFunc<(Arc<Batch>,), (u32,)>,
    teardown: TypedFunc<(), ()>,
    limits: GuestLimits,
}

impl<H: Host + 'static> Compiled<H> {
    /// A new instance, not yet set up.
    ///
    /// # Errors
    /// A trap of its start function, or exports of other types than the contract's.
    pub fn instantiate(&self, identity: Identity, limits: GuestLimits, host: H) -> Result<Instance<H>, GuestError> {
        let state = State {
            host: Some(host),
            identity,
            setting_up: true,
            failed: Failed::default(),
            stop: None,
            account: Account::default(),
            memory: Memory { limit_bytes: limits.memory_bytes, used_bytes: 0, refused: false },
        };
        let mut store = Store::new(&self.engine.engine, state);
        store.limiter(|state| &mut state.memory);
        store.epoch_deadline_callback(|mut context: StoreContextMut<'_, State<H>>| {
            let state = context.data_mut();
            if state.host.as_ref().is_some_and(|host| host.must_stop()) {
                state.stop = Some(GuestError::Stopped);
                return Err(wasmtime::Error::msg("stopped"));
            }
            if state.account.is_overrun() {
                return Err(wasmtime::Error::from(Trap::Interrupt));
            }
            Ok(UpdateDeadline::Continue(1))
        });
        store.data_mut().account.begin(limits.call_ns * SETUP_FACTOR);
        store.set_epoch_deadline(1);
        let instance = self.pre.instantiate(&mut store);
        let instance = instance.map_err(|error| explain(&error, store.data_mut(), limits, SETUP_FACTOR))?;
        let flow = format!("{PACKAGE}/flow@{CONTRACT_VERSION}");
        let missing = |error: String| GuestError::Mistake(format!("{flow}: {error}"));
        let exports =
            instance.get_export_index(&mut store, None, &flow).ok_or_else(|| missing("not exported".into()))?;
        let mut index = |name: &str| {
            instance
                .get_export_index(&mut store, Some(&exports), name)
                .ok_or_else(|| missing(format!("`{name}` is not exported")))
        };
        let (setup, teardown) = (index("setup")?, index("teardown")?);
        let (iterate, handle) = (index("iterate")?, index("handle")?);
        let wrong = |error: wasmtime::Error| missing(format!("{error:#}"));
        Ok(Instance {
            setup: instance.get_typed_func(&mut store, setup).map_err(wrong)?,
            iterate: instance.get_typed_func(&mut store, iterate).map_err(wrong)?,
            handle: instance.get_typed_func(&mut store, handle).map_err(wrong)?,
            teardown: instance.get_typed_func(&mut store, teardown).map_err(wrong)?,
            store,
            limits,
        })
    }
}

impl<H: Host + 'static> Instance<H> {
    /// Calls the guest's `setup`.
    ///
    /// # Errors
    /// Why the instance can't be used.
    pub fn setup(&mut self) -> Result<(), GuestError> {
        let setup = self.setup;
        self.call(0, SETUP_FACTOR, |store| setup.call(store, ()))?;
        self.store.data_mut().setting_up = false;
        Ok(())
    }

    /// Calls the guest's `iterate`.
    ///
    /// # Errors
    /// Why the instance can't be used any more, or `Failed` for the whole call.
    pub fn iterate(&mut self, first: u64, count: u32) -> (Result<Answer, GuestError>, Spent) {
        let iterate = self.iterate;
        let result = self.call(count as usize, 1, |store| iterate.call(store, (first, count)));
        self.answer(result, count)
    }

    /// Calls the guest's `handle`, for all records of the batch.
    ///
    /// # Errors
    /// As for `iterate`.
    pub fn handle(&mut self, records: &Arc<Batch>) -> (Result<Answer, GuestError>, Spent) {
        let (handle, count) = (self.handle, records.records.len() as u32);
        let result = self.call(count as usize, 1, |store| handle.call(store, (records.clone(),)));
        self.answer(result, count)
    }

    fn answer(&mut self, result: Result<(u32,), GuestError>, count: u32) -> (Result<Answer, GuestError>, Spent) {
        let state = self.store.data_mut();
        let spent = Spent { guest_cpu_ns: state.account.guest_ns() };
        let answer = result.map(|(ran,)| Answer {
            ran: ran.min(count),
            failed: state.failed.list(),
            texts: std::mem::take(&mut state.failed.texts),
        });
        (answer, spent)
    }

    /// Calls the guest's `teardown`.
    ///
    /// # Errors
    /// What went wrong in it.
    pub fn teardown(&mut self) -> Result<(), GuestError> {
        let teardown = self.teardown;
        self.call(0, SETUP_FACTOR, |store| teardown.call(store, ()))
    }

    /// The host behind the instance.
    ///
    /// # Panics
    /// Never: it is only away within a call.
    pub fn host(&mut self) -> &mut H {
        self.store.data_mut().host.as_mut().expect("the host is back after each call")
    }

    /// Gives the host back, for the next instance of the same worker.
    ///
    /// # Panics
    /// Never: it is only away within a call.
    pub fn into_host(self) -> H {
        self.store.into_data().host.expect("the host is back after each call")
    }

    fn call<T>(
        &mut self,
        count: usize,
        factor: u64,
        call: impl FnOnce(&mut Store<State<H>>) -> wasmtime::Result<T>,
    ) -> Result<T, GuestError> {
        let state = self.store.data_mut();
        state.failed.begin(count);
        state.memory.refused = false;
        state.account.begin(self.limits.call_ns * factor);
        self.store.set_epoch_deadline(1);
        let result = call(&mut self.store);
        let state = self.store.data_mut();
        state.host.as_mut().expect("the host is back after each call").returned();
        match result {
            Err(error) => Err(explain(&error, state, self.limits, factor)),
            Ok(value) => match state.failed.whole.take() {
                Some(text) => Err(GuestError::Failed(text)),
                None => Ok(value),
            },
        }
    }
}

/// What a call's error comes from: what the host noted, or the trap.
fn explain<H>(error: &wasmtime::Error, state: &mut State<H>, limits: GuestLimits, factor: u64) -> GuestError {
    if let Some(stop) = state.stop.take() {
        return stop;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => GuestError::Overrun { limit_ms: limits.call_ns * factor / 1_000_000 },
        _ if state.memory.refused => GuestError::Memory { limit_bytes: limits.memory_bytes },
        Some(trap) => {
            GuestError::Trap(clip(&format!("{}{}", trap.to_string().trim_start_matches("wasm trap: "), place(error))))
        }
        None => GuestError::Trap(clip(&format!("{:#}", error.root_cause()))),
    }
}

/// Where it happened: the innermost functions that have a name.
fn place(error: &wasmtime::Error) -> String {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return String::new() };
    let names: Vec<String> =
        backtrace.frames().iter().filter_map(|frame| frame.func_name().map(str::to_owned)).take(MOST_FRAMES).collect();
    if names.is_empty() { String::new() } else { format!(" in {}", names.join(" < ")) }
}
