//! What ends a flow.

use std::time::Duration;

use super::listing::Listing;
use super::{pace, refuse};
use crate::plan::amount::{Count, Length};
use crate::plan::error::Error;
use crate::plan::manifest::{FlowTable, RunTable};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::{Arrivals, End, FlowKind, Pace, Session, WarmUp, format_duration};

const DURATION: Duration = Duration::from_secs(10);

/// What of the run bears on a flow's end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'r> {
    pub(super) run: &'r RunTable,
    pub(super) warm_up: WarmUp,
    /// It waits for something before it begins.
    pub(super) waits: bool,
    /// The run ends with it.
    pub(super) ends_run: bool,
    /// The run ends with some flow.
    pub(super) run_is_ended: bool,
}

/// A flow's own settings, else the run's, else the end of its stages, else the flow that ends the run, else ten seconds.
pub(super) fn resolve(
    name: &str,
    table: &FlowTable,
    place: Place<'_>,
    kind: &FlowKind,
    document: &Node,
    listing: &mut Listing,
) -> Result<End, Error> {
    let own = own(name, table, document)?;
    let of_run = end(place.run.messages, place.run.iterations, place.run.duration);
    let is_of_run = own.is_none() && of_run.is_some();
    let nothing_else = Origin::Default("nothing else ends the run".to_owned());
    let mut end = match (own.or(of_run), Course::of(kind)) {
        (given, Some(course)) => {
            // the warm-up is no part of a flow that waits
            let warm_up = if place.waits { WarmUp::None } else { place.warm_up };
            let end = end_of_stages(name, course, warm_up, document)?;
            given.unwrap_or_else(|| {
                let how = Origin::Derived("to the end of its stages".to_owned());
                let (key, value) = match (end.iterations, end.duration) {
                    (Some(iterations), _) => ("iterations", iterations.to_string()),
                    (None, duration) => ("duration", written(duration.unwrap_or(course.length))),
                };
                listing.assume(&format!("flows.{name}"), key, &value, how);
                end
            })
        }
        (Some(end), _) => end,
        (None, _) if place.ends_run => {
            listing.assume(&format!("flows.{name}"), "duration", &written(DURATION), nothing_else);
            End { duration: Some(DURATION), ..End::default() }
        }
        (None, _) if place.run_is_ended => End::default(),
        (None, _) => {
            listing.assume("run", "duration", &written(DURATION), nothing_else);
            let duration = Some(DURATION);
            return Ok(match place.waits {
                true => End { run_duration: duration, ..End::default() },
                false => End { duration, ..End::default() },
            });
        }
    };
    if place.waits && is_of_run {
        end.run_duration = end.duration.take();
    }
    if place.run_is_ended {
        end.run_duration = place.run.duration.map(|length| length.0);
    }
    Ok(end)
}

/// What stages come to: how long they last, and how many iterations they have, if they are those of a rate.
#[derive(Debug, Clone, Copy)]
struct Course {
    length: Duration,
    iterations: Option<u64>,
}

impl Course {
    fn of(kind: &FlowKind) -> Option<Self> {
        if let FlowKind::Session(Session { arrivals: Arrivals::Closed { stages, .. }, .. }) = kind {
            let length = stages.iter().map(|stage| stage.length).sum();
            return (!stages.is_empty()).then_some(Course { length, iterations: None });
        }
        match kind.pace() {
            Pace::Stages(stages) => {
                Some(Course { length: pace::length(stages), iterations: Some(pace::iterations(stages)) })
            }
            _ => None,
        }
    }
}

fn written(duration: Duration) -> String {
    format!("\"{}\"", format_duration(duration))
}

/// What the flow's own table says.
pub(super) fn own(name: &str, table: &FlowTable, document: &Node) -> Result<Option<End>, Error> {
    check_positive(&["flows", name], table.messages, table.iterations, table.duration, document)?;
    let by_count = end(table.messages, table.iterations, table.duration);
    let at_ends = table.until.is_some().then(|| End { at_ends: true, ..by_count.clone().unwrap_or_default() });
    Ok(at_ends.or(by_count))
}

/// The messages of a consume flow are the records that it reads, which are its iterations.
pub(super) fn of_records(name: &str, table: &FlowTable, end: End, document: &Node) -> Result<End, Error> {
    if table.messages.is_some() && table.iterations.is_some() {
        let error = Error::refused("`messages` and `iterations` both mean the records that a consume flow reads");
        return Err(refuse(document, &["flows", name, "messages"], error.with_hint("give one of them")));
    }
    Ok(End { iterations: end.iterations.into_iter().chain(end.messages).min(), messages: None, ..end })
}

fn end(messages: Option<Count>, iterations: Option<Count>, duration: Option<Length>) -> Option<End> {
    let end = End {
        messages: messages.map(|count| count.0),
        iterations: iterations.map(|count| count.0),
        duration: duration.map(|length| length.0),
        run_duration: None,
        at_ends: false,
    };
    (end != End::default()).then_some(end)
}

/// Stages begin with the flow, and the warm-up takes the first of them.
fn end_of_stages(name: &str, course: Course, warm_up: WarmUp, document: &Node) -> Result<End, Error> {
    let Course { length, iterations } = course;
    let left = match warm_up {
        WarmUp::None => End { duration: Some(length), ..End::default() },
        WarmUp::Time(warm_up) => End { duration: length.checked_sub(warm_up), ..End::default() },
        WarmUp::Iterations(count) => match iterations {
            Some(iterations) => End { iterations: iterations.checked_sub(count), ..End::default() },
            // users do as many as they can, and the stages end the flow by themselves
            None => return Ok(End::default()),
        },
    };
    if left.iterations.unwrap_or_default() > 0 || !left.duration.unwrap_or_default().is_zero() {
        return Ok(left);
    }
    let all = match iterations {
        Some(iterations) => format!("{} and have {iterations} iterations", format_duration(length)),
        None => format_duration(length),
    };
    let error = Error::refused(format!("the warm-up takes all of the stages of flows.{name}, which last {all}"));
    Err(refuse(document, &["run", "warm-up"], error.with_hint("the stages begin with the run, warm-up included")))
}

