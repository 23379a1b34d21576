//! What has changed about one topic, from one look to the next; knows nothing of time or connections.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;

const NONE: i16 = 0;
const LEADER_NOT_AVAILABLE: i16 = ResponseError::LeaderNotAvailable.code();
const UNKNOWN_TOPIC: i16 = ResponseError::UnknownTopicOrPartition.code();
/// How many looks in a row have to miss a topic: a broker that just started may not know it yet.
const BELIEVED: u32 = 2;
/// Partitions that a text names; the list has all.
const MOST_NAMED: usize = 4;
/// What brokers say where a partition has no leader.
const NOBODY: i32 = -1;

/// What has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicChange {
    /// Its kind.
    pub what: Change,
    /// Which partitions.
    pub partitions: Vec<i32>,
    /// In words.
    pub text: String,
}

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It has so many partitions now, and had fewer.
    Grown {
        /// Before.
        from: u32,
        /// Now.
        to: u32,
    },
    /// Partitions are led by others.
    Leaders,
    /// Other replicas are in sync.
    InSync,
    /// It was deleted.
    Gone,
    /// It was deleted, and there is another one of its name.
    Anew,
}

/// What a broker says of a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    error: i16,
    id: Option<u128>,
    /// By their numbers.
    partitions: Vec<Partition>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Partition {
    leader: i32,
    /// Sorted: brokers list them in any order.
    in_sync: Vec<i32>,
}

impl Seen {
    pub(super) fn of(topic: &MetadataResponseTopic) -> Self {
        let mut partitions = vec![Partition { leader: NOBODY, in_sync: Vec::new() }; topic.partitions.len()];
        for one in &topic.partitions {
            let number = usize::try_from(one.partition_index).ok();
            if let Some(partition) = number.and_then(|number| partitions.get_mut(number)) {
                partition.leader = one.leader_id.0;
                partition.in_sync = one.isr_nodes.iter().map(|node| node.0).collect();
                partition.in_sync.sort_unstable();
            }
        }
        Seen { error: topic.error_code, id: Some(topic.topic_id.as_u128()).filter(|id| *id != 0), partitions }
    }
}

/// One topic's.
#[derive(Debug)]
pub(super) struct History {
    id: Option<u128>,
    count: u32,
    /// As seen last, while it was ours.
    partitions: Vec<Partition>,
    /// How often in a row it was not ours.
    missed: u32,
}

impl History {
    /// Of a topic that has this id, if brokers tell ids, and so many partitions.
    pub(super) fn new(id: Option<u128>, count: u32) -> Self {
        History { id, count, partitions: Vec::new(), missed: 0 }
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        (1..BELIEVED).contains(&self.missed)
    }

    /// What is new. A topic that is not ours any more is told of once, and nothing after it.
    pub(super) fn see(&mut self, seen: &Seen) -> Vec<TopicChange> {
        if self.missed >= BELIEVED {
            return Vec::new();
        }
        let missing = match seen.error {
            UNKNOWN_TOPIC => Some(Change::Gone),
            NONE | LEADER_NOT_AVAILABLE if self.is_another(seen) => Some(Change::Anew),
            NONE | LEADER_NOT_AVAILABLE => None,
            // rights that were taken away, a broker that is about to end: says nothing of the topic
            _ => return Vec::new(),
        };
        let Some(what) = missing else {
            self.missed = 0;
            return self.compare(seen);
        };
        self.missed += 1;
        if self.missed < BELIEVED {
            return Vec::new();
        }
        let text = if what == Change::Gone { "deleted" } else { "deleted and created anew" };
        vec![TopicChange { what, partitions: Vec::new(), text: text.into() }]
    }

    /// By its id; where brokers tell none, by partitions that are gone, as a topic never loses any.
    fn is_another(&self, seen: &Seen) -> bool {
        match (self.id, seen.id) {
            (Some(ours), Some(its)) => ours != its,
            _ => !seen.partitions.is_empty() && (seen.partitions.len() as u32) < self.count,
        }
    }

    fn compare(&mut self, seen: &Seen) -> Vec<TopicChange> {
        self.id = self.id.or(seen.id);
        let mut changes = Vec::new();
        let count = seen.partitions.len() as u32;
        if count > self.count {
            let (from, to) = (self.count, count);
            let text = format!("{to} partitions, {from} before");
            changes.push(TopicChange {
                what: Change::Grown { from, to },
                partitions: (from as i32..to as i32).collect(),
                text,
            });
            self.count = count;
        }
        let both = || (0..).zip(self.partitions.iter().zip(&seen.partitions));
        let leaders: Vec<_> = both()
            .filter(|(_, (before, now))| before.leader != now.leader)
            .map(|(number, (before, now))| {
                (number, format!("leader {}, before {}", node(now.leader), node(before.leader)))
            })
            .collect();
        let in_sync: Vec<_> = both()
            .filter(|(_, (before, now))| before.in_sync != now.in_sync)
            .map(|(number, (before, now))| (number, format!("in sync {:?}, before {:?}", now.in_sync, before.in_sync)))
            .collect();
        changes.extend(several(Change::Leaders, leaders));
        changes.extend(several(Change::InSync, in_sync));
        // a topic that is just being created may come without any
        if seen.partitions.len() >= self.partitions.len() {
            self.partitions.clone_from(&seen.partitions);
        }
        changes
    }
}

