//! What is typed on the command line: `--set path=value` and `-X name=value`.

use toml::de::{DeTable, DeValue};

use super::error::Error;
use super::origin::Origin;
use super::tree::{self, Entry, Kind, Node, Table};

/// Reads a `--set`: a document in which only that value is.
///
/// The value is TOML where it reads as TOML, and otherwise a text, so that `rate=1000/s` needs no quotes. In `kafka`,
/// `config` and `params` it is the text as it was typed, unless it is in quotes.
pub(super) fn parse_set(argument: &str) -> Result<Node, Error> {
    let not_a_setting = || Error::unexpected("path=value", beginning(argument)).at(&Origin::Set);
    let (path, text) = split_at_equals(argument).ok_or_else(not_a_setting)?;
    let keys = parse_path(path).ok_or_else(not_a_setting)?;
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let (keys, verbatim) = join_names(&keys);
    let kind = value(text.trim(), verbatim).map_err(|error| {
        let path: Vec<&str> = keys.iter().map(String::as_str).collect();
        error.on(&path).at(&Origin::Set)
    })?;
    let leaf = Node { kind, origin: Origin::Set };
    Ok(keys.into_iter().rev().fold(leaf, |node, key| {
        let entry = Entry { key, origin: Origin::Set, node };
        Node { kind: Kind::Table(Table(vec![entry])), origin: Origin::Set }
    }))
}

/// Reads a `-X`: a name and its value, to the byte.
pub(super) fn parse_x(argument: &str) -> Result<(&str, &str), Error> {
    match argument.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim(), value)),
        _ => Err(Error::unexpected("name=value", beginning(argument)).at(&Origin::X)),
    }
}

/// The name that an argument seems to begin with: what follows may be a secret.
fn beginning(argument: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let end = argument.find(|c| !is_name(c)).unwrap_or(argument.len());
    let rest = if end < argument.len() { "…" } else { "" };
    format!("\"{}{rest}\"", &argument[..end])
}

/// Splits at the first `=` that is not in quotes.
fn split_at_equals(argument: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    let at = argument.find(|c| match (quote, c) {
        (None, '"' | '\'') => {
            quote = Some(c);
            false
        }
        (Some(open), c) if open == c => {
            quote = None;
            false
        }
        (None, c) => c == '=',
        _ => false,
    })?;
    Some((&argument[..at], &argument[at + 1..]))
}

/// The keys of a dotted path.
fn parse_path(path: &str) -> Option<Vec<String>> {
    if path.contains('\n') {
        return None;
    }
    let line = format!("{path} = 0");
    let document = DeTable::parse(&line).ok()?;
    let mut keys = Vec::new();
    let mut table = document.get_ref();
    loop {
        let (key, value) = table.iter().next()?;
        keys.push(key.get_ref().clone().into_owned());
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => return Some(keys),
        }
    }
}

/// Makes the rest of a path below `kafka` and `config` one name. Answers too whether the value is to be taken as typed.
fn join_names(keys: &[&str]) -> (Vec<String>, bool) {
    let depth = match keys {
        ["kafka", _, ..] => 1,
        ["flows", _, "kafka", _, ..] | ["topics", _, "config", _, ..] => 3,
        _ => keys.len(),
    };
    let (tables, name) = keys.split_at(depth);
    let mut joined: Vec<String> = tables.iter().map(|&key| key.to_owned()).collect();
    if !name.is_empty() {
        joined.push(name.join("."));
    }
    (joined, !name.is_empty() || matches!(keys, ["params", _] | ["params", _, "default"]))
}

