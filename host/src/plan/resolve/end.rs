//! What ends a flow.

use std::time::Duration;

use super::listing::Listing;
use super::{pace, refuse};
use crate::plan::amount::{Count, Length};
use crate::plan::error::Error;
use crate::plan::manifest::{FlowTable, RunTable};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::{End, Pace, Run, Stage, WarmUp, format_duration};

const DURATION: Duration = Duration::from_secs(10);

/// A flow's own settings, else the run's, else the end of its stages, else ten seconds.
pub(super) fn resolve(
    name: &str,
    table: &FlowTable,
    for_all: &RunTable,
    run: &Run,
    pace: &Pace,
    document: &Node,
    listing: &mut Listing,
) -> Result<End, Error> {
    check_positive(&["flows", name], table.messages, table.iterations, table.duration, document)?;
    let own = end(table.messages, table.iterations, table.duration);
    let given = own.or_else(|| end(for_all.messages, for_all.iterations, for_all.duration));
    match (given, pace) {
        (given, Pace::Stages(stages)) => {
            let end = end_of_stages(name, stages, run, document)?;
            Ok(given.unwrap_or_else(|| {
                let how = Origin::Derived("to the end of its stages".to_owned());
                let (key, value) = match (end.iterations, end.duration.unwrap_or_default()) {
                    (Some(iterations), _) => ("iterations", iterations.to_string()),
                    (None, duration) => ("duration", format!("\"{}\"", format_duration(duration))),
                };
                listing.assume(&format!("flows.{name}"), key, &value, how);
                end
            }))
        }
        (Some(end), _) => Ok(end),
        (None, _) => {
            let reason = Origin::Default("nothing else ends the run".to_owned());
            listing.assume("run", "duration", &format!("\"{}\"", format_duration(DURATION)), reason);
            Ok(End { duration: Some(DURATION), ..End::default() })
        }
    }
}

fn end(messages: Option<Count>, iterations: Option<Count>, duration: Option<Length>) -> Option<End> {
    let end = End {
        messages: messages.map(|count| count.0),
        iterations: iterations.map(|count| count.0),
        duration: duration.map(|length| length.0),
    };
    (end != End::default()).then_some(end)
}

/// Stages begin with the run, and the warm-up takes the first of them.
fn end_of_stages(name: &str, stages: &[Stage], run: &Run, document: &Node) -> Result<End, Error> {
    let length = pace::length(stages);
    let iterations = pace::iterations(stages);
    let left = match run.warm_up {
        WarmUp::None => End { duration: Some(length), ..End::default() },
        WarmUp::Time(warm_up) => End { duration: length.checked_sub(warm_up), ..End::default() },
        WarmUp::Iterations(count) => End { iterations: iterations.checked_sub(count), ..End::default() },
    };
    if left.iterations.unwrap_or_default() > 0 || !left.duration.unwrap_or_default().is_zero() {
        return Ok(left);
    }
    let all = format!("{} and have {iterations} iterations", format_duration(length));
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
