//! The files of a manifest's data sets: carried by the component, each in a section of its own, or beside the manifest.
//!
//! A manifest may be a stranger's, so what it names stays within its folder; a packed scenario has only what it carries.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Error, ManifestText, damaged, sections};
use crate::data::Content;
use crate::plan::files_of_manifest;

/// The largest file that a packed scenario carries.
pub(super) const MOST_CARRIED: u64 = 1 << 20;

/// The component with the files that its manifest names, each in a section.
pub(super) fn carry(mut component: Vec<u8>, manifest: &ManifestText, path: &Path) -> Result<Vec<u8>, Error> {
    let Some(folder) = &manifest.folder else { return Ok(component) };
    for (name, file) in files_of_manifest(&manifest.text) {
        let place = inside(folder, &name, &file)?;
        let bytes = read(&name, &place)?;
        component = sections::write(&component, &section(&name), &bytes).map_err(|problem| damaged(path, problem))?;
    }
    Ok(component)
}

/// What a component carries for a data set.
pub(super) fn carried(component: &[u8], path: &Path, name: &str, file: &str) -> Result<Content, Error> {
    let section = section(name);
    let found = sections::read(component, &section).map_err(|problem| damaged(path, problem))?;
    match found[..] {
        [] => Err(Error::NotCarried { path: path.into(), name: name.into(), file: file.into() }),
        [one] => Ok(Content::Bytes { bytes: one.into(), place: format!("{} ({section})", path.display()) }),
        _ => Err(Error::CarriedTwice { path: path.into(), section, count: found.len() }),
    }
}

/// The file in the manifest's folder.
pub(super) fn inside(folder: &Path, name: &str, file: &str) -> Result<PathBuf, Error> {
    let path = folder.join(file);
    let unread = |source| Error::Data { name: name.into(), path: path.clone(), source };
    let real = path.canonicalize().map_err(unread)?;
    // the folder of a bare file name is the empty path
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if real.starts_with(folder.canonicalize().map_err(unread)?) {
        Ok(path)
    } else {
        Err(Error::DataOutside { name: name.into(), path })
    }
}

fn read(name: &str, path: &Path) -> Result<Vec<u8>, Error> {
    let unread = |source| Error::Data { name: name.into(), path: path.into(), source };
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unread)?;
    file.take(MOST_CARRIED + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > MOST_CARRIED {
        return Err(Error::DataTooLarge { name: name.into(), path: path.into() });
    }
    Ok(bytes)
}

fn section(name: &str) -> String {
    format!("{}{name}", sections::DATA_PREFIX)
}
