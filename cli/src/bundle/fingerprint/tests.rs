//! Projects with planted packages.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A project in a temporary folder.
struct Planted(TempDir);

impl Planted {
    /// A React Native project that depends on these packages.
    fn new(dependencies: &[&str]) -> Self {
        let planted = Self(tempfile::tempdir().unwrap());
        let list: serde_json::Map<_, _> = dependencies.iter().map(|name| ((*name).to_owned(), json!("*"))).collect();
        planted
            .write("package.json", &json!({ "name": "app", "dependencies": list, "devDependencies": { "react-native": "*" } }).to_string());
        planted.package("node_modules/react-native", "0.87.1", &["React.podspec", "android/build.gradle"]);
        planted
    }

    /// The same with an Expo of this version, and its configuration.
    fn with_expo(dependencies: &[&str], version: &str) -> Self {
        let planted = Self::new(&[dependencies, &["expo"]].concat());
        planted.write("app.json", "{ \"expo\": { \"version\": \"1.2\" } }");
        planted.package("node_modules/expo", version, &[]);
        planted.write("node_modules/expo/expo-module.config.json", "{ \"platforms\": [\"apple\", \"android\"] }");
        planted
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A package with these files.
    fn package(&self, folder: &str, version: &str, files: &[&str]) {
        self.write(&format!("{folder}/package.json"), &json!({ "version": version }).to_string());
        for file in files {
            self.write(&format!("{folder}/{file}"), "");
        }
    }

    /// A package that depends on others.
    fn dependent(&self, folder: &str, version: &str, manifest: serde_json::Value) {
        let mut manifest = manifest;
        manifest["version"] = json!(version);
        self.write(&format!("{folder}/package.json"), &manifest.to_string());
    }

    fn of(&self, folder: &str) -> NativeProject {
        NativeProject::of_files(&self.0.path().join(folder)).unwrap()
    }

    /// The packages for iOS and for Android, with their versions.
    fn modules(&self) -> [Vec<String>; 2] {
        modules(&self.of(""))
    }
}

fn modules(project: &NativeProject) -> [Vec<String>; 2] {
    [Platform::Ios, Platform::Android]
        .map(|platform| project.fingerprint(platform).modules.into_iter().map(|(name, version)| format!("{name} {version}")).collect())
}

#[test]
fn each_kind_of_native_code_is_found() {
    let kinds: &[(&str, &[&str], bool, bool)] = &[
        ("a-podspec", &["a.podspec"], true, false),
        ("b-podspec-in-ios", &["ios/B.podspec"], true, false),
        ("c-gradle", &["android/build.gradle"], false, true),
        ("d-kotlin", &["android/build.gradle.kts", "D.podspec"], true, true),
        ("e-manifest", &["android/src/main/AndroidManifest.xml"], false, true),
        ("f-configured", &["react-native.config.js", "android/app/x.java"], false, true),
        ("g-javascript", &["index.js", "android.js"], false, false),
        // A plugin for Gradle, not a part of the app.
        ("h-tool", &["android/plugin/settings.gradle"], false, false),
        ("@scope/i", &["i.podspec", "android/build.gradle"], true, true),
    ];
    let names: Vec<&str> = kinds.iter().map(|(name, ..)| *name).collect();
    let planted = Planted::new(&[&names[..], &["not-installed"]].concat());
    for (name, files, ..) in kinds {
        planted.package(&format!("node_modules/{name}"), "1.2.3", files);
    }
    let [ios, android] = planted.modules();
    for (name, _, is_ios, is_android) in kinds {
        let text = format!("{name} 1.2.3");
        assert_eq!((ios.contains(&text), android.contains(&text)), (*is_ios, *is_android), "{name}");
    }
    assert!(!ios.iter().chain(&android).any(|text| text.starts_with("react-native ")), "it is recorded as such");
}

#[test]
fn configurations_that_only_name_native_code_count() {
    let planted = Planted::new(&["elsewhere", "cxx", "nothing"]);
    for (name, config) in [
        ("elsewhere", "module.exports = { dependency: { platforms: { android: { sourceDir: './lib' }, ios: { podspecPath: 'x' } } } }"),
        ("cxx", "module.exports = { dependency: { platforms: { android: { cxxModuleHeaderName: 'x' } } } }"),
        ("nothing", "module.exports = {}"),
    ] {
        planted.package(&format!("node_modules/{name}"), "1.0.0", &[]);
        planted.write(&format!("node_modules/{name}/react-native.config.js"), config);
    }
    assert_eq!(planted.modules(), [vec!["elsewhere 1.0.0"], vec!["cxx 1.0.0", "elsewhere 1.0.0"]]);
}

#[test]
fn react_native_links_only_what_the_project_depends_on() {
    let planted = Planted::new(&["direct"]);
    planted.dependent("node_modules/direct", "1.0.0", json!({ "dependencies": { "indirect": "*" } }));
    planted.write("node_modules/direct/direct.podspec", "");
    planted.package("node_modules/indirect", "1.0.0", &["indirect.podspec"]);
    planted.package("node_modules/unrelated", "1.0.0", &["unrelated.podspec"]);
    assert_eq!(planted.modules(), [vec!["direct 1.0.0"], vec![]]);
}

#[test]
fn expo_also_links_what_packages_depend_on() {
    for (version, is_deep) in [("53.0.1", false), ("54.0.0", true), ("58.0.26", true)] {
        let planted = Planted::with_expo(&["plain"], version);
        planted.dependent(
            "node_modules/plain",
            "1.0.0",
            json!({ "dependencies": { "expo-font": "*" }, "peerDependencies": { "peer": "*", "optional": "*" },
                    "peerDependenciesMeta": { "optional": { "optional": true } } }),
        );
        // Nested below the package that needs it, and in a circle.
        planted.dependent("node_modules/plain/node_modules/expo-font", "2.0.0", json!({ "dependencies": { "plain": "*" } }));
        planted.write("node_modules/plain/node_modules/expo-font/expo-module.config.json", "{ \"platforms\": [\"ios\", \"web\"] }");
        planted.package("node_modules/peer", "3.0.0", &["peer.podspec", "android/build.gradle"]);
        planted.package("node_modules/optional", "4.0.0", &["optional.podspec"]);
        let expo = format!("expo {version}");
        let peer: Vec<&str> = if is_deep { vec!["peer 3.0.0"] } else { vec![] };
        let expected = [[vec![expo.as_str(), "expo-font 2.0.0"], peer.clone()].concat(), [vec![expo.as_str()], peer].concat()];
        assert_eq!(planted.modules(), expected, "{version}");
    }
}

#[test]
fn what_expo_is_told_not_to_link_is_left_out() {
    let planted = Planted::with_expo(&["a", "b"], "58.0.0");
    planted.package("node_modules/a", "1.0.0", &["a.podspec", "android/build.gradle"]);
    planted.package("node_modules/b", "1.0.0", &["b.podspec", "android/build.gradle"]);
    let manifest = json!({ "dependencies": { "a": "*", "b": "*", "expo": "*", "react-native": "*" },
                           "expo": { "autolinking": { "exclude": ["a"], "ios": { "exclude": ["b", "expo"] } } } });
    planted.write("package.json", &manifest.to_string());
    assert_eq!(planted.modules(), [vec!["a 1.0.0"], vec!["b 1.0.0", "expo 58.0.0"]]);
}

#[test]
fn the_nearest_of_two_versions_counts() {
    let planted = Planted::with_expo(&["a", "z"], "58.0.0");
    planted.dependent("node_modules/a", "1.0.0", json!({ "dependencies": { "z": "*" } }));
    planted.package("node_modules/a/node_modules/z", "1.0.0", &["z.podspec"]);
    planted.package("node_modules/z", "2.0.0", &["z.podspec"]);
    assert_eq!(planted.modules()[0], ["expo 58.0.0", "z 2.0.0"]);
}

#[cfg(unix)]
#[test]
fn hoisted_and_linked_packages_are_found() {
    let planted = Planted::new(&[]);
    planted
        .write("apps/mobile/package.json", &json!({ "dependencies": { "react-native": "*", "hoisted": "*", "linked": "*" } }).to_string());
    planted.package("node_modules/hoisted", "1.0.0", &["hoisted.podspec"]);
    planted.write("packages/linked/linked.podspec", "");
    planted.write("packages/linked/package.json", "{}");
    fs::create_dir_all(planted.0.path().join("apps/mobile/node_modules")).unwrap();
    std::os::unix::fs::symlink("../../../packages/linked", planted.0.path().join("apps/mobile/node_modules/linked")).unwrap();
    assert_eq!(modules(&planted.of("apps/mobile")), [vec!["hoisted 1.0.0", "linked 0.0.0"], vec![]]);
}

#[cfg(unix)]
#[test]
fn packages_of_pnpm_are_found_next_to_their_links() {
    let planted = Planted::with_expo(&["a"], "58.0.0");
    let store = "node_modules/.pnpm/a@1.0.0/node_modules";
    planted.dependent(&format!("{store}/a"), "1.0.0", json!({ "dependencies": { "expo-b": "*" } }));
    planted.package(&format!("{store}/expo-b"), "1.0.0", &[]);
    planted.write(&format!("{store}/expo-b/expo-module.config.json"), "{ \"platforms\": [\"android\"] }");
    std::os::unix::fs::symlink(".pnpm/a@1.0.0/node_modules/a", planted.0.path().join("node_modules/a")).unwrap();
    assert_eq!(planted.modules()[1], ["expo 58.0.0", "expo-b 1.0.0"]);
}

#[test]
fn versions_and_engines_are_those_of_the_builds() {
    let planted = Planted::new(&[]);
    planted.write("android/app/build.gradle", "android { defaultConfig { versionName \"1.2\" } }");
    let project = planted.of("");
    assert_eq!(project.platforms(), [Platform::Android]);
    assert_eq!(project.version(Platform::Android).unwrap().version, "1.2.0");
    let fingerprint = project.fingerprint(Platform::Android);
    assert_eq!((fingerprint.react_native.as_str(), fingerprint.engine), ("0.87.1", Engine::Hermes));
    planted.write("android/gradle.properties", "hermesEnabled=false\n");
    assert_eq!(planted.of("").fingerprint(Platform::Android).engine, Engine::Jsc);

    let planted = Planted::with_expo(&[], "58.0.0");
    assert_eq!(planted.of("").platforms(), [Platform::Ios, Platform::Android]);
    assert_eq!(planted.of("").version(Platform::Ios).unwrap().version, "1.2.0");
    planted.write("app.json", "{ \"expo\": { \"version\": \"1.2\", \"platforms\": [\"ios\", \"web\"], \"jsEngine\": \"jsc\" } }");
    assert_eq!(planted.of("").platforms(), [Platform::Ios]);
    assert_eq!(planted.of("").fingerprint(Platform::Ios).engine, Engine::Jsc);
    // Only Expo's CLI can read it.
    planted.write("app.config.js", "module.exports = {}");
    assert!(NativeProject::of_files(planted.0.path()).is_none());
}

#[test]
fn changes_are_compared_with_the_right_version() {
    let planted = Planted::new(&["svg", "camera"]);
    planted.package("node_modules/svg", "15.1.0", &["svg.podspec"]);
    let mut file = Fingerprints::default();
    let version = |text: &str| BinaryVersion::parse(text).unwrap();
    file.insert(Platform::Ios, version("1.2.3"), planted.of("").fingerprint(Platform::Ios));
    planted.package("node_modules/svg", "15.2.0", &["svg.podspec"]);
    planted.package("node_modules/camera", "1.0.0", &["camera.podspec"]);
    let now = planted.of("").fingerprint(Platform::Ios);
    file.insert(Platform::Ios, version("1.3"), now.clone());
    file.write(planted.0.path()).unwrap();

    let file = Fingerprints::read(planted.0.path()).unwrap().unwrap();
    let differing = |text: &str| summary(&differences(file.expected(Platform::Ios, &version(text)).unwrap(), &now));
    assert_eq!(differing("1.2.3").as_deref(), Some("with svg 15.1.0, now 15.2.0; without camera"));
    assert_eq!(differing("1.3.0"), None);
    fs::remove_dir_all(planted.0.path().join("node_modules/svg")).unwrap();
    let now = planted.of("").fingerprint(Platform::Ios);
    let left = summary(&differences(file.expected(Platform::Ios, &version("1.3")).unwrap(), &now));
    assert_eq!(left.as_deref(), Some("with svg 15.2.0, which the project no longer has"));
}
