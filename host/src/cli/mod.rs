//! The command line: words in, words out. A file a subcommand; the work is done elsewhere.

mod check;
mod cluster;
mod failure;
mod output;
mod plan;
mod run;
mod signals;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Puts load on Kafka, and on the applications behind it.
///
/// A scenario (a WebAssembly component, or the folder of its sources) decides what each message is; khost does the
/// Kafka I/O, the timing and the measurement.
#[derive(Debug, Parser)]
#[command(name = "khost", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    Check(check::Arguments),
}

const EXIT_CODES: &str = "\
Exit codes:
  0    the run passed, or the cluster was found fit
  1    the run failed: messages, requests or iterations failed, replies could not be read,
       a scenario trapped, or its data ran out
  2    bad input: the command line, the manifest, a profile or the scenario
  3    Kafka can't be reached, or refused
  99   a threshold was missed (reserved)
  130  interrupted; what was measured is printed";

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    let done = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::check(&arguments),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.code)
        }
    }
}
