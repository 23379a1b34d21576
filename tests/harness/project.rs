//! A folder of a test's own, and khost run in it.

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use tempfile::TempDir;

use super::guests::Guest;
use super::khost::Khost;
use super::turn::{self, Turn};

/// A folder and what is put into it.
pub(crate) struct Project {
    folder: Rc<Folder>,
}

/// Removed when neither the project nor a khost that was started in it is left; until then, no other test runs alone.
pub(super) struct Folder {
    folder: TempDir,
    _turn: Rc<Turn>,
}

impl Project {
    pub(crate) fn new() -> Project {
        let turn = turn::beside();
        let folder = tempfile::Builder::new().prefix("khost-it-").tempdir().expect("a temporary folder");
        Project { folder: Rc::new(Folder { folder, _turn: turn }) }
    }

    /// A project of one guest and its manifest, as `khost run scenario.wasm` takes it.
    pub(crate) fn of(guest: &Guest, manifest: &str) -> Project {
        Project::new().guest(guest).manifest(manifest)
    }

    pub(crate) fn file(self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("the folder is ours");
        fs::write(path, contents).expect("the folder is ours");
        self
    }

    /// `scenario.toml`, beside the guest.
    pub(crate) fn manifest(self, toml: &str) -> Self {
        self.file("scenario.toml", toml)
    }

    /// `scenario.wasm`.
    pub(crate) fn guest(self, guest: &Guest) -> Self {
        self.file("scenario.wasm", guest.wasm())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.folder.path().join(name)
    }

    /// `khost …`
    pub(crate) fn khost(&self, arguments: &[&str]) -> Khost {
        Khost::new(self.folder.folder.path()).keeping(Rc::clone(&self.folder)).args(arguments)
    }

    /// `khost run scenario.wasm …`
    pub(crate) fn run(&self) -> Khost {
        self.khost(&["run", "scenario.wasm"])
    }
}
