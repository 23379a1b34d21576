//! splitmix64 (Steele, Lea, Flood 2014): one `u64` of state, and the same numbers in every language's SDK.
//!
//! `docs/rng.md` of the khost repository writes it down with test vectors, for ports.

/// A seeded random number generator: fast, small, the same on every machine. Not for secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng(u64);

impl Rng {
    /// The seed is the state; all seeds are equally good. [`run::seed`](crate::run::seed) gives each worker its own.
    pub const fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// The next number, evenly spread over all of `u64`.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to `n - 1`; 0 for an `n` of 0. The bias is below `n` / 2^32.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        self.scaled(n as u64)
    }

    /// From `low` to `high`, both included.
    ///
    /// Panics if `low` is above `high`.
    #[inline]
    #[track_caller]
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        assert!(low <= high, "nothing is between {low} and {high}");
        low + self.scaled((high - low) as u64 + 1)
    }

    /// `n` is at most 2^32, so neither the product nor the answer overflows.
    #[inline]
    fn scaled(&mut self, n: u64) -> u32 {
        (((self.next_u64() >> 32) * n) >> 32) as u32
    }

    /// From 0 to 1, without 1, in steps of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability: never at 0, always at 1.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Fills with random bytes.
    #[inline]
    pub fn fill(&mut self, bytes: &mut [u8]) {
        let mut words = bytes.chunks_exact_mut(8);
        for word in &mut words {
            word.copy_from_slice(&self.next_u64().to_le_bytes());
        }
        let rest = words.into_remainder();
        if !rest.is_empty() {
            rest.copy_from_slice(&self.next_u64().to_le_bytes()[..rest.len()]);
        }
    }

    /// `N` random bytes, e.g. a key: `let key: [u8; 16] = rng.array();`.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// `length` random bytes in a new `Vec`: for `setup`, not for each message.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes
    }

    /// One of the items, each as likely as the others. At most 2^32 items.
    ///
    /// Panics if there are none.
    #[inline]
    #[track_caller]
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        assert!(!from.is_empty(), "there is nothing to pick from");
        &from[self.scaled(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    const PAGE: &str = include_str!("../../../docs/rng.md");

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// One line of the page: `SEED OPERATION ARGUMENTS = RESULTS`, the operation called once per result.
    fn check(line: &str) {
        let (call, results) = line.split_once(" = ").expect("a line has ` = `");
        let call: Vec<&str> = call.split_whitespace().collect();
        let argument = |i: usize| call[i].parse::<u32>().unwrap();
        let mut rng = Rng::new(u64::from_str_radix(call[0], 16).unwrap());
        for result in results.split_whitespace() {
            let got = match call[1] {
                "next" => format!("{:016x}", rng.next_u64()),
                "below" => rng.below(argument(2)).to_string(),
                "between" => rng.between(argument(2), argument(3)).to_string(),
                "fill" => hex(&rng.bytes(argument(2) as usize)),
                "unit" => rng.unit().to_string(),
                "chance" => rng.chance(call[2].parse().unwrap()).to_string(),
                "pick" => rng.pick(&call[2..]).to_string(),
                other => panic!("the page has an operation `{other}`"),
            };
            assert_eq!(got, result, "{line}");
        }
    }

    #[test]
    fn gives_the_vectors_of_the_page() {
        let (_, rest) = PAGE.split_once("```vectors\n").expect("the page has vectors");
        let (vectors, _) = rest.split_once("\n```").expect("the vectors end");
        for operation in ["next", "below", "between", "fill", "unit", "chance", "pick"] {
            let named = |line: &str| line.split_whitespace().nth(1) == Some(operation);
            assert!(vectors.lines().any(named), "no vector of `{operation}`");
        }
        vectors.lines().for_each(check);
    }

    #[test]
    fn begins_as_published() {
        let mut rng = Rng::new(0);
        let first = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
        assert_eq!(first, [0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f]);
    }

    #[test]
    fn stays_within_its_bounds() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[rng.below(10) as usize] += 1;
            assert!((250..=750).contains(&rng.between(250, 750)));
            assert!((0.0..1.0).contains(&rng.unit()));
        }
        assert!(seen.iter().all(|count| (9_500..10_500).contains(count)), "{seen:?}");
        assert_eq!((rng.below(0), rng.below(1), rng.between(7, 7)), (0, 0, 7));
        assert!(!rng.chance(0.0) && rng.chance(1.0));
    }

    #[test]
    fn between_reaches_every_u32() {
        let mut rng = Rng::new(0);
        assert_eq!(rng.between(0, u32::MAX), 0xe220a839);
    }

    #[test]
    fn an_array_is_a_fill() {
        assert_eq!(Rng::new(3).array::<11>().to_vec(), Rng::new(3).bytes(11));
    }

    #[test]
    #[should_panic(expected = "nothing is between 2 and 1")]
    fn bounds_the_wrong_way_round() {
        Rng::new(0).between(2, 1);
    }

    #[test]
    #[should_panic(expected = "nothing to pick from")]
    fn a_pick_from_nothing() {
        Rng::new(0).pick::<u8>(&[]);
    }
}
