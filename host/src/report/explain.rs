//! Why messages failed, in words that name the limit or the setting behind the code.

use crate::kafka::{ClientSettings, Code, TopicFacts};
use crate::measure::Refuser;

const MSG_SIZE_TOO_LARGE: i32 = 10;
const NOT_ENOUGH_REPLICAS: i32 = 19;
const INVALID_TIMESTAMP: i32 = 32;
const INVALID_RECORD: i32 = 87;
const MSG_TIMED_OUT: i32 = -192;
const PURGE_QUEUE: i32 = -152;
const PURGE_INFLIGHT: i32 = -151;
const UNKNOWN_PARTITION: i32 = -190;

/// What a code means in this run.
pub(super) fn explain(by: Refuser, code: i32, client: &ClientSettings, topics: &[TopicFacts]) -> String {
    let setting = |name: &str| client.get(name).map_or("?", String::as_str).to_owned();
    let of_topics = |name: &str| {
        let values: Vec<String> =
            topics.iter().filter_map(|t| Some(format!("{} of `{}`", t.config.get(name)?, t.name))).collect();
        if values.is_empty() { "unknown".to_owned() } else { values.join(", ") }
    };
    let more = match code {
        MSG_SIZE_TOO_LARGE if by == Refuser::Client => {
            return format!(
                "larger than the client's message.max.bytes = {}, which is checked before compression",
                setting("message.max.bytes")
            );
        }
        MSG_SIZE_TOO_LARGE => {
            return format!(
                "larger than the topic's max.message.bytes, which is checked after compression: {}",
                of_topics("max.message.bytes")
            );
        }
        INVALID_RECORD if topics.iter().any(TopicFacts::is_compacted) => {
            "a compacted topic needs a key in every record".into()
        }
        INVALID_TIMESTAMP => {
            "further from the broker's clock than message.timestamp.before.max.ms or message.timestamp.after.max.ms of the topic \
             allows"
                .into()
        }
        INVALID_RECORD => "the broker refused the record: look at the topic's message.timestamp.* settings".into(),
        MSG_TIMED_OUT => format!("no acknowledgement within delivery.timeout.ms = {}", setting("delivery.timeout.ms")),
        NOT_ENOUGH_REPLICAS => format!("min.insync.replicas is {}", of_topics("min.insync.replicas")),
        PURGE_QUEUE => "still queued in the client when the drain ended: never sent".into(),
        PURGE_INFLIGHT => "on its way when the drain ended: nobody knows whether it arrived".into(),
        UNKNOWN_PARTITION => "the topic has no partition of that number".into(),
        _ => return Code(code).text(),
    };
    format!("{}: {more}", Code(code).text())
}
