//! The one error of the plan: what is wrong, where, what was expected, and the next step.

use std::fmt;

use serde::de::{Expected, Unexpected};

use super::kafka_names::is_secret;
use super::origin::{Origin, Place};
use super::suggest::nearest;
use super::written::dotted;

/// What a person wrote can't be run.
///
/// It shows as `where: path: problem`, with the line in question below it when that is in a file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(Box<Report>);

#[derive(Debug)]
struct Report {
    origin: Option<Origin>,
    path: Vec<String>,
    problem: Problem,
    hint: Option<String>,
}

/// The kinds of problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Problem {
    #[error("not TOML: {0}")]
    Syntax(String),
    #[error("not a properties file: {0}")]
    Properties(String),
    #[error("unknown key")]
    UnknownKey,
    #[error("{0} is not in this version of khost yet")]
    NotYet(String),
    #[error("expected {expected}, found {found}")]
    Unexpected { expected: String, found: String },
    #[error("`{0}` is missing")]
    Missing(String),
    #[error("{0}")]
    Refused(String),
}

impl Error {
    pub(super) fn new(problem: Problem) -> Self {
        Self(Box::new(Report { origin: None, path: Vec::new(), problem, hint: None }))
    }

    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self::new(Problem::Refused(message.into()))
    }

    /// A name that is none of `known`.
    pub(super) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::refused(format!("there is no {what} {name:?}")).with_known(name, known)
    }

    pub(super) fn unexpected(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Problem::Unexpected { expected: expected.into(), found: found.into() })
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(printable(&hint.into()));
        self
    }

    /// Hints at the nearest of the known names, or else at all of them.
    pub(super) fn with_known<'a>(self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        match nearest(name, known.iter().copied()) {
            Some(meant) => self.with_hint(format!("did you mean `{meant}`?")),
            None if known.is_empty() => self.with_hint("there is none"),
            None => self.with_hint(format!("known: {}", known.join(", "))),
        }
    }

    /// Says where, unless that is known more closely already.
    pub(super) fn at(mut self, origin: &Origin) -> Self {
        self.0.origin.get_or_insert_with(|| origin.clone());
        self
    }

    /// Puts `key` before its path.
    pub(super) fn under(mut self, key: &str) -> Self {
        self.0.path.insert(0, key.to_owned());
        self
    }

    /// Puts `path` before its path.
    pub(super) fn on(mut self, path: &[&str]) -> Self {
        self.0.path.splice(0..0, path.iter().map(|&key| key.to_owned()));
        self
    }

    /// The next step.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl serde::de::Error for Error {
    /// A message; its hint, if it has one, on a line of its own.
    fn custom<T: fmt::Display>(message: T) -> Self {
        let message = message.to_string();
        match message.split_once("\nhint: ") {
            Some((message, hint)) => Self::refused(message).with_hint(hint),
            None => Self::refused(message),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = match expected.to_string().as_str() {
            "a string" => "a text".to_owned(),
            "a sequence" => "a list".to_owned(),
            other => other.to_owned(),
        };
        Self::unexpected(expected, describe(found))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        let expected: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        let error = Self::unexpected(list(&expected).replace(" and ", " or "), format!("{found:?}"));
        match nearest(found, known.iter().copied()) {
            Some(meant) => error.with_hint(format!("did you mean \"{meant}\"?")),
            None => error,
        }
    }

    fn unknown_field(found: &str, known: &'static [&'static str]) -> Self {
        let error = Self::new(Problem::UnknownKey).under(found);
        error.with_known(found, known.iter().copied())
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Problem::Missing(key.to_owned()))
    }
}

