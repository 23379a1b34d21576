//! khost puts load on Kafka and on event-driven applications behind Kafka: a native host does Kafka I/O, timing and
//! measurement; sandboxed WebAssembly guests decide what each message is.

pub mod cli;
pub mod data;
pub mod guest;
pub mod kafka;
pub mod load;
pub mod measure;
pub mod package;
pub mod plan;
pub mod report;
