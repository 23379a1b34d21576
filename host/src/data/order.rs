//! Which row is next. All workers share one number, and whoever takes some moves it on: no lock, nothing kept a row.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::plan::Order;

/// Hands out the rows of one data set.
#[derive(Debug)]
pub struct Turns {
    order: Order,
    rows: u64,
    seed: u64,
    next: AtomicU64,
}

/// Some turns. They are one worker's alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    places: Range<u64>,
    /// Fewer than were asked for: there are no more.
    pub is_short: bool,
}

/// Rounds of mixing; four are enough to look random.
const ROUNDS: u64 = 4;

impl Turns {
    /// For a data set of so many rows, at least one.
    pub fn new(order: Order, rows: u64, seed: u64) -> Self {
        Turns { order, rows, seed, next: AtomicU64::new(0) }
    }

    /// The order that rows come in.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Takes the next turns.
    pub fn take(&self, count: u32) -> Turn {
        let count = u64::from(count);
        let first = self.next.fetch_add(count, Relaxed);
        if self.order != Order::Unique {
            return Turn { places: first..first + count, is_short: false };
        }
        let first = first.min(self.rows);
        let last = (first + count).min(self.rows);
        Turn { places: first..last, is_short: last - first < count }
    }

    /// How many rows were handed out.
    pub fn taken(&self) -> u64 {
        let next = self.next.load(Relaxed);
        if self.order == Order::Unique { next.min(self.rows) } else { next }
    }

    /// The rows of these turns: stretches that lie together.
    pub fn rows(&self, turn: &Turn) -> impl Iterator<Item = Range<u64>> {
        let mut places = turn.places.clone();
        std::iter::from_fn(move || {
            let place = places.start;
            if places.is_empty() {
                return None;
            }
            let row = place % self.rows;
            let stretch = match self.order {
                Order::Random => {
                    let row = self.shuffled(place / self.rows, row);
                    row..row + 1
                }
                Order::Sequential | Order::Unique => row..(row + places.end - place).min(self.rows),
            };
            places.start += stretch.end - stretch.start;
            Some(stretch)
        })
    }

    /// The row at a place of a shuffled pass: a permutation that is computed, not kept. A Feistel network permutes the
    /// numbers of an even count of bits; one beyond the rows is permuted on until it is a row.
    fn shuffled(&self, pass: u64, place: u64) -> u64 {
        let half = (u64::BITS - (self.rows - 1).leading_zeros()).div_ceil(2).max(1);
        let mask = (1_u64 << half) - 1;
        let mut number = place;
        loop {
            let (mut left, mut right) = (number >> half, number & mask);
            for round in 0..ROUNDS {
                let mixed = mix(self.seed ^ mix(pass * ROUNDS + round) ^ right.rotate_left(32));
                (left, right) = (right, (left ^ mixed) & mask);
            }
            number = left << half | right;
            if number < self.rows {
                return number;
            }
        }
    }
}

/// splitmix64's last step: close numbers give far ones.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(turns: &Turns, count: u32) -> Vec<u64> {
        turns.rows(&turns.take(count)).flatten().collect()
    }

    #[test]
    fn a_sequence_begins_again_at_its_end() {
        let turns = Turns::new(Order::Sequential, 3, 0);
        assert_eq!([take(&turns, 2), take(&turns, 2), take(&turns, 5)], [vec![0, 1], vec![2, 0], vec![1, 2, 0, 1, 2]]);
        assert_eq!(turns.taken(), 9);
        assert_eq!(take(&Turns::new(Order::Sequential, 1, 0), 3), [0, 0, 0]);
    }

    #[test]
    fn a_shuffled_pass_has_each_row_once_and_the_next_has_another_order() {
        for rows in [1, 2, 3, 5, 9, 16, 17, 1_000, 4_097] {
            let turns = Turns::new(Order::Random, rows, 7);
            let (first, second) = (take(&turns, rows as u32), take(&turns, rows as u32));
            for pass in [&first, &second] {
                let mut sorted = pass.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..rows).collect::<Vec<_>>());
            }
            assert!(rows < 9 || first != second, "{rows}");
            assert_eq!(take(&Turns::new(Order::Random, rows, 7), rows as u32), first, "the seed's own order");
            assert!(rows < 9 || take(&Turns::new(Order::Random, rows, 8), rows as u32) != first, "{rows}");
        }
    }

    #[test]
    fn a_shuffled_pass_looks_random() {
        let rows = 10_000_u64;
        let order = take(&Turns::new(Order::Random, rows, 1), rows as u32);
        let neighbours = order.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
        assert!(neighbours < 20, "{neighbours}, where chance has 2");
        let mean = order[..1_000].iter().sum::<u64>() as f64 / 1_000.0;
        assert!((mean - 5_000.0).abs() < 400.0, "{mean}");
    }

    #[test]
    fn unique_rows_are_handed_out_once_whoever_asks() {
        let turns = Turns::new(Order::Unique, 10_000, 0);
        let taken = std::thread::scope(|scope| {
            let worker = || {
                let mut mine = Vec::new();
                loop {
                    let turn = turns.take(7);
                    mine.extend(turns.rows(&turn).flatten());
                    if turn.is_short {
                        return mine;
                    }
                }
            };
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
            let mut all: Vec<u64> = workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect();
            all.sort_unstable();
            all
        });
        assert_eq!(taken, (0..10_000).collect::<Vec<_>>());
        assert_eq!(turns.taken(), 10_000);
        assert_eq!(take(&turns, 1), Vec::<u64>::new());
    }

    #[test]
    fn as_many_unique_rows_as_there_are_leave_nobody_short() {
        let turns = Turns::new(Order::Unique, 9, 0);
        assert!(!turns.take(9).is_short && turns.take(1).is_short);
    }
}
