//! Which cluster, and how it is reached: the options that `run` and `check` share.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use crate::kafka::{Addresses, ClientSettings, Embedded, Reach, Security};
use crate::plan::{self, Bytes, Plan, VARIABLES, setting_of_variable};

/// The options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Kafka")]
pub(super) struct ClusterArguments {
    /// The brokers to ask first, as host:port,host:port
    #[arg(long, value_name = "LIST")]
    brokers: Option<String>,
    /// A client.properties as Java's clients take it: brokers, TLS, SASL, and other settings
    #[arg(long, value_name = "FILE")]
    kafka_config: Option<PathBuf>,
    /// A client setting by librdkafka's name, such as linger.ms=20 [repeatable]; secrets are better in the environment,
    /// as KHOST_KAFKA_SASL_PASSWORD, or KHOST_KAFKA_SASL_PASSWORD_FILE for the file that holds it
    #[arg(short = 'X', value_name = "NAME=VALUE")]
    pub(super) kafka: Vec<String>,
}

/// The way to the cluster, and the broker inside khost if it is that.
pub(super) struct Way {
    pub(super) reach: Reach,
    pub(super) embedded: Option<Embedded>,
}

impl ClusterArguments {
    pub(super) fn kafka_config(&self) -> Result<Option<Bytes>, Failure> {
        let Some(path) = &self.kafka_config else { return Ok(None) };
        let bytes = read(path)
            .map_err(|error| Failure::unreadable(path, &error, "name a properties file of Java's clients"))?;
        Ok(Some(Bytes { place: path.display().to_string(), bytes }))
    }

    /// Which brokers, for a person.
    pub(super) fn names(&self, plan: &Plan) -> String {
        match (&self.brokers, &plan.bootstrap) {
            (Some(list), _) => format!("{list} (--brokers)"),
            (None, Some(list)) => format!("{list} (--kafka-config)"),
            (None, None) => "the embedded broker, as no brokers are named".into(),
        }
    }

    /// The way to a cluster that has to be named.
    pub(super) fn way_to_named(&self, plan: &Plan) -> Result<Reach, Failure> {
        match self.named(plan)? {
            Some(reach) => Ok(reach),
            None => Err(Failure::usage("no brokers are named", "add --brokers host:port")),
        }
    }

    /// The way to the brokers of the command line, or else to those of the file.
    fn named(&self, plan: &Plan) -> Result<Option<Reach>, Failure> {
        match (&self.brokers, &plan.bootstrap, &self.kafka_config) {
            (Some(list), _, _) => Ok(Some(reach(list, plan)?)),
            (None, Some(list), Some(file)) => {
                let place = format!("bootstrap.servers of {}", file.display());
                let addresses = addresses(list, plan).map_err(|failure| failure.about(&place))?;
                Ok(Some(reach_at(addresses, plan)?))
            }
            (None, None, Some(file)) => {
                let message = format!("{} names no bootstrap.servers", file.display());
                Err(Failure::usage(&message, "add --brokers host:port"))
            }
            (None, _, None) => Ok(None),
        }
    }

    /// The way to the named cluster, or else to the embedded broker.
    pub(super) fn way(&self, plan: &Plan) -> Result<Way, Failure> {
        if let Some(reach) = self.named(plan)? {
            return Ok(Way { reach, embedded: None });
        }
        if let Some(protocol) = plan.kafka.get("security.protocol").filter(|protocol| *protocol != "plaintext") {
            let message = format!(
                "security.protocol is {protocol}, and no brokers are named: the embedded broker has no security"
            );
            return Err(Failure::usage(&message, "add --brokers host:port"));
        }
        if let Some((message, hint)) = plan.topics.iter().find_map(Embedded::is_too_small_for) {
            return Err(Failure::usage(&message, &hint));
        }
        let embedded = Embedded::start(plan.topics.iter()).map_err(|error| {
            Failure::input(&error, Some("the embedded broker can't be started; name a cluster with --brokers".into()))
        })?;
        let reach = reach(&embedded.address(), plan)?;
        Ok(Way { reach, embedded: Some(embedded) })
    }
}

fn reach(list: &str, plan: &Plan) -> Result<Reach, Failure> {
    reach_at(addresses(list, plan)?, plan)
}

fn addresses(list: &str, plan: &Plan) -> Result<Addresses, Failure> {
    let protocol = plan.kafka.get("security.protocol").map_or("plaintext", String::as_str);
    Ok(Addresses::parse(list, protocol)?)
}

fn reach_at(addresses: Addresses, plan: &Plan) -> Result<Reach, Failure> {
    let security = Security::read(&plan.kafka).map_err(|error| {
        let origin = origin(plan, error.setting);
        let failure = Failure::from(error);
        match origin {
            Some(origin) => failure.about(&origin),
            None => failure,
        }
    })?;
    Ok(Reach::new(addresses, security)?)
}

/// Where a setting of Kafka's has its value from.
fn origin(plan: &Plan, name: &str) -> Option<String> {
    let is_it =
        |setting: &&plan::Setting| setting.table == "kafka" && plan::canonical(&setting.key) == plan::canonical(name);
    plan.settings.iter().find(is_it).map(|setting| setting.origin.to_string())
}

/// The settings of each flow's clients.
pub(super) fn settings_by_flow(plan: &Plan) -> Vec<ClientSettings> {
    let of_flow = |flow: &crate::plan::Flow| {
        let mut settings = plan.kafka.clone();
        settings.extend(flow.kafka.clone());
        settings
    };
    plan.flows.iter().map(of_flow).collect()
}

/// Larger than any file of settings: what goes on for ever is none.
const MOST_BYTES: u64 = 4 << 20;

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The settings of Kafka in this process's environment; what a variable names a file for is read from there.
pub(super) fn environment() -> Result<Vec<(String, String)>, Failure> {
    let is_ours = |(name, _): &(OsString, OsString)| name.to_string_lossy().starts_with(VARIABLES);
    let mut settings: Vec<(String, String)> = Vec::new();
    for (name, value) in std::env::vars_os().filter(is_ours) {
        let name = name.to_string_lossy().into_owned();
        let not_text = || Failure::usage(&format!("{name} is no text in UTF-8"), "set it to a text");
        let value = value.into_string().map_err(|_| not_text())?;
        let value = match setting_of_variable(&name) {
            Some((_, true)) => {
                let path = PathBuf::from(&value);
                let bytes = read(&path).map_err(|error| {
                    Failure::unreadable(&path, &error, &format!("{name} names the file that holds the value"))
                })?;
                let text = String::from_utf8(bytes).map_err(|_| not_text())?;
                text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text)).unwrap_or(&text).to_owned()
            }
            _ => value,
        };
        settings.push((name, value));
    }
    settings.sort_unstable();
    Ok(settings)
}
