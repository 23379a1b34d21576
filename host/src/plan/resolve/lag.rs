//! The application's consumer groups whose lag is told: which group, and what it reads.

use super::listing::Listing;
use super::{names, reading, refuse};
use crate::plan::error::Error;
use crate::plan::manifest::{Isolation, LagTable, Named};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::{Lag, Topic};

pub(super) fn resolve(
    tables: &Named<LagTable>,
    topics: &[Topic],
    document: &Node,
    listing: &mut Listing,
) -> Result<Vec<Lag>, Error> {
    tables.0.iter().map(|(name, table)| one(name, table, topics, document, listing)).collect()
}

fn one(name: &str, table: &LagTable, topics: &[Topic], document: &Node, listing: &mut Listing) -> Result<Lag, Error> {
    names::check_key("lag", name).map_err(|error| refuse(document, &["lag", name], error))?;
    let at = |key: &str, error| refuse(document, &["lag", name, key], error);
    let Some(group) = &table.group else {
        let error = Error::refused("nobody has named its consumer `group`");
        let hint = format!("--set lag.{name}.group=GROUP, or `group` in a profile's [lag.{name}]");
        return Err(refuse(document, &["lag", name], error).with_hint(hint));
    };
    names::check_group(group).map_err(|error| at("group", error))?;
    if table.isolation.is_none() {
        listing.assume(&format!("lag.{name}"), "isolation", "\"read_committed\"", Origin::by_default());
    }
    Ok(Lag {
        name: name.to_owned(),
        group: group.clone(),
        topics: numbers(table, topics).map_err(|error| at("topics", error))?,
        read_committed: table.isolation != Some(Isolation::ReadUncommitted),
    })
}

/// The topics by number, all instances of a repeated one.
fn numbers(table: &LagTable, topics: &[Topic]) -> Result<Vec<usize>, Error> {
    let Some(names) = table.topics.as_ref().filter(|names| !names.is_empty()) else {
        return Err(Error::refused("it has no `topics`, in which the group's lag is counted")
            .with_hint("topics = [\"NAME\"], a name of [topics]"));
    };
    reading::topics(names.iter().map(String::as_str), topics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve::tests::{plan, refused, sources};
    use crate::plan::{Sources, resolve, show};

    const TOPICS: &str = "[flows.write]\nkind = \"stream\"\n\
        [topics.work]\naccess = [\"produce\"]\n\
        [topics.orders]\neach = [\"a\", \"b\"]\naccess = [\"produce\", \"consume\"]\n";

    fn text(table: &str) -> String {
        format!("{TOPICS}[lag.service]\n{table}")
    }

    #[test]
    fn a_repeated_topic_is_all_of_its_instances() {
        let one = plan(&text("group = \"order-service\"\ntopics = [\"orders\"]")).lag.remove(0);
        let group = "order-service".to_owned();
        assert_eq!(one, Lag { name: "service".into(), group, topics: vec![1, 2], read_committed: true });
        let one = plan(&text("group = \"g\"\ntopics = [\"orders\"]\nisolation = \"read_uncommitted\"")).lag.remove(0);
        assert!(!one.read_committed);
    }

    #[test]
    fn the_group_may_be_left_to_who_runs_it() {
        let manifest = text("topics = [\"orders\"]");
        let message = refused(&manifest);
        assert!(message.contains("lag.service: nobody has named its consumer `group`"), "{message}");
        assert!(message.contains("--set lag.service.group=GROUP"), "{message}");
        let with = |set: &str| resolve(&Sources { sets: vec![set.to_owned()], ..sources(&manifest) });
        let plan = with("lag.service.group=app").expect("it is named");
        assert_eq!((plan.lag[0].group.as_str(), plan.watched_groups()), ("app", vec!["app".to_owned()]));
        let shown = show(&plan);
        for line in ["[lag.service]", "group     = \"app\"", "# --set", "isolation = \"read_committed\""] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        let error = with("lag.servce.group=app").expect_err("there is none").to_string();
        assert!(error.contains("the manifest has no lag \"servce\""), "{error}");
    }

    #[test]
    fn what_can_not_be_is_refused() {
        for (table, said) in [
            ("group = \"\"\ntopics = [\"orders\"]", "lag.service.group: "),
            ("group = \"g\"", "lag.service.topics: it has no `topics`"),
            ("group = \"g\"\ntopics = []", "lag.service.topics: it has no `topics`"),
            ("group = \"g\"\ntopics = [\"ordrs\"]", "hint: did you mean `orders`?"),
            ("group = \"g\"\ntopics = [\"work\"]", "does not grant reading"),
            ("group = \"g\"\ntopics = [\"orders\", \"orders\"]", "stands here twice"),
            ("group = \"g\"\ntopics = [\"orders\"]\nisolation = \"committed\"", "read_uncommitted"),
            ("groop = \"g\"", "unknown key `groop` in [lag.service]"),
        ] {
            let message = refused(&text(table));
            assert!(message.contains(said), "{table}: {message}");
            assert!(message.contains("scenario.toml:"), "{table}: {message}");
        }
    }
}
