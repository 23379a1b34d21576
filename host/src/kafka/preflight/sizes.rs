//! The size limits of a topic against what the plan says.

use super::{PreflightError, TopicFacts};
use crate::kafka::ClientSettings;
use crate::plan::Topic;

const TOPICS: &str = "max.message.bytes";
const CLIENTS: &str = "message.max.bytes";
const BATCH: &str = "batch.size";
/// librdkafka's default of both of the client's.
const DEFAULT: u64 = 1_000_000;

/// A topic with a smaller limit than the manifest gives it can't take what the scenario will send. A client's limit above
/// the topic's may still be right, as the topic's counts after compression: that is a warning.
pub(super) fn check(
    topic: &Topic,
    seen: &TopicFacts,
    settings: &[ClientSettings],
) -> Result<Option<String>, PreflightError> {
    let bytes = |text: Option<&String>| text.and_then(|text| text.parse::<u64>().ok());
    let Some(limit) = bytes(seen.config.get(TOPICS)).filter(|_| topic.produce) else { return Ok(None) };
    if let Some(wanted) = bytes(topic.config.get(TOPICS)).filter(|wanted| *wanted > limit) {
        let reason = format!(
            "its {TOPICS} is {limit}, and the manifest says {wanted}: messages between the two would be refused"
        );
        return Err(PreflightError::Topic { name: topic.name.clone(), reason });
    }
    let warn = |name: &str, value: u64| {
        format!(
            "{name} is {value}, and topic `{}` refuses whole batches beyond {limit} bytes, after compression ({TOPICS}): -X {name}={limit} keeps below",
            topic.name
        )
    };
    let most = |name: &str| settings.iter().filter_map(|flow| bytes(flow.get(name))).max();
    let set = most(CLIENTS).filter(|set| *set > limit).map(|set| warn(CLIENTS, set));
    Ok(set.or_else(|| {
        let batch = most(BATCH).unwrap_or(DEFAULT);
        (batch > limit).then(|| warn(BATCH, batch))
    }))
}
