//! The lag of consumer groups: how many records they had left to read, and whether that grew.

use serde::Serialize;

use super::document::FlowResult;
use super::numbers::{count, decimal, plural};
use crate::kafka::{LagRecord, Partition};
use crate::measure::{LagPoint, trend};
use crate::plan::{FlowKind, Plan};

/// Partitions without a commit that are all named.
const MOST_NAMED: usize = 16;

/// One group's lag, in records.
#[derive(Debug, Serialize)]
pub struct LagResult {
    /// Its name in the manifest; of a consume flow's group, the flow's.
    pub name: String,
    /// The consumer group.
    pub group: String,
    /// What it reads, by the topics' names in Kafka.
    pub topics: Vec<String>,
    /// The consume flow whose group it is; null for one of the application.
    pub flow: Option<String>,
    /// A sample a second, those that are missing left out.
    pub series: Vec<LagPoint>,
    /// The largest of all samples; null where there is none.
    pub max: Option<u64>,
    /// At the drain's end; null where that is not known.
    pub at_end: Option<u64>,
    /// Of a consume flow's group: the same counted from what is committed.
    pub by_commit_at_end: Option<u64>,
    /// By how much it grows over the window; null where that is not beyond noise.
    pub grows_per_s: Option<f64>,
    /// By partition.
    pub partitions: Vec<LagPartition>,
}

/// One partition's.
#[derive(Debug, Serialize)]
pub struct LagPartition {
    /// Its topic's name in Kafka.
    pub topic: String,
    /// Its number.
    pub partition: i32,
    /// At the drain's end; null where that is not known.
    pub at_end: Option<u64>,
}

/// By group: those of consume flows, then those that the manifest names.
pub(super) fn results(plan: &Plan, flows: &[FlowResult], records: Vec<LagRecord>) -> Vec<LagResult> {
    let own = plan.flows.iter().flat_map(|flow| match &flow.kind {
        FlowKind::Consume(consume) => {
            let (name, topics) = (flow.name.as_str(), consume.topics.as_slice());
            consume.groups.iter().map(|group| Whose { name, group, topics, flow: Some(name) }).collect()
        }
        _ => Vec::new(),
    });
    let named =
        plan.lag.iter().map(|lag| Whose { name: &lag.name, group: &lag.group, topics: &lag.topics, flow: None });
    let topic = |number: &usize| plan.topics[*number].name.clone();
    let result = |(whose, record): (Whose<'_>, LagRecord)| {
        let series = record.series.points();
        let partition = |((number, partition), at_end): (Partition, Option<u64>)| LagPartition {
            topic: topic(&number),
            partition,
            at_end,
        };
        LagResult {
            name: whose.name.to_owned(),
            group: whose.group.to_owned(),
            topics: whose.topics.iter().map(topic).collect(),
            flow: whose.flow.map(str::to_owned),
            max: record.series.max(),
            at_end: record.at_end,
            by_commit_at_end: record.by_commit_at_end,
            grows_per_s: trend(&within(window(flows, whose.flow), &series)),
            series,
            partitions: record.partitions.into_iter().map(partition).collect(),
        }
    };
    own.chain(named).zip(records).map(result).collect()
}

/// A group whose lag is told.
struct Whose<'p> {
    name: &'p str,
    group: &'p str,
    topics: &'p [usize],
    /// The flow whose own group it is.
    flow: Option<&'p str>,
}

/// A flow's window, or one from the first to the last of all.
fn window(flows: &[FlowResult], flow: Option<&str>) -> Option<(f64, f64)> {
    let windows = flows.iter().filter(|one| flow.is_none_or(|name| *name == one.name)).filter_map(|one| one.window);
    windows.map(|one| (one.start_s, one.end_s)).reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
}

fn within(window: Option<(f64, f64)>, series: &[LagPoint]) -> Vec<LagPoint> {
    let Some((start_s, end_s)) = window else { return Vec::new() };
    series.iter().copied().filter(|point| (start_s..=end_s).contains(&point.at_s)).collect()
}

