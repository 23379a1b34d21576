//! When a user of a session goes round, where their number changes over time. Pure: from stages to instants.

use crate::plan::UserStage;

/// Whether a user goes round at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// It does.
    Now,
    /// Not before then.
    Later(u64),
    /// It does no more.
    Never,
}

/// How many users are wanted, over time. Instants are nanoseconds since the flow's beginning.
#[derive(Debug, Clone)]
pub(super) struct Ramp(Vec<Leg>);

/// A stage, and when it begins. The number goes in a line, and is exact.
#[derive(Debug, Clone)]
struct Leg {
    start_ns: u64,
    length_ns: u64,
    from: u32,
    to: u32,
}

impl Leg {
    /// The first instant within the leg, from `at_ns` of it, at which more than `user` users are wanted.
    fn first_above(&self, user: u32, at_ns: u64) -> Option<u64> {
        let (from, to, user) = (u128::from(self.from), u128::from(self.to), u128::from(user));
        let (at, length) = (u128::from(at_ns), u128::from(self.length_ns));
        if from * (length - at) + to * at > user * length {
            return Some(at_ns);
        }
        // it only gets there from here where it goes up
        let rise = to.checked_sub(from).filter(|rise| *rise > 0)?;
        let above = (user - from) * length / rise + 1;
        (above < length).then_some(above as u64)
    }
}

impl Ramp {
    /// None where the number does not change.
    pub(super) fn new(stages: &[UserStage]) -> Option<Self> {
        let mut start_ns = 0;
        let leg = |stage: &UserStage| {
            let length_ns = stage.length.as_nanos() as u64;
            let leg = Leg { start_ns, length_ns, from: stage.from, to: stage.to };
            start_ns += length_ns;
            leg
        };
        (!stages.is_empty()).then(|| Ramp(stages.iter().map(leg).collect()))
    }

    /// Users are numbered from 0: user `user` goes round while more than `user` are wanted.
    pub(super) fn activity(&self, user: u32, at_ns: u64) -> Activity {
        for leg in &self.0 {
            let within_ns = at_ns.saturating_sub(leg.start_ns);
            if within_ns >= leg.length_ns {
                continue;
            }
            if let Some(first_ns) = leg.first_above(user, within_ns) {
                let first_ns = leg.start_ns + first_ns;
                return if first_ns <= at_ns { Activity::Now } else { Activity::Later(first_ns) };
            }
        }
        Activity::Never
    }

    /// When the last stage ends.
    pub(super) fn end_ns(&self) -> u64 {
        self.0.last().map_or(0, |leg| leg.start_ns + leg.length_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Seconds, and how many at their start and at their end.
    fn ramp(stages: &[(u64, u32, u32)]) -> Ramp {
        let stage = |&(seconds, from, to)| UserStage { length: Duration::from_secs(seconds), from, to };
        Ramp::new(&stages.iter().map(stage).collect::<Vec<_>>()).expect("stages")
    }

    fn active(ramp: &Ramp, at_ns: u64) -> usize {
        (0..100).filter(|user| ramp.activity(*user, at_ns) == Activity::Now).count()
    }

    #[test]
    fn as_many_go_round_as_the_stages_want() {
        let ramp = ramp(&[(10, 0, 10), (10, 10, 10), (10, 50, 100), (10, 100, 0)]);
        let counts: Vec<usize> = [0, 500, 1_500, 9_500, 15_000, 20_000, 25_000, 30_000, 35_000, 39_950, 40_000]
            .iter()
            .map(|ms| active(&ramp, ms * 1_000_000))
            .collect();
        // 0.5 users wanted are one; at 35 s they are 50 exactly
        assert_eq!(counts, [0, 1, 2, 10, 10, 50, 75, 100, 50, 1, 0]);
        assert_eq!(ramp.end_ns(), 40 * SECOND);
    }

    #[test]
    fn a_user_waits_until_it_is_wanted_again() {
        let ramp = ramp(&[(10, 0, 10), (10, 10, 0), (10, 0, 0), (10, 0, 5)]);
        assert_eq!(ramp.activity(4, 0), Activity::Later(4 * SECOND + 1));
        assert_eq!(ramp.activity(4, 4 * SECOND + 1), Activity::Now);
        assert_eq!(ramp.activity(4, 16 * SECOND - 1), Activity::Now);
        assert_eq!(ramp.activity(4, 16 * SECOND), Activity::Later(38 * SECOND + 1));
        assert_eq!(ramp.activity(5, 16 * SECOND), Activity::Never);
        assert_eq!(ramp.activity(4, 40 * SECOND), Activity::Never);
    }

    #[test]
    fn when_it_is_wanted_later_it_is_wanted_then() {
        let ramp = ramp(&[(7, 0, 3), (11, 3, 97), (13, 97, 1), (3, 1, 1), (5, 1, 98)]);
        for user in 0..100 {
            for ms in (0..40_000).step_by(61) {
                let at_ns = ms * 1_000_000;
                if let Activity::Later(then) = ramp.activity(user, at_ns) {
                    assert!(then > at_ns && ramp.activity(user, then - 1) == Activity::Later(then), "{user} {ms}");
                    assert_eq!(ramp.activity(user, then), Activity::Now, "{user} {ms}");
                }
            }
        }
    }

    #[test]
    fn a_year_of_a_hundred_thousand_users_is_exact() {
        let ramp = ramp(&[(366 * 86_400, 0, 100_000)]);
        let middle = 183 * 86_400 * SECOND;
        assert_eq!(ramp.activity(50_000, middle), Activity::Later(middle + 1));
        assert_eq!(ramp.activity(49_999, middle), Activity::Now);
    }
}
