//! Data sets: files of rows, indexed once and read in place; and which row is next.
//!
//! A file is checked to its last row when it is opened, so that a load never meets a bad one. Small ones are kept as one
//! copy. Larger ones are read with `pread`, not mapped: were the file cut meanwhile, a map would end the process with a
//! signal and take the results along, and its pages would count as khost's memory. For Kafka and guests, look elsewhere.

mod csv;
mod error;
mod input;
mod json_lines;
mod order;
mod raw;
mod rows;
mod source;

pub use error::{Error, ReadError};
pub use order::{Turn, Turns};
pub use rows::{Cell, Reader};
pub use source::Content;

use std::ops::Range;

use error::Problem;
use input::Input;
use rows::Cells;
use source::Source;

use crate::plan::DataFormat;

/// Rows of contiguous places that are read from a file at once, in bytes.
const READ_AT_ONCE: u64 = 1 << 20;

/// A file of rows, ready to be read by any number of threads.
#[derive(Debug)]
pub struct DataSet {
    source: Source,
    cells: Cells,
    columns: Vec<String>,
    index: Index,
}

/// Where rows begin. 8 bytes a row.
#[derive(Debug, Default)]
struct Index {
    /// One more than there are rows: the last is where they end. What lies between two is a row, and what ends or skips.
    starts: Vec<u64>,
    /// Empty messages that are no rows.
    skipped: u64,
}

impl DataSet {
    /// Reads all of it once, to find its rows.
    ///
    /// # Errors
    /// What can't be read, is malformed, or has no rows; with its line, where it has lines.
    pub fn open(content: Content, format: &DataFormat) -> Result<DataSet, Error> {
        let place = content.place();
        let open = || {
            let source = Source::open(content)?;
            let mut input = Input::new(source.stream()?);
            let (columns, mut index, cells) = match format {
                DataFormat::Csv { delimiter } => {
                    let (header, index) = csv::index(&mut input, *delimiter)?;
                    (header, index, Cells::Csv { delimiter: *delimiter })
                }
                DataFormat::JsonLines => (vec!["json".to_owned()], json_lines::index(&mut input)?, Cells::Line),
                DataFormat::Raw { delimiter } => {
                    let delimiter = delimiter.as_deref();
                    (vec!["payload".to_owned()], raw::index(&mut input, delimiter)?, Cells::raw(delimiter))
                }
            };
            drop(input);
            if index.starts.len() < 2 {
                return Err(Problem::NoRows {
                    skipped: index.skipped,
                    below_header: matches!(cells, Cells::Csv { .. }),
                });
            }
            index.starts.shrink_to_fit();
            Ok(DataSet { source, cells, columns, index })
        };
        open().map_err(|problem| Error::new(place, problem))
    }

    /// The names of its columns, in their order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are; at least one.
    pub fn row_count(&self) -> u64 {
        self.index.starts.len() as u64 - 1
    }

    /// Empty messages of a raw file, which are no rows.
    pub fn skipped(&self) -> u64 {
        self.index.skipped
    }

    /// Adds the cells of these rows, which have to be there, to what was read before: row by row, as many each as there are
    /// columns. No more than `most` bytes are read for one call.
    ///
    /// # Errors
    /// More bytes than `most`, or a file that is no longer as it was.
    pub fn read<C: From<Cell>>(
        &self,
        rows: Range<u64>,
        reader: &mut Reader,
        most: u64,
        bytes: &mut Vec<u8>,
        cells: &mut Vec<C>,
    ) -> Result<(), ReadError> {
        let mut first = rows.start;
        while first < rows.end {
            let from = self.start(first);
            let mut end = first + 1;
            while end < rows.end && self.start(end + 1) - from <= READ_AT_ONCE {
                end += 1;
            }
            let length = self.start(end) - from;
            if bytes.len() as u64 + length > most {
                return Err(ReadError::TooLarge { most });
            }
            let Reader { buffer, cells: parser } = reader;
            let read = self.source.read(from..from + length, buffer).map_err(ReadError::Unreadable)?;
            for row in first..end {
                let place = (self.start(row) - from) as usize..(self.start(row + 1) - from) as usize;
                self.cells.read(parser, &read[place], self.columns.len(), bytes, cells)?;
            }
            first = end;
        }
        Ok(())
    }

    /// Where a row begins in the file.
    fn start(&self, row: u64) -> u64 {
        self.index.starts[row as usize]
    }
}

#[cfg(test)]
mod tests;
