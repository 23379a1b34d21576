//! Durations: `250ms`, `1h 30m`, `1.5s`.

use std::time::Duration;

use super::BadAmount;

pub(super) const EXPECTED: &str = r#"a duration such as "250ms", "1.5s" or "1h 30m""#;

/// A longer one is a slip of the pen, and nanoseconds have to fit 64 bits.
const MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// Reads a duration: numbers with the units `ns`, `us`, `ms`, `s`, `m`, `h`, `d`, `w`, of at most 366 days together.
///
/// # Errors
/// When it is something else. Months and years are no durations.
pub fn parse_duration(text: &str) -> Result<Duration, BadAmount> {
    let bad = || BadAmount::new(EXPECTED, text);
    let trimmed = text.trim();
    if let Some(calendar) = calendar_unit(trimmed) {
        let hint = if calendar == "M" { "minutes are m" } else { "months and years differ in length: count in days" };
        return Err(bad().with_hint(hint));
    }
    let duration = humantime::parse_duration(trimmed).map_err(|error| match error {
        humantime::DurationError::UnknownUnit { unit, .. } if unit.is_empty() => {
            bad().with_hint(format!("give it a unit, such as \"{trimmed}s\""))
        }
        _ => bad(),
    })?;
    if duration > MAX {
        return Err(bad().with_hint("366 days are the limit"));
    }
    Ok(duration)
}

/// The first unit in `text` that is a month or a year.
fn calendar_unit(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_alphabetic())
        .find(|unit| *unit == "M" || unit.starts_with("mon") || unit.starts_with('y'))
}

/// Shows a duration exactly: `250ms`, `1.25s`, `1m 30s`, `0s`. `parse_duration` reads it back; round before, where
/// nanoseconds don't matter.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos < 1_000_000_000 {
        return match nanos {
            0 => "0s".to_owned(),
            1..1_000 => format!("{nanos}ns"),
            1_000..1_000_000 => format!("{}us", thousandths(nanos, 1_000)),
            _ => format!("{}ms", thousandths(nanos, 1_000_000)),
        };
    }
    let minutes = duration.as_secs() / 60;
    let seconds = nanos - u128::from(minutes) * 60_000_000_000;
    let mut parts = Vec::new();
    for (count, unit) in [(minutes / 1440, "d"), (minutes / 60 % 24, "h"), (minutes % 60, "m")] {
        if count > 0 {
            parts.push(format!("{count}{unit}"));
        }
    }
    if seconds > 0 {
        parts.push(format!("{}s", thousandths(seconds, 1_000_000_000)));
    }
    parts.join(" ")
}

/// `nanos / unit` with as many decimals as it has.
fn thousandths(nanos: u128, unit: u128) -> String {
    let digits = unit.ilog10() as usize;
    let fraction = format!("{:0digits$}", nanos % unit);
    match fraction.trim_end_matches('0') {
        "" => format!("{}", nanos / unit),
        fraction => format!("{}.{fraction}", nanos / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, millis) in [
            ("250ms", 250),
            ("10s", 10_000),
            ("1.5s", 1_500),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("2 min", 120_000),
            ("1d", 86_400_000),
            ("0s", 0),
            (" 5s ", 5_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_was_expected() {
        for text in ["", "-1s", "nan", "inf", "5x", "s", "1e3s", "10", "367d", "99999999999999999999s", "1M", "1 year"]
        {
            let error = parse_duration(text).expect_err(text).to_string();
            assert_eq!(error, format!("expected {EXPECTED}, found {text:?}"));
        }
        let hint = |text| parse_duration(text).expect_err(text).hint.expect("hint");
        assert_eq!(hint("10"), r#"give it a unit, such as "10s""#);
        assert_eq!(hint("10M"), "minutes are m");
        assert_eq!(hint("2 months"), "months and years differ in length: count in days");
    }

    #[test]
    fn durations_are_shown_short_and_read_back() {
        for (nanos, text) in [
            (0, "0s"),
            (15, "15ns"),
            (1_500, "1.5us"),
            (250_000_000, "250ms"),
            (2_050_000, "2.05ms"),
            (1_250_000_000, "1.25s"),
            (30_000_000_000, "30s"),
            (90_000_000_000, "1m 30s"),
            (90_500_000_000, "1m 30.5s"),
            (3_600_000_000_000, "1h"),
            (176_400_000_000_000, "2d 1h"),
        ] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(format_duration(duration), text);
            assert_eq!(parse_duration(text), Ok(duration), "{text}");
        }
    }
}
