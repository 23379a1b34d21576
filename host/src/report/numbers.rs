//! Numbers as a person reads them: a decimal point whatever the locale, groups of three digits with a comma.

/// `1234567` is `1,234,567`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// At least three digits that matter: `0.123`, `1.23`, `12.3`, `1,234`.
pub(super) fn decimal(n: f64) -> String {
    match n.abs() {
        0.0 => "0".into(),
        a if a < 1.0 => format!("{n:.3}"),
        a if a < 10.0 => format!("{n:.2}"),
        a if a < 100.0 => format!("{n:.1}"),
        _ if n < 0.0 => format!("-{}", count((-n).round() as u64)),
        _ => count(n.round() as u64),
    }
}

/// Microseconds as milliseconds.
pub(super) fn millis(us: f64) -> String {
    match us {
        us if us < 10_000.0 => format!("{:.3}", us / 1e3),
        us if us < 100_000.0 => format!("{:.2}", us / 1e3),
        us if us < 1_000_000.0 => format!("{:.1}", us / 1e3),
        us => count((us / 1e3).round() as u64),
    }
}

/// Seconds as `00:02:31`; below a minute with milliseconds, `00:00:02.315`.
pub(super) fn hms(seconds: f64) -> String {
    let millis = (seconds * 1e3).round() as u64;
    if millis < 60_000 {
        return format!("00:00:{:02}.{:03}", millis / 1_000, millis % 1_000);
    }
    let whole = seconds.round() as u64;
    format!("{:02}:{:02}:{:02}", whole / 3_600, whole / 60 % 60, whole % 60)
}

/// A share of 1 as percent.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", if share < 0.1 { format!("{:.1}", share * 100.0) } else { format!("{:.0}", share * 100.0) })
}

/// `1 thread`, `2 threads`.
pub(super) fn plural(n: u64, one: &str) -> String {
    format!("{} {one}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_person_reads_them() {
        assert_eq!([count(0), count(999), count(1_000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [decimal(0.1234), decimal(1.234), decimal(12.34), decimal(1234.5)],
            ["0.123", "1.23", "12.3", "1,235"]
        );
        assert_eq!([millis(7.0), millis(12_345.0), millis(2_345_678.0)], ["0.007", "12.35", "2,346"]);
        assert_eq!(
            [hms(2.3151), hms(59.9996), hms(151.4), hms(3_599.6), hms(360_061.0)],
            ["00:00:02.315", "00:01:00", "00:02:31", "01:00:00", "100:01:01"]
        );
        assert_eq!([percent(0.0123), percent(0.5)], ["1.2 %", "50 %"]);
        assert_eq!([plural(1, "thread"), plural(2, "thread")], ["1 thread", "2 threads"]);
    }
}
