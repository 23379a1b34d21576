//! A record that librdkafka read, and what a channel looks at in it.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;
use serde_json::Value;

use super::answers::Reply;
use crate::plan::{FailureSign, ReadId};

/// A message of librdkafka's: a record, or an error of its partition.
pub(super) struct Message(*mut rd::rd_kafka_message_t);

impl Message {
    /// # Safety
    /// `raw` is a live message that nobody else has.
    pub(super) unsafe fn new(raw: *mut rd::rd_kafka_message_t) -> Self {
        Message(raw)
    }

    pub(super) fn raw(&self) -> &rd::rd_kafka_message_t {
        // SAFETY: it is live until this is dropped.
        unsafe { &*self.0 }
    }

    fn key(&self) -> Option<&[u8]> {
        // SAFETY: librdkafka says where it is and how long.
        unsafe { bytes(self.raw().key, self.raw().key_len) }
    }

    fn value(&self) -> Option<&[u8]> {
        // SAFETY: as above.
        unsafe { bytes(self.raw().payload, self.raw().len) }
    }

    fn headers(&self) -> *mut rd::rd_kafka_headers_t {
        let mut headers = null_mut();
        // SAFETY: the message is live; its headers are its own.
        let result = unsafe { rd::rd_kafka_message_headers(self.0, &mut headers) };
        if result == RD_KAFKA_RESP_ERR_NO_ERROR { headers } else { null_mut() }
    }

    /// The last header of this name: none if there is none, none within if it is null.
    fn header(&self, name: &CStr) -> Option<Option<&[u8]>> {
        let headers = self.headers();
        if headers.is_null() {
            return None;
        }
        let (mut value, mut size) = (null(), 0);
        // SAFETY: the headers live as long as the message, the name ends with NUL.
        unsafe {
            let result = rd::rd_kafka_header_get_last(headers, name.as_ptr(), &mut value, &mut size);
            (result == RD_KAFKA_RESP_ERR_NO_ERROR).then(|| bytes(value.cast_mut(), size))
        }
    }

    /// A copy for a guest; `topic` is its number in the plan.
    pub(super) fn reply(&self, topic: usize) -> Reply {
        let mut kind = rd::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        let (headers, mut copied) = (self.headers(), Vec::new());
        while !headers.is_null() {
            let (mut name, mut value, mut size) = (null(), null(), 0);
            // SAFETY: as in `header`; beyond the last one there is an error.
            let header = unsafe {
                let at = copied.len();
                match rd::rd_kafka_header_get_all(headers, at, &mut name, &mut value, &mut size) {
                    RD_KAFKA_RESP_ERR_NO_ERROR => (CStr::from_ptr(name), bytes(value.cast_mut(), size)),
                    _ => break,
                }
            };
            copied.push((header.0.to_bytes().into(), header.1.map(Box::from)));
        }
        Reply {
            topic,
            partition: self.raw().partition,
            offset: self.raw().offset,
            // SAFETY: the message is live.
            timestamp: unsafe { rd::rd_kafka_message_timestamp(self.0, &mut kind) },
            key: self.key().map(Box::from),
            value: self.value().map(Box::from),
            headers: copied,
        }
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { rd::rd_kafka_message_destroy(self.0) };
    }
}

/// # Safety
/// `at` is null, or `length` bytes lie there that live as long as the answer is used.
unsafe fn bytes<'a>(at: *mut c_void, length: usize) -> Option<&'a [u8]> {
    // SAFETY: as the caller says.
    (!at.is_null()).then(|| unsafe { std::slice::from_raw_parts(at.cast::<u8>(), length) })
}

/// Where a channel's replies have their ids, and what tells that one is a failure.
pub(super) struct Places {
    id: Id,
    failure: Failure,
}

enum Id {
    Header(CString),
    Key,
    Json(String),
}

enum Failure {
    Never,
    Topics(Vec<usize>),
    Header(CString, Option<Vec<u8>>),
    Json(String, String),
}

impl Places {
    pub(super) fn new(reply: &ReadId, failure: Option<&FailureSign>) -> Self {
        let name = |name: &str| CString::new(name).expect("the plan takes no header with a NUL");
        let id = match reply {
            ReadId::Header(header) => Id::Header(name(header)),
            ReadId::Key => Id::Key,
            ReadId::Json(pointer) => Id::Json(pointer.clone()),
        };
        let failure = match failure {
            None => Failure::Never,
            Some(FailureSign::Topics(topics)) => Failure::Topics(topics.clone()),
            Some(FailureSign::Header(header, value)) => {
                Failure::Header(name(header), value.as_ref().map(|value| value.clone().into_bytes()))
            }
            Some(FailureSign::Json(pointer, value)) => Failure::Json(pointer.clone(), value.clone()),
        };
        Places { id, failure }
    }

    /// The id, and whether it is a failure; `topic` is its number in the plan.
    pub(super) fn read<'m>(&self, message: &'m Message, topic: usize) -> (Option<Cow<'m, [u8]>>, bool) {
        let needs_json = matches!(self.id, Id::Json(_)) || matches!(self.failure, Failure::Json(..));
        let json = if needs_json { message.value().and_then(|value| serde_json::from_slice(value).ok()) } else { None };
        let id = match &self.id {
            Id::Header(name) => message.header(name).flatten().map(Cow::Borrowed),
            Id::Key => message.key().map(Cow::Borrowed),
            Id::Json(pointer) => text_at(json.as_ref(), pointer).map(|text| Cow::Owned(text.into_bytes())),
        };
        let failed = match &self.failure {
            Failure::Never => false,
            Failure::Topics(topics) => topics.contains(&topic),
            Failure::Header(name, None) => message.header(name).is_some(),
            Failure::Header(name, Some(value)) => message.header(name).flatten() == Some(value),
            Failure::Json(pointer, value) => text_at(json.as_ref(), pointer).as_ref() == Some(value),
        };
        (id, failed)
    }
}

/// A text, a number, or true and false, as text; nothing else is one.
fn text_at(json: Option<&Value>, pointer: &str) -> Option<String> {
    match json?.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pointer_leads_to_is_text() {
        let json: Value =
            serde_json::from_str(r#"{"a":{"b/c":["x",18446744073709551615,-2.5]},"ok":false,"n":null}"#).expect("JSON");
        let at = |pointer| text_at(Some(&json), pointer);
        assert_eq!(at("/a/b~1c/0").as_deref(), Some("x"));
        assert_eq!(at("/a/b~1c/1").as_deref(), Some("18446744073709551615"));
        assert_eq!((at("/a/b~1c/2").as_deref(), at("/ok").as_deref()), (Some("-2.5"), Some("false")));
        assert_eq!((at("/a"), at("/n"), at("/missing"), at("/a/b~1c/3")), (None, None, None, None));
        assert_eq!(text_at(None, ""), None);
    }
}
