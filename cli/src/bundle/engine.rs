//! Which JavaScript engine the app's builds have: Hermes or another one.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Platform;
use super::target_version::{NativeOptions, gradle, properties};

/// The first React Native that has Hermes unless it is turned off.
const DEFAULT_SINCE: (u64, u64) = (0, 70);

/// Whether the builds have Hermes, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Engine {
    /// Whether it is Hermes.
    pub(super) is_hermes: bool,
    /// What says so.
    pub(super) source: String,
}

/// What the project says. `expo` is the configuration of Expo, if it has one.
pub(super) fn find(
    root: &Path,
    platform: Platform,
    react_native: Option<(u64, u64)>,
    expo: Option<&Value>,
    options: &NativeOptions,
) -> Engine {
    let native = match platform {
        Platform::Android => android(root, options),
        Platform::Ios => ios(root, options),
    };
    native.or_else(|| of_expo(expo?, platform)).unwrap_or_else(|| {
        // Without a version, it is a build of today's sources.
        let is_hermes = react_native.is_none_or(|version| version >= DEFAULT_SINCE);
        let version = react_native.map(|(major, minor)| format!(" {major}.{minor}")).unwrap_or_default();
        Engine { is_hermes, source: format!("the default of react-native{version}") }
    })
}

fn android(root: &Path, options: &NativeOptions) -> Option<Engine> {
    let file = gradle::find(root, options.gradle_file.as_deref());
    let module = file.as_deref().and_then(Path::parent).map_or_else(|| root.join("android/app"), Path::to_owned);
    let of_properties = [module.parent()?, &module].into_iter().find_map(|folder| {
        let path = folder.join("gradle.properties");
        let text = fs::read_to_string(&path).ok()?;
        // The last one wins.
        let last = |names: &[&str]| properties(&text).filter(|(name, _)| names.contains(name)).last().map(|(_, value)| value.to_owned());
        let file = shown(root, &path);
        if let Some(is_hermes) = last(&["hermesEnabled", "react.hermesEnabled"]).and_then(|value| value.parse().ok()) {
            return Some(Engine { is_hermes, source: format!("hermesEnabled={is_hermes} in {file}") });
        }
        engine(&Value::String(last(&["expo.jsEngine"])?), &format!("expo.jsEngine in {file}"))
    });
    of_properties.or_else(|| {
        let file = file?;
        let value = gradle::enable_hermes(&fs::read_to_string(&file).ok()?)?;
        Some(Engine { is_hermes: value, source: format!("enableHermes: {value} in {}", shown(root, &file)) })
    })
}

fn ios(root: &Path, options: &NativeOptions) -> Option<Engine> {
    let file = root.join(options.pod_file.as_deref().unwrap_or(Path::new("ios/Podfile")));
    if let Some(value) = fs::read_to_string(&file).ok().and_then(|text| hermes_enabled(&text)) {
        return Some(Engine { is_hermes: value, source: format!(":hermes_enabled => {value} in {}", shown(root, &file)) });
    }
    // Expo's Podfile takes it from here.
    let path = file.with_file_name("Podfile.properties.json");
    let settings: Value = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
    engine(settings.get("expo.jsEngine")?, &format!("expo.jsEngine in {}", shown(root, &path)))
}

/// The literal value of `:hermes_enabled` in a Podfile; `None` if there is none, or several.
fn hermes_enabled(text: &str) -> Option<bool> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let values = lines.filter_map(|line| {
        let after = line.split_once(":hermes_enabled").or_else(|| line.split_once("hermes_enabled:")).map(|(_, after)| after)?;
        let value = after.trim_start().trim_start_matches("=>").trim_start();
        let end = value.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(value.len());
        Some(value.get(..end)?.parse::<bool>().ok())
    });
    let values: Vec<_> = values.collect();
    let first = (*values.first()?)?;
    values.iter().all(|value| *value == Some(first)).then_some(first)
}

fn of_expo(config: &Value, platform: Platform) -> Option<Engine> {
    let of_platform = config.get(platform.name()).and_then(|settings| settings.get("jsEngine"));
    of_platform
        .and_then(|value| engine(value, &format!("{}.jsEngine of the Expo configuration", platform.name())))
        .or_else(|| engine(config.get("jsEngine")?, "jsEngine of the Expo configuration"))
}

fn engine(value: &Value, source: &str) -> Option<Engine> {
    let name = value.as_str()?;
    Some(Engine { is_hermes: name == "hermes", source: format!("{source}, {name}") })
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_hermes(platform: Platform, version: (u64, u64), files: &[(&str, &str)], expo: Option<&Value>) -> bool {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        find(folder.path(), platform, Some(version), expo, &NativeOptions::default()).is_hermes
    }

    #[test]
    fn the_version_has_the_default() {
        for platform in [Platform::Ios, Platform::Android] {
            assert!(is_hermes(platform, (0, 70), &[], None));
            assert!(is_hermes(platform, (1, 0), &[], None));
            assert!(!is_hermes(platform, (0, 69), &[], None));
        }
    }

    #[test]
    fn android_builds_say_so() {
        let (properties, gradle) = ("android/gradle.properties", "android/app/build.gradle");
        for (version, file, text, expected) in [
            ((0, 80), properties, "hermesEnabled=false\n", false),
            ((0, 80), properties, "hermesEnabled = true\n", true),
            ((0, 80), properties, "react.hermesEnabled=false\n", false),
            ((0, 80), properties, "expo.jsEngine=jsc\n", false),
            ((0, 80), properties, "# hermesEnabled=false\n", true),
            ((0, 80), properties, "hermesEnabled=maybe\n", true),
            ((0, 68), gradle, "project.ext.react = [ enableHermes: true ]", true),
            ((0, 70), gradle, "project.ext.react = [ enableHermes: false ]", false),
            ((0, 68), gradle, "android { }", false),
        ] {
            assert_eq!(is_hermes(Platform::Android, version, &[(file, text)], None), expected, "{text}");
        }
    }

    #[test]
    fn ios_builds_say_so() {
        let (podfile, properties) = ("ios/Podfile", "ios/Podfile.properties.json");
        for (version, file, text, expected) in [
            ((0, 80), podfile, "use_react_native!(\n  :hermes_enabled => false,\n)", false),
            ((0, 80), podfile, "use_react_native!(hermes_enabled: false)", false),
            ((0, 68), podfile, "  :hermes_enabled => true", true),
            ((0, 80), podfile, "  # :hermes_enabled => false", true),
            ((0, 80), podfile, "  :hermes_enabled => flags[:hermes_enabled],", true),
            ((0, 80), podfile, "  :hermes_enabled => true\n  :hermes_enabled => false", true),
            ((0, 80), properties, "{ \"expo.jsEngine\": \"jsc\" }", false),
        ] {
            assert_eq!(is_hermes(Platform::Ios, version, &[(file, text)], None), expected, "{text}");
        }
    }

    #[test]
    fn expo_says_so_for_each_platform() {
        let config = json!({ "jsEngine": "jsc", "ios": { "jsEngine": "hermes" } });
        assert!(is_hermes(Platform::Ios, (0, 80), &[], Some(&config)));
        assert!(!is_hermes(Platform::Android, (0, 80), &[], Some(&config)));
        // What is built is the native project.
        assert!(is_hermes(Platform::Android, (0, 80), &[("android/gradle.properties", "hermesEnabled=true")], Some(&config)));
        assert!(is_hermes(Platform::Android, (0, 80), &[], Some(&json!({}))));
    }
}
