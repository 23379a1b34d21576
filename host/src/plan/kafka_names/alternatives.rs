//! Settings that say the same in another way: one that is laid over stands in place of the others below it.

/// Each list is of ways, and each way of settings that go together. Passwords are not in it: they may come from elsewhere.
const ALTERNATIVES: &[&[&[&str]]] = &[
    // whom to trust
    &[&["ssl.ca.location"], &["ssl.ca.pem"], &["ssl.truststore.location"]],
    // who we are
    &[
        &["ssl.keystore.location"],
        &["ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem"],
    ],
    &[&["ssl.certificate.location"], &["ssl.certificate.pem"]],
    &[&["ssl.key.location"], &["ssl.key.pem"]],
    // where tokens come from
    &[&["sasl.oauthbearer.token.file"], &["sasl.oauthbearer.token.command"]],
];

/// Whether one of `names` stands in place of the setting `name`.
pub(in crate::plan) fn is_replaced(name: &str, names: &[&str]) -> bool {
    let other_way = |ways: &[&[&str]]| {
        let own = ways.iter().position(|way| way.contains(&name));
        own.is_some_and(|own| {
            let others = ways.iter().enumerate().filter(|(at, _)| *at != own);
            others.flat_map(|(_, way)| way.iter()).any(|other| names.contains(other))
        })
    };
    !names.contains(&name) && ALTERNATIVES.iter().any(|ways| other_way(ways))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::kafka_names::property;

    #[test]
    fn one_way_stands_in_place_of_another() {
        assert!(is_replaced("ssl.truststore.location", &["linger.ms", "ssl.ca.pem"]));
        assert!(is_replaced("ssl.keystore.location", &["ssl.key.location"]));
        assert!(is_replaced("ssl.key.pem", &["ssl.key.location"]));
        assert!(!is_replaced("ssl.certificate.location", &["ssl.key.location"]));
        assert!(!is_replaced("ssl.ca.location", &["ssl.ca.location"]));
        assert!(!is_replaced("linger.ms", &["ssl.ca.location"]));
        let names = ALTERNATIVES.iter().flat_map(|ways| ways.iter()).flat_map(|way| way.iter());
        names.for_each(|name| assert!(property::find(name).is_some(), "{name}"));
    }
}
