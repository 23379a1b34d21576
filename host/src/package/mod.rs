//! The `.wasm` file that carries a scenario: opened, packed, built.
//!
//! Whatever a person names (a component, a core module, a folder of sources) comes out as one component with one
//! manifest. Only this room knows of custom sections. What the manifest says, and what the component imports, is for
//! others to judge.

mod build;
mod cargo;
mod data;
mod environment;
mod error;
#[cfg(test)]
mod fixtures;
mod pack;
mod sections;
mod toolchain;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::data::Content;
use environment::Environment;
pub use error::Error;
use sections::{MANIFEST, Malformed};

/// What the manifest's file is called.
pub const MANIFEST_FILE: &str = "scenario.toml";

/// Beyond it nothing is read: the largest scenarios carry a language's interpreter, in some 20 MB.
const LARGEST_MIB: u64 = 512;

/// A scenario, ready to be read and compiled.
#[derive(Debug)]
pub struct Package {
    /// Always a component.
    pub wasm: Vec<u8>,
    /// What the scenario may touch, its parameters and its load.
    pub manifest: ManifestText,
    /// SHA-256 of `wasm`, 64 hexadecimal digits. For a file that is a component already, the file's own.
    pub digest: String,
    /// The file; for a folder of sources, the one that was built into it.
    pub path: PathBuf,
}

/// A manifest, not yet parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestText {
    /// TOML.
    pub text: String,
    /// Where it is, for messages: its file, or the component that carries it.
    pub place: String,
    /// Where the files that it names are; none for one that a component carries, with its files.
    folder: Option<PathBuf>,
}

impl Package {
    /// Opens a component, a core module, or a folder of sources, which is built first and leaves `FOLDER/NAME.wasm`.
    ///
    /// The manifest is the one given; or else the folder's `scenario.toml`, the embedded one, or the `scenario.toml`
    /// beside the file.
    ///
    /// # Errors
    /// Whatever is wrong with the file, the manifest or the build: see [`Error`].
    pub fn open(path: &Path, manifest: Option<&Path>) -> Result<Package, Error> {
        Package::open_in(path, manifest, &Environment::of_process())
    }

    fn open_in(path: &Path, manifest: Option<&Path>, environment: &Environment) -> Result<Package, Error> {
        let mut named = manifest.map(ManifestText::read).transpose()?;
        let mut path = path.to_path_buf();
        if path.is_dir() {
            build::check(&path)?;
            let own = ManifestText::beside(&path)?;
            let embedded = own.clone().or(named.clone()).ok_or(Error::NoManifest { path: path.clone() })?;
            named = named.or(own);
            path = build::build(&path, &embedded, environment)?;
        }
        let wasm = pack::component(read_wasm(&path)?, &path)?;
        let manifest = match named {
            Some(named) => named,
            None => match ManifestText::embedded(&wasm, &path)? {
                Some(embedded) => embedded,
                None => ManifestText::beside(path.parent().unwrap_or(&path))?
                    .ok_or_else(|| Error::NoManifest { path: path.clone() })?,
            },
        };
        let digest = Sha256::digest(&wasm).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Package { wasm, manifest, digest, path })
    }

    /// A file that the manifest itself names for a data set: one that the component carries along with its manifest, or
    /// else one in the manifest's folder.
    ///
    /// # Errors
    /// It is not carried, not there, or not in the folder.
    pub fn data(&self, name: &str, file: &str) -> Result<Content, Error> {
        match &self.manifest.folder {
            None => data::carried(&self.wasm, &self.path, name, file),
            Some(folder) => data::inside(folder, name, file).map(Content::File),
        }
    }
}

impl ManifestText {
    fn read(path: &Path) -> Result<ManifestText, Error> {
        let bytes = fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
        ManifestText::new(bytes, path.display().to_string(), path.parent())
    }

    fn beside(folder: &Path) -> Result<Option<ManifestText>, Error> {
        match ManifestText::read(&folder.join(MANIFEST_FILE)) {
            Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    fn embedded(component: &[u8], path: &Path) -> Result<Option<ManifestText>, Error> {
        let found = sections::read(component, MANIFEST).map_err(|problem| damaged(path, problem))?;
        match found[..] {
            [] => Ok(None),
            [one] => ManifestText::new(one.into(), format!("{} ({MANIFEST})", path.display()), None).map(Some),
            _ => Err(Error::SeveralManifests { path: path.into(), count: found.len() }),
        }
    }

    fn new(bytes: Vec<u8>, place: String, folder: Option<&Path>) -> Result<ManifestText, Error> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(ManifestText { text, place, folder: folder.map(Path::to_path_buf) }),
            Err(_) => Err(Error::ManifestNotText { place }),
        }
    }
}

