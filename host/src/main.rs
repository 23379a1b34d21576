//! The `khost` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    khost::cli::main()
}
