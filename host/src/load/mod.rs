//! Drives a run: when iterations are due, the workers that run them, and the phases from set-up to drain.

mod counters;
mod data;
mod flow;
mod later;
mod log;
mod operations;
mod record;
mod run;
mod schedule;
mod shared;
mod stop;
mod stream_host;
mod watch;
mod worker;

pub use counters::{CheckFigures, CounterFigures};
pub use data::DataFigures;
pub use log::LogLine;
pub use operations::Operation;
pub use record::{FlowRecord, RunRecord};
pub use run::{RunError, Running, run};
pub use schedule::Schedule;
pub use stop::{Ended, Stop};
pub use stream_host::StreamHost;
pub use watch::{Observer, Progress};
