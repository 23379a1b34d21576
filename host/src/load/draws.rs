//! khost's own random numbers: which arrivals and which think times a run has follows from its seed.

use std::time::Duration;

/// A generator: splitmix64.
#[derive(Debug, Clone)]
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Draws(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scramble(self.0)
    }

    /// From 0 to 1, 1 left out.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From an exponential distribution of mean 1: what lies between two events that know nothing of each other.
    pub(super) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// As likely anywhere from `least` to `most`.
    pub(super) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        least + most.saturating_sub(least).mul_f64(self.unit())
    }
}

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// FNV-1a, 64 bits.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3))
}

/// splitmix64 over the parts: close seeds give far ones.
pub(super) fn mix(seed: u64, parts: &[u64]) -> u64 {
    parts.iter().fold(seed, |state, part| scramble((state ^ part).wrapping_add(STEP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_of_workers_and_instances_differ() {
        let seeds: std::collections::HashSet<u64> = (0..100)
            .flat_map(|worker| (0..3).map(move |instance| mix(0, &[hash("write"), worker, instance])))
            .collect();
        assert_eq!(seeds.len(), 300);
        assert_eq!(mix(7, &[1, 2]), mix(7, &[1, 2]));
    }

    #[test]
    fn think_times_fill_their_range() {
        let (least, most) = (Duration::from_secs(1), Duration::from_secs(3));
        let mut draws = Draws::new(5);
        let times: Vec<f64> = (0..10_000).map(|_| draws.between(least, most).as_secs_f64()).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!(times.iter().all(|time| (1.0..3.0).contains(time)) && (mean - 2.0).abs() < 0.03, "{mean}");
        assert_eq!(draws.between(most, most), most);
    }
}
