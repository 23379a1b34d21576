//! What is measured: clocks, histograms, and the way from the threads that record to the run's totals.
//!
//! A thread records into histograms of its own and hands them over once a second; one collector merges. Nothing here
//! knows Kafka, WebAssembly or how results are shown.

mod asked;
mod clock;
mod collector;
mod histogram;
mod interval;
mod jobs;
mod lag;
mod machine;
mod measures;
mod room;
mod series;
mod tag;

pub use asked::Asked;
pub use clock::{RunClock, process_cpu_ns, thread_cpu_ns};
pub use collector::{Collector, Counts, FlowTotals, Live, LiveSecond, Totals};
pub use histogram::{Distribution, MAX_MICROS, new_histogram};
pub use interval::{
    ByOperation, DeliveryInterval, FailureCount, Failures, OperationInterval, Refuser, Sample, WorkInterval,
};
pub use jobs::{JobRun, JobRuns, Others};
pub use lag::{LagPoint, LagSeries, trend};
pub use machine::{Busy, Machine};
pub use measures::{MEASURES, Measure, MeasureInfo};
pub use room::{Limit, Room};
pub use series::{Point, Series};
pub use tag::Tag;
