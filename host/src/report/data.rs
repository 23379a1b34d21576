//! What a run made of its data sets.

use super::document::{DataResult, FlowResult};
use super::numbers::{count, decimal, plural};
use crate::load::DataFigures;
use crate::plan::{DataSet, End, Plan};

/// By data set, in the plan's order.
pub(super) fn results(plan: &Plan, figures: &[DataFigures]) -> Vec<DataResult> {
    let result = |(planned, figures): (&DataSet, &DataFigures)| DataResult {
        name: planned.name.clone(),
        file: planned.file.to_string(),
        order: planned.order.name(),
        rows: figures.rows,
        skipped: figures.skipped,
        handed_out: figures.handed_out,
        exhausted_at_s: figures.exhausted_ns.map(|ns| ns as f64 / 1e9),
    };
    plan.data.iter().zip(figures).map(result).collect()
}

/// What a person should know of a data set: that there was too little of it.
pub(super) fn warning(data: &DataResult) -> Option<String> {
    Some(format!("data set `{}` {}", data.name, exhausted(data)?))
}

fn exhausted(data: &DataResult) -> Option<String> {
    let at_s = data.exhausted_at_s?;
    Some(format!("exhausted after {} at {} s", plural(data.handed_out, "row"), decimal(at_s)))
}

/// Why a run did not pass: flows that had nothing left to do, as a data set had no more rows, before what was asked of
/// them was done.
pub(super) fn reasons(plan: &Plan, flows: &[FlowResult], data: &[DataResult], figures: &[DataFigures]) -> Vec<String> {
    let mut reasons = Vec::new();
    for (data, figures) in data.iter().zip(figures) {
        let Some(exhausted) = exhausted(data) else { continue };
        for ((planned, flow), short) in plan.flows.iter().zip(flows).zip(&figures.short) {
            if *short && fell_short(&planned.end, flow) {
                reasons.push(format!("flow `{}`: data set `{}` {exhausted}", planned.name, data.name));
            }
        }
    }
    reasons
}

fn fell_short(end: &End, flow: &FlowResult) -> bool {
    let reached = end.iterations.is_some_and(|iterations| flow.iterations.ran >= iterations)
        || end.messages.is_some_and(|messages| flow.messages.sent >= messages);
    flow.exhausted && !reached
}

/// One line for a person.
pub(super) fn line(data: &DataResult) -> String {
    let skipped = match data.skipped {
        0 => String::new(),
        n => format!(" ({} skipped)", plural(n, "empty message")),
    };
    let exhausted = exhausted(data).map_or(String::new(), |text| format!("; {text}"));
    format!(
        "{}: {} of {}{skipped}, {}: {} handed out{exhausted}",
        data.name,
        plural(data.rows, "row"),
        data.file,
        data.order,
        count(data.handed_out)
    )
}