fn describe(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("{value}"),
        Unexpected::Signed(value) => format!("{value}"),
        Unexpected::Float(value) => format!("{value:?}"),
        Unexpected::Str(text) => format!("{text:?}"),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl Report {
    /// Whether it is about Kafka's settings, where values may be secrets, whatever their names are.
    fn is_of_kafka(&self) -> bool {
        match self.path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["kafka", ..] | ["flows", _, "kafka", ..] => true,
            _ => matches!(self.origin, Some(Origin::JavaFile(_))),
        }
    }

    /// The place whose line may be shown: it holds no secret.
    fn shown_place(&self) -> Option<&Place> {
        let place = self.origin.as_ref().and_then(Origin::place)?;
        // what is not TOML has no path yet, and may be the middle of a key in PEM
        let text = place.text();
        let hides = matches!(self.problem, Problem::Syntax(_))
            && (is_secret(text) || text.contains("sasl") || text.contains("ssl"));
        (!self.is_of_kafka() && !hides).then_some(place)
    }

    /// Who wrote what is wrong, and the path in that.
    fn front(&self) -> (String, String) {
        let full = self.path.as_slice();
        let below = |first: &str| match full.split_first() {
            Some((key, rest)) if key == first => printable(&rest.join(".")),
            _ => printable(&full.join(".")),
        };
        let place = self.origin.as_ref().and_then(Origin::place);
        match (&self.origin, place) {
            (Some(Origin::JavaFile(place)), _) => (format!("{place}"), below("kafka")),
            (_, Some(place)) => {
                (format!("{}:{}:{}", printable(place.file()), place.line(), place.column()), dotted(full))
            }
            (Some(Origin::Set), _) => (format!("--set {}", dotted(full)), String::new()),
            (Some(Origin::X), _) => (format!("-X {}", below("kafka")), String::new()),
            (Some(Origin::Param), _) => (format!("--param {}", below("params")), String::new()),
            (Some(Origin::Option(name)), _) => ((*name).to_owned(), String::new()),
            (Some(Origin::Variable(name)), _) => (name.clone(), String::new()),
            (Some(Origin::Parameter(name, origin)), _) => match **origin {
                Origin::Param => (format!("--param {name}"), dotted(full)),
                Origin::Set => (format!("--set params.{name}"), dotted(full)),
                _ => (format!("{{{name}}}"), dotted(full)),
            },
            _ => (String::new(), dotted(full)),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (front, path) = self.front();
        let problem = match (&self.problem, self.path.as_slice()) {
            (Problem::UnknownKey, [key]) if !path.is_empty() => format!("unknown key `{}`", dotted(&[key])),
            (Problem::UnknownKey, [table @ .., key]) if !path.is_empty() => {
                format!("unknown key `{}` in [{}]", dotted(&[key]), dotted(table))
            }
            // a text where the table of settings should be may be a setting with its secret
            (Problem::Unexpected { expected, .. }, [.., last]) if last == "kafka" => {
                format!("{path}: expected {expected}, found something else")
            }
            (problem, _) if path.is_empty() => problem.to_string(),
            (problem, _) => format!("{path}: {problem}"),
        };
        let problem = printable(&problem);
        match front.trim_end() {
            "" => f.write_str(&problem)?,
            front => write!(f, "{front}: {problem}")?,
        }
        match self.shown_place() {
            Some(place) => write_excerpt(f, place),
            None => Ok(()),
        }
    }
}

/// How much of a line is shown before and after what is wrong with it.
const EXCERPT: usize = 60;

fn write_excerpt(f: &mut fmt::Formatter<'_>, place: &Place) -> fmt::Result {
    let (line, before, width) = place.excerpt();
    if line.trim().is_empty() || is_secret(line) {
        return Ok(());
    }
    let skipped = before.saturating_sub(EXCERPT);
    let shown: String = line.chars().skip(skipped).take(2 * EXCERPT).collect();
    let number = place.line().to_string();
    write!(f, "\n  {number} | {}", printable(&shown).trim_end())?;
    let width = width.clamp(1, 2 * EXCERPT - (before - skipped).min(2 * EXCERPT - 1));
    write!(f, "\n  {:pad$} | {:indent$}{}", "", "", "^".repeat(width), pad = number.len(), indent = before - skipped)
}

/// Without what would move a terminal's cursor: the text may be a stranger's.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde::de::Error as _;

    use super::*;
    use crate::plan::origin::Source;

    fn place(text: &str, part: &str) -> Origin {
        let source = Arc::new(Source { name: "scenario.toml".into(), text: text.into() });
        let start = text.find(part).expect("part of the text");
        Origin::Manifest(Place::new(&source, start..start + part.len()))
    }

    #[test]
    fn an_unknown_key_has_its_place_and_the_nearest_name() {
        let error = Error::unknown_field("ratte", &["kind", "rate"])
            .at(&place("[flows.write]\nratte = \"5/s\"\n", "ratte"))
            .on(&["flows", "write"]);
        let expected = "scenario.toml:2:1: unknown key `ratte` in [flows.write]\n  2 | ratte = \"5/s\"\n    | ^^^^^";
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.hint(), Some("did you mean `rate`?"));
    }

    #[test]
    fn what_was_typed_is_named_as_it_was_typed() {
        let shown = |origin, path: &[&str]| Error::unexpected("x", "y").at(&origin).on(path).to_string();
        assert_eq!(shown(Origin::Set, &["flows", "w", "rate"]), "--set flows.w.rate: expected x, found y");
        assert_eq!(shown(Origin::X, &["kafka", "linger.ms"]), "-X linger.ms: expected x, found y");
        assert_eq!(shown(Origin::Param, &["params", "tenants"]), "--param tenants: expected x, found y");
        assert_eq!(shown(Origin::Option("--seed"), &["run", "seed"]), "--seed: expected x, found y");
        assert_eq!(shown(Origin::Param, &[]), "--param: expected x, found y");
        let through = Origin::Parameter("n".into(), Box::new(Origin::Param));
        assert_eq!(
            shown(through, &["topics", "t", "partitions"]),
            "--param n: topics.t.partitions: expected x, found y"
        );
    }

    #[test]
    fn an_excerpt_shows_no_secret_and_moves_no_cursor() {
        let secret = Error::refused("no").at(&place("\"sasl.password\" = hunter2\n", "hunter2"));
        assert!(!secret.to_string().contains("hunter2"));
        let cut = Error::new(Problem::Syntax("?".into())).at(&place("\"ssl.key.pem\" = \"\"\"\nMIIE\n", "MIIE"));
        assert!(!cut.to_string().contains("MIIE"));
        let escape = Error::refused("no").at(&place("x = \u{1b}[2J1\n", "x"));
        assert!(!escape.to_string().contains('\u{1b}'));
        let found = Error::unexpected("x", "\u{1b}[2J").with_hint("\u{1b}[2J");
        assert!(!format!("{found} {:?}", found.hint()).contains('\u{1b}'));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("x = \"{}\", here", "a".repeat(500));
        let shown = Error::refused("no").at(&place(&text, "here")).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].len() < 130 && lines[1].ends_with("here"), "{shown}");
        assert_eq!(lines[2].trim_end().len(), lines[1].len(), "{shown}");
    }
}
