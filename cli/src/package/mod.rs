//! Packages: what is uploaded, made from a folder, a single file or a ZIP archive.
//!
//! A folder becomes an archive with the same bytes on each run: `walk` finds its files in a fixed order, `pack` hashes and compresses them on all cores.
//! A file is uploaded as it is, after the check that the server makes too (`existing`). Deliberately not here: the upload. Start at [`prepare`].

mod existing;
mod names;
mod pack;
pub(crate) mod signature;
mod walk;

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use indicatif::ProgressBar;
use shared::diff::UnsafeName;
use shared::hash::{PackageHash, Sha256Hex};

use self::signature::SigningKey;
use crate::error::{Error, Result};

/// The largest `.codepushrelease` that is read, in bytes. One of a key with 4096 bits has less than a thousand.
const LARGEST_SIGNATURE: u64 = 16 << 10;

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
    /// The first name that prevents diffs, if there is one. A single file has no diffs anyway.
    pub unsafe_name: Option<UnsafeName>,
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

impl Package {
    /// The signature for devices, if there is one.
    fn signature(&self) -> Option<&PackagedFile> {
        let is_signature = |name: &str| signature::FOLDERS.iter().any(|folder| name == format!("{folder}/{}", signature::FILE));
        self.files.iter().find(|file| is_signature(&file.name))
    }

    /// Whether it has a signature for devices, which may be invalid if it was not made here.
    pub(crate) fn is_signed(&self) -> bool {
        self.signature().is_some()
    }
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

/// Makes a package of a folder or a file, and signs it if there is a key. Blocking. `progress` advances by the bytes read. Errors: usage (2) for what cannot
/// be released or signed.
pub(crate) fn prepare(path: &Path, key: Option<&SigningKey>, progress: &ProgressBar) -> Result<Package> {
    check_path(path)?;
    if !path.is_dir() {
        if key.is_some() {
            return Err(unsignable(path));
        }
        return existing::open(path, progress);
    }
    let mut found = walk::walk(path)?;
    let signer = match key {
        None => None,
        Some(key) => {
            let folder = found.first().and_then(|file| file.name.split('/').next()).unwrap_or_default();
            if !signature::FOLDERS.contains(&folder) {
                let what = format!(
                    "{} cannot be signed: devices look for the signature in a folder named CodePush, www or public",
                    path.display()
                );
                return Err(Error::usage(what, "Rename the folder: CodePush for React Native, www for Cordova, public for Capacitor."));
            }
            let name = format!("{folder}/{}", signature::FILE);
            found.retain(|file| file.name != name);
            Some((name, key))
        }
    };
    progress.set_length(found.iter().map(|file| file.length).sum());
    pack::pack(&found, signer.as_ref().map(|(name, key)| (name.as_str(), *key)), progress)
}

/// The hash of a package, and what is in its `.codepushrelease`. Blocking. Errors: usage (2) for what cannot be released.
pub(crate) fn with_signature(path: &Path, progress: &ProgressBar) -> Result<(PackageHash, Option<String>)> {
    let package = prepare(path, None, progress)?;
    let Some(named) = package.signature() else { return Ok((package.hash, None)) };
    let read = match package.kind {
        Kind::Folder => fs::File::open(path.join(signature::FILE)).and_then(text),
        Kind::Archive | Kind::SingleFile => zip::ZipArchive::new(&package.file)
            .and_then(|mut archive| archive.by_name(&named.name).map(text))
            .map_err(std::io::Error::from)
            .flatten(),
    };
    Ok((package.hash, Some(read.map_err(|error| unreadable(path, &error))?)))
}

fn text(source: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    source.take(LARGEST_SIGNATURE).read_to_string(&mut text).map(|_| text)
}

fn unsignable(path: &Path) -> Error {
    let what = format!("{} is not a folder: only a folder can be signed", path.display());
    Error::usage(what, "Give the folder that the bundler wrote: CodePush for React Native, www for Cordova, public for Capacitor.")
}

/// Signs a folder: writes its `.codepushrelease`. Blocking. Returns the package hash. Errors: usage (2) for what cannot be signed.
pub(crate) fn sign(path: &Path, key: &SigningKey, progress: &ProgressBar) -> Result<PackageHash> {
    let package = prepare(path, Some(key), progress)?;
    let token = key.sign(&package.hash, crate::clock::now())?;
    let file = path.join(signature::FILE);
    fs::write(&file, token)
        .map_err(|error| Error::failed(format!("cannot write {}: {error}", file.display()), "Check its permissions."))?;
    Ok(package.hash)
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
