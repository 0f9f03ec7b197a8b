//! The installed packages with native code that a build links: those that React Native's and Expo's autolinking find.
//!
//! Nothing of the packages is run: where only their configuration script could tell, a package counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::NO_VERSION;
use crate::bundle::Platform;
use crate::bundle::project::{Package, Project};

/// How deep Expo looks for packages.
const MAX_DEPTH: usize = 9;

/// The first Expo that links all React Native packages that it finds, not only the project's own dependencies.
const DEEP_SINCE: u64 = 54;

/// Packages that are the platform itself, and are recorded as such.
const PLATFORM: &str = "react-native";

/// The names of files that can have the configuration of React Native's CLI.
const CONFIGS: [&str; 4] = ["react-native.config.js", "react-native.config.cjs", "react-native.config.mjs", "react-native.config.ts"];

/// Whether the project depends on Expo, and has it.
pub(super) fn uses_expo(project: &Project) -> bool {
    names(&project.manifest, &["dependencies", "devDependencies", "peerDependencies"]).contains("expo") && project.package("expo").is_some()
}

/// The packages with native code for a platform: names and versions.
pub(super) fn modules(project: &Project, platform: Platform) -> BTreeMap<String, String> {
    let expo = if uses_expo(project) { project.package("expo") } else { None };
    let excluded = if expo.is_some() { excluded(&project.manifest, platform) } else { BTreeSet::new() };
    let is_deep = expo.as_ref().is_some_and(|expo| links_all(expo, &project.manifest));
    let mut modules = BTreeMap::new();
    for Dependency { name, package, depth } in dependencies(project, if expo.is_some() { MAX_DEPTH } else { 1 }) {
        let is_react_native = (depth == 1 || is_deep) && name != PLATFORM && has_native_code(&package.folder, platform);
        if (is_react_native || is_expo_module(&package.folder, platform)) && !excluded.contains(&name) {
            let version = package.version().unwrap_or(NO_VERSION).to_owned();
            // What is found first is nearest to the project, and the one that is linked.
            modules.entry(name).or_insert(version);
        }
    }
    modules
}

/// The version of an installed package with native code for a platform.
pub(super) fn version_with_native_code(project: &Project, name: &str, platform: Platform) -> Option<String> {
    let package = project.package(name).filter(|package| has_native_code(&package.folder, platform))?;
    Some(package.version().unwrap_or(NO_VERSION).to_owned())
}

/// An installed package that the project depends on, itself or by others.
struct Dependency {
    name: String,
    package: Package,
    /// How many dependencies lead to it.
    depth: usize,
}

/// What the project depends on, nearest first.
fn dependencies(project: &Project, max_depth: usize) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut visited = BTreeSet::<PathBuf>::new();
    let own = names(&project.manifest, &["dependencies", "devDependencies", "peerDependencies"]);
    let mut open: Vec<(PathBuf, BTreeSet<String>)> = vec![(project.root.clone(), own)];
    for depth in 1..=max_depth {
        let mut next = Vec::new();
        for (folder, names) in std::mem::take(&mut open) {
            for name in names {
                let Some(package) = Package::resolve(&folder, &name) else { continue };
                // Packages depend on each other in circles.
                if visited.insert(package.folder.clone()) {
                    next.push((package.folder.clone(), required(&package.manifest)));
                    found.push(Dependency { name, package, depth });
                }
            }
        }
        open = next;
    }
    found
}

/// The packages that a package has with it.
fn required(manifest: &Value) -> BTreeSet<String> {
    let is_optional = |name: &str| manifest.get("peerDependenciesMeta")?.get(name)?.get("optional")?.as_bool();
    let mut required = names(manifest, &["peerDependencies"]);
    required.retain(|name| is_optional(name) != Some(true));
    required.extend(names(manifest, &["dependencies"]));
    required
}

/// The names in these members of a `package.json`.
fn names(manifest: &Value, members: &[&str]) -> BTreeSet<String> {
    members.iter().filter_map(|member| manifest.get(member)?.as_object()).flat_map(|list| list.keys().cloned()).collect()
}

/// Whether Expo links React Native packages that only other packages depend on.
fn links_all(expo: &Package, manifest: &Value) -> bool {
    let major = expo.version().and_then(|version| version.split('.').next()?.parse::<u64>().ok());
    let setting = |value: &Value| value.get("expo")?.get("autolinking")?.get("legacy_shallowReactNativeLinking")?.as_bool();
    major.is_none_or(|major| major >= DEEP_SINCE) && setting(manifest) != Some(true)
}

/// The packages that the project keeps Expo from linking.
fn excluded(manifest: &Value, platform: Platform) -> BTreeSet<String> {
    let Some(settings) = manifest.get("expo").and_then(|expo| expo.get("autolinking")) else { return BTreeSet::new() };
    let of_platform = match platform {
        Platform::Android => settings.get("android"),
        Platform::Ios => settings.get("apple").or_else(|| settings.get("ios")),
    };
    // The list of the platform replaces the other one.
    let list = of_platform.and_then(|settings| settings.get("exclude")).or_else(|| settings.get("exclude"));
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether React Native's autolinking finds native code in a package.
fn has_native_code(folder: &Path, platform: Platform) -> bool {
    let config = || CONFIGS.iter().find_map(|name| fs::read_to_string(folder.join(name)).ok());
    match platform {
        Platform::Android => {
            let files = ["build.gradle", "build.gradle.kts", "AndroidManifest.xml", "src/main/AndroidManifest.xml"];
            let android = folder.join("android");
            files.iter().any(|file| android.join(file).is_file())
                || config().is_some_and(|text| android.is_dir() || text.contains("sourceDir") || text.contains("cxxModule"))
        }
        Platform::Ios => {
            has_podspec(folder) || has_podspec(&folder.join("ios")) || config().is_some_and(|text| text.contains("podspecPath"))
        }
    }
}

fn has_podspec(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.filter_map(Result::ok).any(|entry| Path::new(&entry.file_name()).extension().is_some_and(|extension| extension == "podspec"))
}

/// Whether Expo's autolinking takes a package.
fn is_expo_module(folder: &Path, platform: Platform) -> bool {
    let names: &[&str] = match platform {
        Platform::Android => &["android"],
        Platform::Ios => &["ios", "apple"],
    };
    let config = fs::read_to_string(folder.join("expo-module.config.json")).ok();
    let config = config.and_then(|text| serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).ok()).unwrap_or_default();
    let platforms = config.get("platforms").and_then(Value::as_array);
    platforms.into_iter().flatten().filter_map(Value::as_str).any(|name| names.contains(&name))
}
