//! TOML as a tree in which every value knows where it came from, in the order in which it was written.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Error, Problem};
use super::origin::{Origin, Place, Source};

/// A value.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) origin: Origin,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    List(Vec<Node>),
    Table(Table),
}

/// Keys and values.
#[derive(Debug, Clone, Default)]
pub(super) struct Table(pub(super) Vec<Entry>);

/// A key and its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key is.
    pub(super) origin: Origin,
    pub(super) node: Node,
}

impl Node {
    /// A table with nothing in it.
    pub(super) fn empty(origin: Origin) -> Self {
        Self { kind: Kind::Table(Table::default()), origin }
    }

    /// The value inside tables, if it is there.
    pub(super) fn find(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.table()?.get(key))
    }

    /// What is in the table at a path; nothing if there is none.
    pub(super) fn entries(&self, path: &[&str]) -> &[Entry] {
        self.find(path).and_then(Self::table).map_or(&[], |table| &table.0)
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.kind {
            Kind::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.kind {
            Kind::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, for a message that expected something else.
    pub(super) fn describe(&self) -> String {
        match &self.kind {
            Kind::List(_) => "a list".to_owned(),
            Kind::Table(_) => "a table".to_owned(),
            _ => self.to_string(),
        }
    }

    /// Its items, when it is a list.
    pub(super) fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// Its items that are texts, when it is a list.
    pub(super) fn texts(&self) -> Vec<&str> {
        match &self.kind {
            Kind::List(items) => items.iter().filter_map(Self::text).collect(),
            _ => Vec::new(),
        }
    }
}

impl Table {
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Node> {
        let index = self.0.iter().position(|entry| entry.key == key)?;
        Some(self.0.remove(index).node)
    }

    /// Puts an entry in, in place of one with its key.
    pub(super) fn put(&mut self, entry: Entry) {
        match self.0.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => *known = entry,
            None => self.0.push(entry),
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.key.as_str())
    }
}

/// Reads a TOML document. `origin` says what a stretch of it is.
///
/// Below `kafka` and `config` a name has dots of its own: `linger.ms = 5` is the same as `"linger.ms" = 5`.
pub(super) fn parse(text: &str, origin: &dyn Fn(Range<usize>) -> Origin) -> Result<Node, Error> {
    let document = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        not_toml(&error).at(&origin(span))
    })?;
    let mut node = Node { kind: table(document.get_ref(), origin)?, origin: origin(0..0) };
    join_dotted_names(&mut node)?;
    Ok(node)
}

/// An error of TOML's grammar. The text itself may be a secret, so it is not repeated.
pub(super) fn not_toml(error: &toml::de::Error) -> Error {
    let message = error.message().replace('\n', ", ");
    match message.strip_prefix("string values must be quoted") {
        Some(_) => Error::new(Problem::Syntax("a text has to be in quotes".to_owned())).with_hint("write it as \"…\""),
        None => Error::new(Problem::Syntax(message)),
    }
}

/// Reads a manifest or a profile.
pub(super) fn parse_file(name: &str, text: &str, origin: fn(Place) -> Origin) -> Result<Node, Error> {
    let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
    parse(text, &|span| origin(Place::new(&source, span)))
}

pub(super) fn value(spanned: &Spanned<DeValue<'_>>, origin: &dyn Fn(Range<usize>) -> Origin) -> Result<Node, Error> {
    let at = origin(spanned.span());
    let kind = match spanned.get_ref() {
        DeValue::String(text) => Kind::Text(text.clone().into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Kind::Integer(number),
            Err(_) => {
                return Err(Error::unexpected("a whole number of 64 bits", format!("{:?}", number.as_str())).at(&at));
            }
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Kind::Float(number),
            Err(_) => return Err(Error::unexpected("a number", format!("{:?}", number.as_str())).at(&at)),
        },
        DeValue::Boolean(value) => Kind::Boolean(*value),
        DeValue::Datetime(date) => return Err(Error::refused(format!("nothing here is a date: {date}")).at(&at)),
        DeValue::Array(items) => Kind::List(items.iter().map(|item| value(item, origin)).collect::<Result<_, _>>()?),
        DeValue::Table(entries) => table(entries, origin)?,
    };
    Ok(Node { kind, origin: at })
}

fn table(entries: &DeTable<'_>, origin: &dyn Fn(Range<usize>) -> Origin) -> Result<Kind, Error> {
    let mut in_order: Vec<_> = entries.iter().collect();
    in_order.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, node): (&Spanned<_>, _)| {
        let key_origin = origin(key.span());
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        let node = value(node, origin).map_err(|error| error.under(key))?;
        Ok(Entry { key: key.clone().into_owned(), origin: key_origin, node })
    };
    Ok(Kind::Table(Table(in_order.into_iter().map(entry).collect::<Result<_, Error>>()?)))
}

