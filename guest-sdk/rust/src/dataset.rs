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

    /// The next row in the manifest's order, which all workers share; `None` when there are no more, which is so only with
    /// `order = "unique"`.
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
    /// A cell's bytes, by its column's name. The only column of JSON lines is `json`, that of a raw file `payload`.
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

#[cfg(test)]
mod tests {
    use crate::Dataset;
    use crate::prelude::*;
    use crate::testing::{Host, Running};

    struct Items(Dataset);

    impl Session for Items {
        fn setup() -> Result<Self> {
            Ok(Items(Dataset::open("items")))
        }
        fn iterate(&mut self, _: u64, out: &mut Batch) -> Result<Progress> {
            let Some(row) = self.0.next_row() else { return Ok(Nothing) };
            out.message(Topic::open("orders")).key(row.text("barcode")?).value(row.bytes("note")?);
            Ok(More)
        }
    }

    const COLUMNS: [&str; 2] = ["barcode", "note"];
    const ROWS: [[&[u8]; 2]; 3] = [[b"1", b"one"], [b"2", b""], [b"3", b"\xff"]];

    fn start(host: Host) -> Running {
        host.topic("orders", 1).session::<Items>().unwrap()
    }

    #[test]
    fn rows_are_read_by_their_columns_names() {
        let mut items = start(Host::new().dataset("items", &COLUMNS, &ROWS));
        let sent = items.iterate(4);
        let cells: Vec<_> = sent.iter().map(|m| (m.key.clone().unwrap(), m.value.clone().unwrap())).collect();
        let row = |at: usize| (ROWS[at][0].to_vec(), ROWS[at][1].to_vec());
        assert_eq!(cells, [row(0), row(1), row(2), row(0)]);
        items.within(|| {
            let set = Dataset::open("items");
            assert_eq!((set.row_count(), set.columns()), (3, &COLUMNS.map(String::from)[..]));
            let row = set.get(2).unwrap();
            assert_eq!(row.bytes("note"), Ok(&b"\xff"[..]));
            assert_eq!(row.bytes("nota").unwrap_err().to_string(), "no column `nota`; there is barcode, note");
            let error = row.text("note").unwrap_err().to_string();
            assert!(error.starts_with("column `note`: invalid utf-8 sequence"), "{error}");
            assert!(set.get(3).is_none());
        });
    }

    #[test]
    fn unique_rows_come_to_an_end() {
        let mut items = start(Host::new().unique_dataset("items", &COLUMNS, &ROWS));
        let call = items.call(5);
        assert_eq!((call.ran, call.messages.len()), (3, 3));
        assert_eq!(items.call(1).ran, 0);
        assert_eq!(items.call(1).messages, []);
    }

    #[test]
    #[should_panic(expected = "the test host has no data set `items`; it has `item`")]
    fn a_data_set_that_is_not_there_is_named() {
        start(Host::new().dataset("item", &COLUMNS, &ROWS));
    }
}
