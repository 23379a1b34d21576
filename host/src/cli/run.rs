//! `khost run`.

use std::fs::read_to_string;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::{output, signals};
use crate::guest::Engine;
use crate::kafka::{Addresses, Embedded, preflight};
use crate::load::{self, Running};
use crate::measure::Machine;
use crate::package::Package;
use crate::plan::{self, Sources, Text};
use crate::report::{self, Display, Facts};

/// Run a scenario: load, then a summary on stdout
///
/// What runs is the scenario's manifest, with what you lay over it: profiles in order, then --set, --param and -X.
/// --dry-run shows each value and where it came from.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A component, a core module, or a folder of sources (which is built first)
    scenario: PathBuf,
    /// The brokers to ask first, as host:port,host:port; without it, an embedded broker for trying things
    #[arg(long, value_name = "LIST", help_heading = "Kafka")]
    brokers: Option<String>,
    /// A client setting by librdkafka's name, such as linger.ms=20 [repeatable]
    #[arg(short = 'X', value_name = "NAME=VALUE", help_heading = "Kafka")]
    kafka: Vec<String>,
    /// The manifest, instead of the one in the scenario
    #[arg(long, value_name = "FILE", help_heading = "Plan")]
    manifest: Option<PathBuf>,
    /// A TOML file like the manifest, laid over it [repeatable]
    #[arg(long, value_name = "FILE", help_heading = "Plan")]
    profile: Vec<PathBuf>,
    /// One setting by its dotted path, such as flows.write.rate=1000/s [repeatable]
    #[arg(long, value_name = "PATH=VALUE", help_heading = "Plan")]
    set: Vec<String>,
    /// One parameter of the scenario [repeatable]
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Plan")]
    param: Vec<String>,
    /// What the scenario's random numbers start from: the same seed gives the same messages
    #[arg(long, value_name = "N", help_heading = "Plan")]
    seed: Option<u64>,
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
  khost run hello.wasm --set flows.orders.rate=5k/s --dry-run   what would run
  khost run hello.wasm -X acks=1 -X linger.ms=20 --format json  the whole result";

/// The run passed, but nobody can read it.
const FAILED: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A summary for people
    Text,
    /// The result document, one JSON object
    Json,
}

/// Answers the exit code of a run that took place.
pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let package = Package::open(&arguments.scenario, arguments.manifest.as_deref())?;
    let machine = Machine::read();
    let plan = plan::resolve(&sources(arguments, &package, &machine)?)?;
    if arguments.dry_run {
        output::print(&plan::show(&plan));
        plan.warnings.iter().for_each(|warning| eprintln!("note: {warning}"));
        return Ok(0);
    }
    let compiled = Arc::new(Engine::new(cache_folder().as_deref())?.compile(&package.wasm)?);

    let embedded = match &arguments.brokers {
        Some(_) => None,
        None => Some(Embedded::start(plan.topics.iter()).map_err(|error| {
            Failure::input(&error, Some("the embedded broker can't be started; name a cluster with --brokers".into()))
        })?),
    };
    let list = match (&arguments.brokers, &embedded) {
        (Some(brokers), _) => brokers.clone(),
        (None, Some(embedded)) => embedded.address(),
        (None, None) => unreachable!("one of both is there"),
    };
    let protocol = plan.kafka.get("security.protocol").map_or("plaintext", String::as_str);
    let addresses = Addresses::parse(&list, protocol)?;
    let cluster = preflight(&addresses, &plan.kafka, &plan.topics, embedded.is_some())?;

    signals::listen().map_err(|error| Failure::input(&error, None))?;
    let mut display = Display::new();
    let bootstrap = addresses.to_string();
    let run_id = RandomState::new().hash_one(std::process::id());
    let running = Running {
        plan: &plan,
        compiled,
        cluster: &cluster,
        bootstrap: &bootstrap,
        run_id,
        interrupts: &signals::count,
    };
    let started = SystemTime::now();
    let record = load::run(&running, &mut display);
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

fn sources(arguments: &Arguments, package: &Package, machine: &Machine) -> Result<Sources, Failure> {
    let read = |path: &PathBuf| {
        let text = read_to_string(path).map_err(|error| Failure::unreadable(path, &error))?;
        Ok(Text { place: path.display().to_string(), text })
    };
    Ok(Sources {
        manifest: Text { place: package.manifest.place.clone(), text: package.manifest.text.clone() },
        profiles: arguments.profile.iter().map(read).collect::<Result<_, Failure>>()?,
        sets: arguments.set.clone(),
        params: arguments.param.clone(),
        x: arguments.kafka.clone(),
        seed: arguments.seed,
        cpus: machine.usable_threads(),
    })
}

/// Where compiled code is kept: `$XDG_CACHE_HOME/khost`, or `~/.cache/khost`.
fn cache_folder() -> Option<PathBuf> {
    let given = std::env::var_os("XDG_CACHE_HOME").filter(|folder| Path::new(folder).is_absolute()).map(PathBuf::from);
    let folder = given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(folder.join("khost/compiled"))
}
