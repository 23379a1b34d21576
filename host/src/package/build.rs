//! A folder of sources made one `.wasm` file in it, named as the folder, that runs alone elsewhere.
//!
//! The language is told by the file that its own build tool looks for. Unchanged sources give the same bytes, and then
//! the file is left as it is.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

use super::environment::Environment;
use super::{Error, ManifestText, cargo, damaged, data, pack, read_wasm, sections};

/// Whether there is something in `folder` that can be built.
pub(super) fn check(folder: &Path) -> Result<(), Error> {
    let is_known = folder.join(cargo::PROJECT_FILE).exists();
    if is_known { Ok(()) } else { Err(Error::NothingToBuild { folder: folder.into() }) }
}

/// Builds what is in `folder`, with this manifest in it; the file that came of it.
pub(super) fn build(folder: &Path, manifest: &ManifestText, environment: &Environment) -> Result<PathBuf, Error> {
    let whole = folder.canonicalize().map_err(|source| Error::Read { path: folder.into(), source })?;
    let module = cargo::build(&whole, environment)?;
    let component = pack::component(read_wasm(&module)?, &module)?;
    let component = sections::write(&component, sections::MANIFEST, manifest.text.as_bytes())
        .map_err(|problem| damaged(&module, problem))?;
    let component = data::carry(component, manifest, &module)?;

    let name = whole.file_name().map_or_else(|| "scenario".into(), |name| name.to_string_lossy());
    let path = folder.join(format!("{name}.wasm"));
    put(&path, &component).map_err(|source| Error::Write { path: path.clone(), source })?;
    Ok(path)
}

