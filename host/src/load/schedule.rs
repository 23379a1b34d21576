//! When an iteration is due: a pure function from its number to an instant.

use crate::plan::{Pace, Rate, Stage};

/// Instants are nanoseconds since the load's start.
#[derive(Debug, Clone)]
pub enum Schedule {
    /// As fast as it goes: every iteration is due at once.
    Unpaced,
    /// One every `denominator_ns / numerator` nanoseconds, exactly, however long.
    Even(Rate),
    /// Rates that change linearly.
    Stages(Vec<Stretch>),
}

/// A stage, and where it begins.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// Iterations before it; not a whole number.
    first: f64,
    /// Seconds before it.
    start_s: f64,
    length_s: f64,
    from_per_s: f64,
    to_per_s: f64,
}

impl Stretch {
    fn count(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.length_s
    }

    /// Solves `from * t + (to - from) / length * t^2 / 2 = n` for t; this form of the root holds for a slope of 0, too.
    fn seconds_until(&self, n: f64) -> f64 {
        let slope = (self.to_per_s - self.from_per_s) / self.length_s;
        let root = (self.from_per_s * self.from_per_s + 2.0 * slope * n).max(0.0).sqrt();
        let divisor = self.from_per_s + root;
        if n <= 0.0 || divisor <= 0.0 { 0.0 } else { (2.0 * n / divisor).min(self.length_s) }
    }
}

impl Schedule {
    /// A flow's.
    pub fn new(pace: &Pace) -> Self {
        match pace {
            Pace::Unpaced => Schedule::Unpaced,
            Pace::Rate(rate) => Schedule::Even(*rate),
            Pace::Stages(stages) => Schedule::Stages(stretches(stages)),
        }
    }

    /// When iteration `number` of the flow is due, in nanoseconds since the load's start. `None`: never, as the stages
    /// end before.
    #[inline]
    pub fn due_ns(&self, number: u64) -> Option<u64> {
        match self {
            Schedule::Unpaced => Some(0),
            Schedule::Even(rate) => {
                let (num, den) = (rate.numerator(), rate.denominator_ns());
                // nearly always within 64 bits, where a division is several times cheaper
                Some(match number.checked_mul(den) {
                    Some(product) => product / num,
                    None => (number as u128 * den as u128 / num as u128).min(u64::MAX as u128) as u64,
                })
            }
            Schedule::Stages(_) => self.reaches_ns(number as f64),
        }
    }

    /// When the schedule has reached `count` iterations, which need not be a whole number: `due_ns` between two of them.
    /// `None`: never, or at no time in particular as it is unpaced.
    pub fn reaches_ns(&self, count: f64) -> Option<u64> {
        match self {
            Schedule::Unpaced => None,
            Schedule::Even(rate) => Some((count * rate.denominator_ns() as f64 / rate.numerator() as f64) as u64),
            Schedule::Stages(stretches) => {
                let at = stretches.partition_point(|s| s.first + s.count() <= count);
                let stretch = stretches.get(at)?;
                Some(((stretch.start_s + stretch.seconds_until(count - stretch.first)) * 1e9) as u64)
            }
        }
    }

    /// When the last stage ends, in nanoseconds since the load's start.
    pub fn end_ns(&self) -> Option<u64> {
        match self {
            Schedule::Stages(stretches) => stretches.last().map(|last| ((last.start_s + last.length_s) * 1e9) as u64),
            _ => None,
        }
    }

    /// Whether iterations have an intended time.
    pub fn is_paced(&self) -> bool {
        !matches!(self, Schedule::Unpaced)
    }

    /// How many iterations are due within the first `ns` nanoseconds; `None` for an unpaced one.
    pub fn count_within(&self, ns: u64) -> Option<u64> {
        match self {
            Schedule::Unpaced => None,
            Schedule::Even(rate) => {
                let due = (ns as u128 * rate.numerator() as u128).div_ceil(rate.denominator_ns() as u128);
                Some(due.min(u64::MAX as u128) as u64)
            }
            Schedule::Stages(_) => {
                // due_ns grows with the number, so a bisection finds the first that is too late
                let (mut low, mut high) = (0u64, 1u64 << 53);
                while low < high {
                    let middle = low + (high - low) / 2;
                    if self.due_ns(middle).is_some_and(|due| due < ns) { low = middle + 1 } else { high = middle }
                }
                Some(low)
            }
        }
    }
}

