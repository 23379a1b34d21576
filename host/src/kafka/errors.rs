//! What a code means: librdkafka's name and text, and what a person can do about it.

use std::ffi::{CStr, c_char};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr;

/// khost's own: the run was ending before the message could be handed over.
pub const ENDING: i32 = 10_001;
/// khost's own: nothing came in time.
pub const NO_ANSWER: i32 = 10_002;

/// A code as the contract counts them: 0 is none, below 10000 librdkafka's, above khost's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(pub i32);

impl Code {
    /// Kafka's or librdkafka's name, such as `MSG_SIZE_TOO_LARGE`; khost's own begin with `KHOST_`.
    pub fn name(self) -> String {
        match self.0 {
            ENDING => "KHOST_RUN_ENDING".into(),
            NO_ANSWER => "KHOST_NO_ANSWER".into(),
            code => known(code).map_or_else(|| format!("CODE_{code}"), |err| said(err, rd::rd_kafka_err2name)),
        }
    }

    /// One sentence.
    pub fn text(self) -> String {
        match self.0 {
            ENDING => "the run ended before there was room in the client's queue".into(),
            NO_ANSWER => "nothing came in time".into(),
            code => known(code).map_or_else(|| format!("unknown code {code}"), |err| said(err, rd::rd_kafka_err2str)),
        }
    }
}

fn known(code: i32) -> Option<RDKafkaRespErr> {
    RDKafkaRespErr::try_from(code).ok()
}

fn said(err: RDKafkaRespErr, by: unsafe extern "C" fn(RDKafkaRespErr) -> *const c_char) -> String {
    // SAFETY: both functions take any value and return static, NUL-terminated strings.
    unsafe { CStr::from_ptr(by(err)) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names() {
        assert_eq!(Code(10).name(), "MSG_SIZE_TOO_LARGE");
        assert_eq!(Code(-192).name(), "_MSG_TIMED_OUT");
        assert_eq!(Code(ENDING).name(), "KHOST_RUN_ENDING");
        assert!(Code(9_999).text().contains("9999"));
    }
}
