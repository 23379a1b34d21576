//! What can be wrong with a data set's file, with the line that it is in.

use std::io;

use crate::plan::format_bytes;

/// Why a data set can't be opened.
#[derive(Debug, thiserror::Error)]
#[error("{place}{problem}")]
pub struct Error {
    place: String,
    #[source]
    problem: Problem,
}

/// What it is. Each begins with what stands between the file's name and the message.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error(" can't be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error(" is empty")]
    Empty,
    #[error(" is UTF-16, not UTF-8")]
    Utf16,
    #[error(" has no rows{}", no_rows(*below_header, *skipped))]
    NoRows { below_header: bool, skipped: u64 },
    #[error(":{line}: the header is not UTF-8")]
    HeaderNotText { line: u64 },
    #[error(":{line}: two columns are named {name:?}")]
    ColumnTwice { line: u64, name: String },
    #[error(":{line}: the row has {cells}, where the header has {columns}{}", to_line(*line, *last_line))]
    Ragged { line: u64, last_line: u64, cells: Count, columns: usize },
    #[error(":{line}: a quoted cell of this row is never closed")]
    OpenQuote { line: u64 },
    #[error(":{line}: text follows a cell's closing quote{}", of_row(*line, *row_line))]
    AfterQuote { line: u64, row_line: u64 },
    #[error(":{line}: this is not JSON: {reason}")]
    NotJson { line: u64, reason: String },
}

/// A number of cells.
#[derive(Debug)]
pub(super) struct Count(pub(super) usize);

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cell{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

fn no_rows(below_header: bool, skipped: u64) -> String {
    match (below_header, skipped) {
        (true, _) => " below its header".to_owned(),
        (false, 0) => String::new(),
        (false, count) => format!(": all of its {count} messages are empty"),
    }
}

fn to_line(first: u64, last: u64) -> String {
    if first == last { String::new() } else { format!(" (it goes on to line {last}: is there a quote too many?)") }
}

fn of_row(line: u64, row_line: u64) -> String {
    if line == row_line { String::new() } else { format!(", in a row that begins in line {row_line}") }
}

impl Error {
    pub(super) fn new(place: String, problem: Problem) -> Self {
        Error { place, problem }
    }

    /// What to do next; `name` is the data set's.
    pub fn hint(&self, name: &str) -> String {
        let hint = match self.problem {
            Problem::Unreadable(_) => "name another file: --set data.NAME.file=PATH",
            Problem::Empty | Problem::NoRows { .. } => {
                "a data set has at least one row; CSV has its columns' names in the first"
            }
            Problem::Utf16 => "save it as UTF-8: spreadsheets have that among the kinds of CSV",
            Problem::HeaderNotText { .. } => "save the file as UTF-8",
            Problem::ColumnTwice { .. } => "give each column a name of its own",
            Problem::Ragged { .. } => {
                "mend the row, or say which character is between the cells: --set data.NAME.delimiter=\";\""
            }
            Problem::OpenQuote { .. } | Problem::AfterQuote { .. } => "a quote within a quoted cell is written twice",
            Problem::NotJson { .. } => {
                "each line of JSON lines is a JSON text of its own; format = \"raw\" takes any lines"
            }
        };
        hint.replace("NAME", name)
    }
}

/// Why rows can't be read in mid-run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// More than the reader has room for.
    #[error("the rows take more than {}", format_bytes(*most))]
    TooLarge {
        /// The room, in bytes.
        most: u64,
    },
    /// The file is not as it was.
    #[error("its file was changed while it was in use")]
    Changed,
    /// The system says no.
    #[error("its file can't be read any more: {0}")]
    Unreadable(#[source] io::Error),
}
