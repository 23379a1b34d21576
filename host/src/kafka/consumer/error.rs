//! Why a consumer can't go on, and which of librdkafka's errors pass by themselves.

use std::ffi::CStr;

use rdkafka_sys::types::RDKafkaRespErr::{
    self, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__TIMED_OUT,
    RD_KAFKA_RESP_ERR__TRANSPORT,
};
use thiserror::Error;

use crate::kafka::handle::ClientError;

/// Why a consumer can't go on.
#[derive(Debug, Error)]
pub enum ConsumeError {
    /// It can't be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A topic, or one of its partitions, can't be read.
    #[error("{topic}{} can't be read: {reason}", .partition.map_or(String::new(), |number| format!(", partition {number},")))]
    Topic {
        /// Its name in Kafka.
        topic: String,
        /// Which partition.
        partition: Option<i32>,
        /// Kafka's words.
        reason: String,
    },
    /// The group can't be joined, or answers no questions.
    #[error("group `{group}`: {reason}")]
    Group {
        /// Its name.
        group: String,
        /// Kafka's words.
        reason: String,
    },
}

/// That a partition can't be read.
pub(super) fn unreadable(topic: &CStr, partition: i32, reason: String) -> ConsumeError {
    let partition = Some(partition).filter(|number| *number >= 0);
    ConsumeError::Topic { topic: topic.to_string_lossy().into_owned(), partition, reason }
}

/// What passes by itself: librdkafka tries again.
pub(super) fn is_passing(code: RDKafkaRespErr) -> bool {
    matches!(
        code,
        RD_KAFKA_RESP_ERR__TRANSPORT
            | RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN
            | RD_KAFKA_RESP_ERR__TIMED_OUT
            | RD_KAFKA_RESP_ERR__RESOLVE
    )
}
