//! `docs/manifest.md` against the schema: each key of a section is in that section's table, and nothing else is.

use std::collections::BTreeSet;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::*;
use crate::plan::error::Error;

const PAGE: &str = include_str!("../../../../docs/manifest.md");

/// Answers the names of a struct's fields as its error.
struct Fields<'a>(&'a mut Vec<&'static str>);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::refused("no struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.extend(fields);
        Err(Error::refused("only its fields are wanted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn keys_of<'de, T: Deserialize<'de>>() -> BTreeSet<&'static str> {
    let mut fields = Vec::new();
    let _ = T::deserialize(Fields(&mut fields));
    assert!(!fields.is_empty(), "it is a struct");
    fields.into_iter().collect()
}

/// The first cells of the table below a heading.
fn keys_on_the_page(heading: &str) -> BTreeSet<&'static str> {
    let section = PAGE.split("\n## ").find(|section| section.starts_with(heading));
    let section = section.unwrap_or_else(|| panic!("no section {heading}"));
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(key, _)| key).collect()
}

#[test]
fn the_page_has_every_key_and_no_other() {
    for (heading, keys) in [
        ("`[scenario]`", keys_of::<ScenarioTable>()),
        ("`[params]`", keys_of::<ParameterTable>()),
        ("`[topics.NAME]`", keys_of::<TopicTable>()),
        ("`[data.NAME]`", keys_of::<DataTable>()),
        ("`[channels.NAME]`", keys_of::<ChannelTable>()),
        ("`[lag.NAME]`", keys_of::<LagTable>()),
        ("`[flows.NAME]`", keys_of::<FlowTable>()),
        ("`stages`", keys_of::<StageTable>()),
        ("`[run]`", keys_of::<RunTable>()),
        ("`[limits]`", keys_of::<LimitsTable>()),
    ] {
        assert_eq!(keys_on_the_page(heading), keys, "{heading}");
    }
}

#[test]
fn the_page_has_a_section_for_every_table() {
    for table in keys_of::<Manifest>() {
        assert!(
            PAGE.contains(&format!("\n## `[{table}]`")) || PAGE.contains(&format!("\n## `[{table}.NAME]`")),
            "{table}"
        );
    }
}

#[test]
fn the_page_names_what_is_harmless_and_no_more() {
    let section = PAGE.split("\n## ").find(|section| section.starts_with("`[kafka]`")).expect("a section");
    let list =
        section.split("may set these itself").nth(1).expect("the list").split("\n\n").nth(1).expect("a paragraph");
    let on_the_page: BTreeSet<&str> = list.split('`').skip(1).step_by(2).collect();
    let harmless: BTreeSet<&str> = crate::plan::kafka_names::harmless().collect();
    assert_eq!(on_the_page, harmless);
}

#[test]
fn every_example_of_flows_is_a_plan() {
    let examples = PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut seen = 0;
    for example in examples.filter(|example| example.contains("[flows.") && !example.contains("[scenario]")) {
        let text = format!("[scenario]\nname = \"page\"\n{example}");
        let manifest = crate::plan::Text { place: "docs/manifest.md".into(), text };
        let plan = crate::plan::resolve(&crate::plan::Sources { manifest, cpus: 4, ..Default::default() });
        plan.unwrap_or_else(|error| panic!("{error}"));
        seen += 1;
    }
    assert!(seen >= 2, "{seen}");
}

#[test]
fn the_example_of_the_page_is_a_plan() {
    let example = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let manifest = crate::plan::Text { place: "docs/manifest.md".into(), text: example.into() };
    let plan = crate::plan::resolve(&crate::plan::Sources { manifest, cpus: 4, ..Default::default() });
    let topics = plan.unwrap_or_else(|error| panic!("{error}")).topics;
    assert_eq!(
        topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>(),
        ["khost-north.orders", "khost-south.orders"]
    );
}
