//! Everything that speaks Kafka: addresses, settings, who we are to the brokers, the checks before a run, the embedded
//! broker, and the clients.
//!
//! The message path (`client`, `lane`, `reports`, `consumer`) is on librdkafka's C interface. The checks before a load (`preflight`) ask
//! on connections of their own (`connection`), once, so that they can say why there is no answer.

mod addresses;
mod allocator;
mod broker_version;
mod client;
mod complaints;
mod connection;
mod consumer;
mod deliver;
mod embedded;
mod errors;
mod handle;
mod lag;
mod lane;
mod partitions;
mod preflight;
mod reach;
mod replies;
mod reports;
mod security;
mod settings;
mod stamp;
mod token;
mod topics;
mod wire;

pub use addresses::{Address, AddressError, Addresses};
pub use client::{Client, ClientSetup};
pub use connection::BrokerError;
pub use consumer::{
    Arrived, Commits, ConsumeError, Consumer, ConsumerSetup, GivesUp, Group, GroupSetup, OffsetFigures, Partition,
    PauseFigures, Rebalances,
};
pub use deliver::{Acknowledgement, Delivery, Settled};
pub use embedded::Embedded;
pub use errors::{Code, ENDING, NO_ANSWER};
pub use handle::ClientError;
pub use lag::{LagError, LagRecord, LagSetup, LagWatch, Watched};
pub use lane::{Lane, Record, Rejected, Value};
pub use partitions::PartitionCounts;
pub use preflight::{
    Access, Broker, Checks, Clock, Cluster, Lack, Operation, PreflightError, Resource, TopicFacts, preflight,
};
pub use reach::Reach;
pub use replies::{
    AlreadyExpected, Answer, Answers, Ask, Book, Entry, Hooks, Id, Ids, Line, Readers, ReadersError, ReadersSetup,
    Reply, ReplyCounts,
};
pub use security::{BadCertificate, CertificateProblem, Security, SecurityError};
pub use settings::{ClientSettings, SettingsError};
pub use stamp::{STAMP_HEADER, STAMP_WIRE_BYTES, Stamp, Stamper};
pub use token::{Keeper, MskIam, Refusal, Source, Token, TokenError};
pub use topics::{Change, TopicChange, TopicWatch};
pub use wire::{Throttle, Wire, WireFigures};
