//! CSV as spreadsheets write it (RFC 4180), gone through once: the columns' names, and where rows begin.

use super::Index;
use super::error::{Count, Problem};
use super::input::Input;
use super::rows::csv_reader;

use csv_core::ReadRecordResult;

/// Room for what a reader makes of a row; nobody looks at it here.
const ROOM: usize = 64 << 10;
const ROOM_FOR_CELLS: usize = 256;

/// A row as it was gone through.
struct Seen {
    /// Its first line, and its last.
    line: u64,
    last_line: u64,
    cells: usize,
}

/// The header, and the rows below it.
pub(super) fn index(input: &mut Input<'_>, delimiter: u8) -> Result<(Vec<String>, Index), Problem> {
    let first = input.fill()?;
    if first.is_empty() {
        return Err(Problem::Empty);
    }
    if first.starts_with(b"\xff\xfe") || first.starts_with(b"\xfe\xff") {
        return Err(Problem::Utf16);
    }
    input.skip_mark()?;
    let mut walk = Walk {
        reader: csv_reader(delimiter),
        room: vec![0; ROOM],
        ends: vec![0; ROOM_FOR_CELLS],
        quotes: Quotes { delimiter, state: Quoting::Begin },
    };
    if !skip_blank(input)? {
        return Err(Problem::Empty);
    }
    let columns = walk.header(input)?;

    let mut index = Index::default();
    while skip_blank(input)? {
        index.starts.push(input.at);
        let row = walk.row(input, |_, _| ())?;
        if row.cells != columns.len() {
            let Seen { line, last_line, cells } = row;
            return Err(Problem::Ragged { line, last_line, cells: Count(cells), columns: columns.len() });
        }
    }
    if !index.starts.is_empty() {
        index.starts.push(input.at);
    }
    Ok((columns, index))
}

/// Leaves blank lines behind, and what is left of a line's end; false at the end of the file.
fn skip_blank(input: &mut Input<'_>) -> Result<bool, Problem> {
    loop {
        let next = input.fill()?;
        let blank = next.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if blank == 0 {
            return Ok(!next.is_empty());
        }
        input.consume(blank)?;
    }
}

struct Walk {
    reader: csv_core::Reader,
    room: Vec<u8>,
    ends: Vec<usize>,
    quotes: Quotes,
}

/// Finds text behind a closing quote, which readers take for more of the cell: nearly always a quote is missing before,
/// and rows would have become one.
struct Quotes {
    delimiter: u8,
    state: Quoting,
}

#[derive(Clone, Copy)]
enum Quoting {
    /// At a cell's begin.
    Begin,
    /// In a cell without quotes.
    Bare,
    Quoted,
    /// Behind a quote that closes the cell, unless another follows.
    Closed,
}

impl Quotes {
    /// Goes on through a row; answers how many bytes are before the text that is in the wrong place.
    fn check(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            let ends_cell = *byte == self.delimiter || matches!(byte, b'\r' | b'\n');
            self.state = match (self.state, byte) {
                (Quoting::Begin, b'"') | (Quoting::Closed, b'"') => Quoting::Quoted,
                (Quoting::Quoted, b'"') => Quoting::Closed,
                (Quoting::Quoted, _) => Quoting::Quoted,
                _ if ends_cell => Quoting::Begin,
                (Quoting::Closed, _) => return Some(at),
                _ => Quoting::Bare,
            };
        }
        None
    }
}

impl Walk {
    fn header(&mut self, input: &mut Input<'_>) -> Result<Vec<String>, Problem> {
        let line = input.line;
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        self.row(input, |part, ends_in_it| {
            bytes.extend_from_slice(part);
            ends.extend_from_slice(ends_in_it);
        })?;
        let text = std::str::from_utf8(&bytes).map_err(|_| Problem::HeaderNotText { line })?;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let names: Option<Vec<String>> =
            starts.zip(&ends).map(|(start, end)| text.get(start..*end).map(str::to_owned)).collect();
        let names = names.ok_or(Problem::HeaderNotText { line })?;
        // a spreadsheet may leave columns at the right without a name; nobody can ask for those
        let twice = names.iter().enumerate().find(|(at, name)| !name.is_empty() && names[..*at].contains(name));
        match twice {
            Some((_, name)) => Err(Problem::ColumnTwice { line, name: name.clone() }),
            None => Ok(names),
        }
    }

    /// Goes through one row, which is there. `look` sees its cells' bytes and where these end, part by part.
    fn row(&mut self, input: &mut Input<'_>, mut look: impl FnMut(&[u8], &[usize])) -> Result<Seen, Problem> {
        let (line, mut cells) = (input.line, 0);
        loop {
            let next = input.fill()?;
            let at_end = next.is_empty();
            // a row without a line break at the file's end is whole; one with an open quote takes the line break in
            let next = if at_end { b"\n" } else { next };
            let (result, read, length, count) = self.reader.read_record(next, &mut self.room, &mut self.ends);
            look(&self.room[..length], &self.ends[..count]);
            cells += count;
            if !at_end {
                if let Some(before) = self.quotes.check(&next[..read]) {
                    input.consume(before)?;
                    return Err(Problem::AfterQuote { line: input.line, row_line: line });
                }
                input.consume(read)?;
            }
            match result {
                ReadRecordResult::Record => {
                    let last_line = if at_end { input.line } else { input.line - 1 };
                    return Ok(Seen { line, last_line, cells });
                }
                _ if at_end => return Err(Problem::OpenQuote { line }),
                _ => {}
            }
        }
    }
}
