//! The public key in the native project: an app that is built with one installs only packages that are signed with its private key.
//!
//! Only for a warning. What cannot be read, or comes from a build setting, counts as no key.

use std::fs;
use std::path::Path;

use plist::Value;

use super::project::Project;
use super::target_version::{self, NativeOptions, shown};
use super::{Platform, expo};
use crate::xml;

/// The name of the setting, in every file.
const NAME: &str = "CodePushPublicKey";

/// A public key and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey {
    /// The key as it is written: PEM, often on one line.
    pub(crate) text: String,
    /// The file, for people.
    pub(crate) source: String,
}

/// The public key that a platform's builds have. The native project counts more than the configuration of Expo, which it is made from.
pub(super) fn of_project(project: &Project, expo: Option<&expo::Config>, platform: Platform, options: &NativeOptions) -> Option<PublicKey> {
    let files = target_version::settings_files(&project.root, project.name(), platform, options);
    let of_file = |file: &Path| {
        let text = match platform {
            Platform::Android => in_resources(&fs::read_to_string(file).ok()?),
            Platform::Ios => in_plist(file),
        };
        certain(text, shown(&project.root, file))
    };
    let of_expo = || expo.and_then(|expo| certain(in_expo(&expo.value, platform), expo.source.clone()));
    files.iter().find_map(|file| of_file(file)).or_else(of_expo)
}

/// A key that is written out, in no form that only Android's tools undo.
fn certain(text: Option<String>, source: String) -> Option<PublicKey> {
    let text = text.filter(|text| !text.trim().is_empty() && !text.contains(['$', '@', '<', '"']))?;
    Some(PublicKey { text, source })
}

/// The string in a file of Android resources.
fn in_resources(text: &str) -> Option<String> {
    let root = xml::parse(text).ok()?;
    let is_key = |element: &&xml::Element| {
        matches!(element.name.as_str(), "string" | "item") && element.attribute(text, "name").as_deref() == Some(NAME)
    };
    root.children.iter().find(is_key).map(|element| element.text(text))
}

/// The string in an `Info.plist`.
fn in_plist(file: &Path) -> Option<String> {
    Value::from_file(file).ok()?.as_dictionary()?.get(NAME)?.as_string().map(str::to_owned)
}

/// The option of a config plugin of Expo.
fn in_expo(config: &serde_json::Value, platform: Platform) -> Option<String> {
    let plugins = config.get("plugins")?.as_array()?;
    let key = |plugin: &serde_json::Value| plugin.get(1)?.get(platform.name())?.get(NAME)?.as_str().map(str::to_owned);
    plugins.iter().find_map(key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_key_is_found_in_resources() {
        let with = |rest: &str| format!("<resources>\n    <string name=\"app_name\">A</string>\n    {rest}\n</resources>");
        let given = with("<string moduleConfig=\"true\" name=\"CodePushPublicKey\">-----BEGIN\nAB&#43;-----</string>");
        assert!(in_resources(&given).is_some_and(|text| text.starts_with("-----BEGIN\nAB")));
        assert_eq!(in_resources(&with("<!-- <string name=\"CodePushPublicKey\">A</string> -->")), None);
        assert_eq!(in_resources("<resources>"), None);
    }

    #[test]
    fn the_key_of_an_expo_plugin_is_that_of_the_platform() {
        let config = json!({ "plugins": ["expo-font", ["code-push-plugin", { "ios": { "CodePushPublicKey": "I" }, "android": {} }]] });
        assert_eq!(in_expo(&config, Platform::Ios).as_deref(), Some("I"));
        assert_eq!(in_expo(&config, Platform::Android), None);
    }

    #[test]
    fn what_a_build_setting_says_is_unknown() {
        for text in ["$(CODEPUSH_PUBLIC_KEY)", "${KEY}", "@string/key", " ", "<![CDATA[-----BEGIN]]>", "\"-----BEGIN\""] {
            assert_eq!(certain(Some(text.to_owned()), "x".to_owned()), None, "{text}");
        }
        assert!(certain(Some("-----BEGIN".to_owned()), "x".to_owned()).is_some());
    }
}
