//! From all that was written to the plan.

mod channel;
mod consume;
mod data;
mod end;
mod flow;
mod kafka;
mod lag;
mod listing;
mod names;
mod order;
mod pace;
mod pause;
mod ramp;
mod reading;
mod session;
mod topic;

use std::time::Duration;

use super::amount::{Count, format_bytes};
use super::connection::Bytes;
use super::decode::decode;
use super::error::Error;
use super::layers::{Layers, lay};
use super::manifest::{LimitsTable, Manifest, RunTable, ScenarioTable, WarmUp, refuse_what_is_to_come};
use super::origin::Origin;
use super::tree::{Entry, Kind, Node, Table};
use super::{Limits, Plan, Run, Scenario, format_duration, java, placeholders};
pub use data::files_of_manifest;
use listing::Listing;
pub use names::check_topic;

/// What a plan is made of.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The scenario's manifest.
    pub manifest: Text,
    /// `--kafka-config`.
    pub kafka_config: Option<Bytes>,
    /// `--profile`, in order.
    pub profiles: Vec<Text>,
    /// Variables of the environment that are settings of `[kafka]`; what a variable names a file for is its value here.
    pub environment: Vec<(String, String)>,
    /// `--set`, each `path=value`.
    pub sets: Vec<String>,
    /// `--param`, each `name=value`.
    pub params: Vec<String>,
    /// `-X`, each `name=value`.
    pub x: Vec<String>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// How many CPUs this process may use, by quota and affinity.
    pub cpus: u32,
}

/// A text and what messages call it.
#[derive(Debug, Clone, Default)]
pub struct Text {
    /// A path, or another name for where it comes from.
    pub place: String,
    /// What is in it.
    pub text: String,
}

const DRAIN: Duration = Duration::from_secs(30);
const MEMORY: u64 = 256 << 20;
const CALL_TIME: Duration = Duration::from_millis(500);
const TRAPS: u32 = 0;
const SEED: u64 = 0;

/// A page of WebAssembly's memory, and all that 32 bits address.
const MEMORY_RANGE: std::ops::RangeInclusive<u64> = 65_536..=4 << 30;

/// Makes the plan of a run.
///
/// # Errors
/// The first thing that is wrong with the sources: where it is, what was expected, and the next step.
pub fn resolve(sources: &Sources) -> Result<Plan, Error> {
    let Layers { mut document, values, mut warnings, bootstrap } = lay(sources)?;
    if let Some(seed) = sources.seed {
        put_seed(&mut document, seed);
    }
    placeholders::fill(&mut document, &values)?;
    refuse_what_is_to_come(&document)?;
    let manifest: Manifest = decode(&document)?;

    let mut listing = Listing::default();
    let scenario = scenario(&manifest.scenario, &document)?;
    let prefix = values.get("prefix")?.0.to_string();
    let topics = topic::resolve(&manifest.topics, &prefix, &document, &mut listing)?;
    let data = data::resolve(&manifest.data, &document, &mut listing)?;
    let channels = channel::resolve(&manifest.channels, &topics, &document, &mut listing)?;
    let lag = lag::resolve(&manifest.lag, &topics, &document, &mut listing)?;
    let run = run(&manifest.run, &document, &mut listing)?;
    let flows = flow::resolve(
        &manifest,
        flow::Around { run: &run, topics: &topics, prefix: &prefix, cpus: sources.cpus },
        &document,
        &mut listing,
    )?;
    let limits = limits(&manifest.limits, &document, &mut listing)?;
    let seed = seed(&manifest.run, &mut listing);
    let other_defaults = sources.kafka_config.as_ref().and_then(|_| java::other_defaults(&manifest.kafka.0));
    if flows.iter().all(|flow| !flow.measured) {
        warnings.push("no flow is measured: the report will have no figures".to_owned());
    }
    Ok(Plan {
        scenario,
        seed,
        params: values.iter().map(|(name, value, _)| (name.to_owned(), value.clone())).collect(),
        topics,
        data,
        channels,
        lag,
        flows,
        run,
        limits,
        kafka: manifest.kafka.0,
        other_defaults,
        bootstrap,
        settings: listing.finish(&document, &values),
        warnings,
    })
}

/// Where the value at `path` comes from; where it would stand, when it is absent.
fn origin(document: &Node, path: &[&str]) -> Origin {
    let ancestors = (0..=path.len()).rev().map(|depth| &path[..depth]);
    ancestors.filter_map(|path| document.find(path)).next().map_or_else(Origin::by_default, |node| node.origin.clone())
}

