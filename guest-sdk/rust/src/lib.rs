//! Write a khost scenario in Rust.
//!
//! A scenario decides what each message is; khost owns Kafka, time and measurement. Every flow of the manifest is played
//! by a type that implements [`Stream`], [`Session`] or [`Consume`], and [`flows!`] says which one plays which. One
//! instance of the type is one worker: it runs on one thread and shares nothing with the others.
//!
//! ```
//! use khost_guest::prelude::*;
//!
//! khost_guest::flows! { "orders" => stream Orders }
//!
//! struct Orders { topic: Topic, rng: Rng }
//!
//! impl Stream for Orders {
//!     fn setup() -> Result<Self> {
//!         Ok(Orders { topic: Topic::open("orders"), rng: Rng::new(run::seed()) })
//!     }
//!
//!     fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
//!         let customer = self.rng.between(1, 5_000);
//!         out.message(self.topic).key_text(customer).value_text(format_args!("order {iteration}"));
//!         Ok(More)
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! **What goes wrong.** An `Err` from `iterate` or `handle` fails that one iteration or record, with its text, and takes
//! back the messages that it had added. A panic ends this instance; khost starts a new one, within the number that the
//! run allows. [`run::end_run`] ends the whole run. A name that the manifest lacks, and anything else that only a changed
//! scenario can put right, ends the instance at once, with a text that says so.
//!
//! **Speed.** What is called for each message ([`Batch::message`] and its chain, [`Rng`]) allocates nothing once the
//! batch's buffers have grown.
//!
//! **Tests.** The crate also compiles natively, with a stand-in for khost in `khost_guest::testing`.

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod acknowledgement;
mod batch;
#[allow(warnings)]
#[doc(hidden)]
#[rustfmt::skip]
pub mod bindings;
mod body;
mod channel;
mod dataset;
mod error;
mod flow;
mod host;
pub mod json;
mod message;
mod metrics;
mod records;
mod rng;
pub mod run;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod topic;
mod wire;
#[doc(hidden)]
pub mod worker;

pub use acknowledgement::Acknowledgement;
pub use batch::Batch;
pub use body::{Body, Slice};
pub use channel::{Channel, Outcome, Outcomes, Ticket, wait};
pub use dataset::{Dataset, Row};
pub use error::{Code, Error, Result};
pub use flow::{Consume, Progress, Session, Stream};
pub use message::{Message, Writer};
pub use metrics::{Check, Counter, Operation};
pub use records::{Header, Record, Records};
pub use rng::Rng;
pub use topic::Topic;

/// What nearly every scenario wants: `use khost_guest::prelude::*;`.
pub mod prelude {
    pub use crate::Progress::{self, Done, More, Nothing};
    pub use crate::json::{DeJson, SerJson};
    pub use crate::{Batch, Body, Channel, Check, Consume, Counter, Dataset, Error, Operation};
    pub use crate::{Record, Result, Rng, Session, Stream, Topic, run, wait};
    /// What the derived code of [`SerJson`] and [`DeJson`] names.
    pub use nanoserde;
    pub use std::time::Duration;
}
