//! `khost check`.

use std::path::PathBuf;

use clap::Args;

use super::cluster::{self, ClusterArguments};
use super::failure::Failure;
use super::output;
use super::plan::PlanArguments;
use super::run::{Format, plan_notes};
use crate::kafka::{Checks, Cluster, Reach, preflight};
use crate::measure::Machine;
use crate::plan::{self, Plan, Text, Topic};
use crate::report;

/// Find out whether a cluster lets a load in, and write nothing
///
/// What khost run does before a load: addresses, TLS, credentials, each broker's release, topics with their partitions and
/// leaders, the rights of this principal, size limits, the clock. With a scenario, for what that will do; without, for what
/// --write, --read and --group name. Nothing is created: a topic that a run would create is tried out only. Exits with 0
/// when all is fit, with 2 for bad input, and with 3 when Kafka can't be reached, or refuses.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A scenario, as for khost run
    scenario: Option<PathBuf>,
    /// A topic that will be written to [repeatable]
    #[arg(long, value_name = "TOPIC")]
    write: Vec<String>,
    /// A topic that will be read [repeatable]
    #[arg(long, value_name = "TOPIC")]
    read: Vec<String>,
    /// A consumer group that will be joined [repeatable]
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    plan: PlanArguments,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  khost check --brokers localhost:9092                               does it let us in?
  khost check --kafka-config client.properties --write orders        may we write there?
  khost check scenarios/hello --brokers localhost:9092               could this run?";

/// A plan that never runs, for the settings that lie over it.
const NOTHING: &str = "[scenario]\nname = \"khost/check\"\n[flows.none]\nkind = \"stream\"\nmessages = 1\n";

/// Answers the exit code.
pub(super) fn check(arguments: &Arguments) -> Result<u8, Failure> {
    check_names(arguments)?;
    let manifest = match &arguments.scenario {
        Some(scenario) => arguments.plan.open(scenario)?.1,
        None => Text { place: "khost check".into(), text: NOTHING.into() },
    };
    let plan = plan::resolve(&arguments.plan.sources(manifest, &arguments.cluster, &Machine::read())?)?;
    let mut topics = plan.topics.clone();
    for (names, produce) in [(&arguments.write, true), (&arguments.read, false)] {
        for name in names {
            match topics.iter_mut().find(|topic| topic.name == *name) {
                Some(topic) if produce => topic.produce = true,
                Some(topic) => topic.consume = true,
                None => topics.push(named(name, produce)),
            }
        }
    }
    let (reach, mut cluster) = reached(arguments, &plan, &topics).inspect_err(|failure| {
        plan_notes(&plan);
        if arguments.format == Format::Json {
            output::print(&report::check_failed_json(&failure.message, failure.hint.as_deref(), failure.code));
        }
    })?;
    cluster.warnings.splice(0..0, plan.warnings);
    let printed = match arguments.format {
        Format::Text => output::print(&report::check_text(&cluster, &reach.bootstrap(), output::width())),
        Format::Json => output::print(&report::check_json(&cluster, &reach.bootstrap())),
    };
    Ok(if printed { 0 } else { 1 })
}

fn reached(arguments: &Arguments, plan: &Plan, topics: &[Topic]) -> Result<(Reach, Cluster), Failure> {
    let reach = arguments.cluster.way_to_named(plan)?;
    let settings = cluster::settings_by_flow(plan);
    let mut groups = plan.groups();
    groups.extend(arguments.group.iter().filter(|group| !plan.groups().contains(group)).cloned());
    let watched: Vec<String> = plan.watched_groups().into_iter().filter(|group| !groups.contains(group)).collect();
    let checks = Checks {
        reach: &reach,
        settings: &settings,
        topics,
        groups: &groups,
        watched: &watched,
        create: false,
        embedded: false,
    };
    let cluster = preflight(&checks)?;
    Ok((reach, cluster))
}

/// What is named can exist.
fn check_names(arguments: &Arguments) -> Result<(), Failure> {
    for (option, names) in [("--write", &arguments.write), ("--read", &arguments.read)] {
        for name in names {
            plan::check_topic_name(name).map_err(|error| Failure::from(error).about(option))?;
        }
    }
    match arguments.group.iter().any(String::is_empty) {
        true => Err(Failure::usage("--group: a group's name can't be empty", "name the group")),
        false => Ok(()),
    }
}

/// A topic that only the command line names.
fn named(name: &str, produce: bool) -> Topic {
    Topic {
        key: String::new(),
        each: None,
        name: name.to_owned(),
        partitions: None,
        replication: None,
        config: Default::default(),
        holds: None,
        produce,
        consume: !produce,
    }
}
