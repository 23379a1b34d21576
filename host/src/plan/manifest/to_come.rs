//! What a later khost will know: refused by name, so that it isn't taken for a slip.

use crate::plan::error::{Error, Problem};
use crate::plan::tree::Node;

const TABLES_TO_COME: &[&str] = &["thresholds", "observe", "matrix"];
const KINDS_TO_COME: &[&str] = &["consume"];

/// Refuses the tables and the kinds of flow that are to come.
pub(in crate::plan) fn refuse_what_is_to_come(document: &Node) -> Result<(), Error> {
    let to_come = |what: String| Error::new(Problem::NotYet(what));
    if let Some(table) = document.entries(&[]).iter().find(|table| TABLES_TO_COME.contains(&table.key.as_str())) {
        return Err(to_come(format!("[{}]", table.key)).at(&table.origin));
    }
    for flow in document.entries(&["flows"]) {
        for setting in flow.node.entries(&[]) {
            let error = match setting.node.text() {
                Some(kind) if setting.key == "kind" && KINDS_TO_COME.contains(&kind) => {
                    to_come(format!("kind = {kind:?}"))
                        .with_hint("the kinds of flow that there are: \"stream\" and \"session\"")
                }
                _ => continue,
            };
            return Err(error.on(&["flows", &flow.key]).at(&setting.origin));
        }
    }
    Ok(())
}
