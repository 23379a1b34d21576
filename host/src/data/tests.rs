use super::*;

fn open(bytes: impl AsRef<[u8]>, format: &DataFormat) -> Result<DataSet, String> {
    let content = Content::Bytes { bytes: bytes.as_ref().to_vec(), place: "items".into() };
    DataSet::open(content, format).map_err(|error| error.to_string())
}

const CSV: DataFormat = DataFormat::Csv { delimiter: b',' };
const LINES: DataFormat = DataFormat::Raw { delimiter: None };

fn raw(delimiter: &str) -> DataFormat {
    DataFormat::Raw { delimiter: Some(delimiter.into()) }
}

fn read(set: &DataSet, rows: Range<u64>, most: u64) -> Result<Vec<Vec<Vec<u8>>>, ReadError> {
    let (mut bytes, mut cells) = (Vec::new(), Vec::<Cell>::new());
    set.read(rows, &mut Reader::default(), most, &mut bytes, &mut cells)?;
    let cell = |cell: &Cell| bytes[cell.start..cell.start + cell.length].to_vec();
    Ok(cells.chunks(set.columns().len()).map(|row| row.iter().map(cell).collect()).collect())
}

/// All rows, cell by cell; read at once, and one by one.
fn rows(set: &DataSet) -> Vec<Vec<Vec<u8>>> {
    let all = read(set, 0..set.row_count(), u64::MAX).expect("it is as it was");
    let one = |row| read(set, row..row + 1, u64::MAX).expect("it is as it was").remove(0);
    assert_eq!(all, (0..set.row_count()).map(one).collect::<Vec<_>>());
    all
}

fn texts(set: &DataSet) -> Vec<Vec<String>> {
    let text = |cell: Vec<u8>| String::from_utf8(cell).expect("text");
    rows(set).into_iter().map(|row| row.into_iter().map(text).collect()).collect()
}

fn messages(bytes: impl AsRef<[u8]>, format: &DataFormat) -> Vec<Vec<u8>> {
    rows(&open(bytes, format).expect("rows")).into_iter().flatten().collect()
}

#[test]
fn csv_is_read_as_spreadsheets_write_it() {
    let file = "\u{feff}\"id\",\"note\"\r\n1,\"a, b\"\r\n\r\n2,\"two\r\nlines\"\r\n3,\"he said \"\"hi\"\"\"\r\n6,";
    let set = open(file, &CSV).unwrap();
    assert_eq!(set.columns(), ["id", "note"]);
    let expected = [["1", "a, b"], ["2", "two\r\nlines"], ["3", "he said \"hi\""], ["6", ""]];
    assert_eq!(texts(&set), expected);
    for file in ["\n\nid\r1\r2", "id\n1\n\n2\n\n", "id\r\n1\r\n2\r\n"] {
        assert_eq!(texts(&open(file, &CSV).unwrap()), [["1"], ["2"]], "{file:?}");
    }
    let semicolons = open("id;a,b\n1;\"x;y\"\n", &DataFormat::Csv { delimiter: b';' }).unwrap();
    assert_eq!(
        (semicolons.columns(), texts(&semicolons)),
        (&["id".to_owned(), "a,b".to_owned()][..], vec![vec!["1".to_owned(), "x;y".to_owned()]])
    );
}

#[test]
fn what_a_cell_holds_is_kept_to_the_byte() {
    let set = open(b"a,b\n\xff\xfe, \x00 \n\"\xef\xbb\xbf\",x\"y\n\xef\xbb\xbfz,\"\"\n", &CSV).unwrap();
    let expected = [[&b"\xff\xfe"[..], b" \0 "], [b"\xef\xbb\xbf", b"x\"y"], [b"\xef\xbb\xbfz", b""]];
    assert_eq!(rows(&set), expected);
    assert_eq!(texts(&open("only\n\"\"\n\nx\n", &CSV).unwrap()), [[""], ["x"]]);
}

