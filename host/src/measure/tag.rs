//! What travels with a message through librdkafka: one integer, so that nothing is allocated for it.

/// From the highest bit: 44 of microseconds on the run's clock (the message's intended time; in an unpaced flow, when
/// it was handed over), 1 that says "warm-up", 1 that says "somebody waits for this delivery", 18 of slot.
///
/// The slot is the operation that the message counts towards, or with `awaited` the place of the waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(u64);

const SLOT_BITS: u32 = 18;
const AWAITED: u64 = 1 << SLOT_BITS;
const WARM_UP: u64 = 1 << (SLOT_BITS + 1);
const TIME_SHIFT: u32 = SLOT_BITS + 2;

impl Tag {
    /// How many operations, and how many awaited messages of one client at a time, there can be.
    pub const SLOTS: u32 = 1 << SLOT_BITS;

    /// A tag without a slot. 44 bits of microseconds last 203 days.
    #[inline]
    pub fn at(time_us: u64, warm_up: bool) -> Self {
        Tag(time_us << TIME_SHIFT | if warm_up { WARM_UP } else { 0 })
    }

    /// The same for an operation; `operation` is below [`Tag::SLOTS`].
    #[inline]
    pub fn operation(self, operation: u32) -> Self {
        Tag(self.0 | operation as u64)
    }

    /// The same for a delivery that is waited for; `slot` is below [`Tag::SLOTS`].
    #[inline]
    pub fn awaited(self, slot: u32) -> Self {
        Tag(self.0 | AWAITED | slot as u64)
    }

    /// As librdkafka carries it.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Back from librdkafka.
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        Tag(bits)
    }

    /// Microseconds on the run's clock.
    #[inline]
    pub fn time_us(self) -> u64 {
        self.0 >> TIME_SHIFT
    }

    /// Whether the message is left out of the figures.
    #[inline]
    pub fn is_warm_up(self) -> bool {
        self.0 & WARM_UP != 0
    }

    /// Whether the slot is a waiting call's.
    #[inline]
    pub fn is_awaited(self) -> bool {
        self.0 & AWAITED != 0
    }

    /// The operation, or the waiting call's place.
    #[inline]
    pub fn slot(self) -> u32 {
        (self.0 & (AWAITED - 1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        let longest = (1 << 44) - 1;
        for (time, warm_up, slot) in [(0, false, 0), (longest, true, Tag::SLOTS - 1), (123_456_789, false, 77)] {
            let tag = Tag::from_bits(Tag::at(time, warm_up).operation(slot).bits());
            assert_eq!((tag.time_us(), tag.is_warm_up(), tag.is_awaited(), tag.slot()), (time, warm_up, false, slot));
            let tag = Tag::at(time, warm_up).awaited(slot);
            assert_eq!((tag.time_us(), tag.is_warm_up(), tag.is_awaited(), tag.slot()), (time, warm_up, true, slot));
        }
    }
}
