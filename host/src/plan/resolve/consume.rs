//! What a consume flow comes to: its topics, its group, and its workers.

use super::listing::Listing;
use super::{names, pause, reading, refuse};
use crate::plan::error::Error;
use crate::plan::manifest::{AssignedBy, CommitWhen, FlowTable, Isolation, Kind, Part};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::written::quoted;
use crate::plan::{Commit, Consume, Dealer, Deliver, EndToEnd, Flow, FlowKind, ReadFrom, Topic};

const MAX_RECORDS: u32 = 500;
/// Of a flow.
const MOST_WORKERS: u64 = 1_024;

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
    let wrong = |key: &str, error: Error| refuse(document, &["flows", name, key], error);
    let path = format!("flows.{name}");
    let mut assume = |given: bool, key: &str, value: &str, origin: Origin| {
        if !given {
            listing.assume(&path, key, value, origin);
        }
    };
    let by_default = Origin::by_default;
    let default_group = format!("{prefix}{name}");
    assume(table.group.is_some(), "group", &quoted(&default_group), by_default());
    let group = table.group.clone().unwrap_or(default_group);
    let groups = match &table.groups {
        None => vec![group],
        Some(count) => (1..=count.0).map(|number| format!("{group}-{number}")).collect(),
    };
    for group in &groups {
        names::check_group(group).map_err(|error| wrong("group", error))?;
    }
    assume(table.workers.is_some(), "workers", "1", by_default());
    let workers = table.workers.map_or(1, |workers| workers.0);
    if u64::from(workers) * groups.len() as u64 > MOST_WORKERS {
        let error =
            Error::refused(format!("{} groups of {workers} workers are more than {MOST_WORKERS}", groups.len()));
        return Err(wrong("groups", error.with_hint("`workers` are the members of each group")));
    }
    let dealer = table.assigned_by.map_or(Dealer::Group, |by| match by {
        AssignedBy::Group => Dealer::Group,
        AssignedBy::Khost => Dealer::Khost,
    });
    if let Some(ids) = &table.instance_ids {
        names::check_group(ids).map_err(|error| wrong("instance-ids", error))?;
        if dealer == Dealer::Khost {
            let error = Error::refused("nobody joins the group, so it has no members");
            return Err(wrong("instance-ids", error.with_hint("leave it out, or leave out `assigned-by = \"khost\"`")));
        }
    }
    let reason = Origin::Default("what is there before the load is not read".to_owned());
    assume(table.from.is_some(), "from", "\"latest\"", reason);
    let from = table.from.map_or(ReadFrom::Latest, |from| from.0);
    if table.until.is_some() && from == ReadFrom::Latest {
        let error = Error::refused("from the end to the end there is nothing to read");
        return Err(wrong("until", error.with_hint("from = \"earliest\", \"committed\", a time or an offset")));
    }
    assume(table.commit.is_some(), "commit", "\"interval\"", by_default());
    let commit = table.commit.map_or(Commit::Interval, |commit| match commit {
        CommitWhen::Interval => Commit::Interval,
        CommitWhen::Batch => Commit::Batch,
        CommitWhen::Never => Commit::Never,
    });
    let pause = pause::resolve(name, table, document, listing)?;
    let mut assume = |given: bool, key: &str, value: &str, origin: Origin| {
        if !given {
            listing.assume(&path, key, value, origin);
        }
    };
    let handler = table.handler.unwrap_or(true);
    let deliver = deliver(name, table, document)?;
    assume(table.max_records.is_some(), "max-records", &MAX_RECORDS.to_string(), by_default());
    let max_bytes = table.max_bytes.map(|bytes| bytes.0);
    if max_bytes == Some(0) {
        let error = Error::refused("a batch of no bytes holds no record");
        return Err(wrong(
            "max-bytes",
            error.with_hint("max-bytes = \"1MiB\" bounds a batch, which holds one record at least"),
        ));
    }
    Ok(Consume {
        topics,
        groups,
        workers,
        dealer,
        instance_ids: table.instance_ids.clone(),
        from,
        commit,
        handler,
        deliver,
        pause,
        end_to_end: match table.end_to_end {
            Some(true) => EndToEnd::Any,
            Some(false) | None => EndToEnd::Off,
        },
        max_records: table.max_records.map_or(MAX_RECORDS, |count| count.0),
        max_bytes,
    })
}

/// Where a flow stamps what it sends, those that read look for that, unless they say otherwise.
pub(super) fn look_for_stamps(flows: &mut [Flow], tables: &[(String, FlowTable)]) {
    if !flows.iter().any(|flow| flow.stamp) {
        return;
    }
    let says = |name: &str| tables.iter().any(|(of, table)| of == name && table.end_to_end.is_some());
    for flow in flows {
        if let FlowKind::Consume(consume) = &mut flow.kind
            && !says(&flow.name)
        {
            consume.end_to_end = EndToEnd::Own;
        }
    }
}

