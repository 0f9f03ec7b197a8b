//! The deployment keys in the native project: the app asks with them for updates.
//!
//! Only for a warning. Keys can come from build settings and from code, so with any that is not certain, nothing is known.

use shared::keys::DeploymentKey;

use super::project::Project;
use super::settings::{self, Setting};
use super::target_version::NativeOptions;
use super::{Platform, expo};

/// The name of the setting, in every file.
const NAME: &str = "CodePushDeploymentKey";
/// Words of texts that stand for a key, such as `YOUR_DEPLOYMENT_KEY`.
const WORDS: [&str; 8] = ["codepush", "deployment", "here", "insert", "key", "placeholder", "todo", "your"];

/// A deployment key and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NativeKey {
    /// The key. It is never shown as a whole.
    pub(crate) text: String,
    /// The file, for people.
    pub(crate) source: String,
}

/// The keys that a platform's builds can have, each once; none if one of them is not certain.
pub(super) fn of_project(project: &Project, expo: Option<&expo::Config>, platform: Platform, options: &NativeOptions) -> Vec<NativeKey> {
    let mut found = settings::of_native(project, platform, options, NAME);
    if platform == Platform::Android {
        found.extend(settings::of_variants(project, options, NAME));
    }
    found.extend(expo.and_then(|expo| settings::of_expo(expo, platform, NAME)));
    certain(found)
}

fn certain(found: Vec<Setting>) -> Vec<NativeKey> {
    let mut keys: Vec<NativeKey> = Vec::new();
    // One that is not filled in yet is no key.
    for Setting { text, source } in found.into_iter().filter(|setting| !setting.text.trim().is_empty()) {
        let text = text.trim();
        if !is_key(text) {
            return Vec::new();
        }
        if !keys.iter().any(|known| known.text == text) {
            keys.push(NativeKey { text: text.to_owned(), source });
        }
    }
    keys
}

/// Whether it is a key that is written out, and not a text that stands for one.
fn is_key(text: &str) -> bool {
    let is_placeholder = text.split(['_', '-']).any(|word| WORDS.contains(&word.to_lowercase().as_str()));
    !is_placeholder && DeploymentKey::try_from(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(texts: &[&str]) -> Vec<String> {
        let found = texts.iter().map(|text| Setting { text: (*text).to_owned(), source: "x".to_owned() }).collect();
        certain(found).into_iter().map(|key| key.text).collect()
    }

    #[test]
    fn keys_that_are_written_out_are_found() {
        let (one, other) = ("o3Rl0Yk-9x_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "1234567890");
        assert_eq!(keys(&[one, " ", other, one]), [one, other]);
    }

    #[test]
    fn with_one_that_is_not_certain_nothing_is_known() {
        for text in
            ["$(CODEPUSH_KEY)", "${key}", "@string/key", "YOUR_DEPLOYMENT_KEY", "deployment-key-here", "<INSERT_KEY>", "short", "\"\""]
        {
            assert_eq!(keys(&["1234567890", text]), Vec::<String>::new(), "{text}");
        }
    }
}
