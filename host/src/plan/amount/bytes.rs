//! Sizes: `500`, `64KiB`, `1MB`.

use super::BadAmount;
use super::decimal::Decimal;

pub(super) const EXPECTED: &str = r#"a size such as 500, "64KiB" or "1MB""#;

/// Powers of two; the largest that fits is shown.
const BINARY: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// Reads a size in bytes: a number alone or with `B`, powers of ten (`kB`, `MB`, `GB`, `TB`) or of two (`KiB`, `MiB`,
/// `GiB`, `TiB`).
///
/// # Errors
/// When it is something else, or no whole number of bytes. `10k` is refused, as people mean either by it.
pub fn parse_bytes(text: &str) -> Result<u64, BadAmount> {
    let bad = || BadAmount::new(EXPECTED, text);
    let trimmed = text.trim();
    let (number, suffix) = Decimal::take(trimmed).ok_or_else(bad)?;
    let unit = match suffix {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => match BINARY.iter().find(|(name, _)| *name == suffix) {
            Some((_, unit)) => *unit,
            None => return Err(with_unit_hint(bad(), trimmed, suffix)),
        },
    };
    number.times(unit).ok_or_else(|| bad().with_hint("it has to be a whole number of bytes, of at most 64 bits"))
}

fn with_unit_hint(bad: BadAmount, text: &str, suffix: &str) -> BadAmount {
    let number = text.strip_suffix(suffix).unwrap_or(text).trim_end();
    match suffix {
        "k" | "K" => {
            bad.with_hint(format!("\"{number}kB\" is thousands of bytes, \"{number}KiB\" is 1024 times as many"))
        }
        "m" | "M" | "g" | "G" | "t" | "T" => {
            let letter = suffix.to_uppercase();
            bad.with_hint(format!(
                "\"{number}{letter}B\" counts in powers of ten, \"{number}{letter}iB\" in powers of two"
            ))
        }
        _ => bad,
    }
}

/// Shows a size with two decimals at most, in powers of two: `500B`, `64KiB`, `1.43MiB`.
pub fn format_bytes(bytes: u64) -> String {
    let Some((name, unit)) = BINARY.iter().find(|(_, unit)| bytes >= *unit) else {
        return format!("{bytes}B");
    };
    let hundredths = (u128::from(bytes) * 100 + u128::from(unit / 2)) / u128::from(*unit);
    let (whole, fraction) = (hundredths / 100, hundredths % 100);
    match fraction {
        0 => format!("{whole}{name}"),
        f if f % 10 == 0 => format!("{whole}.{}{name}", f / 10),
        f => format!("{whole}.{f:02}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", 0),
            ("500", 500),
            ("500B", 500),
            ("10kB", 10_000),
            ("10KB", 10_000),
            ("64KiB", 65_536),
            ("1MB", 1_000_000),
            ("1MiB", 1 << 20),
            ("1.5 MiB", 3 << 19),
            ("2GB", 2_000_000_000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_was_expected() {
        for text in ["", "-1", "nan", "1e6", "5x", "0.5", "1.0001KiB", "99999999TiB", "MiB", "1mib", "1Mib"] {
            let error = parse_bytes(text).expect_err(text).to_string();
            assert_eq!(error, format!("expected {EXPECTED}, found {text:?}"));
        }
    }

    #[test]
    fn a_unit_that_could_mean_two_things_is_refused_with_both() {
        let hint = |text| parse_bytes(text).expect_err(text).hint.expect("hint");
        assert_eq!(hint("10k"), r#""10kB" is thousands of bytes, "10KiB" is 1024 times as many"#);
        assert_eq!(hint("10 M"), r#""10MB" counts in powers of ten, "10MiB" in powers of two"#);
    }

    #[test]
    fn sizes_are_shown_short() {
        for (bytes, text) in [
            (0, "0B"),
            (500, "500B"),
            (65_536, "64KiB"),
            (268_435_456, "256MiB"),
            (1_500_000, "1.43MiB"),
            (1_181_116_007, "1.1GiB"),
            (1_079_000_000, "1GiB"),
            (1_083_000_000, "1.01GiB"),
        ] {
            assert_eq!(format_bytes(bytes), text);
        }
        assert_eq!(parse_bytes(&format_bytes(268_435_456)), Ok(268_435_456));
    }
}
