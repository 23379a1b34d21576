//! Correlation ids: khost's own are UUIDs of version 7 (RFC 9562) in their 36 characters, so that an application which insists
//! on UUIDs is content. A tag of the run and a number stand where others have random bits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

const LENGTH: usize = 36;
const TAG_BITS: u32 = 34;
const NUMBER_BITS: u32 = 40;
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The ids of one run.
#[derive(Debug)]
pub struct Ids {
    tag: u64,
    began_ms: u64,
    next: AtomicU64,
}

/// An id as text.
pub type Id = [u8; LENGTH];

/// Whose an id is that nobody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// This run's.
    Own,
    /// Made before this run began: by an earlier one.
    Earlier,
    /// Anybody's.
    Other,
}

impl Ids {
    /// `run_id` differs in every run.
    pub fn new(run_id: u64) -> Self {
        Ids { tag: run_id >> (64 - TAG_BITS), began_ms: unix_ms(), next: AtomicU64::new(0) }
    }

    /// Another one each time, with the number that makes it so.
    pub fn next(&self) -> (Id, u64) {
        let number = self.next.fetch_add(1, Relaxed);
        (write(unix_ms(), self.tag, number), number)
    }

    pub(super) fn origin(&self, id: &[u8]) -> Origin {
        match read(id) {
            Some((_, tag)) if tag == self.tag => Origin::Own,
            Some((ms, _)) if ms < self.began_ms => Origin::Earlier,
            _ => Origin::Other,
        }
    }
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// 48 bits of milliseconds, 4 of version, 12 of the tag, 2 of variant, 22 of the tag, 40 of the number.
fn write(ms: u64, tag: u64, number: u64) -> Id {
    let low_tag_bits = TAG_BITS - 12;
    let high = ms << 16 | 7 << 12 | tag >> low_tag_bits;
    let low = 0b10 << 62 | (tag & ((1 << low_tag_bits) - 1)) << NUMBER_BITS | (number & ((1 << NUMBER_BITS) - 1));
    let bits = u128::from(high) << 64 | u128::from(low);
    let mut text = [b'-'; LENGTH];
    let mut shift = 128;
    for at in (0..LENGTH).filter(|at| !HYPHENS.contains(at)) {
        shift -= 4;
        text[at] = DIGITS[(bits >> shift) as usize & 15];
    }
    text
}

/// The milliseconds and the tag of a UUID of version 7.
fn read(id: &[u8]) -> Option<(u64, u64)> {
    if id.len() != LENGTH {
        return None;
    }
    let mut bits: u128 = 0;
    for (at, byte) in id.iter().enumerate() {
        if HYPHENS.contains(&at) {
            if *byte != b'-' {
                return None;
            }
        } else {
            bits = bits << 4 | u128::from(char::from(*byte).to_digit(16)?);
        }
    }
    let (high, low) = ((bits >> 64) as u64, bits as u64);
    let is_version_7 = high >> 12 & 15 == 7 && low >> 62 == 0b10;
    let low_tag_bits = TAG_BITS - 12;
    let tag = (high & 0xfff) << low_tag_bits | low >> NUMBER_BITS & ((1 << low_tag_bits) - 1);
    is_version_7.then_some((high >> 16, tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_of_version_7() {
        let id = write(0x0190_1234_5678, 0x3_ffff_ffff, 0xab);
        assert_eq!(std::str::from_utf8(&id), Ok("01901234-5678-7fff-bfff-ff00000000ab"));
        assert_eq!(read(&id), Some((0x0190_1234_5678, 0x3_ffff_ffff)));
        let upper = id.map(|byte| byte.to_ascii_uppercase());
        assert_eq!(read(&upper), read(&id));
        for other in ["", "17", "01901234-5678-4fff-bfff-ff00000000ab", "01901234x5678-7fff-bfff-ff00000000ab"] {
            assert_eq!(read(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn ids_tell_whose_they_are() {
        let run = |id: u64| Ids { began_ms: unix_ms() - 1_000, ..Ids::new(id << 40) };
        let (one, other) = (run(5), run(6));
        let (first, second) = (one.next().0, one.next().0);
        assert_ne!(first, second);
        assert_eq!((one.origin(&first), other.origin(&first)), (Origin::Own, Origin::Other));
        let later = Ids { began_ms: unix_ms() + 1_000, ..Ids::new(7) };
        assert_eq!((later.origin(&first), later.origin(b"job-17")), (Origin::Earlier, Origin::Other));
    }
}
