//! Values and keys as TOML has them.

use std::fmt;

use super::tree::{Kind, Node};

/// A value as TOML on one line.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Text(text) => f.write_str(&quoted(text)),
            Kind::Integer(number) => number.fmt(f),
            Kind::Float(number) => write!(f, "{number:?}"),
            Kind::Boolean(value) => value.fmt(f),
            Kind::List(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Kind::Table(table) => {
                let entries: Vec<String> =
                    table.0.iter().map(|entry| format!("{} = {}", key(&entry.key), entry.node)).collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// A key, in quotes if it needs them.
pub(super) fn key(key: &str) -> String {
    if is_bare(key) { key.to_owned() } else { quoted(key) }
}

/// Whether a key needs no quotes: letters, digits, `-` and `_`.
pub(super) fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// A text as a basic string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A dotted path as `--set` takes it: below `kafka` and `config`, a name has dots of its own.
pub(super) fn dotted(path: &[impl AsRef<str>]) -> String {
    let mut dotted = String::new();
    let mut verbatim = false;
    for part in path.iter().map(AsRef::as_ref) {
        if !dotted.is_empty() {
            dotted.push('.');
        }
        dotted.push_str(&if verbatim { part.to_owned() } else { key(part) });
        verbatim = matches!(part, "kafka" | "config");
    }
    dotted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Origin;
    use crate::plan::tree::parse_file;

    #[test]
    fn values_read_back_as_they_were() {
        let read = |text: &str| {
            let tree = parse_file("s.toml", text, Origin::Manifest).expect("TOML");
            tree.find(&["x"]).expect("x").to_string()
        };
        let written = read("x = [1, 2.0, true, \"a\\\"\\\\\\n\\u0001é\", { \"a.b\" = -1, c-d = [] }]");
        assert_eq!(written, "[1, 2.0, true, \"a\\\"\\\\\\n\\u0001é\", { \"a.b\" = -1, c-d = [] }]");
        assert_eq!(read(&format!("x = {written}")), written);
    }

    #[test]
    fn dotted_paths_are_as_set_takes_them() {
        assert_eq!(dotted(&["flows", "check in", "rate"]), "flows.\"check in\".rate");
        assert_eq!(dotted(&["flows", "w", "kafka", "linger.ms"]), "flows.w.kafka.linger.ms");
    }
}
