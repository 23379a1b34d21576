//! The header that khost may put on what it sends, so that whoever reads it can tell how long it took. `docs/measuring.md` has
//! its bytes.

use crate::measure::RunClock;

/// Its name.
pub const STAMP_HEADER: &[u8] = b"khost";
/// What it adds to a record on the wire: lengths of name and value, the name, the value.
pub const STAMP_WIRE_BYTES: u64 = (2 + STAMP_HEADER.len() + LENGTH) as u64;

const VERSION: u8 = 1;
const WARM_UP: u8 = 1;
/// Version, flags, run, sent, wait.
const LENGTH: usize = 1 + 1 + 8 + 8 + 4;
/// Of `wait`: the flow is unpaced, so there is no intended time.
const NO_WAIT: u32 = u32::MAX;

/// When a message was sent, and when it was meant to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The run that sent it.
    pub run_id: u64,
    /// Microseconds since the Unix epoch, as the run that sent it counts them: the wall clock at its load's start, and its
    /// monotonic clock from there.
    pub sent_us: i64,
    /// Microseconds from the intended time to the sending; none of an unpaced flow.
    pub wait_us: Option<u32>,
    /// It is left out of the figures.
    pub warm_up: bool,
}

impl Stamp {
    /// As a header's value.
    pub fn bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = VERSION;
        bytes[1] = if self.warm_up { WARM_UP } else { 0 };
        bytes[2..10].copy_from_slice(&self.run_id.to_be_bytes());
        bytes[10..18].copy_from_slice(&self.sent_us.to_be_bytes());
        bytes[18..].copy_from_slice(&self.wait_us.map_or(NO_WAIT, |us| us.min(NO_WAIT - 1)).to_be_bytes());
        bytes
    }

    /// None where the bytes are no stamp, or one of a version that is not known.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let wide = |at: usize| <[u8; 8]>::try_from(&bytes[at..at + 8]).ok();
        let wait = u32::from_be_bytes(bytes[18..].try_into().ok()?);
        (bytes[0] == VERSION).then_some(Stamp {
            run_id: u64::from_be_bytes(wide(2)?),
            sent_us: i64::from_be_bytes(wide(10)?),
            wait_us: (wait != NO_WAIT).then_some(wait),
            warm_up: bytes[1] & WARM_UP != 0,
        })
    }
}

/// What stamps a flow's messages.
#[derive(Debug, Clone)]
pub struct Stamper {
    /// The run's clock.
    pub clock: RunClock,
    /// The run.
    pub run_id: u64,
    /// Whether messages have an intended time.
    pub timed: bool,
}

impl Stamper {
    /// The stamp of a message that is sent now, and was meant to be at `intended_us` on the run's clock.
    #[inline]
    pub(super) fn stamp(&self, intended_us: u64, warm_up: bool) -> Stamp {
        let now_us = self.clock.now_us();
        let wait = now_us.saturating_sub(intended_us).try_into().unwrap_or(NO_WAIT - 1);
        Stamp { run_id: self.run_id, sent_us: self.clock.wall_us(now_us), wait_us: self.timed.then_some(wait), warm_up }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { run_id: 7, sent_us: 1_796_112_000_000_001, wait_us: Some(1_500), warm_up: false };

    #[test]
    fn it_comes_back() {
        for stamp in [
            STAMP,
            Stamp { wait_us: None, warm_up: true, ..STAMP },
            Stamp { run_id: u64::MAX, sent_us: i64::MIN, wait_us: Some(0), ..STAMP },
        ] {
            assert_eq!(Stamp::read(&stamp.bytes()), Some(stamp));
        }
        assert_eq!(
            Stamp::read(&Stamp { wait_us: Some(u32::MAX), ..STAMP }.bytes()).and_then(|s| s.wait_us),
            Some(NO_WAIT - 1)
        );
        assert_eq!(STAMP_WIRE_BYTES, 29);
    }

    #[test]
    fn other_bytes_are_none() {
        let bytes = STAMP.bytes();
        assert_eq!(Stamp::read(&bytes[..21]), None);
        assert_eq!(Stamp::read(&[&bytes[..], b"x"].concat()), None);
        assert_eq!(Stamp::read(b""), None);
        let mut newer = bytes;
        newer[0] = 2;
        assert_eq!(Stamp::read(&newer), None);
    }
}
