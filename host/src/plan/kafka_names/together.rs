//! Settings that don't go together, found before a client is made of them.

use std::collections::BTreeMap;

use crate::plan::error::Error;

/// Settings by librdkafka's own names.
pub(in crate::plan) type Settings = BTreeMap<String, String>;

/// The first pair that contradicts itself: the name of the setting that stands in the way, and what is wrong.
///
/// A guarantee is refused, never weakened in silence.
pub(in crate::plan) fn check_together(settings: &Settings) -> Result<(), (&'static str, Error)> {
    let get = |name: &str| settings.get(name).map(String::as_str);
    let number = |name: &str| get(name).and_then(|text| text.parse::<i64>().ok());
    let idempotent = get("enable.idempotence") == Some("true");
    let conflict = |name, found: Option<&str>, needs: &str| {
        let found = found.unwrap_or_default();
        let message = format!("enable.idempotence = true needs {needs}, and this is {found}");
        Err((name, Error::refused(message).with_hint("leave one of the two out")))
    };
    if idempotent {
        const ACKS: &str = "request.required.acks";
        const IN_FLIGHT: &str = "max.in.flight.requests.per.connection";
        const RETRIES: &str = "message.send.max.retries";
        const ORDER: &str = "queuing.strategy";
        const PRESSURE: &str = "queue.buffering.backpressure.threshold";
        if get(ACKS).is_some_and(|acks| acks != "all" && acks != "-1") {
            return conflict(ACKS, get(ACKS), "acks = \"all\"");
        }
        if number(IN_FLIGHT).is_some_and(|count| count > 5) {
            return conflict(IN_FLIGHT, get(IN_FLIGHT), "at most 5 requests in flight");
        }
        if number(RETRIES) == Some(0) {
            return conflict(RETRIES, get(RETRIES), "retries");
        }
        if get(ORDER) == Some("lifo") {
            return conflict(ORDER, get(ORDER), "messages in their order, \"fifo\"");
        }
        if number(PRESSURE).is_some_and(|count| count > 1) {
            return conflict(PRESSURE, get(PRESSURE), "a threshold of 1");
        }
    } else if get("enable.gapless.guarantee") == Some("true") {
        let error = Error::refused("this needs enable.idempotence = true");
        return Err(("enable.gapless.guarantee", error));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settings: &[(&str, &str)]) -> Result<(), (&'static str, String)> {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        check_together(&settings).map_err(|(name, error)| (name, error.to_string()))
    }

    #[test]
    fn idempotence_is_not_weakened() {
        let (name, message) =
            check(&[("enable.idempotence", "true"), ("request.required.acks", "1")]).expect_err("acks");
        assert_eq!(name, "request.required.acks");
        assert_eq!(message, "enable.idempotence = true needs acks = \"all\", and this is 1");
        for (name, value) in [
            ("max.in.flight.requests.per.connection", "6"),
            ("message.send.max.retries", "0"),
            ("queuing.strategy", "lifo"),
            ("queue.buffering.backpressure.threshold", "2"),
            ("request.required.acks", "0"),
        ] {
            assert_eq!(check(&[("enable.idempotence", "true"), (name, value)]).expect_err(name).0, name);
            assert!(check(&[(name, value)]).is_ok());
        }
        assert!(check(&[("enable.idempotence", "true"), ("request.required.acks", "-1")]).is_ok());
        assert!(check(&[("enable.gapless.guarantee", "true")]).is_err());
    }
}
