//! `khost run`.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use clap::{Args, ValueEnum};

use super::cluster::{self, ClusterArguments, Way};
use super::failure::Failure;
use super::plan::PlanArguments;
use super::{output, signals};
use crate::guest::Engine;
use crate::kafka::{Checks, Cluster, preflight};
use crate::load::{self, Running};
use crate::measure::Machine;
use crate::plan::{self, Plan};
use crate::report::{self, Display, Facts};

/// Run a scenario: load, then a summary on stdout
///
/// What runs is the scenario's manifest, with what you lay over it: --kafka-config, profiles in their order, KHOST_KAFKA_…
/// variables, then --set, --param and -X. --dry-run shows each value and where it came from. Without brokers, an embedded
/// one is used, for trying things.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A component, a core module, or a folder of sources (which is built first)
    scenario: PathBuf,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    plan: PlanArguments,
    /// Show the plan with the origin of each value, and stop
    #[arg(long, help_heading = "Plan")]
    dry_run: bool,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  khost run scenarios/hello                                     against the embedded broker
  khost run hello.wasm --brokers localhost:9092                 against a cluster
  khost run hello.wasm --kafka-config client.properties         as Java clients reach it
  khost run hello.wasm --set flows.orders.rate=5k/s --dry-run   what would run
  khost run hello.wasm -X acks=1 -X linger.ms=20 --format json  the whole result";

/// The run passed, but nobody can read it.
const FAILED: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// Answers the exit code of a run that took place.
pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let (package, manifest) = arguments.plan.open(&arguments.scenario)?;
    let machine = Machine::read();
    let sources = arguments.plan.sources(manifest, &arguments.cluster, &machine)?;
    let plan = plan::resolve(&sources)?;
    if arguments.dry_run {
        output::print(&plan::show(&plan));
        plan_notes(&plan);
        plan.other_defaults.iter().for_each(|note| eprintln!("note: {note}"));
        eprintln!("note: it would run against {}", arguments.cluster.names(&plan));
        return Ok(0);
    }
    let compiled = Arc::new(Engine::new(cache_folder().as_deref())?.compile(&package.wasm)?);

    load::check_room(&plan, &machine).map_err(|error| Failure::input(&error, Some(error.hint.clone())))?;
    let data = super::plan::open_data(&package, &plan)?;
    let (Way { reach, embedded }, cluster) = reached(arguments, &plan).inspect_err(|_| plan_notes(&plan))?;

    signals::listen().map_err(|error| Failure::input(&error, None))?;
    let mut display = Display::new();
    let bootstrap = reach.bootstrap();
    let run_id = RandomState::new().hash_one(std::process::id());
    let running = Running {
        plan: &plan,
        compiled,
        cluster: &cluster,
        reach: &reach,
        embedded: embedded.is_some(),
        run_id,
        processors: machine.usable_threads(),
        interrupts: &signals::count,
    };
    let started = SystemTime::now();
    let record = load::run(&running, data, &mut display);
    display.finish();
    let facts = Facts {
        plan: &plan,
        digest: &package.digest,
        cluster: cluster.clone(),
        embedded: embedded.is_some(),
        bootstrap: &bootstrap,
        run_id,
        started,
        machine,
    };
    let result = report::assemble(facts, record?);
    let printed = match arguments.format {
        Format::Text => output::print(&report::text(&result, output::width())),
        Format::Json => {
            let mut json = serde_json::to_string_pretty(&result).expect("the document has only text keys");
            json.push('\n');
            output::print(&json)
        }
    };
    Ok(if printed { result.outcome.exit_code } else { result.outcome.exit_code.max(FAILED) })
}

/// The way to the cluster, which is found fit.
fn reached(arguments: &Arguments, plan: &Plan) -> Result<(Way, Cluster), Failure> {
    let way = arguments.cluster.way(plan)?;
    let settings = cluster::settings_by_flow(plan);
    let cluster = preflight(&Checks {
        reach: &way.reach,
        settings: &settings,
        topics: &plan.topics,
        groups: &plan.groups(),
        watched: &plan.watched_groups(),
        create: true,
        embedded: way.embedded.is_some(),
    })?;
    Ok((way, cluster))
}

/// What a person should know of a plan, where no report says it.
pub(super) fn plan_notes(plan: &Plan) {
    plan.warnings.iter().for_each(|warning| eprintln!("note: {warning}"));
}

/// Where compiled code is kept: `$XDG_CACHE_HOME/khost`, or `~/.cache/khost`.
fn cache_folder() -> Option<PathBuf> {
    let given = std::env::var_os("XDG_CACHE_HOME").filter(|folder| Path::new(folder).is_absolute()).map(PathBuf::from);
    let folder = given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(folder.join("khost/compiled"))
}
