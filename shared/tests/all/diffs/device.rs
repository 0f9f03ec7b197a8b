//! What SDKs do with a diff, with real files: ports of React Native's on Android and of Cordova's. They share no code with what they test.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

use serde_json::Value;
use shared::hash::Sha256Hex;

/// Where React Native keeps what it knows of a package.
const METADATA: &str = "app.json";
const MARKER: &str = "hotcodepush.json";

/// Installs a full package into `folder`, which does not exist yet.
pub(super) fn install(archive: &[u8], folder: &Path) {
    unzip(archive, folder);
    fs::write(folder.join(METADATA), "{}").unwrap();
}

/// `CodePushUpdateManager.downloadPackage` on Android: copies the current package, deletes, and copies the diff's files.
pub(super) fn update_react_native(diff: &[u8], current: &Path, new: &Path, unzipped: &Path) {
    unzip(diff, unzipped);
    let marker = unzipped.join(MARKER);
    assert!(marker.exists(), "the device takes the diff for a full package");
    copy_contents(current, new);
    for name in deleted_files(&marker) {
        let file = new.join(name);
        if file.exists() {
            fs::remove_file(file).unwrap();
        }
    }
    fs::remove_file(marker).unwrap();
    copy_contents(unzipped, new);
    // The new metadata is written after the hash is verified.
    fs::remove_file(new.join(METADATA)).unwrap();
}

/// `LocalPackage.handleDiffDeployment` of Cordova: copies the current package, copies the diff's files with the marker, and deletes.
pub(super) fn update_cordova(diff: &[u8], current: &Path, new: &Path, unzipped: &Path) {
    unzip(diff, unzipped);
    assert!(unzipped.join(MARKER).is_file(), "the device takes the diff for a full package");
    fs::create_dir_all(new).unwrap();
    merge(current, new);
    merge(unzipped, new);
    for name in deleted_files(&unzipped.join(MARKER)) {
        let file = new.join(name);
        if file.is_file() {
            fs::remove_file(file).unwrap();
        }
    }
    fs::remove_file(new.join(METADATA)).unwrap();
    fs::remove_file(new.join(MARKER)).unwrap();
}

/// The hash of a folder as React Native computes it.
pub(super) fn hash_of_react_native(folder: &Path) -> Sha256Hex {
    let is_ignored = |path: &str| {
        let is = |name: &str| path == name || path.ends_with(&format!("/{name}"));
        path.starts_with("__MACOSX/") || is(".DS_Store") || is(".codepushrelease")
    };
    hash(folder, "", &is_ignored)
}

/// The hash of a package's folder as Cordova computes it: only of `www` in it.
pub(super) fn hash_of_cordova(folder: &Path) -> Sha256Hex {
    let is_ignored = |path: &str| [".codepushrelease", ".DS_Store", "__MACOSX"].contains(&path.rsplit('/').next().unwrap());
    hash(&folder.join("www"), "www", &is_ignored)
}

/// The files below a folder, by path: all that a server knows of.
pub(super) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    walk(folder, "", &|path| path.starts_with("__MACOSX/") || path == ".DS_Store" || path.ends_with("/.DS_Store"), &mut files);
    files
}

fn hash(folder: &Path, prefix: &str, is_ignored: &dyn Fn(&str) -> bool) -> Sha256Hex {
    let mut files = BTreeMap::new();
    walk(folder, prefix, is_ignored, &mut files);
    let mut lines: Vec<String> = files.into_iter().map(|(path, bytes)| format!("{path}:{}", Sha256Hex::of(&bytes))).collect();
    lines.sort_by_key(|line| line.encode_utf16().collect::<Vec<_>>());
    Sha256Hex::of(serde_json::to_string(&lines).unwrap().as_bytes())
}

fn walk(folder: &Path, prefix: &str, is_ignored: &dyn Fn(&str) -> bool, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if is_ignored(&path) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), &path, is_ignored, files);
        } else {
            files.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

fn deleted_files(marker: &Path) -> Vec<String> {
    let json: Value = serde_json::from_slice(&fs::read(marker).unwrap()).unwrap();
    json["deletedFiles"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn unzip(archive: &[u8], folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for (name, data) in entries(archive) {
        let path = folder.join(&name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, data).unwrap();
        }
    }
}

/// The entries of an archive, as an independent reader sees them.
pub(super) fn entries(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    try_entries(archive).unwrap()
}

/// As [`entries`], if the reader can read all.
pub(super) fn try_entries(archive: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).ok()?;
    (0..archive.len())
        .map(|index| {
            let mut entry = archive.by_index(index).ok()?;
            let mut data = Vec::new();
            entry.read_to_end(&mut data).ok()?;
            Some((entry.name().ok()?.into_owned(), data))
        })
        .collect()
}

fn copy_contents(from: &Path, to: &Path) {
    if !to.exists() {
        fs::create_dir(to).unwrap();
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_contents(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}

/// `FileUtil.copyDirectoryEntriesTo`: what exists as another kind is an error.
fn merge(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if name == ".DS_Store" || name == "__MACOSX" {
            continue;
        }
        let place = to.join(&name);
        let is_folder = entry.file_type().unwrap().is_dir();
        if is_folder && !place.exists() {
            fs::create_dir(&place).unwrap();
        }
        if is_folder {
            merge(&entry.path(), &place);
        } else {
            if place.exists() {
                fs::remove_file(&place).unwrap();
            }
            fs::copy(entry.path(), place).unwrap();
        }
    }
}
