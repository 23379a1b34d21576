//! A stand-in for khost, for unit tests of a flow: `cargo test`, natively, without Kafka.
//!
//! A [`Host`] is what the manifest and the run would be. It starts one worker of one flow, a [`Running`], which runs
//! iterations or handles records and answers with what they sent. Time stands still but for [`run::sleep`](crate::run::sleep)
//! and [`Running::advance`]; nothing is random but for the seed. What khost would end the instance for panics.
//!
//! What comes back through a channel is scripted: [`Host::channel`].
//!
//! ```
//! use khost_guest::prelude::*;
//! use khost_guest::testing::Host;
//!
//! struct Orders { topic: Topic, customers: u32, rng: Rng }
//!
//! impl Stream for Orders {
//!     fn setup() -> Result<Self> {
//!         let customers = run::param("customers")?;
//!         Ok(Orders { topic: Topic::open("orders"), customers, rng: Rng::new(run::seed()) })
//!     }
//!
//!     fn iterate(&mut self, iteration: u64, out: &mut Batch) -> Result<Progress> {
//!         let customer = self.rng.between(1, self.customers);
//!         out.message(self.topic).key_text(customer).value_text(format_args!("order {iteration}"));
//!         Ok(More)
//!     }
//! }
//!
//! let mut orders = Host::new().topic("orders", 6).param("customers", 1).stream::<Orders>().unwrap();
//! let sent = orders.iterate(2);
//! assert_eq!(sent[1].topic, "orders");
//! assert_eq!(sent[1].key_text(), Some("1"));
//! assert_eq!(sent[1].value_text(), Some("order 1"));
//!
//! let error = Host::new().topic("orders", 6).param("customers", "many").stream::<Orders>().unwrap_err();
//! assert_eq!(error, "parameter `customers` is `many`; it must be a whole number from 0 to 4294967295");
//! ```

pub(crate) mod channel;
mod host;
mod record;
mod running;
mod sent;
pub(crate) mod state;

pub use channel::{Asked, Replies};
pub use host::Host;
pub use record::Record;
pub use running::{Call, Failure, Running};
pub use sent::Sent;
