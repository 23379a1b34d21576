//! What a file does not say, and what is another thing here than in Java's client.

use std::collections::BTreeMap;

/// librdkafka's name for it, the name to show, librdkafka's default and that of Java's client 4.x.
const OTHERS: &[(&str, &str, &str, &str)] = &[
    ("batch.size", "batch.size", "1,000,000", "16,384"),
    ("enable.idempotence", "enable.idempotence", "false", "true"),
    ("max.in.flight.requests.per.connection", "max.in.flight.requests.per.connection", "1,000,000", "5"),
    ("partitioner", "partitioner", "consistent_random", "murmur2_random"),
    ("message.timeout.ms", "delivery.timeout.ms", "300,000", "120,000"),
    ("queue.buffering.max.kbytes", "queue.buffering.max.kbytes", "1,048,576", "32,768, as buffer.memory"),
];

/// One sentence on the settings of a producer that are left unset; `settings` are by librdkafka's own names.
pub(in crate::plan) fn other_defaults(settings: &BTreeMap<String, String>) -> Option<String> {
    let idempotent = settings.get("enable.idempotence").is_some_and(|value| value == "true");
    let unset: Vec<String> = OTHERS
        .iter()
        .filter(|(name, ..)| !settings.contains_key(*name))
        .filter(|(name, ..)| !(idempotent && name.starts_with("max.in.flight")))
        .map(|(_, shown, here, java)| format!("{shown} ({here} here, {java} in Java)"))
        .collect();
    (!unset.is_empty()).then(|| format!("not set, and another thing than in Java's client: {}", unset.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(settings: &[(&str, &str)]) -> Option<String> {
        other_defaults(&settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    #[test]
    fn only_what_is_unset_is_said() {
        assert!(said(&[]).is_some_and(|text| OTHERS.iter().all(|(_, shown, ..)| text.contains(shown))));
        let most = [
            ("batch.size", "1"),
            ("enable.idempotence", "true"),
            ("partitioner", "random"),
            ("queue.buffering.max.kbytes", "1"),
        ];
        assert_eq!(
            said(&most).as_deref(),
            Some(
                "not set, and another thing than in Java's client: delivery.timeout.ms (300,000 here, 120,000 in Java)"
            )
        );
        assert_eq!(said(&[&most[..], &[("message.timeout.ms", "1")]].concat()), None);
    }
}
