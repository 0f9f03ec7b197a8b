//! Whether a project has a CodePush SDK: without one, its app never asks for updates.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A command that installs an SDK for React Native.
pub(crate) const INSTALL: &str = "npm install @code-push-next/react-native-code-push";
/// The lists of a `package.json` that can have an SDK.
const LISTS: [&str; 4] = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

/// What becomes of devices whose binary has an SDK, and whose update has none.
pub(crate) const CUTS_OFF: &str = "a device that gets an update without the SDK takes no further updates";

/// Whether a `package.json` names an SDK.
pub(crate) fn is_in_manifest(manifest: &Value) -> bool {
    in_manifest(manifest).is_some()
}

/// The SDK that a `package.json` names, if it names one.
pub(crate) fn in_manifest(manifest: &Value) -> Option<&str> {
    let lists = LISTS.iter().filter_map(|list| manifest.get(list)?.as_object());
    lists.flat_map(|list| list.keys()).map(String::as_str).find(|name| is_sdk(name))
}

/// Whether an SDK is installed for the project in a folder: in `node_modules` there or above it, as in a monorepo.
pub(crate) fn is_installed(root: &Path) -> bool {
    !installed(root).is_empty()
}

/// The SDKs that are installed for the project in a folder, nearest first.
pub(super) fn installed(root: &Path) -> Vec<String> {
    let in_modules = |folder: &Path| {
        let modules = folder.join("node_modules");
        let in_scope = |name: String| {
            let inner = if name.starts_with('@') { names(&modules.join(&name)) } else { return vec![name] };
            inner.into_iter().map(|inner| format!("{name}/{inner}")).collect()
        };
        names(&modules).into_iter().flat_map(in_scope).filter(|name| is_sdk(name)).collect::<Vec<_>>()
    };
    root.ancestors().flat_map(in_modules).collect()
}

/// Whether a text has a name that SDKs and their forks have. The settings in `config.xml` have other ones.
pub(crate) fn is_named_in(text: &str) -> bool {
    text.contains("code-push") || text.contains("codepush")
}

/// Whether a package is an SDK, by its name. Neither the command-line tools are, nor the package `code-push` that they use.
pub(crate) fn is_sdk(package: &str) -> bool {
    is_named_in(package) && !package.ends_with("cli") && package != "code-push"
}

/// The names in a folder; none if it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sdks_and_their_forks_are_known_by_their_names() {
        let package = |name: &str| json!({ "dependencies": { "react": "1", name: "1" } });
        for name in ["react-native-code-push", "@revopush/react-native-code-push", "cap-codepush", "cordova-plugin-code-push"] {
            assert!(is_in_manifest(&package(name)), "{name}");
        }
        for name in ["code-push-cli", "code-push", "react-native"] {
            assert!(!is_in_manifest(&package(name)), "{name}");
        }
        assert!(is_in_manifest(&json!({ "peerDependencies": { "react-native-code-push": "*" } })));
        assert!(!is_in_manifest(&Value::Null));
    }

    #[test]
    fn an_sdk_that_is_installed_above_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("apps/mobile");
        for name in ["node_modules/react-native", "node_modules/code-push", "node_modules/@acme/other"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        assert!(!is_installed(&root));
        fs::create_dir_all(folder.path().join("node_modules/@acme/react-native-code-push")).unwrap();
        assert!(is_installed(&root));
    }
}
