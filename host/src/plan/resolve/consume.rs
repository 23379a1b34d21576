//! What a consume flow comes to: its topics, its group, and its workers.

use super::listing::Listing;
use super::{names, refuse};
use crate::plan::error::Error;
use crate::plan::manifest::{FlowTable, From, Kind};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::written::quoted;
use crate::plan::{Consume, ReadFrom, Topic};

const MAX_RECORDS: u32 = 500;

/// Makes the consumer of a flow's table.
pub(super) fn resolve(
    name: &str,
    table: &FlowTable,
    all: &[Topic],
    prefix: &str,
    document: &Node,
    listing: &mut Listing,
) -> Result<Consume, Error> {
    refuse_what_is_of_others(name, table, document)?;
    let topics = topics(name, table, all, document)?;
    let path = format!("flows.{name}");
    let group = table.group.clone().unwrap_or_else(|| {
        let group = format!("{prefix}{name}");
        listing.assume(&path, "group", &quoted(&group), Origin::by_default());
        group
    });
    names::check_group(&group).map_err(|error| refuse(document, &["flows", name, "group"], error))?;
    for (given, key, value) in [
        (table.workers.is_some(), "workers", "1".to_owned()),
        (table.max_records.is_some(), "max-records", MAX_RECORDS.to_string()),
    ] {
        if !given {
            listing.assume(&path, key, &value, Origin::by_default());
        }
    }
    if table.from.is_none() {
        let reason = Origin::Default("what is there before the load is not read".to_owned());
        listing.assume(&path, "from", "\"latest\"", reason);
    }
    let max_bytes = table.max_bytes.map(|bytes| bytes.0);
    if max_bytes == Some(0) {
        let error = Error::refused("a batch of no bytes holds no record");
        let hint = "max-bytes = \"1MiB\" bounds a batch, which holds one record at least";
        return Err(refuse(document, &["flows", name, "max-bytes"], error.with_hint(hint)));
    }
    Ok(Consume {
        topics,
        group,
        workers: table.workers.map_or(1, |workers| workers.0),
        from: match table.from {
            None | Some(From::Latest) => ReadFrom::Latest,
            Some(From::Earliest) => ReadFrom::Earliest,
            Some(From::Committed) => ReadFrom::Committed,
        },
        max_records: table.max_records.map_or(MAX_RECORDS, |count| count.0),
        max_bytes,
    })
}

fn refuse_what_is_of_others(name: &str, table: &FlowTable, document: &Node) -> Result<(), Error> {
    const PACED: &str = "its records come when they come: whoever writes them has the rate";
    for (given, key, instead) in [
        (table.threads.is_some(), "threads", "a consume flow has `workers`, each a member of its group"),
        (table.clients.is_some(), "clients", "each of its `workers` is a consumer, and they share one producer"),
        (table.batch.is_some(), "batch", "`max-records` is how many records the scenario gets at once"),
        (table.rate.is_some(), "rate", PACED),
        (table.stages.is_some(), "stages", PACED),
        (table.users.is_some(), "users", "a consume flow has `workers`, each a member of its group"),
        (table.think_time.is_some(), "think-time", "the scenario can `sleep` in `handle`"),
        (table.pace.is_some(), "pace", PACED),
        (table.max_users.is_some(), "max-users", "a consume flow has `workers`, each a member of its group"),
        (table.arrivals.is_some(), "arrivals", PACED),
        (table.messages.is_some(), "messages", "`iterations` ends it after so many records"),
    ] {
        if given {
            let error = Error::refused(format!("`{key}` is another kind's setting, and this is a consume flow"));
            return Err(refuse(document, &["flows", name, key], error.with_hint(instead)));
        }
    }
    Ok(())
}

