//! How replies come back, as the manifest's `[channels.NAME]` says it, and how its texts are read.

use super::error::Error;

/// A way that replies come back.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Its name in the manifest.
    pub name: String,
    /// The topics that replies are read from, by their numbers in the plan; at least one.
    pub topics: Vec<usize>,
    /// Where khost writes a request's id; none: no requests, only expectations.
    pub request: Option<WriteId>,
    /// Where the id of a reply is read.
    pub reply: ReadId,
    /// How a reply tells that it is a failure.
    pub failure: Option<FailureSign>,
    /// The header of a request that names the topic for its reply.
    pub reply_topic: Option<String>,
    /// The header of a request that names the partition for its reply.
    pub reply_partition: Option<String>,
    /// How many of the last replies the guest gets to see.
    pub keep: usize,
}

/// Where an id is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteId {
    /// Into the header of this name.
    Header(String),
    /// As the key.
    Key,
}

/// Where an id is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadId {
    /// The last header of this name.
    Header(String),
    /// The key.
    Key,
    /// A JSON pointer (RFC 6901) into the value.
    Json(String),
}

/// What tells that a reply is a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureSign {
    /// It lies in one of these topics, by their numbers in the plan.
    Topics(Vec<usize>),
    /// It has the header, with this value where one is given.
    Header(String, Option<String>),
    /// The value at a JSON pointer, as text.
    Json(String, String),
}

/// A failure's sign before topics have numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sign {
    Topic(String),
    Other(FailureSign),
}

const WRITTEN: &str = "\"header:NAME\", \"key\" or \"none\"";
const READ: &str = "\"header:NAME\", \"key\" or \"json:/pointer\"";
const SIGN: &str = "\"topic:NAME\", \"header:NAME\", \"header:NAME=VALUE\" or \"json:/pointer=VALUE\"";

/// `header:NAME`, `key` or `none`.
pub(super) fn parse_written(text: &str) -> Result<Option<WriteId>, Error> {
    match text.split_once(':') {
        None if text == "none" => Ok(None),
        None if text == "key" => Ok(Some(WriteId::Key)),
        Some(("header", name)) => Ok(Some(WriteId::Header(header(name)?))),
        Some(("json", _)) => Err(Error::unexpected(WRITTEN, format!("{text:?}"))
            .with_hint("khost writes no id into a value: the scenario does, and announces it with `expect`")),
        _ => Err(Error::unexpected(WRITTEN, format!("{text:?}"))),
    }
}

/// `header:NAME`, `key` or `json:/pointer`.
pub(super) fn parse_read(text: &str) -> Result<ReadId, Error> {
    match text.split_once(':') {
        None if text == "key" => Ok(ReadId::Key),
        Some(("header", name)) => Ok(ReadId::Header(header(name)?)),
        Some(("json", at)) => Ok(ReadId::Json(pointer(at)?)),
        _ => Err(Error::unexpected(READ, format!("{text:?}"))),
    }
}

/// `topic:NAME`, `header:NAME`, `header:NAME=VALUE` or `json:/pointer=VALUE`.
pub(super) fn parse_sign(text: &str) -> Result<Sign, Error> {
    match text.split_once(':') {
        Some(("topic", name)) => Ok(Sign::Topic(name.to_owned())),
        Some(("header", rest)) => {
            let (name, value) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
            Ok(Sign::Other(FailureSign::Header(header(name)?, value.map(str::to_owned))))
        }
        Some(("json", rest)) => match rest.split_once('=') {
            Some((at, value)) => Ok(Sign::Other(FailureSign::Json(pointer(at)?, value.to_owned()))),
            None => Err(Error::unexpected("a JSON pointer and the value there that is a failure", format!("{text:?}"))
                .with_hint("failure = \"json:/ok=false\"")),
        },
        _ => Err(Error::unexpected(SIGN, format!("{text:?}"))),
    }
}

/// `header:NAME`.
pub(super) fn parse_header(text: &str) -> Result<String, Error> {
    match text.split_once(':') {
        Some(("header", name)) => header(name),
        _ => Err(Error::unexpected("\"header:NAME\"", format!("{text:?}"))),
    }
}

fn header(name: &str) -> Result<String, Error> {
    if name.is_empty() || name.contains('\0') {
        return Err(Error::refused("the header has no name").with_hint("\"header:correlation-id\""));
    }
    Ok(name.to_owned())
}

/// A JSON pointer, as RFC 6901 has it: empty for the whole value, or names with `/` before each.
fn pointer(text: &str) -> Result<String, Error> {
    if !text.is_empty() && !text.starts_with('/') {
        return Err(Error::refused(format!("{text:?} is no JSON pointer: it begins with /"))
            .with_hint(format!("\"json:/{text}\"")));
    }
    let is_wrong = |(at, _): (usize, &str)| !text[at + 1..].starts_with(['0', '1']);
    if text.match_indices('~').any(is_wrong) {
        return Err(Error::refused(format!("{text:?} is no JSON pointer: a ~ in it is alone"))
            .with_hint("~0 stands for ~, and ~1 for a / within a name"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_ids() {
        assert_eq!(parse_written("none").ok(), Some(None));
        assert_eq!(parse_written("key").ok(), Some(Some(WriteId::Key)));
        assert_eq!(parse_written("header:a:b").ok(), Some(Some(WriteId::Header("a:b".into()))));
        assert_eq!(parse_read("json:/a~1b/0").ok(), Some(ReadId::Json("/a~1b/0".into())));
        assert_eq!(parse_read("json:").ok(), Some(ReadId::Json(String::new())));
        for text in ["", "header", "header:", "json:/a", "Key", "topic:a"] {
            assert!(parse_written(text).is_err(), "{text}");
        }
        for text in ["", "none", "header:", "json:a", "json:/a~", "json:/a~2", "key:"] {
            assert!(parse_read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn signs_of_failures() {
        assert_eq!(parse_sign("topic:errors").ok(), Some(Sign::Topic("errors".into())));
        let header = |value: Option<&str>| Sign::Other(FailureSign::Header("e".into(), value.map(str::to_owned)));
        assert_eq!(parse_sign("header:e").ok(), Some(header(None)));
        assert_eq!(parse_sign("header:e=a=b").ok(), Some(header(Some("a=b"))));
        assert_eq!(
            parse_sign("json:/ok=false").ok(),
            Some(Sign::Other(FailureSign::Json("/ok".into(), "false".into())))
        );
        for text in ["", "json:/ok", "header:=x", "json:ok=false", "key"] {
            assert!(parse_sign(text).is_err(), "{text}");
        }
    }
}
