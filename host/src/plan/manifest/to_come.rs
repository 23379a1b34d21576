//! What a later khost will know: refused by name, so that it isn't taken for a slip.

use crate::plan::error::{Error, Problem};
use crate::plan::tree::Node;

const TABLES_TO_COME: &[&str] = &["thresholds", "observe", "matrix"];

/// Refuses the tables that are to come.
pub(in crate::plan) fn refuse_what_is_to_come(document: &Node) -> Result<(), Error> {
    let to_come = |what: String| Error::new(Problem::NotYet(what));
    if let Some(table) = document.entries(&[]).iter().find(|table| TABLES_TO_COME.contains(&table.key.as_str())) {
        return Err(to_come(format!("[{}]", table.key)).at(&table.origin));
    }
    Ok(())
}
