//! Histograms of microseconds, and what is said of one.

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest duration that is told apart: a day. Longer ones count as a day.
pub const MAX_MICROS: u64 = 86_400_000_000;

/// An empty histogram: microseconds from 1 to a day, at 3 significant digits; 229 KB once touched.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_MICROS, 3).expect("constant bounds that hdrhistogram takes")
}

/// What is said of a histogram: microseconds. Percentiles are values that were recorded, at 3 digits, never averages
/// of percentiles.
#[derive(Debug, Clone, Serialize)]
pub struct Distribution {
    /// How many durations.
    pub count: u64,
    /// The shortest.
    pub min_us: u64,
    /// The arithmetic mean.
    pub mean_us: f64,
    /// Half are at most this long.
    pub p50_us: u64,
    /// 75 % are at most this long.
    pub p75_us: u64,
    /// 90 %.
    pub p90_us: u64,
    /// 95 %.
    pub p95_us: u64,
    /// 99 %.
    pub p99_us: u64,
    /// 99.9 %.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
    /// How many took longer than a second: what a stall leaves behind.
    pub above_1s: u64,
}

impl Distribution {
    /// Of an empty histogram there is none.
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        let at = |q| histogram.value_at_quantile(q);
        Some(Distribution {
            count: histogram.len(),
            min_us: histogram.min(),
            mean_us: histogram.mean(),
            p50_us: at(0.50),
            p75_us: at(0.75),
            p90_us: at(0.90),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max(),
            above_1s: histogram.len() - histogram.count_between(0, 1_000_000),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_one_has_no_figures() {
        assert!(Distribution::of(&new_histogram()).is_none());
    }

    #[test]
    fn figures_of_a_uniform_distribution() {
        let mut h = new_histogram();
        (1..=2_000_000).step_by(1000).for_each(|us| h.saturating_record(us));
        let d = Distribution::of(&h).expect("it has values");
        assert_eq!(d.count, 2000);
        assert!((d.p50_us as f64 / 1e6 - 1.0).abs() < 0.002, "{d:?}");
        assert!((d.p99_us as f64 / 1.98e6 - 1.0).abs() < 0.002, "{d:?}");
        assert!((d.mean_us / 1e6 - 1.0).abs() < 0.002, "{d:?}");
        assert!(d.above_1s.abs_diff(1000) <= 1, "{d:?}");
    }

    #[test]
    fn more_than_a_day_counts_as_a_day() {
        let mut h = new_histogram();
        h.saturating_record(u64::MAX);
        assert!(h.max() >= MAX_MICROS && h.max() < MAX_MICROS + MAX_MICROS / 500);
    }
}
