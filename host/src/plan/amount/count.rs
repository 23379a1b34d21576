//! Counts: `25_000_000`, `10k`, `25M`.

use super::BadAmount;
use super::decimal::Decimal;

pub(super) const EXPECTED: &str = r#"a count such as 1000, "25_000_000", "10k" or "25M""#;

/// Reads a count: digits, with `_` between them if wanted, and `k`, `M` or `G` for a thousand, a million, a billion.
///
/// # Errors
/// When it is something else, or not a whole number of 64 bits.
pub fn parse_count(text: &str) -> Result<u64, BadAmount> {
    let bad = || BadAmount::new(EXPECTED, text);
    let (number, suffix) = Decimal::take(text.trim()).ok_or_else(bad)?;
    let unit = multiple(suffix).ok_or_else(|| match suffix {
        "m" => bad().with_hint("a million is M"),
        "e" | "E" => bad(),
        _ if suffix.starts_with(['e', 'E']) => {
            bad().with_hint("exponents are not read: write it out, or with k, M or G")
        }
        _ => bad(),
    })?;
    number.times(unit).ok_or_else(|| bad().with_hint("it has to be a whole number of at most 64 bits"))
}

/// How many a suffix stands for.
pub(super) fn multiple(suffix: &str) -> Option<u64> {
    match suffix {
        "" => Some(1),
        "k" | "K" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        for (text, count) in [
            ("0", 0),
            ("1000", 1000),
            ("25_000_000", 25_000_000),
            ("10k", 10_000),
            ("1.5k", 1500),
            ("25M", 25_000_000),
            ("2G", 2_000_000_000),
            (" 7 ", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_was_expected() {
        for text in ["", "-1", "nan", "inf", "1e6", "1.5", "5x", "10m", "18446744073709551616", "99999999999G"] {
            let error = parse_count(text).expect_err(text).to_string();
            assert_eq!(error, format!("expected {EXPECTED}, found {text:?}"));
        }
        assert_eq!(parse_count("10m").expect_err("unit").hint.as_deref(), Some("a million is M"));
    }
}
