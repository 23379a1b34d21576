//! What a later khost will know: refused by name, so that it isn't taken for a slip.

use crate::plan::error::{Error, Problem};
use crate::plan::tree::Node;

const TABLES_TO_COME: &[&str] = &["channels", "data", "thresholds", "observe", "matrix"];
const KINDS_TO_COME: &[&str] = &["session", "consume"];
const FLOW_KEYS_TO_COME: &[&str] = &["after", "ends-run"];

/// Refuses by name what a later khost will know, so that it isn't taken for a slip.
pub(in crate::plan) fn refuse_what_is_to_come(document: &Node) -> Result<(), Error> {
    let to_come = |what: String| Error::new(Problem::NotYet(what));
    let entries = |node: Option<&'_ Node>| node.and_then(Node::table).map(|table| table.0.clone()).unwrap_or_default();
    for table in entries(Some(document)) {
        if TABLES_TO_COME.contains(&table.key.as_str()) {
            return Err(to_come(format!("[{}]", table.key)).at(&table.origin));
        }
    }
    for flow in entries(document.find(&["flows"])) {
        for setting in entries(Some(&flow.node)) {
            let kind = setting.node.text().filter(|kind| setting.key == "kind" && KINDS_TO_COME.contains(kind));
            if let Some(kind) = kind {
                let error = to_come(format!("kind = {kind:?}")).on(&["flows", &flow.key]).at(&setting.node.origin);
                return Err(error.with_hint("the kind of flow that there is: \"stream\""));
            }
            if FLOW_KEYS_TO_COME.contains(&setting.key.as_str()) {
                return Err(to_come(format!("`{}`", setting.key)).on(&["flows", &flow.key]).at(&setting.origin));
            }
        }
    }
    Ok(())
}
