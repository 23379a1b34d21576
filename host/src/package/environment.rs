//! What a build's programs see of khost's own environment.
//!
//! A scenario builds to the same bytes, at the same place, from a shell, under `cargo run` and in a test. So settings
//! that steer *another* build stop here: flags and profiles meant for native code, a target folder that the outer
//! cargo may have locked, the names of the crate that is being run. What says where crates come from, how to reach
//! them and how to print stays, and so does what is meant for this target by name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// cargo's variables that stay; all others whose name begins with `CARGO` go.
const KEPT: [&str; 8] = [
    "CARGO_BUILD_JOBS",
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_",
    "CARGO_TERM_",
];

/// Variables of rustc and of cargo's plug-ins, set for the crate that cargo runs or for native code.
const DROPPED: [&str; 5] = ["OUT_DIR", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOCFLAGS", "RUSTFLAGS", "RUSTC_BOOTSTRAP"];

/// The variables for a build. A value and not the process's own state, so that tests can make one.
pub(super) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Of this process, without what belongs to another build.
    pub(super) fn of_process() -> Environment {
        Environment::new(std::env::vars_os())
    }

    pub(super) fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Environment {
        let mut kept: BTreeMap<_, _> = variables.into_iter().collect();
        // rustup's cargo passes on which toolchain it is; the folder to build may ask for another.
        if kept.contains_key(OsStr::new("CARGO")) {
            kept.remove(OsStr::new("RUSTUP_TOOLCHAIN"));
        }
        kept.retain(|name, _| {
            let name = name.to_string_lossy();
            let of_cargo = name.starts_with("CARGO") && !KEPT.iter().any(|prefix| name.starts_with(prefix));
            !of_cargo && !DROPPED.contains(&&*name)
        });
        Environment(kept)
    }

    /// A variable that is set to something.
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A program in its folder, seeing these variables only.
    pub(super) fn command(&self, program: impl AsRef<OsStr>, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).env_clear().envs(&self.0);
        command
    }

    /// The person's folder for what can be made again.
    pub(super) fn cache(&self) -> Option<PathBuf> {
        let home = || Some(Path::new(self.get("HOME")?).join(".cache"));
        self.get("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(variables: &[&str]) -> Vec<String> {
        let environment = Environment::new(variables.iter().map(|name| (name.into(), "x".into())));
        environment.0.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_steers_another_build_is_dropped() {
        let foreign = [
            "CARGO",
            "CARGO_BIN_EXE_khost",
            "CARGO_BUILD_TARGET",
            "CARGO_BUILD_TARGET_DIR",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MAKEFLAGS",
            "CARGO_MANIFEST_DIR",
            "CARGO_PKG_VERSION",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_TARGET_DIR",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
            "OUT_DIR",
            "RUSTFLAGS",
            "RUSTUP_TOOLCHAIN",
        ];
        assert_eq!(names(&foreign), Vec::<String>::new());
    }

    #[test]
    fn what_finds_crates_and_programs_stays() {
        let own = [
            "CARGO_HOME",
            "CARGO_HTTP_PROXY",
            "CARGO_NET_OFFLINE",
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
            "CARGO_TERM_COLOR",
            "HOME",
            "PATH",
            "RUSTC",
            "RUSTC_WRAPPER",
            "RUSTUP_HOME",
        ];
        assert_eq!(names(&own), own);
    }

    #[test]
    fn a_toolchain_chosen_in_the_shell_stays() {
        assert_eq!(names(&["RUSTUP_TOOLCHAIN"]), ["RUSTUP_TOOLCHAIN"]);
    }
}
