//! `{name}` in the strings of a manifest: parameters, and in topics `{each}`.

use super::error::Error;
use super::kafka_names::is_secret;
use super::origin::Origin;
use super::params::Values;
use super::tree::{Kind, Node};
use super::written::is_bare;

/// What stands for the items of a repeated topic; filled in when they are known.
pub(super) const EACH: &str = "{each}";

/// Fills the placeholders of a whole document in, except in `[params]`, `[scenario]`, `[data.NAME]` (files and delimiters
/// are to the letter) and the values of secrets.
pub(super) fn fill(document: &mut Node, values: &Values) -> Result<(), Error> {
    let Some(tables) = document.table_mut() else { return Ok(()) };
    for entry in &mut tables.0 {
        if !matches!(entry.key.as_str(), "params" | "scenario" | "data") {
            let in_topic = entry.key == "topics";
            fill_node(&mut entry.node, values, in_topic).map_err(|error| error.under(&entry.key))?;
        }
    }
    Ok(())
}

fn fill_node(node: &mut Node, values: &Values, in_topic: bool) -> Result<(), Error> {
    if node.origin.is_verbatim() {
        return Ok(());
    }
    match &mut node.kind {
        Kind::Text(text) => {
            let filled = fill_text(text, values, in_topic).map_err(|error| error.at(&node.origin))?;
            match filled {
                Filled::Text(text) => node.kind = Kind::Text(text),
                Filled::Value(value) => *node = value,
            }
            Ok(())
        }
        Kind::List(items) => items.iter_mut().try_for_each(|item| fill_node(item, values, in_topic)),
        Kind::Table(table) => table.0.iter_mut().filter(|entry| !is_secret(&entry.key)).try_for_each(|entry| {
            fill_node(&mut entry.node, values, in_topic).map_err(|error| error.under(&entry.key))
        }),
        _ => Ok(()),
    }
}

enum Filled {
    Text(String),
    Value(Node),
}

/// A string that is wholly a placeholder takes the parameter's value with its type; `{{` is a brace.
fn fill_text(text: &str, values: &Values, in_topic: bool) -> Result<Filled, Error> {
    let whole = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    if let Some(name) = whole.filter(|name| !name.contains(['{', '}']) && *name != "each") {
        let (value, origin) = get(name, values)?;
        let through = Origin::Parameter(name.to_owned(), Box::new(origin.clone()));
        return Ok(Filled::Value(value.to_node(through)));
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        rest = if let Some(rest) = from.strip_prefix("{{") {
            filled.push('{');
            rest
        } else if let Some(rest) = from.strip_prefix("}}").or_else(|| from.strip_prefix('}')) {
            filled.push('}');
            rest
        } else {
            let inner = &from[1..];
            let Some((name, rest)) = inner.split_once('}') else {
                return Err(Error::refused("a placeholder is not closed")
                    .with_hint("`{name}` is a parameter; a brace alone is `{{`"));
            };
            match name {
                "each" if in_topic => filled.push_str(EACH),
                "each" => return Err(Error::refused("{each} has a meaning only in topics")),
                _ => filled.push_str(&inline(name, values)?),
            }
            rest
        };
    }
    filled.push_str(rest);
    Ok(Filled::Text(filled))
}

fn inline(name: &str, values: &Values) -> Result<String, Error> {
    match get(name, values)?.0 {
        value if value.items().is_some() => {
            Err(Error::refused(format!("{{{name}}} is a list, and can't be part of a text")))
        }
        value => Ok(value.to_string()),
    }
}

