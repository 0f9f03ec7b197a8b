//! `updraft-fingerprint.json`: what the binaries of each app version were built from. It is next to the project's `package.json`, and is committed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::version::{AppVersion, Range, Version};

use super::Fingerprint;
use crate::bundle::Platform;
use crate::error::{Error, Result};

/// The file's name.
pub(crate) const NAME: &str = "updraft-fingerprint.json";

/// The format's version.
const FORMAT: u64 = 1;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 10_000_000;

/// How to write an entry.
const WRITE: &str = "Run `updraft fingerprint write` where the binary is built, and commit the file.";

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fingerprints {
    /// The format's version.
    version: u64,
    /// The binaries for Android.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    android: Entries,
    /// The binaries for iOS.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ios: Entries,
}

/// The binaries of a platform.
type Entries = BTreeMap<BinaryVersion, Fingerprint>;

/// The app version of a binary. It is written in full: 1.2 is 1.2.0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct BinaryVersion(Version);

impl BinaryVersion {
    /// Parses an app version. Errors: why it is not one.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        AppVersion::parse(text.trim()).map(|version| Self(version.version().clone())).map_err(|error| error.to_string())
    }
}

impl TryFrom<String> for BinaryVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|why| format!("the app version {text:?} {why}"))
    }
}

impl From<BinaryVersion> for String {
    fn from(version: BinaryVersion) -> Self {
        version.0.to_string()
    }
}

impl std::fmt::Display for BinaryVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Default for Fingerprints {
    fn default() -> Self {
        Self { version: FORMAT, android: BTreeMap::new(), ios: BTreeMap::new() }
    }
}

impl Fingerprints {
    /// Reads the file of a project; `None` if there is none. Errors: usage (2), failed (1).
    pub(crate) fn read(root: &Path) -> Result<Option<Self>> {
        match read(&root.join(NAME)) {
            Ok(text) => Self::parse(&text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::failed(format!("cannot read {NAME}: {error}"), "Check the file and its permissions.")),
        }
    }