/// What of a record the scenario gets: all of it, unless it is said.
fn deliver(name: &str, table: &FlowTable, document: &Node) -> Result<Deliver, Error> {
    let Some(parts) = &table.deliver else { return Ok(Deliver::ALL) };
    if table.handler == Some(false) {
        let error = Error::refused("with handler = false nothing is delivered to the scenario");
        return Err(refuse(document, &["flows", name, "deliver"], error.with_hint("leave out one of the two")));
    }
    let has = |part| parts.contains(&part);
    Ok(Deliver { key: has(Part::Key), headers: has(Part::Headers), value: has(Part::Value) })
}

/// The setting that `isolation` stands for.
pub(super) fn isolation(name: &str, table: &FlowTable, document: &Node) -> Result<Option<(String, String)>, Error> {
    const SETTING: &str = "isolation.level";
    let Some(isolation) = table.isolation else { return Ok(None) };
    if table.kafka.0.contains_key(SETTING) {
        let error = Error::refused(format!("`isolation` and kafka.{SETTING:?} are the same setting"));
        return Err(refuse(document, &["flows", name, "isolation"], error.with_hint("give one of them")));
    }
    let value = match isolation {
        Isolation::ReadCommitted => "read_committed",
        Isolation::ReadUncommitted => "read_uncommitted",
    };
    Ok(Some((SETTING.to_owned(), value.to_owned())))
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
        (table.groups.is_some(), "groups"),
        (table.workers.is_some(), "workers"),
        (table.assigned_by.is_some(), "assigned-by"),
        (table.instance_ids.is_some(), "instance-ids"),
        (table.from.is_some(), "from"),
        (table.until.is_some(), "until"),
        (table.commit.is_some(), "commit"),
        (table.isolation.is_some(), "isolation"),
        (table.handler.is_some(), "handler"),
        (table.deliver.is_some(), "deliver"),
        (table.end_to_end.is_some(), "end-to-end"),
        (table.pause.is_some(), "pause"),
        (table.pause_every.is_some(), "pause-every"),
        (table.paused_data.is_some(), "paused-data"),
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
    reading::topics(keys.iter().map(|key| key.0.as_str()), all).map_err(wrong)
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
        let least = Consume {
            topics: vec![0],
            groups: vec!["khost-app".into()],
            workers: 1,
            dealer: Dealer::Group,
            instance_ids: None,
            from: ReadFrom::Latest,
            commit: Commit::Interval,
            handler: true,
            deliver: Deliver::ALL,
            pause: None,
            end_to_end: EndToEnd::Off,
            max_records: 500,
            max_bytes: None,
        };
        assert_eq!(*consume(&plan(&flow("topics = [\"in\"]"))), least);
        let all = "topics = [\"in\", \"many\"]\ngroup = \"{prefix}x\"\nworkers = 3\nfrom = \"earliest\"\n\
                   max-records = 7\nmax-bytes = \"1MiB\"\ngroups = 2\ninstance-ids = \"{prefix}i\"\n\
                   commit = \"batch\"\ndeliver = [\"key\", \"value\"]";
        let expected = Consume {
            topics: vec![0, 2, 3],
            groups: vec!["khost-x-1".into(), "khost-x-2".into()],
            workers: 3,
            instance_ids: Some("khost-i".into()),
            from: ReadFrom::Earliest,
            commit: Commit::Batch,
            deliver: Deliver { headers: false, ..Deliver::ALL },
            max_records: 7,
            max_bytes: Some(1 << 20),
            ..least.clone()
        };
        assert_eq!(*consume(&plan(&flow(all))), expected);
        let alone = "topics = [\"in\"]\nassigned-by = \"khost\"\ncommit = \"never\"\nhandler = false";
        let expected = Consume { dealer: Dealer::Khost, commit: Commit::Never, handler: false, ..least };
        assert_eq!(*consume(&plan(&flow(alone))), expected);
    }

    #[test]
    fn it_begins_where_it_is_said() {
        for (written, from) in [
            ("\"committed\"", ReadFrom::Committed),
            ("0", ReadFrom::Offset(0)),
            ("-5", ReadFrom::BeforeEnd(5)),
            ("\"2026-12-01T08:00:00Z\"", ReadFrom::Time(1_796_112_000_000)),
            ("\"1970-01-01 00:00:01.5\"", ReadFrom::Time(1_500)),
        ] {
            let plan = plan(&flow(&format!("topics = [\"in\"]\nfrom = {written}")));
            assert_eq!(consume(&plan).from, from, "{written}");
        }
        assert_eq!(ReadFrom::Time(1_796_112_000_000).text(), "2026-12-01T08:00:00.000Z");
    }

    #[test]
    fn stamps_of_the_run_are_read_unless_it_is_said_otherwise() {
        let of = |app: &str, stamp: &str| {
            let plan = plan(&format!("{}{WRITES}stamp = {stamp}\n", flow(&format!("topics = [\"in\"]\n{app}"))));
            (consume(&plan).end_to_end, plan.flows[1].stamp)
        };
        assert_eq!(of("", "false"), (EndToEnd::Off, false));
        assert_eq!(of("", "true"), (EndToEnd::Own, true));
        assert_eq!(of("end-to-end = false", "true"), (EndToEnd::Off, true));
        assert_eq!(of("end-to-end = true", "false"), (EndToEnd::Any, false));
    }

    #[test]
    fn isolation_is_a_setting_of_its_clients() {
        let plan = plan(&flow("topics = [\"in\"]\nisolation = \"read_uncommitted\""));
        assert_eq!(plan.flows[0].kafka["isolation.level"], "read_uncommitted");
    }

    #[test]
    fn it_goes_on_until_the_others_are_done() {
        let end =
            |own: &str, rest: &str| plan(&flow(&format!("topics = [\"in\"]\n{own}\n{rest}"))).flows[0].end.clone();
        let time = |seconds| End { duration: Some(Duration::from_secs(seconds)), ..End::default() };
        assert_eq!(end("", WRITES), End::default());
        assert_eq!(end("", &format!("{WRITES}[run]\niterations = 5\nduration = \"1m\"")), End::default());
        assert_eq!(end("iterations = 9", WRITES), End { iterations: Some(9), ..End::default() });
        assert_eq!(end("messages = 9", WRITES), End { iterations: Some(9), ..End::default() });
        assert_eq!(end("duration = \"5s\"", WRITES), time(5));
        let at_ends = End { at_ends: true, ..time(5) };
        assert_eq!(end("from = \"earliest\"\nuntil = \"end\"\nduration = \"5s\"", WRITES), at_ends);
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
            ("topics = [\"out\"]", "flows.app.topics: topics.out does not grant reading"),
            ("topics = [\"in\", \"in\"]", "flows.app.topics: \"in\" stands here twice"),
            ("topics = [\"in\"]\ngroup = \"\"", "flows.app.group: a group's name can't be empty"),
            ("topics = [\"in\"]\ngroup = \"a\\tb\"", "flows.app.group: a group's name has no control characters"),
            ("topics = [\"in\"]\nworkers = 0", "flows.app.workers: expected a whole number from 1 to 1024, found 0"),
            (
                "topics = [\"in\"]\nfrom = \"begin\"",
                "expected \"latest\", \"earliest\", \"committed\", a time such as \"2026-12-01T08:00:00Z\", an offset, or",
            ),
            ("topics = [\"in\"]\nmax-records = 0", "flows.app.max-records: expected a whole number from 1 to"),
            ("topics = [\"in\"]\nmax-bytes = 0", "flows.app.max-bytes: a batch of no bytes holds no record"),
            ("topics = [\"in\"]\nuntil = \"end\"", "flows.app.until: from the end to the end"),
            ("topics = [\"in\"]\nmessages = 5\niterations = 5", "flows.app.messages: `messages` and `iterations` both"),
            ("topics = [\"in\"]\ngroups = 5\nworkers = 500", "flows.app.groups: 5 groups of 500 workers"),
            ("topics = [\"in\"]\ninstance-ids = \"\"", "flows.app.instance-ids: "),
            ("topics = [\"in\"]\ninstance-ids = \"a\"\nassigned-by = \"khost\"", "nobody joins the group"),
            ("topics = [\"in\"]\nhandler = false\ndeliver = [\"key\"]", "flows.app.deliver: with handler = false"),
            (
                "topics = [\"in\"]\nisolation = \"read_committed\"\nkafka.isolation.level = \"read_committed\"",
                "flows.app.isolation: `isolation` and kafka",
            ),
            ("topics = [\"in\"]\nthreads = 2", "flows.app.threads: `threads` is another kind's setting"),
            ("topics = [\"in\"]\nclients = 2", "flows.app.clients: `clients` is another kind's setting"),
            ("topics = [\"in\"]\nrate = \"5/s\"", "flows.app.rate: `rate` is another kind's setting"),
            ("topics = [\"in\"]\nusers = 2", "flows.app.users: `users` is another kind's setting"),
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