fn get<'a>(name: &str, values: &'a Values) -> Result<(&'a super::Value, &'a Origin), Error> {
    values.get(name).map_err(|error| {
        if is_bare(name) {
            error
        } else {
            Error::refused(format!("{{{name}}} is not a placeholder"))
                .with_hint("`{name}` is a parameter; a brace alone is `{{`")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::params::Parameters;
    use crate::plan::tree::parse_file;

    const PARAMS: &str = r#"
        [params]
        tenants = ["a", "b"]
        n = 4
        pause = { default = "90s", type = "duration" }
        size = { default = "64KiB", type = "size" }
        prefix = "x-"
    "#;

    /// The value of `x` in a topic, with its placeholders filled in.
    fn filled(value: &str) -> Result<String, Error> {
        filled_at(value, "topics.t")
    }

    fn filled_at(value: &str, table: &str) -> Result<String, Error> {
        let mut tree = parse_file("s.toml", &format!("{PARAMS}\n[{table}]\nx = {value}"), Origin::Manifest)?;
        let mut values = Parameters::declare(tree.find(&["params"]))?;
        values.give("n=5")?;
        fill(&mut tree, &values.complete()?)?;
        let path: Vec<&str> = table.split('.').chain(["x"]).collect();
        Ok(tree.find(&path).expect("x").to_string())
    }

    #[test]
    fn a_whole_placeholder_takes_the_typed_value() {
        assert_eq!(filled("\"{n}\"").expect("n"), "5");
        assert_eq!(filled("\"{tenants}\"").expect("tenants"), "[\"a\", \"b\"]");
        assert_eq!(filled("\"{pause}\"").expect("pause"), "\"1m 30s\"");
        assert_eq!(filled("\"{size}\"").expect("size"), "\"65536\"");
        assert_eq!(filled("[{ y = \"{n}\" }]").expect("nested"), "[{ y = 5 }]");
    }

    #[test]
    fn inside_a_longer_string_it_is_text() {
        assert_eq!(filled("\"{prefix}{each}.t{n}\"").expect("mixed"), "\"x-{each}.t5\"");
        assert_eq!(filled("\"{each}\"").expect("each"), "\"{each}\"");
        assert_eq!(filled("\"{{n}} {{{n}}}\"").expect("braces"), "\"{n} {5}\"");
    }

    #[test]
    fn a_value_knows_the_parameter_that_it_came_through() {
        let mut tree = parse_file("s.toml", "[params]\nn = 1\n[run]\nx = \"{n}\"", Origin::Manifest).expect("TOML");
        let mut values = Parameters::declare(tree.find(&["params"])).expect("valid");
        values.give("n=5").expect("fits");
        fill(&mut tree, &values.complete().expect("complete")).expect("known");
        assert_eq!(tree.find(&["run", "x"]).expect("x").origin.to_string(), "{n}, --param");
    }

    #[test]
    fn what_is_no_placeholder_is_refused() {
        let refused = |value, message: &str, hint: Option<&str>| {
            let error = filled(value).expect_err(value);
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(error.hint(), hint);
        };
        refused("\"{tenant}\"", "topics.t.x: there is no parameter \"tenant\"", Some("did you mean `tenants`?"));
        refused("\"a{m}\"", "topics.t.x: there is no parameter \"m\"", Some("known: n, pause, prefix, size, tenants"));
        refused("\"a{n\"", "a placeholder is not closed", Some("`{name}` is a parameter; a brace alone is `{{`"));
        refused("'{\"a\":1}'", "is not a placeholder", Some("`{name}` is a parameter; a brace alone is `{{`"));
        refused("\"a{tenants}\"", "{tenants} is a list, and can't be part of a text", None);
        let elsewhere = filled_at("\"{prefix}{each}\"", "flows.w").expect_err("each");
        assert!(elsewhere.to_string().contains("{each} has a meaning only in topics"));
    }

    #[test]
    fn secrets_and_parameters_are_left_as_they_are() {
        let text = "[params]\na = \"{b}\"\n[scenario]\ndescription = \"{c}\"\n[kafka]\n\"sasl.password\" = \"x{y\"";
        let mut tree = parse_file("s.toml", text, Origin::Manifest).expect("TOML");
        let values = Parameters::declare(tree.find(&["params"])).and_then(Parameters::complete).expect("valid");
        fill(&mut tree, &values).expect("nothing to fill");
        assert_eq!(tree.find(&["kafka", "sasl.password"]).and_then(Node::text), Some("x{y"));
    }
}
