//! Whose lag is told in a run: its consume flows' groups, and those of the application that the plan names.

use std::sync::Arc;
use std::time::Duration;

use super::active::ActiveFlow;
use super::run::{RunError, Running};
use super::start::partitions;
use super::stop::Stop;
use crate::kafka::{Group, LagSetup, LagWatch, Watched};
use crate::measure::RunClock;
use crate::plan::FlowKind;

/// How long the last sample may take, with a look at what lies before the ends.
const LAST: Duration = Duration::from_secs(5);
/// The same when nothing may wait any more.
const LAST_NOW: Duration = Duration::from_millis(500);

/// Starts to ask, where there is any group. Its flows have their consumers.
pub(super) fn start(
    running: &Running<'_>,
    flows: &[ActiveFlow],
    clock: &RunClock,
) -> Result<Option<LagWatch>, RunError> {
    let plan = running.plan;
    let own = plan.flows.iter().zip(flows).flat_map(|(planned, live)| {
        let (FlowKind::Consume(consume), Some(readers)) = (&planned.kind, &live.flow.readers) else {
            return Vec::new();
        };
        let isolation = live.consumer_settings.get("isolation.level");
        let of_group = |group: &Arc<Group>| Watched {
            group: group.name.clone(),
            topics: consume.topics.clone(),
            read_committed: isolation.is_none_or(|level| level == "read_committed"),
            own: Some(group.clone()),
        };
        readers.groups().iter().map(of_group).collect()
    });
    let named = plan.lag.iter().map(|lag| Watched {
        group: lag.group.clone(),
        topics: lag.topics.clone(),
        read_committed: lag.read_committed,
        own: None,
    });
    let watched: Vec<Watched> = own.chain(named).collect();
    if watched.is_empty() {
        return Ok(None);
    }
    let setup = LagSetup {
        reach: running.reach,
        topics: &plan.topics,
        partitions: &partitions(running.cluster),
        embedded: running.embedded,
        watched,
        clock: clock.clone(),
    };
    Ok(Some(LagWatch::start(setup)?))
}

/// How long the last sample may take.
pub(super) fn last_takes(stop: &Stop) -> Duration {
    if stop.is_over() { LAST_NOW } else { LAST }
}
