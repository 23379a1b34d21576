//! The flows of a run.

use super::listing::Listing;
use super::{consume, end, kafka, names, order, pace, ramp, refuse, session};
use crate::plan::error::Error;
use crate::plan::manifest::{Clients, FlowTable, Kind, Manifest};
use crate::plan::origin::Origin;
use crate::plan::tree::Node;
use crate::plan::{Flow, FlowKind, Pace, Run, Stream, Topic};

const BATCH: u32 = 1_000;

/// What flows are resolved with.
pub(super) struct Around<'a> {
    pub(super) run: &'a Run,
    pub(super) topics: &'a [Topic],
    pub(super) prefix: &'a str,
    pub(super) cpus: u32,
}

pub(super) fn resolve(
    manifest: &Manifest,
    around: Around<'_>,
    document: &Node,
    listing: &mut Listing,
) -> Result<Vec<Flow>, Error> {
    let Around { run, topics, prefix, cpus } = around;
    let is_other = |table: &FlowTable| table.enabled != Some(false) && table.kind != Some(Kind::Consume);
    let outlasts = manifest.flows.0.iter().any(|(_, table)| is_other(table));
    let mut flows = Vec::new();
    let run_is_ended = manifest.flows.0.iter().any(|(_, table)| is_enabled(table) && table.ends_run == Some(true));
    for (name, table) in &manifest.flows.0 {
        names::check_flow(name).map_err(|error| refuse(document, &["flows", name], error))?;
        let Some(kind) = table.kind else {
            let error = Error::refused("the flow has no `kind`");
            let error = error.with_hint("kind = \"stream\", \"session\" or \"consume\"");
            return Err(refuse(document, &["flows", name], error));
        };
        if !is_enabled(table) {
            continue;
        }
        kafka::check(name, kind, &manifest.kafka.0, &table.kafka.0, document)?;
        consume::refuse_in_others(name, kind, table, document)?;
        let kind = match kind {
            Kind::Stream => FlowKind::Stream(stream(name, table, cpus, document, listing)?),
            Kind::Session => FlowKind::Session(session::resolve(name, table, document, listing)?),
            Kind::Consume => FlowKind::Consume(consume::resolve(name, table, topics, prefix, document, listing)?),
        };
        let ends_run = table.ends_run == Some(true);
        let waits = table.after.is_some();
        let place = end::Place { run: &manifest.run, warm_up: run.warm_up, waits, ends_run, run_is_ended };
        let end = match &kind {
            FlowKind::Consume(_) if outlasts && !ends_run => end::own(name, table, document)?.unwrap_or_default(),
            _ => end::resolve(name, table, place, &kind, document, listing)?,
        };
        let end = if let FlowKind::Consume(_) = &kind { end::of_records(name, table, end, document)? } else { end };
        if let (FlowKind::Session(_), Some(_)) = (&kind, end.messages) {
            let error = Error::refused(format!("flows.{name} is a session, which does not end by its messages"));
            let hint = format!("give flows.{name} an end of its own: iterations or duration");
            return Err(refuse(document, &["run", "messages"], error.with_hint(hint)));
        }
        let mut kafka = table.kafka.0.clone();
        kafka.extend(consume::isolation(name, table, document)?);
        flows.push(Flow {
            name: name.clone(),
            kind,
            measured: table.measured.unwrap_or(true),
            stamp: table.stamp.unwrap_or(false),
            kafka,
            after: None,
            ends_run,
            end,
        });
    }
    if flows.is_empty() {
        let message = if manifest.flows.0.is_empty() {
            "the manifest has no flows, so there is nothing to run"
        } else {
            "no flow is enabled, so there is nothing to run"
        };
        let error = refuse(document, &["flows"], Error::refused(message));
        return Err(match manifest.flows.0.first() {
            Some((name, _)) => error.with_hint(format!("--set flows.{name}.enabled=true")),
            None => error.with_hint("[flows.NAME] with kind = \"stream\""),
        });
    }
    consume::look_for_stamps(&mut flows, &manifest.flows.0);
    order::resolve(&manifest.flows, &mut flows, document)?;
    Ok(flows)
}

pub(super) fn is_enabled(table: &FlowTable) -> bool {
    table.enabled != Some(false)
}

fn stream(name: &str, table: &FlowTable, cpus: u32, document: &Node, listing: &mut Listing) -> Result<Stream, Error> {
    let path = format!("flows.{name}");
    let of_sessions = [
        (table.users.is_some(), "users"),
        (table.think_time.is_some(), "think-time"),
        (table.pace.is_some(), "pace"),
        (table.max_users.is_some(), "max-users"),
        (table.arrivals.is_some(), "arrivals"),
    ];
    if let Some((_, key)) = of_sessions.iter().find(|(given, _)| *given) {
        let error = Error::refused(format!("`{key}` is a session's setting, and this is a stream"));
        let hint = "kind = \"session\" has users; a stream has threads and a rate";
        return Err(refuse(document, &["flows", name, key], error.with_hint(hint)));
    }
    let threads = match table.threads {
        Some(threads) => threads.0,
        None => {
            let threads = (cpus / 2).max(1);
            let cpus = cpus.max(1);
            let plural = if cpus == 1 { "" } else { "s" };
            let reason = format!("half of {cpus} CPU{plural}: each producer's own sending thread wants the other");
            listing.assume(&path, "threads", &threads.to_string(), Origin::Default(reason));
            threads
        }
    };
    let clients = match table.clients {
        Some(Clients::Dedicated) => threads,
        Some(Clients::Shared(clients)) if clients > threads => {
            let message =
                format!("clients = {clients} is more than threads = {threads}: a client without a thread would idle");
            let error = Error::refused(message).with_hint("clients = \"dedicated\" gives each thread its own");
            return Err(refuse(document, &["flows", name, "clients"], error));
        }
        Some(Clients::Shared(clients)) => clients,
        None => {
            listing.assume(&path, "clients", "1", Origin::by_default());
            1
        }
    };
    let stages = table.stages.as_deref().unwrap_or_default();
    let at_stages = |error| refuse(document, &["flows", name, "stages"], error);
    if ramp::are_of_users(stages).map_err(at_stages)? {
        let error = Error::refused("stages of `users` are a session's, and this is a stream");
        return Err(at_stages(error.with_hint("{ for = \"1m\", rate = \"100/s\" }")));
    }
    let pace = pace::resolve(table.rate, table.stages.as_deref())
        .map_err(|(key, error)| refuse(document, &["flows", name, key], error))?;
    if pace == Pace::Unpaced && table.rate.is_none() {
        listing.assume(&path, "rate", "\"unpaced\"", Origin::Default("as fast as it goes".to_owned()));
    }
    let batch = table.batch.map_or_else(
        || {
            listing.assume(&path, "batch", &BATCH.to_string(), Origin::by_default());
            BATCH
        },
        |batch| batch.0,
    );
    Ok(Stream { threads, clients, pace, batch })
}
