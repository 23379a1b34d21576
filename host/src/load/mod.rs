//! Drives a run: when iterations are due, the workers that run them, and the phases from set-up to drain.

mod active;
mod counters;
mod data;
mod draws;
mod flow;
mod gate;
mod later;
mod log;
mod operations;
mod order;
mod ramp;
mod record;
mod recorders;
mod room;
mod run;
mod schedule;
mod session;
mod shared;
mod stop;
mod stream;
mod turns;
mod watch;
mod worker;
mod worker_host;

pub use counters::{CheckFigures, CounterFigures};
pub use data::DataFigures;
pub use log::LogLine;
pub use operations::Operation;
pub use record::{FlowRecord, RunRecord};
pub use room::{NoRoom, check_room};
pub use run::{RunError, Running, run};
pub use schedule::Schedule;
pub use stop::{Ended, Stop};
pub use watch::{Observer, Progress};
pub use worker_host::WorkerHost;
