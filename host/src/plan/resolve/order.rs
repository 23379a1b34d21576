//! Which flow begins after what.

use super::flow::is_enabled;
use super::names::WARM_UP;
use super::refuse;
use crate::plan::error::Error;
use crate::plan::manifest::{FlowTable, Named};
use crate::plan::tree::Node;
use crate::plan::{After, End, Flow};

/// Gives each of the enabled flows what it waits for.
pub(super) fn resolve(tables: &Named<FlowTable>, flows: &mut [Flow], document: &Node) -> Result<(), Error> {
    for at in 0..flows.len() {
        let name = flows[at].name.clone();
        let table = tables.0.iter().find(|(known, _)| *known == name).map(|(_, table)| table);
        let Some(wanted) = table.and_then(|table| table.after.as_deref()) else { continue };
        let after =
            find(&name, wanted, tables, flows).map_err(|error| refuse(document, &["flows", &name, "after"], error))?;
        flows[at].after = Some(after);
    }
    for at in 0..flows.len() {
        let error = circle(flows, at).or_else(|| endless(flows, at));
        if let Some(error) = error {
            return Err(refuse(document, &["flows", &flows[at].name, "after"], error));
        }
    }
    Ok(())
}

fn find(name: &str, wanted: &str, tables: &Named<FlowTable>, flows: &[Flow]) -> Result<After, Error> {
    if wanted == WARM_UP {
        return Ok(After::WarmUp);
    }
    if wanted == name {
        let error = Error::refused("a flow can't begin after itself");
        return Err(error.with_hint("after = \"warm-up\", or the name of another flow"));
    }
    if let Some(flow) = flows.iter().position(|flow| flow.name == wanted) {
        return Ok(After::Flow(flow));
    }
    if tables.0.iter().any(|(known, table)| known == wanted && !is_enabled(table)) {
        let error =
            Error::refused(format!("flows.{wanted} is not enabled, so it never ends and flows.{name} never begins"));
        let hint = format!(
            "--set flows.{name}.after=warm-up begins it without, --set flows.{name}.enabled=false leaves it out, too"
        );
        return Err(error.with_hint(hint));
    }
    let others = tables.0.iter().map(|(known, _)| known.as_str()).filter(|known| *known != name);
    Err(Error::unknown("flow", wanted, others.chain([WARM_UP])))
}

/// The flow waits for one that waits for it, directly or not.
fn circle(flows: &[Flow], start: usize) -> Option<Error> {
    let mut names = vec![flows[start].name.as_str()];
    let mut at = start;
    while let Some(After::Flow(next)) = flows[at].after {
        names.push(&flows[next].name);
        if next == start {
            let error = Error::refused(format!("the flows wait for each other: {}", names.join(" -> ")));
            return Some(error.with_hint("one of them has to begin with the run, or after = \"warm-up\""));
        }
        // it leads into a circle that it is not part of: told of one that is
        if names.len() > flows.len() {
            break;
        }
        at = next;
    }
    None
}

/// The flow waits for one that goes on until the run ends.
fn endless(flows: &[Flow], at: usize) -> Option<Error> {
    let Some(After::Flow(first)) = flows[at].after else { return None };
    let first = &flows[first];
    if first.end != End::default() || first.kind.has_stages() {
        return None;
    }
    let name = &first.name;
    let error = Error::refused(format!("flows.{name} goes on until the run ends, so this flow would never begin"));
    Some(error.with_hint(format!("give flows.{name} an end of its own: iterations or duration")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve::tests::{plan, refused};

    fn flow(name: &str, settings: &str) -> String {
        format!("[flows.{name}]\nkind = \"stream\"\n{settings}\n")
    }

    #[test]
    fn a_flow_waits_for_the_warm_up_or_for_another() {
        let plan = plan(
            &[
                flow("a", "after = \"c\""),
                flow("off", "enabled = false"),
                flow("b", "after = \"warm-up\""),
                flow("c", ""),
            ]
            .concat(),
        );
        let after: Vec<_> = plan.flows.iter().map(|flow| flow.after).collect();
        assert_eq!(after, [Some(After::Flow(2)), Some(After::WarmUp), None]);
    }

    #[test]
    fn what_would_never_begin_is_refused_with_its_place_and_a_hint() {
        for (flows, message, hint) in [
            (flow("a", "after = \"a\""), "scenario.toml:5:9: flows.a.after: a flow can't begin after itself", "hint: "),
            (flow("a", "after = \"warmup\""), "there is no flow \"warmup\"", "hint: did you mean `warm-up`?"),
            (
                [flow("import", ""), flow("a", "after = \"imprt\"")].concat(),
                "there is no flow \"imprt\"",
                "hint: did you mean `import`?",
            ),
            (
                [flow("a", "after = \"b\""), flow("b", "after = \"c\""), flow("c", "after = \"a\"")].concat(),
                "flows.a.after: the flows wait for each other: a -> b -> c -> a",
                "hint: ",
            ),
            (
                [flow("x", "after = \"a\""), flow("a", "after = \"b\""), flow("b", "after = \"a\"")].concat(),
                "flows.a.after: the flows wait for each other: a -> b -> a",
                "hint: ",
            ),
            (
                [flow("a", "after = \"b\""), flow("b", "enabled = false")].concat(),
                "flows.a.after: flows.b is not enabled, so it never ends and flows.a never begins",
                "hint: --set flows.a.after=warm-up",
            ),
            (
                [flow("a", ""), flow("b", "after = \"a\"\nends-run = true\nmessages = 5")].concat(),
                "flows.b.after: flows.a goes on until the run ends, so this flow would never begin",
                "hint: give flows.a",
            ),
            (flow("warm-up", ""), "flows.warm-up: no flow can be named warm-up", "hint: "),
        ] {
            let error = refused(&flows);
            assert!(error.contains(message) && error.contains(hint), "{flows}: {error}");
        }
    }
}
