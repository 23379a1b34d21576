//! Keys of 16 bytes: none, a random one for each message, or one of a set that all workers share.

use khost_guest::Message;
use khost_guest::prelude::*;

#[derive(Clone, Copy)]
pub enum Keys {
    None,
    Random,
    Set { count: u32 },
}

impl Keys {
    pub fn from_params() -> Result<Self> {
        let count: u32 = run::param("key-count")?;
        let keys = run::choice("key", &[("none", Keys::None), ("random", Keys::Random), ("set", Keys::Set { count })])?;
        match keys {
            Keys::Set { count: 0 } => Err("parameter `key-count` is 0; a set has at least one key".into()),
            keys => Ok(keys),
        }
    }

    pub fn add_to<'b>(self, message: Message<'b>, rng: &mut Rng) -> Message<'b> {
        match self {
            Keys::None => message,
            Keys::Random => message.key(rng.array::<16>()),
            Keys::Set { count } => message.key(member(rng.below(count))),
        }
    }
}

/// A key of the set. It follows from its number alone, so no worker keeps the set in memory.
fn member(number: u32) -> [u8; 16] {
    Rng::new(number as u64).array()
}
