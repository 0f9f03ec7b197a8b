//! A package's files, each with the hash of its bytes.

use super::hash::package_hash;
use crate::Invalid;
use crate::hash::{PackageHash, Sha256Hex};
use std::collections::BTreeMap;

/// Files by name, each with the hash of its uncompressed bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest(BTreeMap<String, Sha256Hex>);

impl Manifest {
    /// A manifest without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file under its normalized name. Returns false for directories and for what macOS adds to archives (`__MACOSX/…`, `.DS_Store`): clients
    /// never see those, so they could not verify a hash over them.
    pub fn insert(&mut self, name: &str, hash: Sha256Hex) -> bool {
        let name = normalize_name(name);
        let is_ignored = is_ignored(&name);
        if !is_ignored {
            self.0.insert(name, hash);
        }
        !is_ignored
    }

    /// The hash of a file, by its normalized name.
    pub fn get(&self, name: &str) -> Option<&Sha256Hex> {
        self.0.get(name)
    }

    /// The files, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Sha256Hex)> {
        self.0.iter().map(|(name, hash)| (name.as_str(), hash))
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The stored form: a JSON object from name to hash.
    pub fn to_json(&self) -> String {
        // Cannot fail: strings always serialize.
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// Parses the stored form.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Invalid> {
        serde_json::from_slice(bytes).map(Self).map_err(|error| Invalid::from(format!("is not a manifest: {error}")))
    }

    /// The package hash. It excludes the signature file (`.codepushrelease`), which signs the hash itself.
    pub fn package_hash(&self) -> PackageHash {
        package_hash(self.hashed())
    }

    /// The package hash as the reference server computes it for an archive with directory entries: each counts as an empty file. Clients compute
    /// [`Self::package_hash`].
    #[cfg(feature = "archive")]
    pub(crate) fn hash_with_directories(&self, directories: &[String]) -> PackageHash {
        let empty = Sha256Hex::of(b"");
        let directories = directories.iter().filter(|name| !name.starts_with("__MACOSX/")).map(|name| (name.as_str(), &empty));
        package_hash(self.hashed().chain(directories))
    }

    fn hashed(&self) -> impl Iterator<Item = (&str, &Sha256Hex)> {
        self.iter().filter(|(name, _)| !is_signature(name))
    }
}

/// Whether a file of this name in a package is one that the SDKs run: a JavaScript bundle (`*.bundle`, `*.jsbundle`, `*.hbc`) or `index.html`, in any
/// folder (wire facts, part 5.1). An SDK can be told another name, so packages without one are only warned of.
pub fn is_bundle(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    name == "index.html" || ["bundle", "jsbundle", "hbc"].contains(&extension(name))
}

/// Whether a file of this name can be a package on its own: a bundle, or any JavaScript.
pub fn is_single_bundle(name: &str) -> bool {
    is_bundle(name) || extension(name) == "js"
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// A file name as clients build it: `\` becomes `/`.
pub fn normalize_name(name: &str) -> String {
    name.replace('\\', "/")
}

/// Whether a file is a signature (`.codepushrelease`), which is not part of the package hash.
pub fn is_signature(name: &str) -> bool {
    is_file(name, ".codepushrelease")
}

/// Whether a normalized name is one that clients never see: of a directory, or of what macOS adds to archives.
pub(crate) fn is_ignored(name: &str) -> bool {
    name.ends_with('/') || name.starts_with("__MACOSX/") || is_file(name, ".DS_Store")
}

/// Whether the last component of `path` is `name`.
fn is_file(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}