fn stretches(stages: &[Stage]) -> Vec<Stretch> {
    let (mut first, mut start_s) = (0.0, 0.0);
    let stretch = |stage: &Stage| {
        let stretch = Stretch {
            first,
            start_s,
            length_s: stage.length.as_secs_f64(),
            from_per_s: stage.from.per_second(),
            to_per_s: stage.to.per_second(),
        };
        first += stretch.count();
        start_s += stretch.length_s;
        stretch
    };
    stages.iter().map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(text: &str) -> Rate {
        Rate::parse(text).expect(text)
    }

    #[test]
    fn an_even_rate_is_exact_over_seconds_and_days() {
        for (text, per_day) in [
            ("1/s", 86_400),
            ("7/s", 604_800),
            ("0.1/s", 8_640),
            ("90/m", 129_600),
            ("1500/s", 129_600_000),
            ("1000000/s", 86_400_000_000),
        ] {
            let schedule = Schedule::Even(rate(text));
            assert_eq!(schedule.count_within(86_400 * SECOND), Some(per_day), "{text}");
            assert_eq!(schedule.due_ns(per_day), Some(86_400 * SECOND), "{text}");
            assert_eq!(schedule.due_ns(0), Some(0), "{text}");
        }
    }

    #[test]
    fn an_even_rate_is_spread_evenly() {
        let schedule = Schedule::Even(rate("7/s"));
        let due: Vec<u64> = (0..1000).map(|n| schedule.due_ns(n).expect("it never ends")).collect();
        assert!(due.windows(2).all(|w| (w[1] - w[0]).abs_diff(SECOND / 7) <= 1));
    }

    #[test]
    fn stages_ramp_and_hold() {
        let stage = |seconds, from: &str, to: &str| Stage {
            length: Duration::from_secs(seconds),
            from: rate(from),
            to: rate(to),
        };
        let schedule = Schedule::new(&Pace::Stages(vec![
            stage(10, "100/s", "100/s"),
            stage(20, "100/s", "1000/s"),
            stage(5, "1000/s", "1000/s"),
        ]));
        assert_eq!(schedule.count_within(10 * SECOND), Some(1_000));
        assert_eq!(schedule.count_within(30 * SECOND), Some(12_000));
        assert_eq!(schedule.count_within(35 * SECOND), Some(17_000));
        assert_eq!(schedule.count_within(100 * SECOND), Some(17_000));
        assert_eq!(schedule.due_ns(17_000), None);
        // half-way up the ramp the rate is 550/s
        let around =
            schedule.count_within(21 * SECOND).expect("paced") - schedule.count_within(19 * SECOND).expect("paced");
        assert!(around.abs_diff(1_100) <= 1, "{around}");
        let due: Vec<u64> = (0..17_000).map(|n| schedule.due_ns(n).expect("within")).collect();
        assert!(due.windows(2).all(|w| w[0] <= w[1]), "never backwards");
    }

    #[test]
    fn between_two_iterations_there_is_an_instant_too() {
        let even = Schedule::Even(rate("10/s"));
        assert_eq!(even.reaches_ns(2.5), Some(250_000_000));
        assert_eq!(even.reaches_ns(3.0), even.due_ns(3));
        let up = Stage { length: Duration::from_secs(10), from: rate("0/s"), to: rate("10/s") };
        let stages = Schedule::new(&Pace::Stages(vec![up]));
        assert_eq!(stages.reaches_ns(12.5), Some(5 * SECOND));
        assert_eq!(stages.reaches_ns(50.5), None);
        assert_eq!(Schedule::Unpaced.reaches_ns(1.0), None);
    }

    #[test]
    fn numbers_beyond_64_bits_of_product() {
        let schedule = Schedule::Even(rate("1000000/s"));
        let far = 100 * 365 * 86_400 * 1_000_000u64;
        assert_eq!(schedule.due_ns(far), Some(100 * 365 * 86_400 * SECOND));
    }
}
