//! Numbers as people write them: `25_000_000`, `0.1`; no sign and no exponent. Exact.

/// `digits` / 10^`places`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Decimal {
    pub(super) digits: u128,
    pub(super) places: u32,
}

impl Decimal {
    /// Reads the number at the start of `text` and answers the rest of it, without the blanks between.
    pub(super) fn take(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '_' || c == '.')).unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction.trim_end_matches('0')),
            Some(_) => return None,
            None => (number, ""),
        };
        if !is_digits(whole) {
            return None;
        }
        let mut digits = 0u128;
        for digit in whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit) {
            digits = digits.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
        }
        let places = u32::try_from(fraction.bytes().filter(u8::is_ascii_digit).count()).ok()?;
        Some((Self { digits, places }, rest.trim_start()))
    }

    /// This many times `unit`, when that is a whole number that fits.
    pub(super) fn times(self, unit: u64) -> Option<u64> {
        let scale = 10u128.checked_pow(self.places)?;
        let product = self.digits.checked_mul(u128::from(unit))?;
        (product % scale == 0).then(|| u64::try_from(product / scale).ok()).flatten()
    }
}

/// One digit or more, with single underscores between them.
fn is_digits(text: &str) -> bool {
    text.split('_').all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_exactly() {
        for (text, digits, places, rest) in [
            ("25_000_000", 25_000_000, 0, ""),
            ("0.1/s", 1, 1, "/s"),
            ("1.50 MiB", 15, 1, "MiB"),
            ("10.00k", 10, 0, "k"),
            ("007", 7, 0, ""),
        ] {
            assert_eq!(Decimal::take(text), Some((Decimal { digits, places }, rest)), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-1", "+1", ".5", "5.", "1__0", "_1", "1_", "1.2.3", "nan", "inf", "1._5", &"9".repeat(40)] {
            assert_eq!(Decimal::take(text), None, "{text}");
        }
    }
}
