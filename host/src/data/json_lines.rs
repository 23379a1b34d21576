//! JSON lines, gone through once: each line is checked to be JSON.

use serde::de::IgnoredAny;

use super::Index;
use super::error::Problem;
use super::input::Input;
use super::rows::without_line_break;

/// Where the lines begin that are not blank.
pub(super) fn index(input: &mut Input<'_>) -> Result<Index, Problem> {
    if input.fill()?.is_empty() {
        return Err(Problem::Empty);
    }
    input.skip_mark()?;
    let mut index = Index::default();
    let mut line = Vec::new();
    loop {
        let (start, number) = (input.at, input.line);
        if !input.read_line(&mut line)? {
            break;
        }
        let text = without_line_break(&line);
        if text.trim_ascii().is_empty() {
            continue;
        }
        check(text).map_err(|reason| Problem::NotJson { line: number, reason })?;
        index.starts.push(start);
    }
    if !index.starts.is_empty() {
        index.starts.push(input.at);
    }
    Ok(index)
}

fn check(text: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(text).map_err(|error| format!("not UTF-8 at column {}", error.valid_up_to() + 1))?;
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Ok(()),
        // it counts lines itself, and has seen one
        Err(error) => Err(error.to_string().replace(" at line 1 column ", " at column ")),
    }
}
