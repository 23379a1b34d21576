//! What can be wrong with a package, in words for the person who named it.
//!
//! A message says what is wrong and where; [`Error::hint`] says what to do next. The cause, where there is one, is the
//! error's source and not repeated in the message.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a scenario's package could not be opened or built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file, the folder or the manifest can't be read.
    #[error("cannot read {path}")]
    Read {
        /// What was to be read.
        path: PathBuf,
        /// Why it could not.
        source: io::Error,
    },
    /// A file of no bytes.
    #[error("{path} is empty")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// More bytes than any scenario has.
    #[error("{path} is larger than {limit_mib} MiB")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read, in MiB.
        limit_mib: u64,
    },
    /// The file begins with something else than WebAssembly does.
    #[error("{path} is not a WebAssembly file")]
    NotWasm {
        /// The file.
        path: PathBuf,
    },
    /// WebAssembly that ends early or makes no sense.
    #[error("{path} is damaged or cut short: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the parser found, and at which byte.
        reason: String,
    },
    /// A core module that is no scenario: it lacks exports of the contract, or imports something beyond it.
    #[error("{path} cannot be made a scenario component: {reason}")]
    Pack {
        /// The module.
        path: PathBuf,
        /// What it lacks, or has too much.
        reason: String,
    },
    /// Neither named, nor embedded, nor beside the file.
    #[error("{path} has no manifest")]
    NoManifest {
        /// The file or folder.
        path: PathBuf,
    },
    /// A file with several manifests, of which each reader might take another one.
    #[error("{path} carries {count} manifests")]
    SeveralManifests {
        /// The component.
        path: PathBuf,
        /// How many sections there are.
        count: usize,
    },
    /// A manifest that is no UTF-8.
    #[error("{place} is not UTF-8 text")]
    ManifestNotText {
        /// The manifest's file, or the component that carries it.
        place: String,
    },
    /// The file of a data set can't be read.
    #[error("cannot read {path}, the data set `{name}`")]
    Data {
        /// The data set's name in the manifest.
        name: String,
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A manifest whose file is a link to elsewhere.
    #[error("{path}, the data set `{name}`, leads out of the manifest's folder")]
    DataOutside {
        /// The data set's name in the manifest.
        name: String,
        /// Its file.
        path: PathBuf,
    },
    /// More than a packed scenario should be.
    #[error(
        "{path}, the data set `{name}`, has more than {}, which is the most that a packed scenario carries of each",
        crate::plan::format_bytes(super::data::MOST_CARRIED)
    )]
    DataTooLarge {
        /// The data set's name in the manifest.
        name: String,
        /// Its file.
        path: PathBuf,
    },
    /// A packed scenario without a file that its manifest names.
    #[error("{path} does not carry {file}, its data set `{name}`")]
    NotCarried {
        /// The component.
        path: PathBuf,
        /// The data set's name in the manifest.
        name: String,
        /// The file that the manifest names.
        file: String,
    },
    /// A file with several sections of one name, of which each reader might take another one.
    #[error("{path} carries {section} {count} times")]
    CarriedTwice {
        /// The component.
        path: PathBuf,
        /// The section's name.
        section: String,
        /// How many there are.
        count: usize,
    },
    /// A folder in no language that khost builds.
    #[error("{folder} holds nothing that khost can build")]
    NothingToBuild {
        /// The folder.
        folder: PathBuf,
    },
    /// No cargo on `PATH`.
    #[error("cargo, which builds {folder}, is not installed")]
    NoCargo {
        /// The folder to build.
        folder: PathBuf,
    },
    /// Rust has no standard library for WebAssembly here, and none could be had.
    #[error("this Rust cannot build for {target}: {reason}", target = super::toolchain::TARGET)]
    NoTarget {
        /// Why the last way to get one failed.
        reason: String,
    },
    /// A program that can't be started.
    #[error("cannot run {program}")]
    Run {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// cargo said no; why is on stderr, in its own words.
    #[error("cargo could not build {folder} ({status})")]
    CargoFailed {
        /// The folder.
        folder: PathBuf,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// cargo built, but no library that is a WebAssembly module of its own.
    #[error("{folder} builds no WebAssembly library")]
    NoLibrary {
        /// The folder.
        folder: PathBuf,
    },
    /// The built component can't be put into its folder.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// The next step, where there is one to name.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "name a .wasm file, or a folder with a scenario's sources".into()
            }
            Error::Empty { .. } | Error::Damaged { .. } => "build or copy the file again".into(),
            Error::NotWasm { .. } => {
                "a scenario is a WebAssembly component or core module, or the folder of its sources".into()
            }
            Error::Pack { .. } => {
                let target = super::toolchain::TARGET;
                format!("a scenario exports khost:scenario/flow and imports khost:scenario only: no WASI, in Rust the target {target}")
            }
            Error::NoManifest { path } => {
                let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
                let beside = folder.unwrap_or(path).join(super::MANIFEST_FILE);
                format!("write {}, or name a manifest with --manifest FILE", beside.display())
            }
            Error::Data { name, .. } => format!("name the file that it is: --set data.{name}.file=PATH"),
            Error::DataOutside { name, .. } => {
                format!("whoever runs the scenario may name any file: in a profile, or with --set data.{name}.file=PATH")
            }
            Error::DataTooLarge { name, .. } => format!(
                "leave `file` out of [data.{name}], and name it where the scenario is run: in a profile, or with --set \
                 data.{name}.file=PATH"
            ),
            Error::NotCarried { name, .. } => {
                format!("build it again from its sources, or name a file of your own: --set data.{name}.file=PATH")
            }
            Error::CarriedTwice { .. } => "build it again from its sources".into(),
            Error::SeveralManifests { .. } => "build it again from its sources, or name a manifest with --manifest FILE".into(),
            Error::NothingToBuild { .. } => {
                "a folder with a Cargo.toml is built as Rust; for any other language, build it and name the .wasm file".into()
            }
            Error::NoCargo { .. } => {
                "install Rust (rustup, or the system's packages), or name a .wasm file that is already built".into()
            }
            Error::NoTarget { .. } => format!(
                "install the standard library for it: `rustup target add {}`, or the system's package (Debian: \
                 libstd-rust-dev-wasm32, Fedora: rust-std-static-wasm32-unknown-unknown, Arch and Alpine: rust-wasm)",
                super::toolchain::TARGET
            ),
            Error::CargoFailed { .. } => "cargo's own messages above say why".into(),
            Error::NoLibrary { .. } => {
                "its Cargo.toml needs a [lib] with crate-type = [\"cdylib\"]; name a package's folder, not a workspace's".into()
            }
            Error::Read { .. }
            | Error::TooLarge { .. }
            | Error::ManifestNotText { .. }
            | Error::Run { .. }
            | Error::Write { .. } => return None,
        };
        Some(hint)
    }
}
