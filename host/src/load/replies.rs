//! The channels of a run: made before its workers, read until they are through.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::run::{RunError, Running};
use super::shared::Shared;
use super::stop::Ended;
use crate::kafka::{Book, Hooks, Ids, Line, Readers, ReadersSetup};
use crate::measure::{RunClock, Sample};

/// The channels, in the plan's order.
pub(super) fn lines(
    running: &Running<'_>,
    ids: &Arc<Ids>,
    clock: &RunClock,
    samples: &Sender<Sample>,
) -> Vec<Arc<Line>> {
    let plan = running.plan;
    let line = |channel: &crate::plan::Channel| {
        let book = Book::new(ids.clone(), channel.keep, plan.flows.len(), clock.clone(), samples.clone());
        let partitions = channel.topics.iter().map(|number| running.cluster.topics[*number].partitions);
        Arc::new(Line::new(channel.clone(), book, partitions))
    };
    plan.channels.iter().map(line).collect()
}

/// Begins to read: what is written from now on is seen.
pub(super) fn start(running: &Running<'_>, shared: &Arc<Shared>) -> Result<Readers, RunError> {
    let setup = ReadersSetup { reach: running.reach, embedded: running.embedded, topics: &running.plan.topics };
    let (asked, told) = (shared.clone(), shared.clone());
    let hooks = Hooks {
        is_over: Box::new(move || asked.stop.is_over()),
        died: Box::new(move |why| told.stop.end_because(Ended::Failed(why))),
    };
    Ok(Readers::start(&setup, &shared.lines, hooks)?)
}

/// Whether no request waits for its reply.
pub(super) fn are_quiet(shared: &Shared) -> bool {
    shared.lines.iter().all(|line| line.book.is_quiet())
}
