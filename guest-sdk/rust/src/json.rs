//! JSON bodies, by [nanoserde]: it is small, and numbers of 64 bits stay exact.
//!
//! A type that derives [`SerJson`] can be a value ([`Message::value_json`](crate::Message::value_json)), and one that
//! derives [`DeJson`] can be read from one ([`Record::json`](crate::Record::json)). Fields that the type lacks are passed
//! over, those that it wants must be there unless they are an `Option` or `#[nserde(default)]`.
//!
//! ```
//! use khost_guest::prelude::*;
//!
//! #[derive(SerJson, DeJson)]
//! struct CheckOut {
//!     #[nserde(rename = "itemBarcode")]
//!     item: String,
//!     patron: u64,
//! }
//! # fn main() {}
//! ```

pub use nanoserde::{DeJson, SerJson};
use nanoserde::{DeJsonErr, SerJsonState};

use crate::Error;

/// Appends a value's JSON. `room` keeps its capacity from call to call.
pub(crate) fn write(value: &impl SerJson, room: &mut String, into: &mut Vec<u8>) {
    let mut state = SerJsonState::new(std::mem::take(room));
    value.ser_json(0, &mut state);
    *room = state.out;
    into.extend_from_slice(room.as_bytes());
    room.clear();
}

/// Reads a value's JSON.
pub(crate) fn read<T: DeJson>(value: Option<&[u8]>) -> Result<T, Error> {
    let bytes = value.ok_or_else(|| Error::text("the value is null, and not JSON"))?;
    let text = std::str::from_utf8(bytes).map_err(|_| Error::text("the value is no text in UTF-8, so not JSON"))?;
    T::deserialize_json(text).map_err(|error| Error::text(said(&error)))
}

fn said(error: &DeJsonErr) -> String {
    format!("the value is not the JSON that is wanted: {}", error.to_string().trim_end())
}

#[cfg(test)]
#[allow(clippy::question_mark, reason = "in what nanoserde derives")]
mod tests {
    use super::*;

    #[derive(SerJson, DeJson, Debug, PartialEq)]
    struct Job {
        #[nserde(rename = "jobId")]
        id: String,
        records: u64,
        note: Option<String>,
    }

    #[test]
    fn what_is_written_is_read() {
        let job = Job { id: "a \"b\"\n\u{1}\u{1f600}".into(), records: u64::MAX, note: None };
        let (mut room, mut bytes) = (String::new(), Vec::new());
        write(&job, &mut room, &mut bytes);
        write(&7_u32, &mut room, &mut bytes);
        assert_eq!(bytes.pop(), Some(b'7'));
        assert!(room.is_empty() && room.capacity() > 0, "its memory is kept");
        assert!(bytes.starts_with(br#"{"jobId":"a \"b\"\n"#), "{}", String::from_utf8_lossy(&bytes));
        assert_eq!(read::<Job>(Some(&bytes)), Ok(job));
    }

    #[test]
    fn what_is_not_wanted_is_passed_over_and_what_is_missing_is_said() {
        let more = br#"{"x":[{"y":"}"}],"records":1,"jobId":"j"}"#;
        assert_eq!(read::<Job>(Some(more)).map(|job| job.id), Ok("j".into()));
        let why = |value: Option<&[u8]>| read::<Job>(value).expect_err("not JSON of a job").to_string();
        assert!(why(Some(br#"{"jobId":"j"}"#)).contains("records"));
        assert!(why(Some(br#"{"records":1.5,"jobId":"j"}"#)).contains("1.5"));
        assert_eq!(why(None), "the value is null, and not JSON");
        assert_eq!(why(Some(&[0xFF])), "the value is no text in UTF-8, so not JSON");
    }
}
