//! A flow while it runs: its workers, its clients, and whether it waits, runs or has ended.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::flow::FlowRun;
use super::gate::Gate;
use super::later::Delayed;
use super::prefetch::Prefetch;
use crate::kafka::{Client, ClientSettings, Wire};
use crate::plan::After;

/// So many workers take a while to wake for the start: each so long.
const MANY: usize = 100;
const AWAKE: Duration = Duration::from_micros(20);

/// How long before their start so many workers are called.
pub(super) fn time_to_wake(workers: usize) -> Duration {
    if workers < MANY { Duration::ZERO } else { AWAKE * workers as u32 }
}

/// One flow of a run.
pub(super) struct ActiveFlow {
    pub(super) flow: Arc<FlowRun>,
    pub(super) gate: Arc<Gate>,
    /// Those that have not returned.
    pub(super) workers: Vec<JoinHandle<()>>,
    /// What it waits for, until it begins or it is known that it never does.
    pub(super) waits_for: Option<After>,
    /// It waited, and what it waited for did not come in time.
    pub(super) never_began: bool,
    /// The run ends with it.
    pub(super) ends_run: bool,
    pub(super) clients: Vec<Arc<Client>>,
    pub(super) wire: Arc<Wire>,
    /// What its consumers hold; empty for other kinds of flow.
    pub(super) consumer_settings: ClientSettings,
    /// What they may fetch ahead.
    pub(super) prefetch: Option<Prefetch>,
    pub(super) later: JoinHandle<()>,
    pub(super) later_sender: Option<Sender<Delayed>>,
}

impl ActiveFlow {
    /// Begins it at `at_ns`, in nanoseconds since the load's start, which was at `load_start`.
    pub(super) fn begin(&mut self, at_ns: u64, load_start: Instant) {
        self.waits_for = None;
        self.flow.begin(at_ns);
        self.gate.open(load_start + Duration::from_nanos(at_ns));
    }

    /// It begins no more, if it has not.
    pub(super) fn send_away(&mut self) {
        self.never_began |= self.waits_for.take().is_some();
        self.gate.close();
    }

    /// Takes leave of the workers that have returned.
    pub(super) fn join_finished(&mut self) {
        // from the end, so that it looks at one of thousands who go on
        while let Some(worker) = self.workers.pop_if(|worker| worker.is_finished()) {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    }

    /// Its last worker has returned; what it sent may still be on its way.
    pub(super) fn has_ended(&self) -> bool {
        self.workers.iter().all(JoinHandle::is_finished)
    }

    /// Nothing that was handed over is on its way.
    pub(super) fn is_heard(&self) -> bool {
        self.clients.iter().all(|client| client.outstanding() == 0)
    }

    /// Nothing is waiting, queued or on its way.
    pub(super) fn is_quiet(&self) -> bool {
        self.later.is_finished() && self.is_heard()
    }
}
