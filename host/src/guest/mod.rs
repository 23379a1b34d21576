//! Runs guests: the engine, the contract's imports, limits, and one instance's calls. It knows the contract in `wit/`
//! and nothing of Kafka's clients or the schedule: what a guest's calls need of those comes through [`Host`].

mod contract;
mod engine;
mod error;
mod host;
mod instance;
mod limits;
mod linker;

pub use contract::{
    Acknowledgement, Batch, CONTRACT_VERSION, Level, Outcome, Outcomes, Received, ReceivedHeader, Rows, Span,
};
pub use engine::{Compiled, Engine, WORKER_STACK_BYTES};
pub use error::{GuestError, LoadError};
pub use host::{Host, Identity, Labels, Outgoing, Part, Sending};
pub use instance::{Answer, Instance, Spent};
pub use limits::GuestLimits;
