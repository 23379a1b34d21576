//! Every value of the plan with where it came from: what was written, and what was left to khost.

use crate::plan::kafka_names::is_secret;
use crate::plan::origin::{Origin, Setting};
use crate::plan::params::Values;
use crate::plan::tree::{Entry, Node};
use crate::plan::value::Value;
use crate::plan::written::{dotted, quoted};

const MASK: &str = "\"***\"";

/// The values that nobody wrote, as they are decided.
#[derive(Debug, Default)]
pub(super) struct Listing {
    defaults: Vec<Setting>,
}

impl Listing {
    /// Notes a value, in TOML, that is not in the document. The same one twice is one.
    pub(super) fn assume(&mut self, table: &str, key: &str, value: &str, origin: Origin) {
        if !self.defaults.iter().any(|known| known.table == table && known.key == key) {
            self.defaults.push(Setting {
                table: table.to_owned(),
                key: key.to_owned(),
                value: value.to_owned(),
                origin,
            });
        }
    }

    /// All settings, table by table.
    pub(super) fn finish(mut self, document: &Node, values: &Values) -> Vec<Setting> {
        let mut settings = Vec::new();
        self.table(&["scenario"], document, &mut settings);
        settings.extend(values.iter().map(parameter));
        self.table(&["kafka"], document, &mut settings);
        for tables in ["topics", "data", "channels", "lag", "flows"] {
            for entry in document.entries(&[tables]) {
                self.table(&[tables, &entry.key], document, &mut settings);
            }
        }
        self.table(&["run"], document, &mut settings);
        self.table(&["limits"], document, &mut settings);
        settings
    }

    /// A table's own settings, khost's for it, and then the tables in it.
    fn table(&mut self, path: &[&str], document: &Node, settings: &mut Vec<Setting>) {
        let table = dotted(path);
        let (inner, own): (Vec<&Entry>, Vec<&Entry>) =
            document.entries(path).iter().partition(|entry| entry.node.table().is_some());
        settings.extend(own.into_iter().map(|entry| setting(&table, entry)));
        settings.extend(self.defaults.extract_if(.., |default| default.table == table));
        for entry in inner {
            self.table(&[path, &[&entry.key]].concat(), document, settings);
        }
    }
}

fn setting(table: &str, entry: &Entry) -> Setting {
    let value = if is_secret(&entry.key) { MASK.to_owned() } else { entry.node.to_string() };
    Setting { table: table.to_owned(), key: entry.key.clone(), value, origin: entry.node.origin.clone() }
}

fn parameter((name, value, origin): (&str, &Value, &Origin)) -> Setting {
    let shown = match value {
        _ if is_secret(name) => MASK.to_owned(),
        Value::Float(number) => format!("{number:?}"),
        Value::Integer(_) | Value::Boolean(_) | Value::Size(_) => value.to_string(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => quoted(&value.to_string()),
    };
    Setting { table: "params".to_owned(), key: name.to_owned(), value: shown, origin: origin.clone() }
}