#[test]
fn a_bad_row_of_csv_is_refused_with_the_files_line() {
    let file = "\u{feff}\"id\",\"note\"\r\n1,\"a, b\"\r\n\r\n2,\"two\r\nlines\"\r\n3,\"he said \"\"hi\"\"\"\r\n";
    let after = |rest: &str| open(format!("{file}{rest}"), &CSV).unwrap_err();
    assert_eq!(after("4\r\n5,x\r\n"), "items:7: the row has 1 cell, where the header has 2");
    assert_eq!(after("5,x,extra\r\n"), "items:7: the row has 3 cells, where the header has 2");
    assert_eq!(after("4"), "items:7: the row has 1 cell, where the header has 2");
    assert_eq!(after("4,\"x\r\n5,y\r\n"), "items:7: a quoted cell of this row is never closed");
    let message = after("4,\"x\r\n5,y\r\n6,\"z\r\n7,y\r\n");
    assert_eq!(message, "items:9: text follows a cell's closing quote, in a row that begins in line 7");
    assert_eq!(after("4,\"x\"y\r\n"), "items:7: text follows a cell's closing quote");
    let message = after("4,\"x\r\n5,y\r\n6,\",z\r\n");
    assert!(
        message.starts_with("items:7: the row has 3 cells, where the header has 2 (it goes on to line 9: "),
        "{message}"
    );
    let wide: Vec<String> = (0..1_000).map(|n| n.to_string()).collect();
    let wide = format!("{}\n{}\n", wide.join(","), "1".to_owned() + &",1".repeat(998));
    assert_eq!(open(wide, &CSV).unwrap_err(), "items:2: the row has 999 cells, where the header has 1000");
}

#[test]
fn a_bad_header_is_refused() {
    assert_eq!(open("a,b,a\n1,2,3\n", &CSV).unwrap_err(), "items:1: two columns are named \"a\"");
    assert_eq!(open("\n\na,a\n", &CSV).unwrap_err(), "items:3: two columns are named \"a\"");
    assert_eq!(open(b"a,\xff\n1,2\n", &CSV).unwrap_err(), "items:1: the header is not UTF-8");
    assert_eq!(open(b"\xff\xfea\0\n\0", &CSV).unwrap_err(), "items is UTF-16, not UTF-8");
    assert_eq!(open("a,,\n1,2,3\n", &CSV).unwrap().columns(), ["a", "", ""]);
}

#[test]
fn a_file_without_rows_is_refused() {
    for file in ["id,note\r\n", "id", "\u{feff}id\n\n\n"] {
        assert_eq!(open(file, &CSV).unwrap_err(), "items has no rows below its header", "{file:?}");
    }
    for (file, format) in
        [("", &CSV), ("\u{feff}\r\n", &CSV), ("", &DataFormat::JsonLines), ("", &LINES), ("", &raw("|"))]
    {
        assert_eq!(open(file, format).unwrap_err(), "items is empty");
    }
    assert_eq!(open(" \r\n\n", &DataFormat::JsonLines).unwrap_err(), "items has no rows");
    assert_eq!(open("\r\n\n", &LINES).unwrap_err(), "items has no rows: all of its 2 messages are empty");
    let error = DataSet::open(Content::File("no/such.csv".into()), &CSV).unwrap_err();
    assert_eq!(error.to_string(), "no/such.csv can't be read: No such file or directory (os error 2)");
}

#[test]
fn json_lines_are_checked_and_kept_to_the_byte() {
    let set = open("\u{feff}{\"a\": 1}\r\n\r\n [1, 2] \n\"x\"", &DataFormat::JsonLines).unwrap();
    assert_eq!(set.columns(), ["json"]);
    assert_eq!(texts(&set), [["{\"a\": 1}"], [" [1, 2] "], ["\"x\""]]);
    for (file, message) in [
        (&b"{}\n\n{\"a\":}\n"[..], "items:3: this is not JSON: expected value at column 6"),
        (b"{}\n{} {}\n", "items:2: this is not JSON: trailing characters at column 4"),
        (b"{}\n{\"a\"\n", "items:2: this is not JSON: EOF while parsing an object at column 4"),
        (b"\"\xff\"", "items:1: this is not JSON: not UTF-8 at column 2"),
    ] {
        assert_eq!(open(file, &DataFormat::JsonLines).unwrap_err(), message);
    }
}

#[test]
fn messages_are_kept_to_the_byte() {
    assert_eq!(messages("ab|cd|ef", &raw("|")), [b"ab", b"cd", b"ef"]);
    assert_eq!(messages(b"\x61\xff\xfe\x0a\x62", &LINES), [&b"\x61\xff\xfe"[..], b"\x62"]);
    assert_eq!(messages("a\r\nb\r\n", &LINES), [b"a", b"b"]);
    assert_eq!(messages("a\rb\r\r\n\rc", &LINES), [&b"a\rb\r"[..], b"\rc"]);
    assert_eq!(messages("a\r\nb\r\n", &raw("\n")), [b"a\r", b"b\r"]);
    assert_eq!(messages("a\r\nb\n", &raw("\r\n")), [&b"a"[..], b"b\n"]);
    assert_eq!(messages("aababab", &raw("abab")), [&b"a"[..], b"ab"]);
    assert_eq!(messages("a.*b", &raw(".*")), [b"a", b"b"]);
    assert_eq!(messages("whole", &raw("|")), [b"whole"]);
    assert_eq!(messages("a\0b\0", &raw("\0")), [b"a", b"b"]);
}

