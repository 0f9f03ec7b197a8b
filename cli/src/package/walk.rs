//! Finds the files of a folder, in an order that does not depend on the file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use shared::archive::{self, ArchiveFault};
use shared::hash::Sha256Hex;
use shared::package::Manifest;

use super::{no_files, unreadable};
use crate::error::{Error, Result};

/// The most entries of an archive without zip64 records, which devices cannot read.
const MAX_FILES: usize = 65_534;

/// A file to package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its name in the archive: begins with the folder's own name.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its size.
    pub(super) length: u64,
    /// When it was last written.
    pub(super) modified: Option<SystemTime>,
}

/// Finds all files of a folder, sorted by name. Errors: a link that leads outside, a name that devices cannot have, no files.
pub(super) fn walk(folder: &Path) -> Result<Vec<Found>> {
    let root = fs::canonicalize(folder).map_err(|error| unreadable(folder, &error))?;
    // `.` and `..` have no name of their own: their real folder has one.
    let name = folder.file_name().or(root.file_name()).ok_or_else(|| {
        Error::usage(format!("{} has no name", folder.display()), "Give the folder that the bundler wrote to, such as ./CodePush.")
    })?;
    let walker = Walker { root: &root, empty: Sha256Hex::of(b"") };
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), text(folder, name)?.to_owned())];
    while let Some((path, prefix)) = folders.pop() {
        for entry in fs::read_dir(&path).map_err(|error| unreadable(&path, &error))? {
            let entry = entry.map_err(|error| unreadable(&path, &error))?;
            let (path, file_name) = (entry.path(), entry.file_name());
            let name = format!("{prefix}/{}", text(&path, &file_name)?);
            let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
            if kind.is_dir() {
                folders.push((path, name));
            } else if walker.is_packaged(&name) {
                if kind.is_symlink() {
                    walker.check_link(&path)?;
                }
                found.push(file(path, name)?);
            }
        }
    }
    found.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    if found.iter().all(|file| file.name.ends_with("/.codepushrelease")) {
        return Err(no_files(folder));
    }
    if found.len() > MAX_FILES {
        let what = format!("{} has {} files, more than the {MAX_FILES} that a package can have", folder.display(), found.len());
        return Err(Error::failed(what, "Give a folder with fewer files."));
    }
    match archive::check_names(found.iter().map(|file| file.name.as_str())) {
        Ok(()) => Ok(found),
        Err(ArchiveFault::Refused(what)) => Err(Error::failed(what, "Correct the folder, then run the command again.")),
        Err(ArchiveFault::Read(error)) => Err(unreadable(folder, &error)),
    }
}

/// A name as text. Archives have UTF-8 names.
fn text<'n>(path: &Path, name: &'n std::ffi::OsStr) -> Result<&'n str> {
    name.to_str().ok_or_else(|| Error::failed(format!("the name of {} is not UTF-8", path.display()), "Rename it."))
}

fn file(path: PathBuf, name: String) -> Result<Found> {
    let metadata = fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
    if !metadata.is_file() {
        return Err(Error::failed(format!("{} is not a regular file", path.display()), "Remove it from the folder."));
    }
    Ok(Found { name, path, length: metadata.len(), modified: metadata.modified().ok() })
}

struct Walker<'r> {
    root: &'r Path,
    empty: Sha256Hex,
}

impl Walker<'_> {
    /// Whether devices see a file of this name. The manifest decides, as it does for the package hash.
    fn is_packaged(&self, name: &str) -> bool {
        Manifest::new().insert(name, self.empty.clone())
    }

    /// Refuses a link that is broken, leads outside or leads to a folder, which could be without end.
    fn check_link(&self, path: &Path) -> Result<()> {
        let target = fs::canonicalize(path)
            .map_err(|_| Error::failed(format!("{} is a link to nothing", path.display()), "Correct or remove the link."))?;
        if !target.starts_with(self.root) {
            let what = format!("{} is a link to {}, outside the folder", path.display(), target.display());
            return Err(Error::failed(what, "Replace the link with a copy."));
        }
        if target.is_dir() {
            let what = format!("{} is a link to a folder", path.display());
            return Err(Error::failed(what, "Replace the link with the folder."));
        }
        Ok(())
    }
}
