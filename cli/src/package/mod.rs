//! Packages: what is uploaded, made from a folder, a single file or a ZIP archive.
//!
//! A folder becomes an archive with the same bytes on each run: `walk` finds its files in a fixed order, `pack` hashes and compresses them on all cores.
//! A file is uploaded as it is, after the check that the server makes too (`existing`). Deliberately not here: the upload. Start at [`prepare`].

mod existing;
mod pack;
mod walk;

use std::fs::File;
use std::path::Path;

use indicatif::ProgressBar;
use shared::hash::{PackageHash, Sha256Hex};

use crate::error::{Error, Result};

/// A package that is ready to upload.
#[derive(Debug)]
pub(crate) struct Package {
    /// What is uploaded.
    pub file: File,
    /// Its size in bytes.
    pub size: u64,
    /// The hash of its contents, which devices verify.
    pub hash: PackageHash,
    /// What it was made from.
    pub kind: Kind,
    /// Its files, by name.
    pub files: Vec<PackagedFile>,
}

/// What a package was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder.
    Folder,
    /// A ZIP archive.
    Archive,
    /// Any other file.
    SingleFile,
}

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackagedFile {
    /// Its name in the package.
    pub name: String,
    /// Its size, if known without unpacking it.
    pub size: Option<u64>,
    /// The hash of its bytes.
    pub hash: Sha256Hex,
}

/// Makes a package of a folder or a file. Blocking. `progress` advances by the bytes read. Errors: usage (2) for what cannot be released.
pub(crate) fn prepare(path: &Path, progress: &ProgressBar) -> Result<Package> {
    check_path(path)?;
    if path.is_dir() {
        let found = walk::walk(path)?;
        progress.set_length(found.iter().map(|file| file.length).sum());
        pack::pack(&found, progress)
    } else {
        existing::open(path, progress)
    }
}

/// Refuses what cannot be released, before anything else is done. Errors: usage (2).
pub(crate) fn check_path(path: &Path) -> Result<()> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    if matches!(extension.as_str(), "apk" | "aab" | "ipa") {
        let what = format!("{} is an app for an app store, not an update", path.display());
        return Err(Error::usage(
            what,
            "Give the folder with the JavaScript bundle and its assets that the bundler wrote, such as ./CodePush.",
        ));
    }
    let Ok(metadata) = path.metadata() else {
        return Err(Error::usage(
            format!("there is no file or folder {}", path.display()),
            "Create the bundle first, or correct the path.",
        ));
    };
    if !metadata.is_dir() && !metadata.is_file() {
        return Err(Error::usage(format!("{} is neither a file nor a folder", path.display()), "Give a folder, a file or a .zip."));
    }
    if is_project(path) {
        let what = format!("{} is a project, not what its bundler wrote: devices would download all of it", path.display());
        return Err(Error::usage(
            what,
            "Give the folder that the bundler wrote, such as ./CodePush or ./www. A .zip is uploaded as it is.",
        ));
    }
    Ok(())
}

/// Whether a folder is a project: everybody who has the app could read its sources and secrets.
fn is_project(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).exists();
    has(".git") || has("node_modules") || (has("package.json") && (has("ios") || has("android")))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::failed(format!("cannot read {}: {error}", path.display()), "Check that it exists, and its permissions.")
}

fn changed(path: &Path) -> Error {
    Error::failed(format!("{} changed while it was read", path.display()), "Wait until the build is finished, then run the command again.")
}

fn no_files(path: &Path) -> Error {
    Error::usage(format!("{} has no files", path.display()), "Give the folder that the bundler wrote to, such as ./CodePush.")
}
