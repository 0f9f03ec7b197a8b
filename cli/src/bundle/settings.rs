//! Settings of the SDK in the native project and in the configuration of Expo, which is what the app's builds have.
//!
//! Only for warnings. Nothing is run or expanded: what a build setting inserts stays as it is written.

use std::fs;
use std::path::Path;

use plist::Value;

use super::project::Project;
use super::target_version::{self, NativeOptions, gradle, shown};
use super::{Platform, expo};
use crate::xml;

/// A setting, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The value as it is written.
    pub(crate) text: String,
    /// The file, for people.
    pub(crate) source: String,
}

/// The values of a setting in the native project, in the files that builds read. Android's are those of the main source set.
pub(super) fn of_native(project: &Project, platform: Platform, options: &NativeOptions, name: &str) -> Vec<Setting> {
    let files = target_version::settings_files(&project.root, project.name(), platform, options);
    let values = |file: &Path| match platform {
        Platform::Android => in_resources(&fs::read_to_string(file).unwrap_or_default(), name),
        Platform::Ios => in_plist(file, name).into_iter().collect(),
    };
    let of_file = |file: &Path| {
        let source = shown(&project.root, file);
        values(file).into_iter().map(move |text| Setting { text, source: source.clone() })
    };
    files.iter().flat_map(|file| of_file(file)).collect()
}

/// Whether there is a native project that can have settings. One for Android may lack a file of strings, and so the settings as well.
pub(super) fn can_have(project: &Project, platform: Platform, options: &NativeOptions) -> bool {
    match platform {
        Platform::Android => gradle::find(&project.root, options.gradle_file.as_deref()).is_some(),
        Platform::Ios => !target_version::settings_files(&project.root, project.name(), platform, options).is_empty(),
    }
}

/// The value in the configuration of Expo, which the native project is made from.
pub(super) fn of_expo(expo: &expo::Config, platform: Platform, name: &str) -> Option<Setting> {
    Some(Setting { text: in_expo(&expo.value, platform, name)?, source: expo.source.clone() })
}

/// The values in the parts of an Android project that its variants add: other source sets, and strings that its build file makes. One that is computed
/// begins with `$`.
pub(super) fn of_variants(project: &Project, options: &NativeOptions, name: &str) -> Vec<Setting> {
    gradle::find(&project.root, options.gradle_file.as_deref()).map(|file| in_variants(&project.root, &file, name)).unwrap_or_default()
}

/// The values of a setting that the builds of the Android project in a folder can have: those of the main source set, of the other ones, and of the build
/// file, which may be missing.
pub(crate) fn of_android(root: &Path, name: &str) -> Vec<Setting> {
    let file = gradle::find(root, None).unwrap_or_else(|| root.join("android/app/build.gradle"));
    let mut found = in_folder(root, &file.with_file_name("src").join("main/res/values"), name);
    found.extend(in_variants(root, &file, name));
    found
}

/// The values in the parts that variants add to the module with this build file.
fn in_variants(root: &Path, file: &Path, name: &str) -> Vec<Setting> {
    let sources = file.with_file_name("src");
    let mut folders: Vec<_> = fs::read_dir(&sources).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let mut found = Vec::new();
    for folder in folders.iter().filter(|folder| !["main", "test", "androidTest"].iter().any(|name| folder.ends_with(name))) {
        found.extend(in_folder(root, &folder.join("res/values"), name));
    }
    let script = fs::read_to_string(file).unwrap_or_default();
    found.extend(gradle::resource_strings(&script, name).into_iter().map(|text| Setting { text, source: shown(root, file) }));
    found
}

/// The values in a folder of Android resources.
fn in_folder(root: &Path, folder: &Path, name: &str) -> Vec<Setting> {
    let of_file = |file: std::path::PathBuf| {
        let source = shown(root, &file);
        let values = in_resources(&fs::read_to_string(&file).unwrap_or_default(), name);
        values.into_iter().map(move |text| Setting { text, source: source.clone() })
    };
    target_version::xml_files(folder).into_iter().flat_map(of_file).collect()
}

/// The strings in a file of Android resources.
fn in_resources(text: &str, name: &str) -> Vec<String> {
    let Ok(root) = xml::parse(text) else { return Vec::new() };
    let is_it = |element: &&xml::Element| {
        matches!(element.name.as_str(), "string" | "item") && element.attribute(text, "name").as_deref() == Some(name)
    };
    root.children.iter().filter(is_it).map(|element| element.text(text)).collect()
}

/// The string in an `Info.plist`.
fn in_plist(file: &Path, name: &str) -> Option<String> {
    Value::from_file(file).ok()?.as_dictionary()?.get(name)?.as_string().map(str::to_owned)
}

/// The option of a config plugin of Expo.
fn in_expo(config: &serde_json::Value, platform: Platform, name: &str) -> Option<String> {
    let plugins = config.get("plugins")?.as_array()?;
    let value = |plugin: &serde_json::Value| plugin.get(1)?.get(platform.name())?.get(name)?.as_str().map(str::to_owned);
    plugins.iter().find_map(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NAME: &str = "CodePushPublicKey";

    #[test]
    fn the_value_is_found_in_resources() {
        let with = |rest: &str| format!("<resources>\n    <string name=\"app_name\">A</string>\n    {rest}\n</resources>");
        let given = with("<string moduleConfig=\"true\" name=\"CodePushPublicKey\">-----BEGIN\nAB&#43;-----</string>");
        assert!(in_resources(&given, NAME).iter().any(|text| text.starts_with("-----BEGIN\nAB")));
        assert!(in_resources(&with("<!-- <string name=\"CodePushPublicKey\">A</string> -->"), NAME).is_empty());
        assert!(in_resources("<resources>", NAME).is_empty());
    }

    #[test]
    fn the_option_of_an_expo_plugin_is_that_of_the_platform() {
        let config = json!({ "plugins": ["expo-font", ["code-push-plugin", { "ios": { "CodePushPublicKey": "I" }, "android": {} }]] });
        assert_eq!(in_expo(&config, Platform::Ios, NAME).as_deref(), Some("I"));
        assert_eq!(in_expo(&config, Platform::Android, NAME), None);
    }
}
