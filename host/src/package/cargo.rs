//! A folder of Rust made a core module, by cargo.
//!
//! cargo builds in the scenario's own target folder, whichever rustc it is given: what it makes for dependencies
//! carries the compiler's version in its name, so that two compilers in turn rebuild the scenario's own crate at most.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use super::Error;
use super::environment::Environment;
use super::toolchain::{TARGET, Toolchain};

/// What a folder of Rust has.
pub(super) const PROJECT_FILE: &str = "Cargo.toml";

/// Builds the package in that folder; the core module that came of it. `folder` is canonical.
pub(super) fn build(folder: &Path, environment: &Environment) -> Result<PathBuf, Error> {
    let toolchain = Toolchain::find(folder, environment)?;
    let mut cargo = environment.command(&toolchain.cargo, folder);
    cargo.args(["build", "--release", "--lib", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    if let Some(rustc) = &toolchain.rustc {
        cargo.env("RUSTC", rustc);
    }
    let child = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let output = child.and_then(|child| child.wait_with_output()).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Error::NoCargo { folder: folder.into() },
        _ => Error::Run { program: toolchain.cargo.display().to_string(), source },
    })?;
    if !output.status.success() {
        return Err(Error::CargoFailed { folder: folder.into(), status: output.status });
    }
    library(&String::from_utf8_lossy(&output.stdout), &folder.join(PROJECT_FILE))
        .ok_or_else(|| Error::NoLibrary { folder: folder.into() })
}

/// A line of cargo's output, as far as it matters here.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// The module that cargo made for the package of that manifest.
fn library(messages: &str, manifest: &Path) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    messages
        .filter(|message| message.reason == "compiler-artifact" && message.manifest_path == manifest)
        .flat_map(|message| message.filenames)
        .find(|file| file.extension().is_some_and(|extension| extension == "wasm"))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::Programs;
    use super::*;

    /// What cargo says of a dependency, of the package and of the end, each with this name of a file.
    fn messages(file: &str) -> String {
        [
            r#"{"reason":"compiler-artifact","manifest_path":"/other/Cargo.toml","filenames":["/t/other.wasm"]}"#,
            r#"{"reason":"build-script-executed","package_id":"hello"}"#,
            &format!(r#"{{"reason":"compiler-artifact","manifest_path":"/s/Cargo.toml","filenames":["/t/libhello.rlib","{file}"]}}"#),
            r#"{"reason":"build-finished","success":true}"#,
        ]
        .join("\n")
    }

    #[test]
    fn the_module_is_the_one_of_the_package_itself() {
        let found = library(&messages("/t/hello.wasm"), Path::new("/s/Cargo.toml"));
        assert_eq!(found, Some("/t/hello.wasm".into()));
        assert_eq!(library(&messages("/t/libhello.rmeta"), Path::new("/s/Cargo.toml")), None);
    }

    fn build_with(cargo: &str) -> Error {
        let programs = Programs::new();
        programs.add("rustc", &format!("echo {}", programs.home().display()));
        std::fs::write(programs.home().join("libstd-1.rlib"), "").unwrap();
        if !cargo.is_empty() {
            programs.add("cargo", cargo);
        }
        build(programs.home(), &programs.environment(&[])).unwrap_err()
    }

    #[test]
    fn a_build_that_fails_is_said_to_have_failed() {
        let error = build_with("exit 101");
        assert!(matches!(error, Error::CargoFailed { .. }), "{error}");
        assert!(error.to_string().ends_with("(exit status: 101)"), "{error}");
    }

    #[test]
    fn a_build_that_leaves_no_module_is_an_error() {
        let error = build_with(r#"echo '{"reason":"build-finished","success":true}'"#);
        assert!(matches!(error, Error::NoLibrary { .. }), "{error}");
    }

    #[test]
    fn a_rustc_without_cargo_is_an_error() {
        let error = build_with("");
        assert!(matches!(error, Error::NoCargo { .. }), "{error}");
    }
}
