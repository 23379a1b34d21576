//! The repository's own scenarios, built once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::kafka;
use super::khost::Khost;

/// `scenarios/`
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace").join("scenarios")
}

/// The names of all of them.
pub(crate) fn all() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the folder is there").map(|entry| entry.expect("it can be read"));
    let scenarios = entries.filter(|entry| entry.path().join("scenario.toml").is_file());
    scenarios.map(|entry| entry.file_name().into_string().expect("text")).collect()
}

/// The component of `scenarios/NAME`, as khost builds it.
pub(crate) fn built(name: &str) -> PathBuf {
    static BUILT: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let folder = folder().join(name);
    let component = folder.join(format!("{name}.wasm"));
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.iter().any(|one| one == name) {
        return component;
    }
    let cache = kafka::cache();
    std::fs::create_dir_all(&cache).expect("the cache folder is ours");
    let lock = File::create(cache.join("scenarios.lock")).expect("the cache folder is ours");
    lock.lock().expect("file locks work");
    let output = Khost::new(&folder).args(["run", ".", "--dry-run"]).limit(Duration::from_secs(900)).output();
    output.exits(0).check(component.is_file(), &format!("{} built", component.display()));
    built.push(name.into());
    component
}
