//! The topics that a scenario may touch.

use super::listing::Listing;
use super::{names, refuse};
use crate::plan::error::Error;
use crate::plan::manifest::{Access, Named, TopicTable};
use crate::plan::origin::Origin;
use crate::plan::placeholders::EACH;
use crate::plan::tree::Node;
use crate::plan::written::quoted;
use crate::plan::{Holds, Topic};

pub(super) fn resolve(
    tables: &Named<TopicTable>,
    prefix: &str,
    document: &Node,
    listing: &mut Listing,
) -> Result<Vec<Topic>, Error> {
    let mut topics: Vec<Topic> = Vec::new();
    for (key, table) in &tables.0 {
        let at = |part: &str, error| refuse(document, &["topics", key, part], error);
        names::check_key("topic", key).map_err(|error| refuse(document, &["topics", key], error))?;
        let Some(access) = &table.access else {
            let error = Error::refused("the topic has no `access`: what the scenario may do with it");
            return Err(
                refuse(document, &["topics", key], error).with_hint("access = [\"produce\"], [\"consume\"] or both")
            );
        };
        let template = template(key, table, prefix, listing);
        for (each, name) in instances(&template, table).map_err(|(part, error)| at(part, error))? {
            names::check_topic(&name).map_err(|error| at("name", error))?;
            if let Some(other) = topics.iter().find(|other| other.name == name) {
                return Err(at(if each.is_some() { "each" } else { "name" }, same_name(&name, other, key)));
            }
            let fill = |text: &String| each.as_ref().map_or_else(|| text.clone(), |each| text.replace(EACH, each));
            topics.push(Topic {
                key: key.clone(),
                each: each.clone(),
                name,
                partitions: table.partitions.map(|count| count.0),
                replication: table.replication.map(|count| u16::try_from(count.0).expect("at most 1000")),
                config: table.config.0.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
                holds: table.holds.as_ref().map(|holds| Holds { records: holds.records.0, size: holds.size.0 }),
                produce: access.contains(&Access::Produce),
                consume: access.contains(&Access::Consume),
            });
        }
    }
    Ok(topics)
}

/// The name in Kafka, with `{each}` in it if the topic is repeated.
fn template(key: &str, table: &TopicTable, prefix: &str, listing: &mut Listing) -> String {
    if let Some(name) = &table.name {
        return name.clone();
    }
    let name = match table.each {
        Some(_) => format!("{prefix}{EACH}.{key}"),
        None => format!("{prefix}{key}"),
    };
    listing.assume(&format!("topics.{key}"), "name", &quoted(&name), Origin::by_default());
    name
}

/// Which one of a repeated topic, and its name in Kafka.
type Instance = (Option<String>, String);

/// A topic as often as it is there. An error has the key that it is about.
fn instances(template: &str, table: &TopicTable) -> Result<Vec<Instance>, (&'static str, Error)> {
    let Some(items) = &table.each else {
        let needs_each = || Error::refused("{each} needs `each`: a list, one topic for each of its items");
        if template.contains(EACH) {
            return Err(("name", needs_each()));
        }
        if table.config.0.values().any(|value| value.contains(EACH)) {
            return Err(("config", needs_each()));
        }
        return Ok(vec![(None, template.to_owned())]);
    };
    if items.is_empty() {
        return Err(("each", Error::refused("`each` has no items, so there would be no topic")));
    }
    if items.len() > 1 && !template.contains(EACH) {
        return Err((
            "name",
            Error::refused("the topics of `each` need {each} in their name, or they are all the same"),
        ));
    }
    Ok(items.iter().map(|item| (Some(item.0.clone()), template.replace(EACH, &item.0))).collect())
}

fn same_name(name: &str, other: &Topic, key: &str) -> Error {
    let other = match &other.each {
        Some(each) if other.key == key => format!("{each:?} twice"),
        _ => format!("topics.{}", other.key),
    };
    Error::refused(format!("two topics would be named {name:?} in Kafka: this one and {other}"))
}
