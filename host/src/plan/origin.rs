//! Where a value came from.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text that settings are read from.
#[derive(PartialEq)]
pub(super) struct Source {
    /// What messages call it: a path.
    pub(super) name: String,
    pub(super) text: String,
}

/// A stretch of a source.
#[derive(Clone, PartialEq)]
pub struct Place {
    source: Arc<Source>,
    span: Range<usize>,
}

impl Place {
    pub(super) fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        let end = source.text.len();
        let start = span.start.min(end);
        Self { source: Arc::clone(source), span: start..span.end.clamp(start, end) }
    }

    /// A line of a text, counted from 1.
    pub(super) fn of_line(source: &Arc<Source>, line: usize) -> Self {
        let mut starts = source.text.match_indices('\n').map(|(at, _)| at + 1);
        let start = line.checked_sub(2).and_then(|before| starts.nth(before)).unwrap_or(0);
        Self::new(source, start..start)
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// All of the file.
    pub(super) fn text(&self) -> &str {
        &self.source.text
    }

    /// From 1.
    pub fn line(&self) -> usize {
        1 + self.before().matches('\n').count()
    }

    /// In characters, from 1.
    pub fn column(&self) -> usize {
        1 + self.before_in_line().chars().count()
    }

    fn before(&self) -> &str {
        self.source.text.get(..self.span.start).unwrap_or_default()
    }

    fn before_in_line(&self) -> &str {
        self.before().rsplit('\n').next().unwrap_or_default()
    }

    /// The line it is in, and how many characters of that line are before it and in it.
    pub(super) fn excerpt(&self) -> (&str, usize, usize) {
        let start = self.before().len() - self.before_in_line().len();
        let line = self.source.text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        let before = self.before_in_line().chars().count();
        let within = self.source.text.get(self.span.clone()).unwrap_or_default();
        let width = within.lines().next().unwrap_or_default().chars().count();
        (line, before, width)
    }
}

/// `file:line`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file(), self.line())
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file(), self.line(), self.column())
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// Nobody said anything: khost's own choice, with its reason if it needs one.
    Default(String),
    /// It follows from other settings, in the way that is said here.
    Derived(String),
    /// The scenario's manifest.
    Manifest(Place),
    /// A profile.
    Profile(Place),
    /// A file of Java's clients: `--kafka-config`.
    JavaFile(Place),
    /// A variable of the environment.
    Variable(String),
    /// `--set`.
    Set,
    /// `--param`.
    Param,
    /// `-X`.
    X,
    /// An option of the command line, such as `--seed`.
    Option(&'static str),
    /// A parameter that a placeholder names, and where that has its value from.
    Parameter(String, Box<Origin>),
}

impl Origin {
    /// khost's own choice that needs no reason.
    pub(super) fn by_default() -> Self {
        Self::Default(String::new())
    }

    /// Where in a file it is.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            Self::Manifest(place) | Self::Profile(place) | Self::JavaFile(place) => Some(place),
            Self::Parameter(_, origin) => origin.place(),
            _ => None,
        }
    }

    /// Whether the value is taken to the byte: nothing in it is a placeholder.
    pub(super) fn is_verbatim(&self) -> bool {
        matches!(self, Self::X | Self::JavaFile(_) | Self::Variable(_))
    }
}

/// As `--dry-run` shows it: `scenario.toml:12`, `--set`, `default: half of the 4 CPUs`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default(reason) if reason.is_empty() => f.write_str("default"),
            Self::Default(reason) => write!(f, "default: {reason}"),
            Self::Derived(how) => f.write_str(how),
            Self::Manifest(place) | Self::Profile(place) | Self::JavaFile(place) => place.fmt(f),
            Self::Variable(name) => f.write_str(name),
            Self::Set => f.write_str("--set"),
            Self::Param => f.write_str("--param"),
            Self::X => f.write_str("-X"),
            Self::Option(name) => f.write_str(name),
            Self::Parameter(name, origin) => write!(f, "{{{name}}}, {origin}"),
        }
    }
}

/// A value of the plan, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The table it is in, as a dotted path: `flows.write`.
    pub table: String,
    /// Its name in that table: `rate`, `linger.ms`.
    pub key: String,
    /// As TOML has it: `"1500/s"`, `4`. A secret is `"***"`.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

impl Setting {
    /// The dotted path, as `--set` takes it: `flows.write.rate`, `kafka.linger.ms`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.table, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_knows_its_line_and_column() {
        let source = Arc::new(Source { name: "a.toml".into(), text: "x = 1\ný = \"é\" # no\n".into() });
        let start = source.text.find("\"é\"").expect("there");
        let place = Place::new(&source, start..start + "\"é\"".len());
        assert_eq!((place.line(), place.column()), (2, 5));
        assert_eq!(place.excerpt(), ("ý = \"é\" # no", 4, 3));
        assert_eq!(Origin::Manifest(place).to_string(), "a.toml:2");
    }

    #[test]
    fn a_place_beyond_the_text_is_at_its_end() {
        let source = Arc::new(Source { name: "a.toml".into(), text: "x = \n".into() });
        let place = Place::new(&source, 7..9);
        assert_eq!((place.line(), place.column()), (2, 1));
        assert_eq!(place.excerpt(), ("", 0, 0));
    }
}
