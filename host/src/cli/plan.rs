//! What is to run: the options that make a plan, shared by `run` and `check`.

use std::fs::{metadata, read_to_string};
use std::path::{Path, PathBuf};

use clap::Args;

use super::cluster::{self, ClusterArguments};
use super::failure::Failure;
use crate::data::{Content, DataSet};
use crate::measure::Machine;
use crate::package::Package;
use crate::plan::{DataFile, Plan, Sources, Text, format_bytes};

/// The options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Plan")]
pub(super) struct PlanArguments {
    /// The manifest, instead of the one in the scenario
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// A TOML file like the manifest, laid over it [repeatable]
    #[arg(long, value_name = "FILE")]
    profile: Vec<PathBuf>,
    /// One setting by its dotted path, such as flows.write.rate=1000/s [repeatable]
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// One parameter of the scenario [repeatable]
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// What the scenario's random numbers start from: the same seed gives the same messages
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl PlanArguments {
    /// A scenario, with the manifest that is named or its own.
    pub(super) fn open(&self, scenario: &Path) -> Result<(Package, Text), Failure> {
        let package = Package::open(scenario, self.manifest.as_deref())?;
        let manifest = Text { place: package.manifest.place.clone(), text: package.manifest.text.clone() };
        Ok((package, manifest))
    }

    /// All that lies over a manifest, with it.
    pub(super) fn sources(
        &self,
        manifest: Text,
        cluster: &ClusterArguments,
        machine: &Machine,
    ) -> Result<Sources, Failure> {
        let read = |path: &PathBuf| {
            let text = read_to_string(path)
                .map_err(|error| Failure::unreadable(path, &error, "name a TOML file like scenario.toml"))?;
            Ok(Text { place: path.display().to_string(), text })
        };
        Ok(Sources {
            manifest,
            kafka_config: cluster.kafka_config()?,
            profiles: self.profile.iter().map(read).collect::<Result<_, Failure>>()?,
            environment: cluster::environment()?,
            sets: self.set.clone(),
            params: self.param.clone(),
            x: cluster.kafka.clone(),
            seed: self.seed,
            cpus: machine.usable_threads(),
        })
    }
}

/// A larger file takes more than a moment to go through.
const LARGE: u64 = 512 << 20;

/// Opens the plan's data sets, in its order.
pub(super) fn open_data(package: &Package, plan: &Plan) -> Result<Vec<DataSet>, Failure> {
    let open = |planned: &crate::plan::DataSet| {
        let content = match &planned.file {
            DataFile::OfManifest(file) => package.data(&planned.name, file)?,
            DataFile::Given(path) => Content::File(path.clone()),
        };
        let name = &planned.name;
        if let Content::File(path) = &content
            && let Some(size) = metadata(path).ok().map(|file| file.len()).filter(|size| *size > LARGE)
        {
            eprintln!("reading the data set `{name}`: {}, {}", path.display(), format_bytes(size));
        }
        DataSet::open(content, &planned.format).map_err(|error| Failure::data(name, &error))
    };
    plan.data.iter().map(open).collect()
}