    /// Parses the file. Errors: usage (2).
    fn parse(text: &str) -> Result<Self> {
        let text = text.trim_start_matches('\u{feff}');
        let damaged = |error: &serde_json::Error| {
            // serde_json adds the place itself.
            Error::usage(format!("{NAME} is damaged: {error}"), format!("Restore it from version control, or delete it. {WRITE}"))
        };
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let has_line = |mark: &str| text.lines().any(|line| line.starts_with(mark));
            if has_line("<<<<<<<") && has_line(">>>>>>>") {
                let next = "Keep the entries of both sides, or take one side and run `updraft fingerprint write` for what is missing.";
                return Error::usage(format!("{NAME} has a merge conflict"), next);
            }
            damaged(&error)
        })?;
        if let Some(version) = value.get("version").and_then(Value::as_u64).filter(|version| *version > FORMAT) {
            let what = format!("{NAME} has format {version}, and this CLI reads format {FORMAT}");
            return Err(Error::usage(what, "Update the CLI."));
        }
        if value.get("version").and_then(Value::as_u64) != Some(FORMAT) {
            let what = format!("{NAME} is damaged: it has no \"version\": {FORMAT}");
            return Err(Error::usage(what, format!("Restore it from version control, or delete it. {WRITE}")));
        }
        // From the text, so that the error has a line.
        serde_json::from_str(text).map_err(|error| damaged(&error))
    }

    /// The binary of an app version.
    pub(crate) fn entry(&self, platform: Platform, version: &BinaryVersion) -> Option<&Fingerprint> {
        self.entries(platform).get(version)
    }

    /// The binary of an app version. Errors: usage (2) if there is none.
    pub(crate) fn expected(&self, platform: Platform, version: &BinaryVersion) -> Result<&Fingerprint> {
        self.entry(platform, version).ok_or_else(|| {
            let known: Vec<String> = self.entries(platform).keys().map(ToString::to_string).collect();
            let known = if known.is_empty() { String::new() } else { format!(", only of {}", known.join(", ")) };
            Error::usage(format!("{NAME} has no entry for {} {version}{known}", platform.title()), WRITE)
        })
    }

    /// The binaries that get an update.
    pub(crate) fn targeted(&self, platform: Platform, range: &Range) -> impl Iterator<Item = (&BinaryVersion, &Fingerprint)> {
        self.entries(platform).iter().filter(|(version, _)| range.satisfies(&version.0))
    }

    /// The binaries that were built with a package whose name is one of those wanted.
    pub(crate) fn built_with(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<(Platform, &BinaryVersion)> {
        let all = [Platform::Ios, Platform::Android].map(|platform| self.entries(platform).iter().map(move |entry| (platform, entry)));
        let wanted = all.into_iter().flatten().filter(|(_, (_, built))| built.modules.keys().any(|name| is_wanted(name)));
        wanted.map(|(platform, (version, _))| (platform, version)).collect()
    }

    /// Records a binary. Returns what was recorded before.
    pub(crate) fn insert(&mut self, platform: Platform, version: BinaryVersion, fingerprint: Fingerprint) -> Option<Fingerprint> {
        match platform {
            Platform::Android => &mut self.android,
            Platform::Ios => &mut self.ios,
        }
        .insert(version, fingerprint)
    }

    /// The text of the file: the same on every machine.
    pub(crate) fn text(&self) -> String {
        // Cannot fail: texts and numbers always serialize.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Writes the file at once, so that it is never half-written. Errors: failed (1).
    pub(crate) fn write(&self, root: &Path) -> Result<()> {
        write(&root.join(NAME), self.text().as_bytes())
            .map_err(|error| Error::failed(format!("cannot write {NAME}: {error}"), "Check the permissions of the project's folder."))
    }

    /// What to do if there is no file. Errors: usage (2).
    pub(crate) fn missing(root: &Path) -> Error {
        Error::usage(format!("there is no {NAME} in {}", root.display()), WRITE)
    }

    fn entries(&self, platform: Platform) -> &Entries {
        match platform {
            Platform::Android => &self.android,
            Platform::Ios => &self.ios,
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    // Not from a device or a pipe, which can have no end.
    let metadata = fs::metadata(path)?;
    match metadata.len() {
        _ if !metadata.is_file() => Err(io::Error::other("it is not a file")),
        length if length > MAX_BYTES => Err(io::Error::other("it is larger than 10 MB")),
        _ => fs::read_to_string(path),
    }
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    // A link stays one. Permissions stay; those of a new file are as for every new file, which a temporary file does not have.
    let Ok(path) = fs::canonicalize(path) else {
        let mut file = File::create_new(path)?;
        file.write_all(content)?;
        return file.sync_all();
    };
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    file.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(&path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{ "version": 1, "ios": { "1.10.0": { "engine": "hermes", "modules": { "b": "2.0.0", "a": "1.0.0" }, "reactNative": "0.87.1" } } }"#;

    fn version(text: &str) -> BinaryVersion {
        BinaryVersion::parse(text).unwrap()
    }

    #[test]
    fn the_text_is_sorted_and_the_same_after_a_round_trip() {
        let mut file = Fingerprints::parse(FILE).unwrap();
        let entry = file.entry(Platform::Ios, &version("1.10")).unwrap().clone();
        assert_eq!(file.insert(Platform::Ios, version("1.2"), entry.clone()), None);
        assert_eq!(file.insert(Platform::Android, version("1.2.0"), entry.clone()), None);
        assert_eq!(file.insert(Platform::Android, version("1.2"), entry.clone()), Some(entry));
        let text = file.text();
        assert!(text.starts_with("{\n  \"version\": 1,\n  \"android\": {\n    \"1.2.0\": {\n      \"engine\": \"hermes\",\n"), "{text}");
        assert!(text.ends_with("}\n") && text.find("\"1.2.0\"") < text.rfind("\"1.10.0\"") && text.find("\"a\"") < text.find("\"b\""));
        assert!(text.rfind("\"1.2.0\"") < text.rfind("\"1.10.0\""), "by version, not by letters");
        assert_eq!(Fingerprints::parse(&text).unwrap(), file);
        // With Git's conversion of line ends, and an editor's mark.
        assert_eq!(Fingerprints::parse(&format!("\u{feff}{}", text.replace('\n', "\r\n"))).unwrap(), file);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let what = |text: &str| Fingerprints::parse(text).unwrap_err().what;
        let conflict = "{\n<<<<<<< HEAD\n  \"version\": 1,\n=======\n  \"version\": 1\n>>>>>>> main\n}";
        assert!(what(conflict).ends_with("has a merge conflict"));
        assert!(what("").contains("is damaged: "));
        assert!(what("{\n  \"version\": 1,\n}").contains("line 3"), "{}", what("{\n  \"version\": 1,\n}"));
        assert!(what("[]").contains("it has no \"version\": 1"));
        assert!(what("{ \"version\": 0 }").contains("it has no \"version\": 1"));
        assert!(what("{ \"version\": 2, \"other\": {} }").contains("has format 2"));
        assert!(what("{ \"version\": 1, \"windows\": {} }").contains("windows"));
        assert!(what(&FILE.replace("1.10.0", "latest")).contains("the app version \"latest\" must be"), "{}", what("x"));
        for what in [conflict, "", "{ \"version\": 1, \"windows\": {} }"].map(what) {
            assert_eq!(what.lines().count(), 1, "{what}");
        }
    }

    #[test]
    fn entries_are_chosen_by_range() {
        let mut file = Fingerprints::parse(FILE).unwrap();
        let entry = file.entry(Platform::Ios, &version("1.10.0")).unwrap().clone();
        for text in ["1.2.0", "2.0.0", "1.3.0-beta.1"] {
            file.insert(Platform::Ios, version(text), entry.clone());
        }
        let targeted = |range: &str| -> Vec<String> {
            file.targeted(Platform::Ios, &Range::parse(range).unwrap()).map(|(version, _)| version.to_string()).collect()
        };
        assert_eq!(targeted("^1.0.0"), ["1.2.0", "1.10.0"]);
        assert_eq!(targeted("1.3.0-beta.1"), ["1.3.0-beta.1"]);
        assert_eq!(targeted(">2"), [""; 0]);
        let error = file.expected(Platform::Ios, &version("3")).unwrap_err();
        assert_eq!(error.what, format!("{NAME} has no entry for iOS 3.0.0, only of 1.2.0, 1.3.0-beta.1, 1.10.0, 2.0.0"));
        assert!(file.expected(Platform::Android, &version("3")).unwrap_err().what.ends_with("for Android 3.0.0"));
    }

    #[test]
    fn the_file_is_written_and_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Fingerprints::read(folder.path()), Ok(None));
        let mut file = Fingerprints::default();
        file.write(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(NAME)).unwrap(), "{\n  \"version\": 1\n}\n");
        file.insert(Platform::Ios, version("1.0.0"), Fingerprints::parse(FILE).unwrap().ios.into_values().next().unwrap());
        file.write(folder.path()).unwrap();
        assert_eq!(Fingerprints::read(folder.path()), Ok(Some(file)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file");
        fs::remove_file(folder.path().join(NAME)).unwrap();
        fs::create_dir(folder.path().join(NAME)).unwrap();
        assert!(Fingerprints::read(folder.path()).unwrap_err().what.contains("it is not a file"));
    }
}
