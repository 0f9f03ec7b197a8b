//! A React Native app: `Info.plist` of its iOS project, and the strings of its Android project.

use std::path::{Path, PathBuf};

use super::android;
use super::plan::{Plan, Platform, Sdk};
use super::plist::{self, Owner};

/// How deep below `ios` an `Info.plist` can be.
const DEPTH: usize = 4;

/// The changes to a React Native project.
pub(super) fn plan(plan: &mut Plan, sdk: &Sdk) {
    let (found, missing): (Vec<Platform>, Vec<Platform>) = sdk.platforms().partition(|platform| plan.has(platform.name()));
    for platform in &found {
        match platform {
            Platform::Ios => ios(plan, sdk),
            Platform::Android => android::plan(plan, sdk),
        }
    }
    if found.is_empty() {
        let names: Vec<&str> = missing.into_iter().map(Platform::name).collect();
        plan.by_hand(&names.join(" and "), "the project has no such folder. Run `updraft init` again when it has");
        return;
    }
    plan.then("Build the app again: the server and the key are in the binary.");
}

fn ios(plan: &mut Plan, sdk: &Sdk) {
    let mut files = Vec::new();
    find(plan.root(), Path::new("ios"), DEPTH, &mut files);
    // What cannot be read as text may be the app's: then the edit says what to do.
    let owner = |file: &String| plan.read(file).map_or(Owner::App, |text| plist::owner(&text));
    let (known, mut unknown): (Vec<String>, Vec<String>) =
        files.into_iter().filter(|file| owner(file) != Owner::Other).partition(|file| owner(file) == Owner::App);
    // The only one that can be the app's is.
    let files = if known.is_empty() && unknown.len() == 1 { std::mem::take(&mut unknown) } else { known };
    if files.is_empty() {
        let values = format!("CodePushServerURL = {} and CodePushDeploymentKey = {}", sdk.url, sdk.key);
        let what = if unknown.is_empty() {
            format!("it has no Info.plist of an app. Add these two settings to the one that your app is built with: {values}")
        } else {
            format!(
                "several files can be the Info.plist of your app: {}. Add these two settings to the one that it is built with: {values}",
                unknown.join(", ")
            )
        };
        plan.by_hand("ios", &what);
    }
    for file in files {
        plan.edit(&file, |text| plist::edit(text, sdk));
    }
}

/// Files named `Info.plist`, below what is the project's own.
fn find(root: &Path, folder: &Path, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path: PathBuf = folder.join(&name);
        // Symbolic links are neither.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_file() && (name == "Info.plist" || name.ends_with("-Info.plist")) {
            found.push(path.to_string_lossy().replace('\\', "/"));
        } else if kind.is_dir() && depth > 1 && is_own(&name) {
            find(root, &path, depth - 1, found);
        }
    }
}

fn is_own(folder: &str) -> bool {
    let extension = Path::new(folder).extension().and_then(std::ffi::OsStr::to_str);
    let is_bundle = matches!(extension, Some("xcodeproj" | "xcworkspace" | "xcassets" | "framework" | "xcframework" | "bundle" | "app"));
    !is_bundle
        && !folder.starts_with('.')
        && !folder.ends_with("Tests")
        && !["Pods", "build", "DerivedData", "node_modules"].contains(&folder)
}
