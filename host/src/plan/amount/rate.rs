//! Rates: `1500/s`, `90/m`, `10k/s`, `0.1/s`. Exact, so that a schedule of hours doesn't drift.

use std::cmp::Ordering;
use std::fmt;

use super::BadAmount;
use super::count::multiple;
use super::decimal::Decimal;

pub(super) const EXPECTED: &str = r#"a rate such as "1500/s", "90/m", "10k/s" or "0.1/s""#;

/// The highest rate that is taken seriously.
pub const MAX_RATE_PER_SECOND: u64 = 10_000_000;

const UNITS: [(&str, u64); 3] = [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000)];

/// So that the denominator fits 64 bits.
const MAX_PLACES: u32 = 6;

/// How often: `numerator` times in `denominator_ns` nanoseconds. Iteration k is due at k × denominator / numerator.
///
/// Zero only where a stage starts or ends there.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    numerator: u64,
    denominator_ns: u64,
}

impl Rate {
    /// Nothing at all.
    pub const ZERO: Self = Self { numerator: 0, denominator_ns: 1_000_000_000 };

    /// Reads a rate, as "0/s" too.
    ///
    /// # Errors
    /// When it is something else, or more than [`MAX_RATE_PER_SECOND`].
    pub fn parse(text: &str) -> Result<Self, BadAmount> {
        let bad = || BadAmount::new(EXPECTED, text);
        let (amount, unit) = text.trim().split_once('/').ok_or_else(|| {
            if parse_plain(text) { bad().with_hint(format!("say per what: \"{}/s\"", text.trim())) } else { bad() }
        })?;
        let unit = unit.trim();
        let (_, unit_ns) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| bad().with_hint("a rate is per second, minute or hour: /s, /m or /h"))?;
        let (number, suffix) = Decimal::take(amount.trim()).ok_or_else(bad)?;
        let multiple = multiple(suffix).ok_or_else(|| {
            if suffix.starts_with(['e', 'E']) {
                bad().with_hint("exponents are not read; ten million a second is the limit")
            } else {
                bad()
            }
        })?;
        let (digits, places) = reduce(number.digits, number.places, multiple).ok_or_else(bad)?;
        if places > MAX_PLACES {
            return Err(bad().with_hint("at most six decimals; a slow rate is better said per hour"));
        }
        let denominator_ns = unit_ns * 10u64.pow(places);
        let too_high = || bad().with_hint("ten million a second is the limit");
        let numerator = u64::try_from(digits).map_err(|_| too_high())?;
        if u128::from(numerator) * 1_000_000_000 > u128::from(MAX_RATE_PER_SECOND) * u128::from(denominator_ns) {
            return Err(too_high());
        }
        Ok(Self { numerator, denominator_ns })
    }

    /// How many times in [`Self::denominator_ns`].
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// In how many nanoseconds; never 0.
    pub fn denominator_ns(self) -> u64 {
        self.denominator_ns
    }

    /// How many a second, nearly.
    pub fn per_second(self) -> f64 {
        self.numerator as f64 * 1e9 / self.denominator_ns as f64
    }

    /// Whether it is no rate at all.
    pub fn is_zero(self) -> bool {
        self.numerator == 0
    }
}

fn parse_plain(text: &str) -> bool {
    Decimal::take(text.trim()).is_some_and(|(_, rest)| multiple(rest).is_some())
}

/// `digits` / 10^`places` × `multiple`, with as few decimals as that has.
fn reduce(digits: u128, mut places: u32, multiple: u64) -> Option<(u128, u32)> {
    let mut digits = digits.checked_mul(u128::from(multiple))?;
    while places > 0 && digits % 10 == 0 {
        digits /= 10;
        places -= 1;
    }
    Some((digits, places))
}

/// As it is written, with the suffix written out: `1500/s`, `90/m`, `0.1/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, unit_ns) = UNITS
            .iter()
            .find(|(_, unit_ns)| is_power_of_ten_times(self.denominator_ns, *unit_ns))
            .expect("a rate is made of one of the units and decimals");
        let scale = self.denominator_ns / unit_ns;
        let (whole, fraction) = (self.numerator / scale, self.numerator % scale);
        match scale {
            1 => write!(f, "{whole}/{unit}"),
            _ => write!(f, "{whole}.{fraction:0width$}/{unit}", width = scale.ilog10() as usize),
        }
    }
}

fn is_power_of_ten_times(denominator: u64, unit: u64) -> bool {
    denominator.is_multiple_of(unit) && {
        let scale = denominator / unit;
        10u64.pow(scale.ilog10()) == scale
    }
}

impl PartialEq for Rate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Rate {}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By how often it is: 60/m equals 1/s.
impl Ord for Rate {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator_ns);
        let right = u128::from(other.numerator) * u128::from(self.denominator_ns);
        left.cmp(&right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact() {
        for (text, numerator, denominator_ns, shown) in [
            ("1500/s", 1500, 1_000_000_000, "1500/s"),
            ("90/m", 90, 60_000_000_000, "90/m"),
            ("10k/s", 10_000, 1_000_000_000, "10000/s"),
            ("1.5k/s", 1_500, 1_000_000_000, "1500/s"),
            ("0.1/s", 1, 10_000_000_000, "0.1/s"),
            ("2.50 / s", 25, 10_000_000_000, "2.5/s"),
            ("3/h", 3, 3_600_000_000_000, "3/h"),
            ("0.000001/h", 1, 3_600_000_000_000_000_000, "0.000001/h"),
            ("10M/s", 10_000_000, 1_000_000_000, "10000000/s"),
            ("0/s", 0, 1_000_000_000, "0/s"),
        ] {
            let rate = Rate::parse(text).expect(text);
            assert_eq!((rate.numerator(), rate.denominator_ns()), (numerator, denominator_ns), "{text}");
            assert_eq!(rate.to_string(), shown);
        }
    }

    #[test]
    fn rates_compare_by_how_often_they_are() {
        let rate = |text| Rate::parse(text).expect(text);
        assert_eq!(rate("60/m"), rate("1/s"));
        assert!(rate("3/h") < rate("0.1/s"));
        assert_eq!(rate("90/m").per_second(), 1.5);
    }

    #[test]
    fn nonsense_is_refused_with_what_was_expected() {
        for text in [
            "",
            "5",
            "-1/s",
            "nan/s",
            "inf/s",
            "nan",
            "5/x",
            "1e18/s",
            "/s",
            "5/",
            "10000001/s",
            "11M/s",
            "5/s/s",
            "5x/s",
            "5 per s",
            "99999999999999999999999999999999999999999999/s",
            "600000001/m",
            "0.0000001/h",
            "340282366920938463463374607431768211455M/s",
        ] {
            let error = Rate::parse(text).expect_err(text).to_string();
            assert_eq!(error, format!("expected {EXPECTED}, found {text:?}"));
        }
        let hint = |text| Rate::parse(text).expect_err(text).hint.expect("hint");
        assert_eq!(hint("5"), r#"say per what: "5/s""#);
        assert_eq!(hint("5/x"), "a rate is per second, minute or hour: /s, /m or /h");
        assert_eq!(hint("11M/s"), "ten million a second is the limit");
        assert_eq!(hint("1e18/s"), "exponents are not read; ten million a second is the limit");
    }

    #[test]
    fn the_limit_is_by_second_in_every_unit() {
        assert!(Rate::parse("600M/m").is_ok());
        assert!(Rate::parse("36G/h").is_ok());
        assert!(Rate::parse("36.000001G/h").is_err());
    }
}