/// Refuses an end that is there at once.
pub(super) fn check_positive(
    table: &[&str],
    messages: Option<Count>,
    iterations: Option<Count>,
    duration: Option<Length>,
    document: &Node,
) -> Result<(), Error> {
    let zero = [
        ("messages", messages == Some(Count(0))),
        ("iterations", iterations == Some(Count(0))),
        ("duration", duration.is_some_and(|length| length.0.is_zero())),
    ];
    match zero.iter().find(|(_, zero)| *zero) {
        Some((key, _)) => {
            let path = [table, &[*key]].concat();
            let error = Error::refused("it would end before it begins").with_hint("enabled = false turns a flow off");
            Err(refuse(document, &path, error))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve::tests::{plan, refused};

    fn ends(flow: &str, run: &str) -> End {
        plan(&format!("[flows.w]\nkind = \"stream\"\n{flow}\n[run]\n{run}")).flows[0].end.clone()
    }

    fn seconds(seconds: u64) -> End {
        End { duration: Some(Duration::from_secs(seconds)), ..End::default() }
    }

    const STAGES: &str =
        "rate = \"0/s\"\nstages = [{ for = \"10s\", rate = \"100/s\" }, { for = \"20s\", rate = \"0/s\" }]";

    #[test]
    fn a_flows_own_end_stands_before_the_runs_as_a_whole() {
        assert_eq!(ends("", ""), seconds(10));
        assert_eq!(ends("", "duration = \"1m\"\nmessages = 5"), End { messages: Some(5), ..seconds(60) });
        assert_eq!(ends("iterations = \"1k\"", "duration = \"1m\""), End { iterations: Some(1000), ..End::default() });
    }

    #[test]
    fn stages_end_a_flow_when_nothing_else_does() {
        assert_eq!(ends(STAGES, ""), seconds(30));
        assert_eq!(ends(STAGES, "warm-up = \"5s\""), seconds(25));
        assert_eq!(ends(STAGES, "warm-up = 500"), End { iterations: Some(1000), ..End::default() });
        assert_eq!(ends(STAGES, "duration = \"1h\""), seconds(3600));
    }

    fn end_of(name: &str, flows: &str, run: &str) -> End {
        let plan = plan(&format!("{flows}\n[run]\n{run}"));
        plan.flows.iter().find(|flow| flow.name == name).expect("the flow").end.clone()
    }

    #[test]
    fn a_flow_that_waits_counts_its_own_duration_from_its_beginning_and_ends_with_the_run_without() {
        let waits = |own: &str| format!("[flows.w]\nkind = \"stream\"\nafter = \"warm-up\"\n{own}");
        let with_run = |seconds| End { run_duration: Some(Duration::from_secs(seconds)), ..End::default() };
        assert_eq!(end_of("w", &waits(""), ""), with_run(10));
        assert_eq!(end_of("w", &waits(""), "duration = \"1m\""), with_run(60));
        assert_eq!(
            end_of("w", &waits(""), "duration = \"1m\"\nmessages = 5"),
            End { messages: Some(5), ..with_run(60) }
        );
        assert_eq!(end_of("w", &waits("duration = \"5s\""), "duration = \"1m\""), seconds(5));
        assert_eq!(end_of("w", &waits(STAGES), "warm-up = \"40s\""), seconds(30));
    }

    #[test]
    fn flows_without_an_end_run_until_the_one_that_ends_the_run_has_ended() {
        let flows =
            |own: &str| format!("[flows.w]\nkind = \"stream\"\n[flows.job]\nkind = \"stream\"\nends-run = true\n{own}");
        assert_eq!(end_of("w", &flows("messages = 5"), ""), End::default());
        assert_eq!(end_of("job", &flows("messages = 5"), ""), End { messages: Some(5), ..End::default() });
        // nothing else ends it
        assert_eq!(end_of("job", &flows(""), ""), seconds(10));
        assert_eq!(end_of("w", &flows("enabled = false"), ""), seconds(10));
        let bound = Some(Duration::from_secs(60));
        assert_eq!(end_of("w", &flows(""), "duration = \"1m\""), End { run_duration: bound, ..seconds(60) });
        let job = End { messages: Some(5), run_duration: bound, ..End::default() };
        assert_eq!(end_of("job", &flows("messages = 5"), "duration = \"1m\""), job);
    }

    #[test]
    fn ends_that_can_not_be_are_refused() {
        let flow =
            |settings: &str, run: &str| refused(&format!("[flows.w]\nkind = \"stream\"\n{settings}\n[run]\n{run}"));
        assert!(flow("messages = 0", "").contains("flows.w.messages: it would end before it begins"));
        assert!(flow("", "duration = \"0s\"").contains("run.duration: it would end before it begins"));
        assert!(
            flow(STAGES, "warm-up = \"30s\"")
                .contains("run.warm-up: the warm-up takes all of the stages of flows.w, which last 30s")
        );
        assert!(flow(STAGES, "warm-up = 1500").contains("which last 30s and have 1500 iterations"));
        assert!(flow(STAGES, "warm-up = \"1m\"\nmessages = 5").contains("run.warm-up: the warm-up takes all"));
    }
}
