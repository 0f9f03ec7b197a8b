//! Records what native code the next binary of a React Native project is built from, in `updraft-fingerprint.json`.

use super::plan::{Plan, Platform, Sdk};
use crate::bundle;
use crate::bundle::fingerprint::{BinaryVersion, Fingerprints, NAME, NativeProject};

/// Adds what is not recorded yet: what is recorded can be a binary in a store. Returns what could not be recorded, for people.
pub(super) fn plan(plan: &mut Plan, sdk: &Sdk) -> Vec<String> {
    // Without packages there is nothing to record. It runs nothing of the project, which can be somebody else's.
    let Some(project) = NativeProject::of_files(plan.root()) else { return Vec::new() };
    let is_link = plan.root().join(NAME).symlink_metadata().is_ok_and(|found| found.is_symlink());
    let before = match Fingerprints::read(project.root()) {
        Ok(_) if is_link => return vec![format!("{NAME} was left alone: it is a link. `updraft fingerprint write` follows it.")],
        Ok(before) => before,
        Err(error) => return vec![format!("{NAME} was left alone: {}. {}", error.what, error.next)],
    };
    let mut file = before.clone().unwrap_or_default();
    let mut notes = Vec::new();
    for platform in project.platforms().into_iter().filter(|platform| is_wanted(sdk, *platform)) {
        let version = project.version(platform).and_then(|found| BinaryVersion::parse(&found.version));
        match version {
            Ok(version) if file.entry(platform, &version).is_none() => {
                file.insert(platform, version, project.fingerprint(platform));
            }
            Ok(_) => {}
            Err(why) => notes.push(format!(
                "{NAME} gets no entry for {}: cannot determine the app version: {why}. Run `updraft fingerprint write --platform {} --app-version 1.2.3` where you build it.",
                platform.title(),
                platform.name()
            )),
        }
    }
    match before {
        None if file == Fingerprints::default() => {}
        None => plan.create(NAME, &file.text()),
        Some(before) if before == file => {}
        Some(_) => plan.edit(NAME, |_| Ok(file.text())),
    }
    notes
}

fn is_wanted(sdk: &Sdk, platform: bundle::Platform) -> bool {
    sdk.is_for(match platform {
        bundle::Platform::Ios => Platform::Ios,
        bundle::Platform::Android => Platform::Android,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Plans, and makes the changes. Returns the notes and how many changes there were.
    fn applied(root: &Path, only: Option<Platform>) -> (Vec<String>, usize) {
        let mut changes = Plan::new(root.to_owned());
        let notes = plan(&mut changes, &Sdk { only, ..Sdk::example("https://u.example/") });
        changes.apply().unwrap();
        (notes, changes.changes.len())
    }

    #[test]
    fn what_is_certain_is_recorded_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "package.json", "{ \"dependencies\": { \"react-native\": \"*\", \"svg\": \"*\" } }");
        assert_eq!(applied(root, None), (vec![], 0), "nothing is installed");

        write(root, "node_modules/react-native/package.json", "{ \"version\": \"0.87.1\" }");
        write(root, "node_modules/svg/package.json", "{ \"version\": \"1.0.0\" }");
        write(root, "node_modules/svg/svg.podspec", "");
        write(root, "android/app/build.gradle", "android { defaultConfig { versionName \"1.2.3\" } }");
        fs::create_dir(root.join("ios")).unwrap();
        let (notes, count) = applied(root, None);
        assert_eq!(count, 1);
        assert!(notes.len() == 1 && notes[0].contains("no entry for iOS") && notes[0].contains("--platform ios"), "{notes:?}");
        let text = fs::read_to_string(root.join(NAME)).unwrap();
        assert!(text.contains("\"1.2.3\"") && !text.contains("\"ios\""), "{text}");

        // An entry can be a binary in a store: it stays.
        write(root, "node_modules/react-native/package.json", "{ \"version\": \"0.88.0\" }");
        assert_eq!(applied(root, Some(Platform::Android)), (vec![], 0));
        assert_eq!(fs::read_to_string(root.join(NAME)).unwrap(), text);
        write(root, "android/app/build.gradle", "android { defaultConfig { versionName \"1.3.0\" } }");
        assert_eq!(applied(root, Some(Platform::Android)), (vec![], 1));
        let text = fs::read_to_string(root.join(NAME)).unwrap();
        assert!(text.contains("\"1.2.3\"") && text.contains("\"1.3.0\"") && text.contains("0.88.0"), "{text}");
    }

    #[test]
    fn a_damaged_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "package.json", "{ \"dependencies\": { \"react-native\": \"*\" } }");
        write(root, "node_modules/react-native/package.json", "{ \"version\": \"0.87.1\" }");
        write(root, NAME, "{");
        let (notes, count) = applied(root, None);
        assert_eq!(count, 0);
        assert!(notes[0].contains("left alone") && notes[0].contains("damaged"), "{notes:?}");
    }
}
