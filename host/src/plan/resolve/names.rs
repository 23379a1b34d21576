//! Which names are legal.

use crate::plan::error::Error;
use crate::plan::written::is_bare;

/// `namespace/name` or a plain name, as a registry takes it.
pub(super) fn check_scenario(name: &str) -> Result<(), Error> {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'))
    };
    let parts: Vec<&str> = name.split('/').collect();
    if parts.len() <= 2 && parts.iter().all(|text| part(text)) && name.len() <= 128 {
        return Ok(());
    }
    Err(Error::unexpected("namespace/name or a name, of lowercase letters, digits, - _ and .", format!("{name:?}")))
}

/// Three numbers, and what may follow them.
pub(super) fn check_version(version: &str) -> Result<(), Error> {
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = numbers.split('.').collect();
    let rest = &version[numbers.len()..];
    let legal = parts.len() == 3
        && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+'));
    if legal && rest.len() != 1 {
        Ok(())
    } else {
        Err(Error::unexpected("a version such as \"1.2.3\"", format!("{version:?}")))
    }
}

/// The name of a topic or a flow in the manifest: it stands in dotted paths.
pub(super) fn check_key(what: &str, name: &str) -> Result<(), Error> {
    if is_bare(name) {
        Ok(())
    } else {
        Err(Error::refused(format!("the name of a {what} is made of letters, digits, - and _")))
    }
}

/// What `after` calls the end of the warm-up, so that no flow can be called so.
pub(super) const WARM_UP: &str = "warm-up";

/// The name of a flow.
pub(super) fn check_flow(name: &str) -> Result<(), Error> {
    if name == WARM_UP {
        let error = Error::refused("no flow can be named warm-up: `after = \"warm-up\"` means the end of the warm-up");
        return Err(error.with_hint("give the flow another name"));
    }
    check_key("flow", name)
}

/// Whether Kafka allows a topic of this name.
///
/// # Errors
/// Says what is wrong with it.
pub fn check_topic(name: &str) -> Result<(), Error> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    match name {
        "" => Err(Error::refused("a topic's name can't be empty")),
        "." | ".." => Err(Error::refused(format!("Kafka allows no topic named {name:?}"))),
        _ if !name.bytes().all(legal) => {
            Err(Error::refused(format!("{name:?} is no name for a topic: Kafka allows letters, digits, . _ and -")))
        }
        _ if name.len() > 249 => {
            Err(Error::refused(format!("a topic's name has at most 249 characters, and this has {}", name.len())))
        }
        _ => Ok(()),
    }
}

/// Whether Kafka takes it as the name of a consumer group.
pub(super) fn check_group(name: &str) -> Result<(), Error> {
    match name {
        "" => Err(Error::refused("a group's name can't be empty")),
        _ if name.chars().any(char::is_control) => {
            Err(Error::refused("a group's name has no control characters").with_hint("letters, digits, . _ and -"))
        }
        _ if name.len() > 249 => Err(Error::refused("a group's name has at most 249 bytes").with_hint("a shorter one")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_named_as_in_a_registry() {
        for name in ["hello", "acme/check-in", "a.b_c/d-1"] {
            assert!(check_scenario(name).is_ok(), "{name}");
        }
        for name in ["", "/", "a/", "a/b/c", "Hello", "a b", "-a", "../x", &"a".repeat(129)] {
            assert!(check_scenario(name).is_err(), "{name}");
        }
    }

    #[test]
    fn versions_are_semantic() {
        for version in ["0.1.0", "1.2.3-rc.1", "1.2.3+build"] {
            assert!(check_version(version).is_ok(), "{version}");
        }
        for version in ["", "1", "1.2", "1.2.x", "v1.2.3", "1.2.3-", "1.2.3 "] {
            assert!(check_version(version).is_err(), "{version}");
        }
    }

    #[test]
    fn topics_are_named_as_kafka_allows() {
        for name in ["a", "khost-diku.circulation_1", "...", &"a".repeat(249)] {
            assert!(check_topic(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a b!", "é", "a/b", &"a".repeat(250)] {
            assert!(check_topic(name).is_err(), "{name}");
        }
    }
}
