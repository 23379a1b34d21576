//! A lag over time: a sample a second, kept bounded however long the run, and whether it grows.

use serde::Serialize;

/// More points than this, and every second one is left out.
const MOST_POINTS: usize = 7_200;
/// Fewer say nothing of a trend.
const FEWEST_OF_A_TREND: usize = 5;
/// How much the lag changes, in units of the largest distance of a sample from the line, where that is told.
const BEYOND_NOISE: f64 = 2.0;

/// One sample.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
pub struct LagPoint {
    /// When, in seconds since the load's start.
    pub at_s: f64,
    /// How many records were left to read.
    pub records: u64,
}

/// Samples of a lag, in their order. Those that are left out are still in `max`.
#[derive(Debug, Clone, Default)]
pub struct LagSeries {
    points: Vec<LagPoint>,
    /// One sample of `2^thinned` is kept.
    thinned: u32,
    seen: u64,
    max: Option<u64>,
    last: Option<LagPoint>,
}

impl LagSeries {
    /// Adds a sample.
    pub fn push(&mut self, point: LagPoint) {
        self.max = self.max.max(Some(point.records));
        self.last = Some(point);
        if self.seen.is_multiple_of(1 << self.thinned) {
            self.points.push(point);
        }
        self.seen += 1;
        if self.points.len() > MOST_POINTS {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.thinned += 1;
        }
    }

    /// The largest of all samples.
    pub fn max(&self) -> Option<u64> {
        self.max
    }

    /// What is kept of them, the last one always.
    pub fn points(&self) -> Vec<LagPoint> {
        let missing = self.last.filter(|last| self.points.last() != Some(last));
        self.points.iter().copied().chain(missing).collect()
    }
}

/// How fast a lag grows, in records a second: the slope of the line of least squares. None where that is not beyond noise:
/// where the line changes by less than twice the largest distance of a sample from it.
pub fn trend(points: &[LagPoint]) -> Option<f64> {
    if points.len() < FEWEST_OF_A_TREND {
        return None;
    }
    let count = points.len() as f64;
    let mean = |of: fn(&LagPoint) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (middle_s, middle) = (mean(|point| point.at_s), mean(|point| point.records as f64));
    let spread: f64 = points.iter().map(|point| (point.at_s - middle_s).powi(2)).sum();
    let together: f64 = points.iter().map(|point| (point.at_s - middle_s) * (point.records as f64 - middle)).sum();
    if spread <= 0.0 {
        return None;
    }
    let slope = together / spread;
    let off = |point: &LagPoint| (point.records as f64 - middle - slope * (point.at_s - middle_s)).abs();
    let farthest = points.iter().map(off).fold(0.0, f64::max);
    let change = slope.abs() * (points[points.len() - 1].at_s - points[0].at_s);
    (change >= 1.0 && change > BEYOND_NOISE * farthest).then_some(slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(records: impl IntoIterator<Item = u64>) -> Vec<LagPoint> {
        records.into_iter().zip(0u32..).map(|(records, at)| LagPoint { at_s: at.into(), records }).collect()
    }

    #[test]
    fn weeks_of_samples_stay_bounded_and_keep_the_largest_and_the_last() {
        let mut series = LagSeries::default();
        let all = 14 * 86_400;
        for (second, one) in points((0..all).map(|at| if at == 12_345 { 99 } else { at % 7 })).into_iter().enumerate() {
            series.push(one);
            assert!(series.points.len() <= MOST_POINTS, "after {second}");
        }
        let kept = series.points();
        assert!(kept.len() > MOST_POINTS / 2 - 1, "{}", kept.len());
        assert_eq!(series.max(), Some(99));
        assert_eq!(kept.last().map(|point| point.at_s), Some((all - 1) as f64));
        let step = kept[1].at_s - kept[0].at_s;
        assert!(kept[..kept.len() - 1].windows(2).all(|two| two[1].at_s - two[0].at_s == step));
    }

    #[test]
    fn no_sample_is_no_figure() {
        assert_eq!((LagSeries::default().max(), LagSeries::default().points()), (None, Vec::new()));
    }

    #[test]
    fn a_line_has_its_slope() {
        let slope = trend(&points((0..10).map(|at| 50 + 200 * at))).expect("it grows");
        assert!((slope - 200.0).abs() < 1e-6, "{slope}");
        let slope = trend(&points((0..10).map(|at| 5_000 - 30 * at + at % 3))).expect("it shrinks");
        assert!((-31.0..-29.0).contains(&slope), "{slope}");
    }

    #[test]
    fn noise_and_a_few_samples_have_none() {
        assert_eq!(trend(&points([0, 200, 400, 600])), None, "four samples");
        assert_eq!(trend(&points([7; 30])), None, "level");
        let commits = (0..30).map(|at| at % 5 * 200);
        assert_eq!(trend(&points(commits)), None, "a group that commits every 5 s");
        assert_eq!(trend(&points([0, 900, 20, 300, 40, 1_000, 0, 50])), None);
    }

    #[test]
    fn growth_shows_through_the_teeth_of_commits() {
        let slope = trend(&points((0..60).map(|at| at * 100 + at % 5 * 200))).expect("it grows");
        assert!((90.0..110.0).contains(&slope), "{slope}");
    }
}
