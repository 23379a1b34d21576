//! Figures over time: a point a second, kept bounded however long the run.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::new_histogram;

/// More points than this, and neighbours are joined.
const MOST_POINTS: usize = 7_200;
/// A second is closed when the newest is this much later: all threads have handed it over.
const OPEN_SECONDS: u64 = 5;

/// What happened in one stretch of the run, warm-up included.
#[derive(Debug, Clone, Default, Serialize, PartialEq)]
pub struct Point {
    /// Its start, in seconds since the run's start.
    pub second: u64,
    /// Messages handed to the client.
    pub sent: u64,
    /// Messages acknowledged.
    pub acknowledged: u64,
    /// Messages failed or given up.
    pub failed: u64,
    /// Bytes of keys and values acknowledged.
    pub bytes: u64,
    /// Median response, or service where there is no intended time; measured messages only.
    pub p50_us: Option<u64>,
    /// Its 99th percentile.
    pub p99_us: Option<u64>,
    /// Its maximum.
    pub max_us: Option<u64>,
}

/// The points of one flow. Counts of joined points are sums; their percentiles are the larger of both, so an upper bound.
#[derive(Debug, Default)]
pub struct Series {
    step: u64,
    closed: Vec<Point>,
    open: BTreeMap<u64, (Point, Option<Histogram<u64>>)>,
}

impl Series {
    /// An empty one, a point a second.
    pub fn new() -> Self {
        Series { step: 1, ..Default::default() }
    }

    /// The point of a second that is still open; a late hand-over of a closed one goes into the oldest open one.
    pub fn at(&mut self, second: u64) -> &mut Point {
        &mut self.entry(second).0
    }

    /// Adds durations to a second's.
    pub fn durations(&mut self, second: u64, histogram: &Histogram<u64>) {
        let into = self.entry(second).1.get_or_insert_with(new_histogram);
        into.add(histogram).expect("all histograms have the same bounds");
    }

    fn entry(&mut self, second: u64) -> &mut (Point, Option<Histogram<u64>>) {
        let newest = self.open.last_key_value().map_or(second, |(newest, _)| *newest.max(&second));
        while let Some((oldest, _)) = self.open.first_key_value()
            && *oldest + OPEN_SECONDS < newest
        {
            self.close_oldest();
        }
        let second = self.closed.last().map_or(second, |p| second.max(p.second + self.step));
        self.open.entry(second).or_insert_with(|| (Point { second, ..Default::default() }, None))
    }

    fn close_oldest(&mut self) {
        let Some((_, (mut point, histogram))) = self.open.pop_first() else { return };
        if let Some(h) = histogram {
            point.p50_us = Some(h.value_at_quantile(0.5));
            point.p99_us = Some(h.value_at_quantile(0.99));
            point.max_us = Some(h.max());
        }
        match self.closed.last_mut() {
            Some(last) if point.second < last.second + self.step => join(last, &point),
            _ => {
                point.second -= point.second % self.step;
                self.closed.push(point);
            }
        }
        if self.closed.len() > MOST_POINTS {
            self.step *= 2;
            let points = std::mem::take(&mut self.closed);
            for mut point in points {
                match self.closed.last_mut() {
                    Some(last) if point.second < last.second + self.step => join(last, &point),
                    _ => {
                        point.second -= point.second % self.step;
                        self.closed.push(point);
                    }
                }
            }
        }
    }

    /// All points in order, and the seconds that each stands for.
    pub fn finish(mut self) -> (u64, Vec<Point>) {
        while !self.open.is_empty() {
            self.close_oldest();
        }
        (self.step, self.closed)
    }
}

fn join(into: &mut Point, other: &Point) {
    into.sent += other.sent;
    into.acknowledged += other.acknowledged;
    into.failed += other.failed;
    into.bytes += other.bytes;
    into.p50_us = into.p50_us.max(other.p50_us);
    into.p99_us = into.p99_us.max(other.p99_us);
    into.max_us = into.max_us.max(other.max_us);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_points_stay_bounded_and_keep_their_sums() {
        let mut series = Series::new();
        let seconds = 3 * 86_400;
        for second in 0..seconds {
            series.at(second).sent += 2;
        }
        let (step, points) = series.finish();
        assert!(points.len() <= MOST_POINTS, "{}", points.len());
        assert_eq!(points.iter().map(|p| p.sent).sum::<u64>(), 2 * seconds);
        assert!(points.windows(2).all(|w| w[1].second - w[0].second == step));
    }

    #[test]
    fn late_and_quiet_seconds() {
        let mut series = Series::new();
        series.at(0).sent += 1;
        series.at(1).sent += 1;
        series.at(0).sent += 1;
        series.at(60).sent += 1;
        series.at(2).sent += 1;
        let (_, points) = series.finish();
        assert_eq!(points.iter().map(|p| (p.second, p.sent)).collect::<Vec<_>>(), [(0, 2), (1, 1), (2, 1), (60, 1)]);
        assert_eq!(points[0].p50_us, None);
    }
}