/// An error about the value at `path`.
fn refuse(document: &Node, path: &[&str], error: Error) -> Error {
    error.on(path).at(&origin(document, path))
}

fn put_seed(document: &mut Node, seed: u64) {
    let origin = Origin::Option("--seed");
    let kind = i64::try_from(seed).map_or_else(|_| Kind::Text(seed.to_string()), Kind::Integer);
    let node = Node { kind, origin: origin.clone() };
    let entry = Entry { key: "seed".to_owned(), origin: origin.clone(), node };
    let Some(root) = document.table_mut() else { return };
    match root.get_mut("run").and_then(Node::table_mut) {
        Some(run) => run.put(entry),
        None => {
            let node = Node { kind: Kind::Table(Table(vec![entry])), origin: origin.clone() };
            root.put(Entry { key: "run".to_owned(), origin, node });
        }
    }
}

fn scenario(table: &ScenarioTable, document: &Node) -> Result<Scenario, Error> {
    let Some(name) = &table.name else {
        let error = Error::refused("the manifest has no `name` for its scenario");
        return Err(refuse(document, &["scenario"], error).with_hint("[scenario] name = \"namespace/name\""));
    };
    names::check_scenario(name).map_err(|error| refuse(document, &["scenario", "name"], error))?;
    if let Some(version) = &table.version {
        names::check_version(version).map_err(|error| refuse(document, &["scenario", "version"], error))?;
    }
    Ok(Scenario {
        name: name.clone(),
        version: table.version.clone().unwrap_or_else(|| "0.0.0".to_owned()),
        description: table.description.clone().unwrap_or_default(),
    })
}

fn run(table: &RunTable, document: &Node, listing: &mut Listing) -> Result<Run, Error> {
    end::check_positive(&["run"], table.messages, table.iterations, table.duration, document)?;
    let warm_up = match table.warm_up {
        None => {
            listing.assume("run", "warm-up", "\"0s\"", Origin::by_default());
            super::WarmUp::None
        }
        Some(WarmUp::Iterations(0)) => super::WarmUp::None,
        Some(WarmUp::Time(time)) if time.is_zero() => super::WarmUp::None,
        Some(WarmUp::Iterations(count)) => super::WarmUp::Iterations(count),
        Some(WarmUp::Time(time)) => super::WarmUp::Time(time),
    };
    let drain = table.drain.map_or_else(
        || {
            listing.assume("run", "drain", &format!("\"{}\"", format_duration(DRAIN)), Origin::by_default());
            DRAIN
        },
        |drain| drain.0,
    );
    Ok(Run { warm_up, drain })
}

fn seed(table: &RunTable, listing: &mut Listing) -> u64 {
    match table.seed {
        Some(Count(seed)) => seed,
        None => {
            listing.assume(
                "run",
                "seed",
                &SEED.to_string(),
                Origin::Default("the same run gives the same messages".to_owned()),
            );
            SEED
        }
    }
}

fn limits(table: &LimitsTable, document: &Node, listing: &mut Listing) -> Result<Limits, Error> {
    let memory_bytes = table.memory.map_or(MEMORY, |memory| memory.0);
    if !MEMORY_RANGE.contains(&memory_bytes) {
        let found = document.find(&["limits", "memory"]).map(Node::describe).unwrap_or_default();
        return Err(refuse(document, &["limits", "memory"], Error::unexpected("a size from 64KiB to 4GiB", found)));
    }
    let call_time = table.call_time.map_or(CALL_TIME, |time| time.0);
    if call_time < Duration::from_millis(1) {
        let error = Error::unexpected("at least \"1ms\"", format!("\"{}\"", format_duration(call_time)));
        return Err(refuse(document, &["limits", "call-time"], error));
    }
    let traps = table.traps.map_or(TRAPS, |traps| traps.0);
    for (given, key, value) in [
        (table.memory.is_some(), "memory", format!("\"{}\"", format_bytes(MEMORY))),
        (table.call_time.is_some(), "call-time", format!("\"{}\"", format_duration(CALL_TIME))),
        (table.traps.is_some(), "traps", TRAPS.to_string()),
    ] {
        if !given {
            listing.assume("limits", key, &value, Origin::by_default());
        }
    }
    Ok(Limits { memory_bytes, call_time, traps })
}

#[cfg(test)]
mod tests;
