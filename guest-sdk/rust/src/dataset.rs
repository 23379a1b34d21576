//! Rows of the manifest's data sets: item barcodes, recorded payloads.

use crate::bindings::khost::scenario::data;
use crate::records::part;
use crate::{Error, Result, host};

/// A data set of the manifest. Opened in `setup`.
#[derive(Debug, Clone)]
pub struct Dataset {
    handle: u32,
    columns: Vec<String>,
}

impl Dataset {
    /// By its name in the manifest: `items` for `[data.items]`.
    ///
    /// Ends the instance when the manifest has no such data set.
    pub fn open(name: &str) -> Self {
        let handle = host::open_dataset(name);
        Dataset { handle, columns: host::columns(handle) }
    }

    /// How many rows it has.
    pub fn row_count(&self) -> u64 {
        host::row_count(self.handle)
    }

    /// The names of its columns, in their order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The row with this number, from 0; `None` beyond the last.
    pub fn get(&self, index: u64) -> Option<Row<'_>> {
        self.first(host::rows(self.handle, index, 1))
    }

    /// The next row in the manifest's order, which all workers share; `None` when there are no more.
    pub fn next_row(&self) -> Option<Row<'_>> {
        self.first(host::next_rows(self.handle, 1))
    }

    fn first(&self, rows: data::Rows) -> Option<Row<'_>> {
        let full = !rows.cells.is_empty() && rows.cells.len() == self.columns.len();
        full.then_some(Row { rows, columns: &self.columns })
    }
}

/// A row of a data set.
pub struct Row<'d> {
    rows: data::Rows,
    columns: &'d [String],
}

impl Row<'_> {
    /// A cell's bytes, by its column's name; empty for a null one.
    ///
    /// Errors: [`Error::Text`] for a column that the data set lacks.
    pub fn bytes(&self, column: &str) -> Result<&[u8], Error> {
        let at = self.columns.iter().position(|known| known == column);
        let at =
            at.ok_or_else(|| Error::text(format!("no column `{column}`; there is {}", self.columns.join(", "))))?;
        Ok(part(&self.rows.bytes, self.rows.cells[at]).unwrap_or_default())
    }

    /// A cell as text.
    ///
    /// Errors: [`Error::Text`] for a column that the data set lacks, and for bytes that are not UTF-8.
    pub fn text(&self, column: &str) -> Result<&str, Error> {
        let bytes = self.bytes(column)?;
        std::str::from_utf8(bytes).map_err(|error| Error::text(format!("column `{column}`: {error}")))
    }
}