/// Writes the file whole or not at all, for whoever reads it meanwhile.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let unfinished = path.with_extension(format!("wasm.{}", process::id()));
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // What is left of it says less than why it failed.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{Programs, module};
    use super::super::{MANIFEST_FILE, Package};
    use super::*;
    use crate::data::Content;

    /// A folder whose build always gives the same module.
    fn scenario() -> Programs {
        let programs = Programs::new();
        let folder = programs.home().canonicalize().unwrap();
        let (module_file, manifest) = (folder.join("core.wasm"), folder.join("Cargo.toml"));
        fs::write(&module_file, module()).unwrap();
        fs::write(folder.join("libstd-1.rlib"), "").unwrap();
        fs::write(&manifest, "").unwrap();
        fs::write(folder.join(MANIFEST_FILE), "one = 1").unwrap();
        programs.add("rustc", &format!("echo {}", folder.display()));
        programs.add(
            "cargo",
            &format!(
                r#"echo '{{"reason":"compiler-artifact","manifest_path":"{}","filenames":["{}"]}}'"#,
                manifest.display(),
                module_file.display()
            ),
        );
        programs
    }

    fn manifest(text: &str) -> ManifestText {
        ManifestText { text: text.into(), place: "test".into(), folder: None }
    }

    #[test]
    fn what_is_built_runs_alone_elsewhere() {
        let scenario = scenario();
        let built = build(scenario.home(), &manifest("one = 1"), &scenario.environment(&[])).unwrap();
        assert_eq!(built.file_stem(), scenario.home().file_name());

        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join("copy.wasm");
        fs::copy(&built, &copy).unwrap();
        let package = Package::open(&copy, None).unwrap();
        assert_eq!(package.manifest.text, "one = 1");
        assert_eq!(package.manifest.place, format!("{} (khost:manifest)", copy.display()));
    }

    /// What the data set `items` of a manifest in the scenario's folder comes to, when it is built.
    fn build_with(scenario: &Programs, file: &str) -> Result<PathBuf, Error> {
        let text = format!("[data.items]\nfile = \"{file}\"\n[data.mine]\norder = \"unique\"");
        let manifest = ManifestText { folder: Some(scenario.home().into()), ..manifest(&text) };
        build(scenario.home(), &manifest, &scenario.environment(&[]))
    }

    fn bytes(content: Content) -> Vec<u8> {
        match content {
            Content::Bytes { bytes, .. } => bytes,
            Content::File(path) => panic!("{} is not carried", path.display()),
        }
    }

    #[test]
    fn small_data_sets_are_carried_along() {
        let scenario = scenario();
        fs::create_dir(scenario.home().join("data")).unwrap();
        fs::write(scenario.home().join("data/items.csv"), b"id\n\xff\n").unwrap();
        let built = build_with(&scenario, "data/items.csv").unwrap();

        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join("copy.wasm");
        fs::copy(&built, &copy).unwrap();
        let package = Package::open(&copy, None).unwrap();
        let content = package.data("items", "data/items.csv").unwrap();
        assert_eq!(content.place(), format!("{} (khost:data:items)", copy.display()));
        assert_eq!(bytes(content), b"id\n\xff\n");
        // nothing beside it is looked at
        fs::write(elsewhere.path().join("mine.csv"), b"x").unwrap();
        let error = package.data("mine", "mine.csv").unwrap_err();
        assert!(matches!(&error, Error::NotCarried { name, .. } if name == "mine"), "{error}");
        assert!(error.hint().unwrap().contains("--set data.mine.file=PATH"));
    }

    #[test]
    fn data_sets_that_can_not_be_carried_are_refused() {
        let scenario = scenario();
        let most = data::MOST_CARRIED as usize;
        fs::write(scenario.home().join("most.csv"), vec![b'x'; most]).unwrap();
        fs::write(scenario.home().join("more.csv"), vec![b'x'; most + 1]).unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), scenario.home().join("link.csv")).unwrap();

        assert!(build_with(&scenario, "most.csv").is_ok());
        let error = build_with(&scenario, "more.csv").unwrap_err();
        assert!(matches!(error, Error::DataTooLarge { .. }), "{error}");
        assert!(error.hint().unwrap().contains("--set data.items.file=PATH"));
        assert!(matches!(build_with(&scenario, "none.csv"), Err(Error::Data { .. })));
        assert!(matches!(build_with(&scenario, "link.csv"), Err(Error::DataOutside { .. })));
    }

    #[test]
    fn a_folder_is_built_with_its_own_manifest_and_run_with_the_one_named() {
        let scenario = scenario();
        let other = tempfile::NamedTempFile::new().unwrap();
        fs::write(other.path(), "two = 2").unwrap();
        let open = |manifest| Package::open_in(scenario.home(), manifest, &scenario.environment(&[])).unwrap();

        let own = open(None);
        assert_eq!(own.manifest.text, "one = 1");
        assert_eq!(own.manifest.place, scenario.home().join(MANIFEST_FILE).display().to_string());
        let named = open(Some(other.path()));
        assert_eq!(named.manifest.text, "two = 2");
        assert_eq!(named.digest, own.digest);

        // Without one of its own it carries the one named.
        fs::remove_file(scenario.home().join(MANIFEST_FILE)).unwrap();
        let path = open(Some(other.path())).path;
        assert_eq!(Package::open(&path, None).unwrap().manifest.text, "two = 2");
    }

    #[test]
    fn a_build_that_changes_nothing_leaves_the_file_and_nothing_else() {
        let scenario = scenario();
        let environment = scenario.environment(&[]);
        let built = build(scenario.home(), &manifest("one = 1"), &environment).unwrap();
        let (first, written) = (fs::read(&built).unwrap(), fs::metadata(&built).unwrap().modified().unwrap());
        let count = fs::read_dir(scenario.home()).unwrap().count();

        build(scenario.home(), &manifest("one = 1"), &environment).unwrap();
        assert_eq!(fs::read(&built).unwrap(), first);
        assert_eq!(fs::metadata(&built).unwrap().modified().unwrap(), written);

        build(scenario.home(), &manifest("two = 2"), &environment).unwrap();
        assert_ne!(fs::read(&built).unwrap(), first);
        assert_eq!(fs::read_dir(scenario.home()).unwrap().count(), count);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let scenario = scenario();
        let environment = scenario.environment(&[]);
        let built = build(scenario.home(), &manifest("one = 1"), &environment).unwrap();
        fs::remove_file(&built).unwrap();
        fs::create_dir(&built).unwrap();
        let error = build(scenario.home(), &manifest("one = 1"), &environment).unwrap_err();
        assert!(matches!(&error, Error::Write { path, .. } if *path == built), "{error}");
    }
}