fn join_dotted_names(root: &mut Node) -> Result<(), Error> {
    for (outer, inner) in [("flows", "kafka"), ("topics", "config")] {
        for entry in root
            .table_mut()
            .and_then(|table| table.get_mut(outer))
            .and_then(Node::table_mut)
            .into_iter()
            .flat_map(|table| &mut table.0)
        {
            if let Some(names) = entry.node.table_mut().and_then(|table| table.get_mut(inner)) {
                join(names).map_err(|error| error.on(&[outer, &entry.key, inner]))?;
            }
        }
    }
    match root.table_mut().and_then(|table| table.get_mut("kafka")) {
        Some(names) => join(names).map_err(|error| error.under("kafka")),
        None => Ok(()),
    }
}

/// Makes one table of tables in a table.
fn join(names: &mut Node) -> Result<(), Error> {
    let Some(table) = names.table_mut() else { return Ok(()) };
    let mut joined = Table::default();
    for entry in std::mem::take(table).0 {
        let mut leaves = Vec::new();
        collect_leaves(entry, &mut leaves);
        for leaf in leaves {
            if joined.get(&leaf.key).is_some() {
                return Err(Error::refused("this is set twice").under(&leaf.key).at(&leaf.origin));
            }
            joined.0.push(leaf);
        }
    }
    *table = joined;
    Ok(())
}

fn collect_leaves(entry: Entry, leaves: &mut Vec<Entry>) {
    match entry.node.kind {
        Kind::Table(table) if !table.0.is_empty() => {
            for inner in table.0 {
                let key = format!("{}.{}", entry.key, inner.key);
                collect_leaves(Entry { key, ..inner }, leaves);
            }
        }
        _ => leaves.push(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Node, Error> {
        parse_file("scenario.toml", text, Origin::Manifest)
    }

    #[test]
    fn what_was_written_keeps_its_order_and_its_place() {
        let tree = read("[flows.b]\nkind = 'x'\n[flows.a]\nn = 0x10\n").expect("TOML");
        let flows = tree.find(&["flows"]).and_then(Node::table).expect("flows");
        assert_eq!(flows.keys().collect::<Vec<_>>(), ["b", "a"]);
        let n = tree.find(&["flows", "a", "n"]).expect("n");
        assert_eq!((n.to_string(), n.origin.to_string()), ("16".into(), "scenario.toml:4".into()));
    }

    #[test]
    fn dotted_names_are_one_name_below_kafka_and_config() {
        let text = "[kafka]\nlinger.ms = 5\n\"batch.size\" = 1\nbatch.num.messages = 2\n[topics.t.config]\nretention.ms = 3\n[flows.w.kafka]\nacks = 1\n";
        let tree = read(text).expect("TOML");
        for path in [
            &["kafka", "linger.ms"][..],
            &["kafka", "batch.size"],
            &["kafka", "batch.num.messages"],
            &["topics", "t", "config", "retention.ms"],
            &["flows", "w", "kafka", "acks"],
        ] {
            assert!(tree.find(path).is_some(), "{path:?}");
        }
        let twice = read("[kafka]\nlinger.ms = 5\n\"linger.ms\" = 6\n").expect_err("twice").to_string();
        assert!(twice.starts_with("scenario.toml:3:1: kafka.linger.ms: this is set twice"), "{twice}");
    }

    #[test]
    fn broken_toml_has_its_place() {
        let error = read("[run\nduration = 1").expect_err("broken").to_string();
        assert!(error.starts_with("scenario.toml:1:5: not TOML: "), "{error}");
        let error = read("[run]\nrate = 5/s").expect_err("unquoted");
        assert!(error.to_string().starts_with("scenario.toml:2:8: not TOML: a text has to be in quotes"), "{error}");
        assert_eq!(error.hint(), Some("write it as \"…\""));
        let error = read("[run]\na = 1\na = 2").expect_err("duplicate").to_string();
        assert!(error.starts_with("scenario.toml:3:1: not TOML: duplicate key"), "{error}");
        let error = read("[run]\nstart = 2026-01-01").expect_err("date").to_string();
        assert!(error.starts_with("scenario.toml:2:9: run.start: nothing here is a date"), "{error}");
        let error = read("[run]\nseed = 99999999999999999999").expect_err("too large").to_string();
        assert!(error.contains("run.seed: expected a whole number of 64 bits"), "{error}");
    }
}
