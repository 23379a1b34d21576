//! What the tests of this room share: a module that is a scenario, and programs that only pretend.

use std::path::Path;
use std::process::Command;

use super::environment::Environment;

/// The smallest scenario that uses an import and all exports; it names no world.
pub(super) const MODULE: &str = r#"(module
    (import "khost:scenario/context@0.1.0" "run-id" (func (result i64)))
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
    (func (export "khost:scenario/flow@0.1.0#setup"))
    (func (export "khost:scenario/flow@0.1.0#iterate") (param i64 i32) (result i32) i32.const 0)
    (func (export "khost:scenario/flow@0.1.0#handle") (param i32 i32 i32 i32 i32 i32) (result i32) i32.const 0)
    (func (export "khost:scenario/flow@0.1.0#teardown")))"#;

pub(super) fn module() -> Vec<u8> {
    wat::parse_str(MODULE).unwrap()
}

/// A folder of its own, and a `PATH` of shell scripts in it.
pub(super) struct Programs(tempfile::TempDir);

impl Programs {
    pub(super) fn new() -> Programs {
        let programs = Programs(tempfile::tempdir().unwrap());
        std::fs::create_dir(programs.home().join("bin")).unwrap();
        for tool in ["bash", "mkdir", "sh"] {
            let real =
                ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(tool)).into_iter().find(|tool| tool.exists());
            std::os::unix::fs::symlink(real.unwrap(), programs.home().join("bin").join(tool)).unwrap();
        }
        programs
    }

    pub(super) fn home(&self) -> &Path {
        self.0.path()
    }

    /// A program of that name. Written by another process: one that this process has just written may still be open
    /// in a child that another test is starting, and then it does not run.
    pub(super) fn add(&self, name: &str, script: &str) {
        let write = r#"printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1""#;
        let path = self.home().join("bin").join(name);
        let status = Command::new("sh").args(["-c", write, "sh"]).arg(path).arg(script).status();
        assert!(status.unwrap().success());
    }

    pub(super) fn environment(&self, settings: &[(&str, &str)]) -> Environment {
        let own = [("PATH", self.home().join("bin")), ("XDG_CACHE_HOME", self.home().join("cache"))];
        let own = own.map(|(name, value)| (name.into(), value.into()));
        Environment::new(own.into_iter().chain(settings.iter().map(|(name, value)| (name.into(), value.into()))))
    }
}
