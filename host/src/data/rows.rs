//! From the bytes of a row to its cells.

use csv_core::{ReadRecordResult, ReaderBuilder};
use memchr::memmem;

use super::error::ReadError;

/// A cell's place in the bytes that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// From where.
    pub start: usize,
    /// How many bytes.
    pub length: usize,
}

/// What one thread reads with; its buffers are used again.
#[derive(Debug, Default)]
pub struct Reader {
    pub(super) buffer: Vec<u8>,
    pub(super) cells: Parser,
}

#[derive(Debug, Default)]
pub(super) struct Parser {
    /// With the delimiter that it was made for.
    csv: Option<(u8, csv_core::Reader)>,
    ends: Vec<usize>,
}

/// How a row's bytes become cells.
#[derive(Debug)]
pub(super) enum Cells {
    Csv {
        delimiter: u8,
    },
    /// One cell, to the line break.
    Line,
    /// One cell, to the delimiter.
    To(Box<memmem::Finder<'static>>),
}

impl Cells {
    pub(super) fn raw(delimiter: Option<&[u8]>) -> Self {
        match delimiter {
            None => Cells::Line,
            Some(delimiter) => Cells::To(Box::new(memmem::Finder::new(delimiter).into_owned())),
        }
    }

    /// Adds the cells of one row, of which `row` may hold more than that: what ends it.
    pub(super) fn read<C: From<Cell>>(
        &self,
        parser: &mut Parser,
        row: &[u8],
        columns: usize,
        bytes: &mut Vec<u8>,
        cells: &mut Vec<C>,
    ) -> Result<(), ReadError> {
        let one = match self {
            Cells::Csv { delimiter } => return parser.csv(*delimiter, row, columns, bytes, cells),
            Cells::Line => without_line_break(&row[..memchr::memchr(b'\n', row).map_or(row.len(), |at| at + 1)]),
            Cells::To(delimiter) => &row[..delimiter.find(row).unwrap_or(row.len())],
        };
        cells.push(Cell { start: bytes.len(), length: one.len() }.into());
        bytes.extend_from_slice(one);
        Ok(())
    }
}

/// A line without what ends it, LF or CR LF.
pub(super) fn without_line_break(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

/// A reader of CSV that takes no byte order mark for one: at the file's start, it is left out before.
pub(super) fn csv_reader(delimiter: u8) -> csv_core::Reader {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    reader.read_record(b"\n", &mut [0], &mut [0]);
    reader
}

impl Parser {
    fn csv<C: From<Cell>>(
        &mut self,
        delimiter: u8,
        row: &[u8],
        columns: usize,
        bytes: &mut Vec<u8>,
        cells: &mut Vec<C>,
    ) -> Result<(), ReadError> {
        // one that was stopped in the middle of a row can't be used again, and is not put back
        let mut csv = match self.csv.take() {
            Some((its, csv)) if its == delimiter => csv,
            _ => csv_reader(delimiter),
        };
        let first = bytes.len();
        // with room for what ends the row, as a reader without room stops
        bytes.resize(first + row.len() + 1, 0);
        self.ends.clear();
        self.ends.resize(columns + 1, 0);
        let (mut result, _, mut length, mut count) = csv.read_record(row, &mut bytes[first..], &mut self.ends);
        if result == ReadRecordResult::InputEmpty {
            // the last row of a file without a line break at its end
            let ended = csv.read_record(b"\n", &mut bytes[first + length..], &mut self.ends[count..]);
            (result, length, count) = (ended.0, length + ended.2, count + ended.3);
        }
        if result != ReadRecordResult::Record || count != columns {
            bytes.truncate(first);
            return Err(ReadError::Changed);
        }
        bytes.truncate(first + length);
        let mut start = first;
        for end in &self.ends[..count] {
            cells.push(Cell { start, length: first + end - start }.into());
            start = first + end;
        }
        self.csv = Some((delimiter, csv));
        Ok(())
    }
}
