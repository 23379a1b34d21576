//! Everything that speaks Kafka: addresses, settings, the checks before a run, the embedded broker, and the clients.
//!
//! The message path (`client`, `lane`, `reports`) is on librdkafka's C interface; what happens once a run uses rdkafka.

mod addresses;
mod allocator;
mod broker_version;
mod client;
mod deliver;
mod embedded;
mod errors;
mod lane;
mod partitions;
mod preflight;
mod reports;
mod settings;
mod wire;

pub use addresses::{Address, AddressError, Addresses};
pub use client::{Client, ClientError, ClientSetup};
pub use deliver::{Acknowledgement, Delivery};
pub use embedded::Embedded;
pub use errors::{Code, ENDING, NO_ANSWER};
pub use lane::{Lane, Record, Rejected, Value};
pub use preflight::{Cluster, PreflightError, TopicFacts, preflight};
pub use settings::{ClientSettings, SettingsError};
pub use wire::{Throttle, Wire, WireFigures};