fn value(text: &str, verbatim: bool) -> Result<Kind, Error> {
    let structured = text.starts_with(['"', '\'', '[', '{']);
    let as_text = || Kind::Text(text.to_owned());
    if verbatim && !text.starts_with(['"', '\'', '[']) {
        return Ok(as_text());
    }
    match DeValue::parse(text) {
        Ok(value) => tree::value(&value, &|_| Origin::Set).map(|node| node.kind),
        Err(error) if structured && !verbatim => Err(tree::not_toml(&error)),
        _ => Ok(as_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(argument: &str) -> String {
        parse_set(argument).expect(argument).to_string()
    }

    #[test]
    fn values_are_toml_and_else_text() {
        for (argument, document) in [
            ("run.duration=10s", r#"{ run = { duration = "10s" } }"#),
            ("run.duration=\"10s\"", r#"{ run = { duration = "10s" } }"#),
            ("run.duration = '10s'", r#"{ run = { duration = "10s" } }"#),
            ("flows.w.rate=1000/s", r#"{ flows = { w = { rate = "1000/s" } } }"#),
            ("flows.w.threads=4", "{ flows = { w = { threads = 4 } } }"),
            ("flows.w.enabled=false", "{ flows = { w = { enabled = false } } }"),
            ("flows.\"a.b\".threads=1_0", r#"{ flows = { "a.b" = { threads = 10 } } }"#),
            (
                "flows.w.stages=[{ for = '1m', rate = '5/s' }]",
                r#"{ flows = { w = { stages = [{ for = "1m", rate = "5/s" }] } } }"#,
            ),
            ("flows.w.threads=5#6", r##"{ flows = { w = { threads = "5#6" } } }"##),
            ("flows.w.threads=5 # six", r##"{ flows = { w = { threads = "5 # six" } } }"##),
            ("run.seed=", r#"{ run = { seed = "" } }"#),
            ("a.\"b=c\"=1", r#"{ a = { "b=c" = 1 } }"#),
        ] {
            assert_eq!(set(argument), document);
        }
    }

    #[test]
    fn names_in_kafka_and_config_need_no_quotes_and_their_values_are_as_typed() {
        for (argument, document) in [
            ("kafka.linger.ms=5", r#"{ kafka = { "linger.ms" = "5" } }"#),
            ("kafka.\"linger.ms\"=5", r#"{ kafka = { "linger.ms" = "5" } }"#),
            ("flows.w.kafka.linger.ms=5", r#"{ flows = { w = { kafka = { "linger.ms" = "5" } } } }"#),
            ("topics.t.config.retention.ms=5", r#"{ topics = { t = { config = { "retention.ms" = "5" } } } }"#),
            ("kafka.sasl.password=1_000#x", r#"{ kafka = { "sasl.password" = "1_000#x" } }"#),
            ("kafka.sasl.password='a \"b\"'", r#"{ kafka = { "sasl.password" = "a \"b\"" } }"#),
            ("kafka.sasl.password=\"a", r#"{ kafka = { "sasl.password" = "\"a" } }"#),
            ("params.version=1.10", r#"{ params = { version = "1.10" } }"#),
            ("params.tenants=['a','b']", r#"{ params = { tenants = ["a", "b"] } }"#),
        ] {
            assert_eq!(set(argument), document);
        }
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        // what follows a name may be a secret
        for (argument, shown) in [
            ("", ""),
            ("run", "run"),
            ("=5", "…"),
            ("a..b=1", "a..b…"),
            ("a b=1", "a…"),
            ("a\nb=1", "a…"),
            ("\"run=5", "…"),
            ("kafka.sasl.password geheim", "kafka.sasl.password…"),
        ] {
            let error = parse_set(argument).expect_err(argument).to_string();
            assert_eq!(error, format!("--set: expected path=value, found \"{shown}\""));
        }
        let error = parse_set("flows.w.stages=[{ for = 1m }]").expect_err("no TOML").to_string();
        assert!(error.starts_with("--set flows.w.stages: not TOML: "), "{error}");
    }

    #[test]
    fn x_splits_at_the_first_equals() {
        assert_eq!(parse_x("sasl.password=a=b {c}").ok(), Some(("sasl.password", "a=b {c}")));
        assert_eq!(
            parse_x("linger.ms").expect_err("no value").to_string(),
            "-X: expected name=value, found \"linger.ms\""
        );
        assert!(parse_x("=5").is_err());
    }
}