fn node(id: i32) -> String {
    if id == NOBODY { "none".into() } else { id.to_string() }
}

/// One change of several partitions.
fn several(what: Change, of: Vec<(i32, String)>) -> Option<TopicChange> {
    let texts: Vec<String> =
        of.iter().take(MOST_NAMED).map(|(number, text)| format!("partition {number}: {text}")).collect();
    let more = if of.len() > MOST_NAMED { format!("; and {} more", of.len() - MOST_NAMED) } else { String::new() };
    let text = texts.join("; ") + &more;
    let partitions: Vec<i32> = of.into_iter().map(|(number, _)| number).collect();
    (!partitions.is_empty()).then_some(TopicChange { what, partitions, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(id: u128, leaders: &[i32]) -> Seen {
        let partition = |leader: &i32| Partition { leader: *leader, in_sync: vec![1, 2] };
        Seen { error: NONE, id: Some(id), partitions: leaders.iter().map(partition).collect() }
    }

    fn gone() -> Seen {
        Seen { error: UNKNOWN_TOPIC, ..Seen::default() }
    }

    fn kinds(changes: &[TopicChange]) -> Vec<Change> {
        changes.iter().map(|change| change.what).collect()
    }

    #[test]
    fn a_topic_is_gone_when_two_looks_in_a_row_say_so_and_told_of_once() {
        let mut topic = History::new(Some(7), 2);
        for _ in 0..3 {
            assert_eq!(topic.see(&gone()), []);
            assert!(topic.is_in_doubt());
            assert_eq!(topic.see(&seen(7, &[1, 2])), []);
            assert!(!topic.is_in_doubt());
        }
        assert_eq!(topic.see(&gone()), []);
        assert_eq!(kinds(&topic.see(&gone())), [Change::Gone]);
        assert_eq!((topic.see(&gone()), topic.see(&seen(8, &[1]))), (vec![], vec![]));
    }

    #[test]
    fn another_topic_of_the_name_is_told_of_whether_it_was_seen_missing_or_not() {
        for first in [gone(), seen(8, &[1, 1, 1])] {
            let mut topic = History::new(Some(7), 2);
            assert_eq!(topic.see(&first), []);
            assert_eq!(kinds(&topic.see(&seen(8, &[1, 1, 1]))), [Change::Anew], "and not that it has grown");
        }
    }

    #[test]
    fn brokers_without_ids_show_it_by_fewer_partitions() {
        let mut topic = History::new(None, 4);
        let fewer = Seen { id: None, ..seen(0, &[1, 1]) };
        assert_eq!(topic.see(&fewer), []);
        assert_eq!(kinds(&topic.see(&fewer)), [Change::Anew]);
    }

    #[test]
    fn what_says_nothing_of_the_topic_changes_nothing() {
        let mut topic = History::new(Some(7), 2);
        let denied = Seen { error: ResponseError::TopicAuthorizationFailed.code(), ..Seen::default() };
        let empty = Seen { error: LEADER_NOT_AVAILABLE, ..seen(7, &[]) };
        for one in [&denied, &empty, &denied, &empty] {
            assert_eq!(topic.see(one), []);
        }
        assert!(!topic.is_in_doubt());
    }

    #[test]
    fn leaders_replicas_and_partitions_are_compared_with_the_last_look() {
        let mut topic = History::new(Some(7), 2);
        assert_eq!(topic.see(&seen(7, &[1, 2])), [], "the first look has nothing to compare with");
        let mut now = seen(7, &[1, NOBODY, 3]);
        now.partitions[0].in_sync = vec![1];
        let changes = topic.see(&now);
        assert_eq!(kinds(&changes), [Change::Grown { from: 2, to: 3 }, Change::Leaders, Change::InSync]);
        assert_eq!((&changes[0].partitions[..], &changes[1].partitions[..]), (&[2][..], &[1][..]));
        assert_eq!(changes[1].text, "partition 1: leader none, before 2");
        assert_eq!(changes[2].text, "partition 0: in sync [1], before [1, 2]");
        assert_eq!(topic.see(&now), []);
    }
}
