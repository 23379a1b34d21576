//! Messages in the component model's own memory layout, as wasm32 has it.
//!
//! The generated bindings would turn a struct with `Vec`s into these at each call; the batch builder writes them at once.

/// A key or a value: a variant of 16 bytes. The meaning of `a`, `b` and `c` is the tag's.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Payload {
    pub(crate) tag: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
}

impl Payload {
    /// Kafka's null.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) const NONE: u32 = 0;
    /// `a` is where, `b` how long.
    pub(crate) const BYTES: u32 = 1;
    /// `a` is the body, `b` where in it, `c` how long.
    pub(crate) const SHARED: u32 = 2;
}

/// A header: 20 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) name: u32,
    pub(crate) name_length: u32,
    /// 0 is a null value, 1 is bytes.
    pub(crate) has_value: u32,
    pub(crate) value: u32,
    pub(crate) value_length: u32,
}

/// A message: 64 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) topic: u32,
    pub(crate) partition: i32,
    pub(crate) key: Payload,
    pub(crate) value: Payload,
    pub(crate) headers: u32,
    pub(crate) header_count: u32,
    pub(crate) timestamp: i64,
    pub(crate) iteration: i32,
    pub(crate) operation: u32,
}

const _: () = assert!(size_of::<Header>() == 20 && size_of::<Message>() == 64);

/// Messages that are about to be sent.
///
/// On wasm32 they hold addresses; natively, where an address does not fit, offsets into `bytes` and indices into `headers`.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) bytes: &'a [u8],
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) headers: &'a [Header],
    pub(crate) messages: &'a [Message],
}

impl<'a> Outgoing<'a> {
    /// Turns offsets into addresses, in one pass: before, the buffers may still move.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn new(bytes: &'a [u8], headers: &'a mut [Header], messages: &'a mut [Message]) -> Self {
        let bytes = bytes.as_ptr() as u32;
        for header in headers.iter_mut() {
            header.name += bytes;
            header.value += bytes;
        }
        let headers = headers.as_ptr() as u32;
        for message in messages.iter_mut() {
            message.headers = headers + message.headers * size_of::<Header>() as u32;
            for payload in [&mut message.key, &mut message.value] {
                payload.a += if payload.tag == Payload::BYTES { bytes } else { 0 };
            }
        }
        Outgoing { messages }
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn new(bytes: &'a [u8], headers: &'a mut [Header], messages: &'a mut [Message]) -> Self {
        Outgoing { bytes, headers, messages }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.messages.is_empty()
    }

    /// The first `count` messages, and the others.
    pub(crate) fn split_at(self, count: usize) -> (Self, Self) {
        let (first, others) = self.messages.split_at(count);
        (Outgoing { messages: first, ..self }, Outgoing { messages: others, ..self })
    }
}
