//! Which Kafka a broker is, as far as that can be told: a broker does not say its release, but which versions of which
//! requests it speaks.

use super::connection::Versions;

const PRODUCE: i16 = 0;
const FETCH: i16 = 1;

/// The newest versions of Produce and Fetch, by the releases that brought them (KIP-516, 853, 890, 951, 1166), newest
/// first.
const RELEASES: [(i16, i16, &str); 9] = [
    (13, 18, "4.1 or newer"),
    (12, 17, "4.0"),
    (11, 17, "3.9"),
    (11, 16, "3.8"),
    (10, 16, "3.7"),
    (9, 14, "3.5 or 3.6"),
    (9, 13, "3.1 to 3.4"),
    (8, 12, "2.7 to 3.0"),
    (7, 11, "2.3 to 2.6"),
];

/// The release whose requests these are.
pub(super) fn release(versions: &Versions) -> Option<&'static str> {
    let (produce, fetch) = (versions.get(&PRODUCE)?.1, versions.get(&FETCH)?.1);
    let found =
        RELEASES.iter().find(|(least_produce, least_fetch, _)| produce >= *least_produce && fetch >= *least_fetch);
    Some(found.map_or("older than 2.3", |(_, _, release)| release))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_by_their_requests() {
        let of = |produce, fetch| release(&Versions::from([(PRODUCE, (0, produce)), (FETCH, (0, fetch))]));
        assert_eq!(of(13, 18), Some("4.1 or newer"));
        assert_eq!(of(12, 17), Some("4.0"));
        assert_eq!(of(9, 15), Some("3.5 or 3.6"));
        assert_eq!(of(3, 4), Some("older than 2.3"));
        assert_eq!(release(&Versions::new()), None);
    }
}
