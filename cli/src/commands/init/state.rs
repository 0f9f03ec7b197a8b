//! What the SDK's configuration of a project lacks, for `updraft doctor`: what `updraft init` would change.

use std::path::Path;

use super::plan::{Plan, Platform, Sdk};
use super::{android, detect, values};
use crate::bundle;

/// A file that is to have the server and the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct FileState {
    /// The file, relative to the project.
    pub(in crate::commands) path: String,
    /// The server's address.
    pub(in crate::commands) server: Setting,
    /// The deployment key.
    pub(in crate::commands) key: Setting,
    /// The addresses that it has, as far as it can be read.
    pub(in crate::commands) servers: Vec<String>,
    /// The keys that it has, as far as it can be read.
    pub(in crate::commands) keys: Vec<String>,
    /// Why `updraft init` cannot write it, if it cannot.
    pub(in crate::commands) by_hand: Option<String>,
}

impl FileState {
    /// Whether the project in a folder is to have it: it has it, or it has an Android project, which cannot do without.
    pub(in crate::commands) fn is_expected(&self, folder: &Path) -> bool {
        self.path == android::STRINGS || folder.join(&self.path).exists()
    }

    /// What to do by hand, if `updraft init` cannot write it and what to write is known.
    pub(in crate::commands) fn advice(&self) -> Option<&str> {
        self.by_hand.as_deref().filter(|why| !why.contains(UNKNOWN.0) && !why.contains(UNKNOWN.1))
    }
}

/// A setting in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Setting {
    /// It is as it should be.
    Right,
    /// It has another value.
    Other,
    /// It is not there.
    Missing,
}

/// The names that the SDKs give the server's address and the key, in lowercase.
const SERVER_NAMES: [&str; 2] = ["codepushserverurl", "server_url"];
const KEY_NAMES: [&str; 2] = ["codepushdeploymentkey", "_deploy_key"];

/// What stands for a server and a key that are not known. No file has it.
const UNKNOWN: (&str, &str) = ("ADDRESS-OF-THE-SERVER", "KEY-OF-THE-DEPLOYMENT");

/// The files of the project in a folder that are to have the server and the key, or those of one platform; `None` if there is no project. Without a server or
/// key to compare with, every value is another one.
pub(in crate::commands) fn of(folder: &Path, server: Option<&str>, key: Option<&str>, only: Option<Platform>) -> Option<Vec<FileState>> {
    let mut plan = Plan::new(folder.to_owned());
    let kind = detect::kind(&plan)?;
    let (server, key) = (server.unwrap_or(UNKNOWN.0), key.unwrap_or(UNKNOWN.1));
    let sdk = Sdk { url: format!("{server}/"), key: key.to_owned(), only };
    kind.plan(&mut plan, &sdk);
    let mut files = Vec::new();
    for path in &plan.unchanged {
        let (server, key) = (Setting::Right, Setting::Right);
        files.push(FileState { path: path.clone(), server, key, servers: Vec::new(), keys: Vec::new(), by_hand: None });
    }
    for change in &plan.changes {
        let (before, after) = change.texts();
        let is_added = |value: &str| after.matches(value).count() > before.matches(value).count();
        let setting = |is_added: bool, names: &[&str]| if is_added { absent(&before, names) } else { Setting::Right };
        let server = setting(is_added(&sdk.url) || is_added(&sdk.url.replace('&', "&amp;")), &SERVER_NAMES);
        let key = setting(is_added(key), &KEY_NAMES);
        let (servers, keys) = found(folder, &change.path, &before, only);
        files.push(FileState { path: change.path.clone(), server, key, servers, keys, by_hand: None });
    }
    for (path, why) in &plan.by_hand {
        let text = plan.read(path).unwrap_or_default();
        let setting = |value: &str, names: &[&str]| if text.contains(value) { Setting::Right } else { absent(&text, names) };
        let (server, key) = (setting(server, &SERVER_NAMES), setting(key, &KEY_NAMES));
        let (servers, keys) = found(folder, path, &text, only);
        files.push(FileState { path: path.clone(), server, key, servers, keys, by_hand: Some(why.clone()) });
    }
    for file in files.iter_mut().filter(|file| file.path.starts_with("android/")) {
        // Another file of the Android project can have what this one lacks.
        for (setting, name) in [(&mut file.server, android::SERVER), (&mut file.key, android::KEY)] {
            if *setting == Setting::Missing && !bundle::android_settings(folder, name).is_empty() {
                *setting = Setting::Right;
            }
        }
    }
    Some(files)
}

/// The addresses and the keys in a file.
fn found(folder: &Path, path: &str, text: &str, only: Option<Platform>) -> (Vec<String>, Vec<String>) {
    if path.ends_with(".gradle") || path.ends_with(".gradle.kts") {
        let values = |name: &str| {
            let all = bundle::android_settings(folder, name).into_iter().filter(|found| found.source == path);
            all.map(|found| found.text.trim().to_owned()).collect()
        };
        return (values(android::SERVER), values(android::KEY));
    }
    (values::of(path, text, &SERVER_NAMES, only), values::of(path, text, &KEY_NAMES, only))
}

/// How the right value is absent: another one is there, or none.
fn absent(text: &str, names: &[&str]) -> Setting {
    let text = text.to_lowercase();
    if names.iter().any(|name| text.contains(name)) { Setting::Other } else { Setting::Missing }
}
