//! One engine for the whole process, and components compiled for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, InstancePre};
use wasmtime::{Cache, CacheConfig, Config};

use super::contract::{CONTRACT_VERSION, EXPORTS, FUNCTIONS, PACKAGE};
use super::error::LoadError;
use super::host::Host;
use super::instance::State;
use super::linker;

/// A guest's part of its thread's stack.
const WASM_STACK_BYTES: usize = 512 << 10;
/// What a thread that runs guests needs: theirs, and room for the host's frames.
pub const WORKER_STACK_BYTES: usize = WASM_STACK_BYTES + (512 << 10);
/// How often a running guest is looked at.
const TICK: Duration = Duration::from_millis(10);

/// wasmtime's engine, with a ticker that makes running guests stop to be looked at.
#[derive(Clone)]
pub struct Engine {
    pub(super) engine: wasmtime::Engine,
    _ticker: Arc<Ticker>,
}

/// A component that is ready to be instantiated, as often as there are workers.
pub struct Compiled<H: Host + 'static> {
    pub(super) engine: Engine,
    pub(super) pre: InstancePre<State<H>>,
}

impl Engine {
    /// Compiled code is kept in `cache` by the digest of the component and the engine's version and settings.
    ///
    /// # Errors
    /// wasmtime's own, when this machine can't run it.
    pub fn new(cache: Option<&Path>) -> Result<Self, LoadError> {
        let fail = |error: wasmtime::Error| LoadError::Compile(format!("{error:#}"));
        let mut config = Config::new();
        // a quarter of the time of a call into a guest: nothing here is async
        config.concurrency_support(false);
        config.epoch_interruption(true);
        // far below the stack of a worker's thread, so that a guest without end meets this limit first
        config.max_wasm_stack(WASM_STACK_BYTES);
        if let Some(folder) = cache.filter(|folder| std::fs::create_dir_all(folder).is_ok()) {
            let mut settings = CacheConfig::new();
            settings.with_directory(folder);
            config.cache(Some(Cache::new(settings).map_err(fail)?));
        }
        let engine = wasmtime::Engine::new(&config).map_err(fail)?;
        Ok(Engine { _ticker: Arc::new(Ticker::start(engine.clone())), engine })
    }

    /// Compiles a component, and refuses one that wants anything but what this khost has.
    ///
    /// # Errors
    /// Names the import that is refused, the export that is missing, or says what does not compile.
    pub fn compile<H: Host + 'static>(&self, component: &[u8]) -> Result<Compiled<H>, LoadError> {
        let component =
            Component::from_binary(&self.engine, component).map_err(|e| LoadError::Compile(format!("{e:#}")))?;
        self.check(&component)?;
        let pre = linker::linker(&self.engine)
            .and_then(|linker| linker.instantiate_pre(&component))
            .map_err(|error| LoadError::Types(format!("{error:#}")))?;
        Ok(Compiled { engine: self.clone(), pre })
    }

    fn check(&self, component: &Component) -> Result<(), LoadError> {
        let ty = component.component_type();
        for (import, item) in ty.imports(&self.engine) {
            let (interface, version) = import.split_once('@').unwrap_or((import, ""));
            let Some(interface) = interface.strip_prefix(PACKAGE).and_then(|rest| rest.strip_prefix('/')) else {
                return Err(LoadError::Foreign { import: import.into() });
            };
            if version != CONTRACT_VERSION {
                return Err(LoadError::Version { import: import.into() });
            }
            if interface == "types" {
                continue;
            }
            let ComponentItem::ComponentInstance(instance) = item.ty else {
                return Err(LoadError::Missing { import: import.into() });
            };
            let known =
                FUNCTIONS.iter().find(|(name, _)| *name == interface).map_or(&[][..], |(_, functions)| functions);
            for (function, item) in instance.exports(&self.engine) {
                if matches!(item.ty, ComponentItem::ComponentFunc(_)) && !known.contains(&function) {
                    return Err(LoadError::Missing { import: format!("{interface}.{function}") });
                }
            }
        }
        let flow = format!("{PACKAGE}/flow@{CONTRACT_VERSION}");
        let export =
            component.get_export_index(None, &flow).ok_or_else(|| LoadError::Export { export: flow.clone() })?;
        for function in EXPORTS {
            if component.get_export_index(Some(&export), function).is_none() {
                return Err(LoadError::Export { export: format!("{flow} {function}") });
            }
        }
        Ok(())
    }
}

struct Ticker {
    stop: Arc<AtomicBool>,
}

impl Ticker {
    fn start(engine: wasmtime::Engine) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        std::thread::Builder::new()
            .name("khost-tick".into())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    std::thread::sleep(TICK);
                    engine.increment_epoch();
                }
            })
            .expect("a thread can be started before the load");
        Ticker { stop }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
