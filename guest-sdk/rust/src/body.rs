//! Bytes that stay on the host's side and are sent, whole or in slices, without a copy.

use crate::host;
use crate::wire::Payload;

/// Bytes that many messages share. Copied freely: it is a number and a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    handle: u32,
    length: u32,
}

impl Body {
    /// Hands bytes to khost, in `setup` only. The same bytes from many workers are kept once.
    ///
    /// Ends the instance when it is called later.
    pub fn share(bytes: &[u8]) -> Self {
        Body { handle: host::share(bytes), length: bytes.len() as u32 }
    }

    /// In bytes.
    pub fn length(self) -> u32 {
        self.length
    }

    /// All of it.
    pub fn whole(self) -> Slice {
        Slice { body: self.handle, start: 0, length: self.length }
    }

    /// `length` bytes from `start` on.
    ///
    /// Panics when they are not all in the body.
    #[inline]
    #[track_caller]
    pub fn slice(self, start: u32, length: u32) -> Slice {
        let fits = start <= self.length && length <= self.length - start;
        assert!(fits, "bytes {start} to {start} + {length} of a body of {} bytes", self.length);
        Slice { body: self.handle, start, length }
    }
}

/// A part of a [`Body`], for [`value_slice`](crate::Message::value_slice) and [`key_slice`](crate::Message::key_slice).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    body: u32,
    start: u32,
    length: u32,
}

impl Slice {
    #[inline]
    pub(crate) fn payload(self) -> Payload {
        Payload { tag: Payload::SHARED, a: self.body, b: self.start, c: self.length }
    }
}
