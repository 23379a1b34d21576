//! What benchmarks make of their runs.

/// The middle one; of an even number, the upper of the two.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a variable of the environment says, else `default`.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// User and system time so far, of this process (`libc::RUSAGE_SELF`) or of those that it has waited for
/// (`libc::RUSAGE_CHILDREN`), in nanoseconds.
#[allow(dead_code, reason = "not every benchmark asks the system")]
pub(crate) fn cpu_ns(of: libc::c_int) -> u64 {
    // SAFETY: it is plain data, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(of, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}
