//! What has changed about the topics under the run.

use serde::Serialize;

use super::document::PartitionSpread;
use super::numbers::{decimal, plural};
use crate::kafka::Change;
use crate::load::{Ended, TopicRecord};
use crate::plan::Plan;

/// One topic of the plan.
#[derive(Debug, Serialize)]
pub struct TopicResult {
    /// Its name in Kafka.
    pub name: String,
    /// How often a partition had another leader, or none, warm-up included.
    pub leader_changes: u64,
    /// How often other replicas of a partition were in sync, warm-up included.
    pub in_sync_changes: u64,
    /// In their order.
    pub changes: Vec<TopicChangeResult>,
    /// Changes of leaders and of replicas that are counted, and not in the list.
    pub changes_not_kept: u64,
}

/// One change, as the cluster told of it when it was asked.
#[derive(Debug, Serialize)]
pub struct TopicChangeResult {
    /// When it was seen, in seconds since the load's start; below 0 in the set-up.
    pub at_s: f64,
    /// `partitions` (more of them), `leaders`, `in-sync`, `deleted` or `created-anew`.
    pub what: &'static str,
    /// Which partitions.
    pub partitions: Vec<i32>,
    /// In words.
    pub text: String,
}

/// Partitions that came in the run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Growth {
    /// When they were seen, in seconds since the load's start.
    pub at_s: f64,
    /// How many the topic has from then on.
    pub partitions: u32,
}

/// In the plan's order.
pub(super) fn results(plan: &Plan, records: &[TopicRecord]) -> Vec<TopicResult> {
    let change = |(at_s, change): &(f64, crate::kafka::TopicChange)| TopicChangeResult {
        at_s: *at_s,
        what: match change.what {
            Change::Grown { .. } => "partitions",
            Change::Leaders => "leaders",
            Change::InSync => "in-sync",
            Change::Gone => "deleted",
            Change::Anew => "created-anew",
        },
        partitions: change.partitions.clone(),
        text: change.text.clone(),
    };
    let result = |(topic, record): (&crate::plan::Topic, &TopicRecord)| TopicResult {
        name: topic.name.clone(),
        leader_changes: record.leader_changes,
        in_sync_changes: record.in_sync_changes,
        changes: record.changes.iter().map(change).collect(),
        changes_not_kept: record.not_kept,
    };
    plan.topics.iter().zip(records).map(result).collect()
}

/// Says in a flow's spread when partitions came; those that nothing was written to have a 0 there.
pub(super) fn mark_growth(spreads: &mut [PartitionSpread], topics: &[TopicResult]) {
    for spread in spreads {
        let Some(topic) = topics.iter().find(|topic| topic.name == spread.topic) else { continue };
        let grown = topic.changes.iter().filter(|change| change.what == "partitions");
        let growth = |change: &TopicChangeResult| {
            Some(Growth { at_s: change.at_s, partitions: u32::try_from(change.partitions.last()? + 1).ok()? })
        };
        spread.grown = grown.filter_map(growth).collect();
        let count = spread.grown.last().map_or(0, |growth| growth.partitions as usize);
        if count > spread.messages.len() {
            spread.messages.resize(count, 0);
            spread.above_mean = above_mean(&spread.messages);
        }
    }
}

/// How far the fullest partition is above the mean.
pub(super) fn above_mean(messages: &[u64]) -> Option<f64> {
    let mean = messages.iter().sum::<u64>() as f64 / messages.len() as f64;
    let most = messages.iter().max().copied().unwrap_or(0) as f64;
    (mean > 0.0).then(|| most / mean - 1.0)
}

/// What a person should know of partitions that were added.
pub(super) fn warnings(topics: &[TopicResult]) -> Vec<String> {
    let grown = topics.iter().flat_map(|topic| topic.changes.iter().map(move |change| (topic, change)));
    grown
        .filter(|(_, change)| change.what == "partitions")
        .map(|(topic, change)| {
            format!(
                "topic `{}` got partitions in the run: {}, seen at {} s; a key may lead to another one since",
                topic.name,
                change.text,
                decimal(change.at_s)
            )
        })
        .collect()
}

/// Why the run failed, where something else was told first: topics that went away.
pub(super) fn reasons(topics: &[TopicResult], ended: Option<&Ended>) -> Vec<String> {
    let told = if let Some(Ended::Failed(why)) = ended { why.as_str() } else { "" };
    let changes = topics.iter().flat_map(|topic| topic.changes.iter().map(move |change| (topic, change)));
    changes
        .filter(|(_, change)| matches!(change.what, "deleted" | "created-anew"))
        .map(|(topic, change)| format!("topic `{}` was {}", topic.name, change.text))
        .filter(|reason| !told.starts_with(reason.as_str()))
        .collect()
}

/// When partitions came, behind a spread.
pub(super) fn grown(spread: &PartitionSpread) -> String {
    let each = spread.grown.iter().map(|one| format!("; {} partitions since {} s", one.partitions, decimal(one.at_s)));
    each.collect()
}

/// A line for each topic whose leaders or replicas changed.
pub(super) fn lines(topics: &[TopicResult]) -> Vec<String> {
    let changed = topics.iter().filter(|topic| topic.leader_changes + topic.in_sync_changes > 0);
    changed
        .map(|topic| {
            let mut moved = topic.changes.iter().filter(|change| matches!(change.what, "leaders" | "in-sync"));
            let first = moved
                .next()
                .map_or(String::new(), |change| format!("; first at {} s: {}", decimal(change.at_s), change.text));
            format!(
                "{}: leaders changed {}, in-sync replicas {}{first}",
                topic.name,
                plural(topic.leader_changes, "time"),
                plural(topic.in_sync_changes, "time")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(changes: Vec<(&'static str, f64, Vec<i32>, &str)>) -> TopicResult {
        let change = |(what, at_s, partitions, text): (_, _, _, &str)| TopicChangeResult {
            at_s,
            what,
            partitions,
            text: text.to_owned(),
        };
        TopicResult {
            name: "t".into(),
            leader_changes: 2,
            in_sync_changes: 1,
            changes: changes.into_iter().map(change).collect(),
            changes_not_kept: 0,
        }
    }

    #[test]
    fn a_person_reads_when_what_changed() {
        let moved = topic(vec![("leaders", 3.2, vec![0], "partition 0: leader 2, before 1")]);
        let line =
            "t: leaders changed 2 times, in-sync replicas 1 time; first at 3.20 s: partition 0: leader 2, before 1";
        assert_eq!(lines(&[moved]), [line]);
        let mut spread =
            [PartitionSpread { topic: "t".into(), messages: vec![6, 2], above_mean: Some(0.5), grown: Vec::new() }];
        mark_growth(&mut spread, &[topic(vec![("partitions", 12.3, vec![2, 3], "4 partitions, 2 before")])]);
        assert_eq!((&spread[0].messages[..], spread[0].above_mean), (&[6, 2, 0, 0][..], Some(2.0)));
        assert_eq!(grown(&spread[0]), "; 4 partitions since 12.3 s");
    }

    #[test]
    fn a_topic_that_went_away_is_a_reason_once() {
        let gone = [topic(vec![("deleted", 3.2, Vec::new(), "deleted")])];
        let other = Ended::Failed("the reader can't go on".into());
        assert_eq!(reasons(&gone, Some(&other)), ["topic `t` was deleted"]);
        let told = Ended::Failed("topic `t` was deleted: seen at 3.2 s".into());
        assert_eq!(reasons(&gone, Some(&told)), [""; 0]);
    }
}
