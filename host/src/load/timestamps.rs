//! Timestamps that a scenario gives its messages: those that can't be meant are sent all the same, counted, and told of once.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, UNIX_EPOCH};

/// The contract's "the time of sending".
pub(super) const NOW: i64 = -1;
/// 1990-01-01 and 2100-01-01, in milliseconds since the Unix epoch. Seconds of our days are in 1970, microseconds beyond the
/// year 50,000.
const SOUND: std::ops::Range<i64> = 631_152_000_000..4_102_444_800_000;
/// librdkafka takes 0 as "not set" and sends now, so the first instant of 1970 is sent as the next one.
const EPOCH: i64 = 0;
const AFTER_EPOCH: i64 = 1;

/// What was odd about the timestamps of a flow's messages to a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddTimestamps {
    /// The flow, by its number in the plan.
    pub flow: usize,
    /// The topic, likewise.
    pub topic: usize,
    /// How many were 0, and were sent as 1.
    pub zeros: u64,
    /// How many others were before 1990 or after 2099.
    pub odd: u64,
    /// The first of them.
    pub first_odd: i64,
}

/// Those of a run.
#[derive(Debug)]
pub(super) struct Timestamps {
    topics: usize,
    /// By flow, then by topic.
    all: Vec<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    zeros: AtomicU64,
    odd: AtomicU64,
    first_odd: AtomicI64,
}

/// What to send, and what to tell if it is the first of its kind.
pub(super) type Checked = (i64, Option<String>);

impl Timestamps {
    pub(super) fn new(flows: usize, topics: usize) -> Self {
        Timestamps { topics, all: (0..flows * topics).map(|_| Counts::default()).collect() }
    }

    /// Looks at one that is not [`NOW`]; `name` is the topic's. An error is a mistake of the scenario.
    #[inline]
    pub(super) fn check(&self, flow: usize, topic: usize, name: &str, millis: i64) -> Result<Checked, String> {
        if SOUND.contains(&millis) { Ok((millis, None)) } else { self.odd(flow, topic, name, millis) }
    }

    fn odd(&self, flow: usize, topic: usize, name: &str, millis: i64) -> Result<Checked, String> {
        if millis < EPOCH {
            return Err(format!(
                "a message to `{name}` has the timestamp {millis}: it is in milliseconds since the Unix epoch, or -1 for the time of sending"
            ));
        }
        let counts = &self.all[flow * self.topics + topic];
        if millis == EPOCH {
            let is_first = counts.zeros.fetch_add(1, Relaxed) == 0;
            return Ok((AFTER_EPOCH, is_first.then(|| zero(name))));
        }
        let is_first = counts.odd.fetch_add(1, Relaxed) == 0;
        if is_first {
            counts.first_odd.store(millis, Relaxed);
        }
        Ok((millis, is_first.then(|| odd(name, millis))))
    }

    /// Where there were any.
    pub(super) fn list(&self) -> Vec<OddTimestamps> {
        let all = self.all.iter().enumerate().map(|(at, counts)| OddTimestamps {
            flow: at / self.topics,
            topic: at % self.topics,
            zeros: counts.zeros.load(Relaxed),
            odd: counts.odd.load(Relaxed),
            first_odd: counts.first_odd.load(Relaxed),
        });
        all.filter(|one| one.zeros + one.odd > 0).collect()
    }
}

impl OddTimestamps {
    /// A sentence for each kind, with how many there were; `flow` and `topic` are the names.
    pub fn sentences(&self, flow: &str, topic: &str) -> Vec<String> {
        let sentence = |text: String, count: u64| (count > 0).then(|| format!("flow `{flow}`, {count} times: {text}"));
        let zeros = sentence(zero(topic), self.zeros);
        zeros.into_iter().chain(sentence(odd(topic, self.first_odd), self.odd)).collect()
    }
}

fn zero(topic: &str) -> String {
    format!(
        "a message to `{topic}` has the timestamp 0: it is sent as 1, 1970-01-01T00:00:00.001Z, as librdkafka takes 0 for the time of sending"
    )
}

fn odd(topic: &str, millis: i64) -> String {
    // in milliseconds, if it were in these
    let units = [
        ("seconds", millis.saturating_mul(1_000)),
        ("microseconds", millis / 1_000),
        ("nanoseconds", millis / 1_000_000),
    ];
    let likely = units.into_iter().find(|(_, millis)| SOUND.contains(millis));
    let likely = likely.map_or(String::new(), |(unit, millis)| {
        let at = UNIX_EPOCH + Duration::from_millis(millis.unsigned_abs());
        format!("; it looks like {unit}, and would be {}", humantime::format_rfc3339_seconds(at))
    });
    let is = if millis < SOUND.start { "before 1990" } else { "after 2099" };
    format!("a message to `{topic}` has the timestamp {millis}, which in milliseconds is {is}{likely}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-01.
    const DAY_S: i64 = 1_772_323_200;

    #[test]
    fn what_can_not_be_meant_is_told_of_once_with_what_it_looks_like() {
        let timestamps = Timestamps::new(2, 3);
        let check = |millis| timestamps.check(1, 2, "t", millis);
        assert_eq!(check(DAY_S * 1_000), Ok((DAY_S * 1_000, None)));
        for (millis, unit) in
            [(DAY_S, "seconds"), (DAY_S * 1_000_000, "microseconds"), (DAY_S * 1_000_000_000, "nanoseconds")]
        {
            let text = odd("t", millis);
            assert!(text.contains(&format!("looks like {unit}, and would be 2026-03-01T00:00:00Z")), "{text}");
        }
        let (sent, told) = check(DAY_S).expect("it is sent");
        assert!(sent == DAY_S && told.is_some_and(|text| text.contains("1772323200") && text.contains("before 1990")));
        assert_eq!(check(i64::MAX), Ok((i64::MAX, None)), "told already");
        assert!(!odd("t", i64::MAX).contains("looks like") && odd("t", i64::MAX).contains("after 2099"));
        assert!(check(0).is_ok_and(|(sent, told)| sent == 1 && told.is_some()));
        assert_eq!(check(0), Ok((1, None)));
        assert!(check(-2).is_err_and(|text| text.contains("`t`") && text.contains("-2")));
        let list = timestamps.list();
        assert_eq!(list, [OddTimestamps { flow: 1, topic: 2, zeros: 2, odd: 2, first_odd: DAY_S }]);
        assert_eq!(list[0].sentences("f", "t").len(), 2);
    }
}
