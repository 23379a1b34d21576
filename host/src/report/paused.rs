//! What it cost to pause partitions: records and bytes that were fetched more than once.

use serde::Serialize;

use super::numbers::{count, decimal, percent, plural};
use super::terminal::Page;
use crate::kafka::PauseFigures;
use crate::plan::Pause;

/// Of a consume flow.
#[derive(Debug, Serialize)]
pub struct PausedResult {
    /// The share of a worker's partitions that is paused at any time.
    pub share: f64,
    /// When other partitions have their turn: `poll`, or a time.
    pub every: String,
    /// What becomes of records that were fetched of a paused partition: `discard` or `keep`.
    pub data: &'static str,
    /// How often other partitions had their turn, summed over the workers.
    pub turns: u64,
    /// Records that were got out of fetches and thrown away, to be fetched again; absent where a client did not tell at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refetched_records: Option<u64>,
    /// Bytes on the wire that brought nothing new; absent with the records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refetched_bytes: Option<u64>,
    /// Fetches of partitions that were thrown away as a whole; absent with the records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_fetches: Option<u64>,
}

pub(super) fn result<'f>(
    pause: &Pause,
    groups: impl Iterator<Item = &'f PauseFigures>,
    fetched_bytes: u64,
) -> PausedResult {
    let mut all = PauseFigures::default();
    groups.for_each(|group| all.add(group));
    let refetched_records = all.received.saturating_sub(all.taken + all.waiting);
    let is_told = all.untold == 0;
    let nothing = refetched_records == 0 && all.dropped_fetches == 0;
    PausedResult {
        share: pause.share,
        every: pause.every.text(),
        data: pause.data.name(),
        turns: all.turns,
        refetched_records: is_told.then_some(refetched_records),
        refetched_bytes: is_told.then(|| if nothing { 0 } else { refetched_bytes(&all, fetched_bytes) }),
        dropped_fetches: is_told.then_some(all.dropped_fetches),
    }
}

/// What was fetched, less what one fetch of all that was taken or waits comes to. Where that is less than the records take
/// uncompressed, batches are compressed: then their bytes are as many as their records.
fn refetched_bytes(all: &PauseFigures, fetched_bytes: u64) -> u64 {
    if all.taken == 0 {
        return fetched_bytes;
    }
    let a_record = all.taken_wire_bytes as f64 / all.taken as f64;
    let once = (all.taken + all.waiting) as f64;
    let uncompressed = a_record * all.received as f64;
    let needed = if (fetched_bytes as f64) < 0.98 * uncompressed {
        fetched_bytes as f64 * once / (all.received as f64).max(once)
    } else {
        a_record * once
    };
    fetched_bytes.saturating_sub(needed as u64)
}

/// Its lines on the terminal.
pub(super) fn text(out: &mut Page, paused: &PausedResult) {
    let share = percent(paused.share);
    let every = if paused.every == "poll" { "after each batch".to_owned() } else { format!("every {}", paused.every) };
    out.line(
        "paused",
        &format!(
            "{share} of the partitions, {}, others {every}; what was fetched is {}",
            plural(paused.turns, "turn"),
            if paused.data == "keep" { "kept" } else { "discarded" }
        ),
    );
    let (Some(records), Some(bytes), Some(dropped)) =
        (paused.refetched_records, paused.refetched_bytes, paused.dropped_fetches)
    else {
        return out.line("", "fetched again: unknown, as a client did not tell at its end what it had received");
    };
    let megabytes = decimal(bytes as f64 / 1e6);
    out.line("", &format!("fetched again: {}, {megabytes} MB", plural(records, "record")));
    if dropped > 0 {
        out.line("", &format!("{} of partitions thrown away unread", count(dropped) + " fetches"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PauseEvery, PausedData};

    fn figures(taken: u64, received: u64, waiting: u64) -> PauseFigures {
        PauseFigures { taken, received, waiting, taken_wire_bytes: taken * 500, ..PauseFigures::default() }
    }

    #[test]
    fn what_is_fetched_beyond_one_pass_is_fetched_again() {
        assert_eq!(refetched_bytes(&figures(1_000, 1_500, 0), 760_000), 260_000);
        assert_eq!(refetched_bytes(&figures(1_000, 1_500, 100), 760_000), 210_000, "what waits is no waste");
        assert_eq!(refetched_bytes(&figures(0, 0, 0), 40_000), 40_000);
    }

    #[test]
    fn what_a_client_did_not_tell_is_unknown_and_not_0() {
        let pause = Pause { share: 0.5, every: PauseEvery::Poll, data: PausedData::Discard };
        let group = |untold| PauseFigures { untold, ..figures(1_000, 1_500, 0) };
        let told = result(&pause, [&group(0)].into_iter(), 760_000);
        assert_eq!((told.refetched_records, told.refetched_bytes), (Some(500), Some(260_000)));
        let untold = result(&pause, [&group(0), &group(1)].into_iter(), 760_000);
        assert_eq!((untold.refetched_records, untold.refetched_bytes, untold.dropped_fetches), (None, None, None));
    }

    #[test]
    fn compressed_bytes_go_by_records() {
        assert_eq!(refetched_bytes(&figures(1_000, 1_500, 0), 300_000), 100_000);
    }
}
