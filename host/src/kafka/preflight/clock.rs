//! The cluster's clock against ours. Kafka's protocol has no question for the time; but a controller of KRaft that is asked
//! for its quorum tells when it was itself last up to date, which is now, by its clock (KIP-836). Other brokers don't tell.

use std::time::{Duration, Instant, SystemTime};

use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::{DescribeQuorumRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use serde::Serialize;

use super::brokers::Brokers;

/// The quickest of this many answers counts.
const QUESTIONS: u32 = 3;
/// From here on the answer has times.
const WITH_TIMES: i16 = 1;
/// Further apart than this, times of records and of the cluster's logs are hard to bring together.
const TOLERABLE: Duration = Duration::from_millis(500);

/// How far the active controller's clock is ahead of this machine's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Clock {
    /// Which node tells.
    pub controller: i32,
    /// In milliseconds; negative: it is behind.
    pub ahead_ms: f64,
    /// By how much that may be wrong: half of the time that the answer took, and the millisecond that it is told in.
    pub uncertain_ms: f64,
}

impl Clock {
    /// What to say when the clocks are far apart.
    pub(super) fn warning(&self) -> Option<String> {
        let apart = self.ahead_ms.abs() - self.uncertain_ms;
        (apart > TOLERABLE.as_millis() as f64).then(|| {
            format!(
                "the clock of the cluster's controller (node {}) is {:.0} ms {} this machine's (± {:.0} ms): timestamps of the two can't be compared",
                self.controller,
                self.ahead_ms.abs(),
                if self.ahead_ms > 0.0 { "ahead of" } else { "behind" },
                self.uncertain_ms
            )
        })
    }
}

/// Asks; nothing where the cluster has no such controller, or does not tell this principal.
pub(super) fn ask(brokers: &mut Brokers) -> Option<Clock> {
    // one that goes unanswered is not asked again
    let all = (0..QUESTIONS).map_while(|_| ask_once(brokers));
    all.min_by(|one, other| one.uncertain_ms.total_cmp(&other.uncertain_ms))
}

fn ask_once(brokers: &mut Brokers) -> Option<Clock> {
    let (_, connection) = brokers.controller();
    let version = connection.version::<DescribeQuorumRequest>()?;
    if version < WITH_TIMES {
        return None;
    }
    let topic = TopicData::default()
        .with_topic_name(TopicName(StrBytes::from_static_str("__cluster_metadata")))
        .with_partitions(vec![PartitionData::default()]);
    let request = DescribeQuorumRequest::default().with_topics(vec![topic]);
    let (sent, began) = (SystemTime::now(), Instant::now());
    let answer = connection.ask_as(&request, version).ok()?;
    let took = began.elapsed();
    let partition = answer.topics.first()?.partitions.first()?;
    let leader = partition.leader_id;
    let told = partition.current_voters.iter().find(|voter| voter.replica_id == leader)?.last_caught_up_timestamp;
    let middle = sent.duration_since(SystemTime::UNIX_EPOCH).ok()? + took / 2;
    // the millisecond that it is told in is cut off, so on average half of one is missing
    let ahead_ms = told as f64 + 0.5 - middle.as_secs_f64() * 1e3;
    (told > 0).then_some(Clock { controller: leader.0, ahead_ms, uncertain_ms: took.as_secs_f64() * 5e2 + 0.5 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_far_apart_are_told_of_and_no_others() {
        let clock = |ahead_ms, uncertain_ms| Clock { controller: 1, ahead_ms, uncertain_ms }.warning();
        assert_eq!(clock(3.0, 1.0), None);
        assert_eq!(clock(900.0, 500.0), None);
        assert!(clock(-2_000.0, 1.0).is_some_and(|text| text.contains("2000 ms behind this machine's")));
    }
}