/// The whole file, once its first bytes and its size say that it is worth reading.
fn read_wasm(path: &Path) -> Result<Vec<u8>, Error> {
    let too_large = || Error::TooLarge { path: path.into(), limit_mib: LARGEST_MIB };
    let unread = |source| Error::Read { path: path.into(), source };
    let limit = LARGEST_MIB << 20;

    let mut file = fs::File::open(path).map_err(unread)?;
    if file.metadata().map_err(unread)?.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.is_empty() {
        return Err(Error::Empty { path: path.into() });
    }
    if bytes != MAGIC {
        return Err(Error::NotWasm { path: path.into() });
    }
    // A pipe has no size beforehand.
    file.take(limit).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

const MAGIC: &[u8] = b"\0asm";

fn damaged(path: &Path, problem: Malformed) -> Error {
    Error::Damaged { path: path.into(), reason: problem.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a component in it, `x.wasm`, and these other files.
    fn folder(manifest: Option<&[u8]>, files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut component = pack::component(fixtures::module(), Path::new("x.wasm")).unwrap();
        if let Some(manifest) = manifest {
            component = sections::write(&component, MANIFEST, manifest).unwrap();
        }
        fs::write(folder.path().join("x.wasm"), component).unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        folder
    }

    fn open(folder: &tempfile::TempDir, name: &str, manifest: Option<&str>) -> Result<Package, Error> {
        let manifest = manifest.map(|name| folder.path().join(name));
        Package::open(&folder.path().join(name), manifest.as_deref())
    }

    #[test]
    fn a_named_manifest_comes_before_an_embedded_one_before_one_beside_the_file() {
        let files: [(&str, &[u8]); 2] = [(MANIFEST_FILE, b"beside"), ("other.toml", b"named")];
        let embedded = folder(Some(b"embedded"), &files);
        assert_eq!(open(&embedded, "x.wasm", Some("other.toml")).unwrap().manifest.text, "named");
        assert_eq!(open(&embedded, "x.wasm", None).unwrap().manifest.text, "embedded");
        let beside = open(&folder(None, &files), "x.wasm", None).unwrap().manifest;
        assert_eq!(beside.text, "beside");
        assert!(beside.place.ends_with(MANIFEST_FILE));
    }

    #[test]
    fn without_any_manifest_the_hint_says_where_to_write_one() {
        let bare = folder(None, &[]);
        let error = open(&bare, "x.wasm", None).unwrap_err();
        assert!(matches!(error, Error::NoManifest { .. }), "{error}");
        let place = bare.path().join(MANIFEST_FILE).display().to_string();
        assert!(error.hint().unwrap().contains(&place));
    }

    #[test]
    fn a_core_module_is_packed_and_a_component_keeps_its_bytes() {
        let module = fixtures::module();
        let both = folder(None, &[(MANIFEST_FILE, b""), ("core.wasm", &module)]);
        let packed = open(&both, "core.wasm", None).unwrap();
        let component = open(&both, "x.wasm", None).unwrap();
        assert_eq!(component.wasm, fs::read(&component.path).unwrap());
        assert_eq!(packed.wasm, component.wasm);
        assert_eq!(packed.digest, component.digest);
        assert_eq!(packed.digest.len(), 64);
    }

    #[test]
    fn a_second_manifest_and_one_that_is_no_text_are_refused() {
        let twice = folder(Some(b"first"), &[]);
        let path = twice.path().join("x.wasm");
        let mut bytes = fs::read(&path).unwrap();
        let section = sections::write(b"\0asm\x0d\0\x01\0", MANIFEST, b"second").unwrap();
        bytes.extend_from_slice(&section[8..]);
        fs::write(&path, bytes).unwrap();
        assert!(matches!(open(&twice, "x.wasm", None), Err(Error::SeveralManifests { count: 2, .. })));

        let no_text = folder(Some(b"\xff"), &[]);
        assert!(matches!(open(&no_text, "x.wasm", None), Err(Error::ManifestNotText { .. })));
    }

    #[test]
    fn a_manifest_that_is_not_carried_has_its_files_beside_it() {
        let beside = folder(None, &[(MANIFEST_FILE, b""), ("items.csv", b"id\n1\n")]);
        let package = open(&beside, "x.wasm", None).unwrap();
        let path = beside.path().join("items.csv");
        assert!(matches!(package.data("items", "items.csv").unwrap(), Content::File(found) if found == path));
        assert!(matches!(package.data("items", "none.csv"), Err(Error::Data { .. })));
        assert!(matches!(package.data("items", "../x"), Err(Error::Data { .. } | Error::DataOutside { .. })));
        assert!(matches!(package.data("items", "/etc/hostname"), Err(Error::DataOutside { .. })));

        let mut twice = sections::write(&package.wasm, "khost:data:items", b"1").unwrap();
        let section = sections::write(b"\0asm\x0d\0\x01\0", "khost:data:items", b"2").unwrap();
        twice.extend_from_slice(&section[8..]);
        let carried = Package { wasm: twice, manifest: ManifestText { folder: None, ..package.manifest }, ..package };
        assert!(matches!(carried.data("items", "items.csv"), Err(Error::CarriedTwice { count: 2, .. })));
    }

    #[test]
    fn what_is_no_scenario_is_told_apart() {
        let files: [(&str, &[u8]); 4] = [
            ("empty.wasm", b""),
            ("text.wasm", b"(module)"),
            ("short.wasm", b"\0as"),
            ("cut.wasm", b"\0asm\x0d\0\x01"),
        ];
        let folder = folder(None, &files);
        let large = fs::File::create(folder.path().join("large.wasm")).unwrap();
        large.set_len((LARGEST_MIB << 20) + 1).unwrap();
        fs::create_dir(folder.path().join("sources")).unwrap();

        assert!(matches!(open(&folder, "absent.wasm", None), Err(Error::Read { .. })));
        assert!(matches!(open(&folder, "x.wasm", Some("absent.toml")), Err(Error::Read { .. })));
        assert!(matches!(open(&folder, "empty.wasm", None), Err(Error::Empty { .. })));
        assert!(matches!(open(&folder, "text.wasm", None), Err(Error::NotWasm { .. })));
        assert!(matches!(open(&folder, "short.wasm", None), Err(Error::NotWasm { .. })));
        assert!(matches!(open(&folder, "cut.wasm", None), Err(Error::Damaged { .. })));
        assert!(matches!(open(&folder, "large.wasm", None), Err(Error::TooLarge { .. })));
        assert!(matches!(open(&folder, "sources", None), Err(Error::NothingToBuild { .. })));
    }
}
