//! What a mistyped name was meant to be.

/// The candidate that is nearest to `name`, when one is near enough to be meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = simplify(name);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&plain, &simplify(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= tolerance(name.len().max(candidate.len())))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters, and one kind of separator: `warm_up` and `Warm.Up` are as near to `warm-up` as can be.
fn simplify(name: &str) -> String {
    name.chars().map(|c| if matches!(c, '_' | '.' | ' ') { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// One slip in three letters; a letter alone is not meant by another.
fn tolerance(length: usize) -> usize {
    (length / 3).max(1).min(length.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_find_what_was_meant() {
        let known = ["threads", "clients", "rate", "warm-up", "linger.ms"];
        for (typed, meant) in [
            ("thread", "threads"),
            ("ratte", "rate"),
            ("warm_up", "warm-up"),
            ("warmup", "warm-up"),
            ("Rate", "rate"),
            ("lingerms", "linger.ms"),
            ("linger-ms", "linger.ms"),
            ("cleints", "clients"),
        ] {
            assert_eq!(nearest(typed, known), Some(meant), "{typed}");
        }
    }

    #[test]
    fn what_is_far_from_everything_finds_nothing() {
        assert_eq!(nearest("users", ["threads", "clients", "rate"]), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest("", [""]), Some(""));
    }
}