/// What a person should know: where a lag is not known.
pub(super) fn warnings(lag: &LagResult) -> Vec<String> {
    let whose = match &lag.flow {
        Some(flow) => format!("the lag of flow `{flow}`"),
        None => format!("lag `{}`", lag.name),
    };
    if lag.at_end.is_none() && !lag.series.is_empty() {
        return vec![format!("{whose} could not be told at the end: the last sample is missing")];
    }
    let unknown: Vec<String> = lag
        .partitions
        .iter()
        .filter(|one| one.at_end.is_none())
        .map(|one| format!("{} {}", one.topic, one.partition))
        .collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    let more = if unknown.len() > MOST_NAMED { ", …" } else { "" };
    vec![format!(
        "{whose} is n/a for {} of {}: the group `{}` has committed nothing there ({}{more})",
        unknown.len(),
        plural(lag.partitions.len() as u64, "partition"),
        lag.group,
        unknown[..unknown.len().min(MOST_NAMED)].join(", ")
    )]
}

/// One line for a person.
pub(super) fn line(lag: &LagResult) -> String {
    let whose = format!("{} (group {})", lag.name, lag.group);
    let (Some(first), Some(max)) = (lag.series.first(), lag.max) else {
        return format!("{whose}: n/a");
    };
    let at_end = lag.at_end.map_or("n/a".to_owned(), count);
    let by_commit = match lag.by_commit_at_end.filter(|records| Some(*records) != lag.at_end) {
        Some(records) => format!(" ({} by what is committed)", count(records)),
        None => String::new(),
    };
    let trend = match lag.grows_per_s {
        Some(slope) if slope > 0.0 => format!("; grows by {} records/s", decimal(slope)),
        Some(slope) => format!("; shrinks by {} records/s", decimal(-slope)),
        None => String::new(),
    };
    let (first, max) = (count(first.records), count(max));
    format!("{whose}: {first} records at the start, at most {max}, {at_end} at the end{by_commit}{trend}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lag() -> LagResult {
        LagResult {
            name: "orders".into(),
            group: "order-service".into(),
            topics: vec!["a.orders".into()],
            flow: None,
            series: vec![LagPoint { at_s: 0.0, records: 5 }, LagPoint { at_s: 1.0, records: 1_205 }],
            max: Some(1_205),
            at_end: Some(1_105),
            by_commit_at_end: None,
            grows_per_s: Some(200.4),
            partitions: vec![LagPartition { topic: "a.orders".into(), partition: 0, at_end: Some(1_105) }],
        }
    }

    #[test]
    fn a_line_says_where_it_was_and_where_it_goes() {
        let text = "orders (group order-service): 5 records at the start, at most 1,205, 1,105 at the end";
        assert_eq!(line(&lag()), format!("{text}; grows by 200 records/s"));
        assert_eq!(line(&LagResult { grows_per_s: None, ..lag() }), text);
        assert!(line(&LagResult { grows_per_s: Some(-9.5), ..lag() }).ends_with("; shrinks by 9.50 records/s"));
        let own = LagResult { by_commit_at_end: Some(1_110), grows_per_s: None, ..lag() };
        assert_eq!(line(&own), format!("{text} (1,110 by what is committed)"));
        assert_eq!(line(&LagResult { series: Vec::new(), max: None, ..lag() }), "orders (group order-service): n/a");
    }

    #[test]
    fn what_is_not_known_is_told_once() {
        assert_eq!(warnings(&lag()), Vec::<String>::new());
        let mut unknown = lag();
        unknown.partitions.extend((1..40).map(|partition| LagPartition {
            topic: "a.orders".into(),
            partition,
            at_end: None,
        }));
        let told = warnings(&unknown);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with("lag `orders` is n/a for 39 of 40 partitions: the group `order-service` has committed")
        );
        assert!(told[0].contains("(a.orders 1, a.orders 2,") && told[0].ends_with(", a.orders 16, …)"), "{}", told[0]);
        let lost = LagResult { at_end: None, flow: Some("app".into()), ..unknown };
        assert_eq!(warnings(&lost), ["the lag of flow `app` could not be told at the end: the last sample is missing"]);
    }

    #[test]
    fn only_the_window_counts() {
        let points = lag().series;
        assert_eq!(within(Some((0.5, 9.0)), &points), points[1..]);
        assert_eq!(within(None, &points), []);
    }
}
