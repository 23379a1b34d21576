//! Why replies can't be read.

use thiserror::Error;

use super::super::errors::Code;
use super::super::handle::ClientError;

/// Before the load. What befalls a reader later ends the run with a text.
#[derive(Debug, Error)]
pub enum ReadersError {
    /// A consumer can't be made.
    #[error("channel `{channel}`: {error}")]
    Client {
        /// Whose.
        channel: String,
        /// Why not.
        #[source]
        error: ClientError,
    },
    /// Nobody says where a partition ends.
    #[error("channel `{channel}`: the end of partition {partition} of topic {topic} is not to be had: {}", code.text())]
    Position {
        /// Whose.
        channel: String,
        /// In Kafka.
        topic: String,
        /// From 0.
        partition: i32,
        /// Kafka's.
        code: Code,
    },
    /// The system has no more threads.
    #[error("a thread can't be started: {0}")]
    Thread(#[from] std::io::Error),
}

impl ReadersError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            ReadersError::Client { .. } => "correct the setting in [kafka] or -X",
            ReadersError::Position { .. } => {
                "the partition's leader has to answer before replies can be read: see `khost check`"
            }
            ReadersError::Thread(_) => "raise the limit of processes and threads (ulimit -u)",
        }
    }
}