#[test]
fn empty_messages_are_skipped_and_counted() {
    for (file, format, expected, skipped) in [
        ("a\n\nb\n", &LINES, ["a", "b"], 1),
        ("\r\n\na\r\n\r\nb", &LINES, ["a", "b"], 3),
        ("||a|||b||", &raw("|"), ["a", "b"], 5),
        ("\r\n\na\r\n\r\nb", &raw("\n"), ["\r", "a\r"], 1),
    ] {
        let set = open(file, format).unwrap();
        assert_eq!(set.skipped(), skipped, "{file:?}");
        assert_eq!(texts(&set).concat()[..2], expected, "{file:?}");
    }
}

/// Whatever a buffer's end falls upon.
#[test]
fn a_file_that_takes_many_buffers_is_the_same() {
    struct Sip<'a>(&'a [u8], usize);
    impl std::io::Read for Sip<'_> {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            unreachable!("nobody reads but by the buffer")
        }
    }
    impl std::io::BufRead for Sip<'_> {
        fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
            Ok(&self.0[..self.0.len().min(self.1)])
        }
        fn consume(&mut self, count: usize) {
            self.0 = &self.0[count..];
        }
    }
    let csv = b"\"id\",\"no\"\"te\"\r\n1,\"a, b\"\r\n\r\n2,\"two\r\nlines\"\r\n\n3,x\r4,\r\n5,\"\"";
    let text = b"ab||cd|||ef\r\n\r\ngh|\r\n|\r\r\n";
    let starts = |sip| {
        let input = |bytes| Input::new(Box::new(Sip(bytes, sip)));
        let (columns, rows) = csv::index(&mut input(csv), b',').unwrap();
        let ends = [None, Some(&b"||"[..]), Some(b"|"), Some(b"\r\n"), Some(b"|\r\n|")];
        let raw = ends.map(|end| raw::index(&mut input(text), end).map(|index| (index.starts, index.skipped)).unwrap());
        let ragged = csv::index(&mut input(b"a\n\"\n\"\r\n1\r2,3\n"), b',').unwrap_err().to_string();
        (columns, rows.starts, raw, ragged)
    };
    let whole = starts(1_000);
    assert_eq!((whole.0.clone(), whole.1.len()), (vec!["id".to_owned(), "no\"te".to_owned()], 6));
    assert!(whole.3.starts_with(":5: the row has 2 cells"), "{}", whole.3);
    for sip in 1..40 {
        // a byte order mark is looked for in the first buffer, and none is there
        assert_eq!(starts(sip), whole, "{sip}");
    }
}

#[test]
fn a_large_file_is_read_in_place() {
    use std::io::Write;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let count = 1_200_000_u64;
    let mut text = String::from("n,text\n");
    (0..count).for_each(|n| text.push_str(&format!("{n},\"{n:050}\"\n")));
    file.write_all(text.as_bytes()).unwrap();
    let set = DataSet::open(Content::File(file.path().into()), &CSV).unwrap();
    assert!(matches!(set.source, Source::File(_)), "{} bytes", text.len());
    assert_eq!(set.row_count(), count);
    let row = |n: u64| vec![n.to_string().into_bytes(), format!("{n:050}").into_bytes()];
    for first in [0, 1, 777_777, count - 3] {
        assert_eq!(read(&set, first..first + 3, u64::MAX).unwrap(), [row(first), row(first + 1), row(first + 2)]);
    }
    let many = read(&set, 100..100_100, u64::MAX).unwrap();
    assert_eq!((many.len(), many[99_999].clone()), (100_000, row(100_099)));

    file.as_file().set_len(1_000).unwrap();
    assert!(matches!(read(&set, count - 1..count, u64::MAX), Err(ReadError::Unreadable(_))));
    file.as_file().set_len(text.len() as u64).unwrap();
    assert!(matches!(read(&set, count - 1..count, u64::MAX), Err(ReadError::Changed)));
}

#[test]
fn no_more_is_read_than_there_is_room_for() {
    let set = open("a\n1234\n5678\n", &CSV).unwrap();
    assert!(read(&set, 0..1, 5).is_ok());
    let error = read(&set, 0..2, 8).unwrap_err();
    assert_eq!(error.to_string(), "the rows take more than 8B");
}