/// Refuses a consumer's settings in another kind of flow.
pub(super) fn refuse_in_others(name: &str, kind: Kind, table: &FlowTable, document: &Node) -> Result<(), Error> {
    let given = [
        (table.topics.is_some(), "topics"),
        (table.group.is_some(), "group"),
        (table.workers.is_some(), "workers"),
        (table.from.is_some(), "from"),
        (table.max_records.is_some(), "max-records"),
        (table.max_bytes.is_some(), "max-bytes"),
    ];
    let Some((_, key)) = given.iter().find(|(given, _)| *given) else { return Ok(()) };
    let (kind, hint) = match kind {
        Kind::Consume => return Ok(()),
        Kind::Stream => ("stream", "kind = \"consume\" reads; a stream has threads and a rate"),
        Kind::Session => ("session", "kind = \"consume\" reads; a session has users"),
    };
    let error = Error::refused(format!("`{key}` is a consume flow's setting, and this is a {kind}"));
    Err(refuse(document, &["flows", name, key], error.with_hint(hint)))
}

/// The plan's topics that it reads, by their numbers: a repeated one means all of its instances.
fn topics(name: &str, table: &FlowTable, all: &[Topic], document: &Node) -> Result<Vec<usize>, Error> {
    let wrong = |error: Error| refuse(document, &["flows", name, "topics"], error);
    let hint = "topics = [\"NAME\"], of those that [topics.NAME] declares";
    let keys = table.topics.as_deref().unwrap_or_default();
    if keys.is_empty() {
        let error = Error::refused("a consume flow needs `topics`: those that it reads");
        let path: &[&str] = if table.topics.is_some() { &["flows", name, "topics"] } else { &["flows", name] };
        return Err(refuse(document, path, error.with_hint(hint)));
    }
    let mut topics = Vec::new();
    for key in keys.iter().map(|key| key.0.as_str()) {
        let of_key: Vec<usize> = (0..all.len()).filter(|at| all[*at].key == key).collect();
        let Some(first) = of_key.first() else {
            return Err(wrong(Error::unknown("topic", key, all.iter().map(|topic| topic.key.as_str()))));
        };
        if !all[*first].consume {
            let error = Error::refused(format!("the manifest does not let its scenario read the topic {key:?}"));
            let hint = format!("topics.{key}.access = [\"consume\"], or with \"produce\" beside it");
            return Err(wrong(error.with_hint(hint)));
        }
        if topics.contains(first) {
            return Err(wrong(
                Error::refused(format!("the topic {key:?} stands there twice")).with_hint("once will do"),
            ));
        }
        topics.extend(of_key);
    }
    Ok(topics)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::resolve::tests::{plan, refused};
    use crate::plan::{End, FlowKind, Plan};

    const TOPICS: &str = "[topics.in]\naccess = [\"consume\"]\n[topics.out]\naccess = [\"produce\"]\n\
                          [topics.many]\neach = [\"a\", \"b\"]\naccess = [\"produce\", \"consume\"]\n";
    const WRITES: &str = "[flows.w]\nkind = \"stream\"\nmessages = 5\n";

    fn flow(settings: &str) -> String {
        format!("{TOPICS}[flows.app]\nkind = \"consume\"\n{settings}\n")
    }

    fn consume(plan: &Plan) -> &Consume {
        let FlowKind::Consume(consume) = &plan.flows[0].kind else { panic!("a consume flow") };
        consume
    }

    #[test]
    fn a_consumer_needs_topics_only() {
        let expected = Consume {
            topics: vec![0],
            group: "khost-app".into(),
            workers: 1,
            from: ReadFrom::Latest,
            max_records: 500,
            max_bytes: None,
        };
        assert_eq!(*consume(&plan(&flow("topics = [\"in\"]"))), expected);
        let all = "topics = [\"in\", \"many\"]\ngroup = \"{prefix}x\"\nworkers = 3\nfrom = \"earliest\"\n\
                   max-records = 7\nmax-bytes = \"1MiB\"";
        let expected = Consume {
            topics: vec![0, 2, 3],
            group: "khost-x".into(),
            workers: 3,
            from: ReadFrom::Earliest,
            max_records: 7,
            max_bytes: Some(1 << 20),
        };
        assert_eq!(*consume(&plan(&flow(all))), expected);
    }

    #[test]
    fn it_goes_on_until_the_others_are_done() {
        let end =
            |own: &str, rest: &str| plan(&flow(&format!("topics = [\"in\"]\n{own}\n{rest}"))).flows[0].end.clone();
        let time = |seconds| End { duration: Some(Duration::from_secs(seconds)), ..End::default() };
        assert_eq!(end("", WRITES), End::default());
        assert_eq!(end("", &format!("{WRITES}[run]\niterations = 5\nduration = \"1m\"")), End::default());
        assert_eq!(end("iterations = 9", WRITES), End { iterations: Some(9), ..End::default() });
        assert_eq!(end("duration = \"5s\"", WRITES), time(5));
        // nothing else ends the run
        assert_eq!(end("", ""), time(10));
        assert_eq!(end("", "[run]\nduration = \"1m\""), time(60));
        assert_eq!(end("", &format!("{WRITES}enabled = false")), time(10));
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_its_place_and_a_hint() {
        for (settings, message) in [
            ("", "scenario.toml:10:1: flows.app: a consume flow needs `topics`"),
            ("topics = []", "flows.app.topics: a consume flow needs `topics`"),
            ("topics = [\"inn\"]", "flows.app.topics: there is no topic \"inn\""),
            ("topics = [\"out\"]", "flows.app.topics: the manifest does not let its scenario read the topic \"out\""),
            ("topics = [\"in\", \"in\"]", "flows.app.topics: the topic \"in\" stands there twice"),
            ("topics = [\"in\"]\ngroup = \"\"", "flows.app.group: a group's name can't be empty"),
            ("topics = [\"in\"]\ngroup = \"a\\tb\"", "flows.app.group: a group's name has no control characters"),
            ("topics = [\"in\"]\nworkers = 0", "flows.app.workers: expected a whole number from 1 to 1024, found 0"),
            (
                "topics = [\"in\"]\nfrom = \"begin\"",
                "expected \"latest\", \"earliest\" or \"committed\", found \"begin\"",
            ),
            ("topics = [\"in\"]\nmax-records = 0", "flows.app.max-records: expected a whole number from 1 to"),
            ("topics = [\"in\"]\nmax-bytes = 0", "flows.app.max-bytes: a batch of no bytes holds no record"),
            ("topics = [\"in\"]\n[run]\nmessages = 5", "run.messages: flows.app is a consume flow"),
            ("topics = [\"in\"]\nthreads = 2", "flows.app.threads: `threads` is another kind's setting"),
            ("topics = [\"in\"]\nclients = 2", "flows.app.clients: `clients` is another kind's setting"),
            ("topics = [\"in\"]\nrate = \"5/s\"", "flows.app.rate: `rate` is another kind's setting"),
            ("topics = [\"in\"]\nusers = 2", "flows.app.users: `users` is another kind's setting"),
            ("topics = [\"in\"]\nmessages = 2", "flows.app.messages: `messages` is another kind's setting"),
            ("topics = [\"in\"]\nthink-time = \"1s\"", "flows.app.think-time: `think-time` is another kind's setting"),
            ("topics = [\"in\"]\nkafka.group.id = \"x\"", "the group of a consume flow is `flows.NAME.group`"),
            ("topics = [\"in\"]\nkafka.group.instance.id = \"x\"", "each worker is a member of its own"),
        ] {
            let error = refused(&flow(settings));
            assert!(error.contains(message), "{settings}: {error}");
            assert!(error.contains("\nhint: ") || error.contains("expected ") || error.contains("can't be"), "{error}");
        }
    }

    #[test]
    fn other_kinds_read_nothing() {
        for setting in ["topics = [\"in\"]", "group = \"x\"", "workers = 2", "from = \"latest\"", "max-records = 5"] {
            for kind in ["kind = \"stream\"", "kind = \"session\"\nusers = 1"] {
                let error = refused(&format!("{TOPICS}[flows.w]\n{kind}\n{setting}"));
                assert!(error.contains("is a consume flow's setting, and this is a s"), "{error}");
            }
        }
    }

    #[test]
    fn its_clients_take_settings_of_both_kinds() {
        let settings = "topics = [\"in\"]\nkafka.linger.ms = 0\nkafka.fetch.min.bytes = 9";
        let own = plan(&flow(settings)).flows[0].kafka.clone();
        assert_eq!(own.keys().collect::<Vec<_>>(), ["fetch.min.bytes", "queue.buffering.max.ms"]);
    }
}
