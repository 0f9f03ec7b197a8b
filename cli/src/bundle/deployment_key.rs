//! The deployment keys and server addresses in the native project: the app asks with them for updates.
//!
//! Only for a warning. Values can come from build settings and from code, so with any that is not certain, nothing is known.

use shared::keys::DeploymentKey;

use super::project::Project;
use super::settings::{self, Setting};
use super::target_version::NativeOptions;
use super::{Platform, expo};

/// The name of the setting, in every file.
const NAME: &str = "CodePushDeploymentKey";
/// Words of texts that stand for a key, such as `YOUR_DEPLOYMENT_KEY`.
const WORDS: [&str; 8] = ["codepush", "deployment", "here", "insert", "key", "placeholder", "todo", "your"];

/// The names of the setting with the server's address.
const SERVER_NAMES: [&str; 2] = ["CodePushServerUrl", "CodePushServerURL"];
/// Words that texts which stand for a key have besides.
const MORE_WORDS: [&str; 17] = [
    "a",
    "android",
    "app",
    "change",
    "code",
    "enter",
    "ios",
    "me",
    "my",
    "of",
    "paste",
    "production",
    "push",
    "replace",
    "staging",
    "the",
    "with",
];
/// Words that ask for a key.
const INSTRUCTIONS: [&str; 10] = ["change", "enter", "here", "insert", "my", "paste", "placeholder", "replace", "todo", "your"];
/// Words of the setting's own name.
const NAME_WORDS: [&str; 5] = ["code", "codepush", "deployment", "key", "push"];
/// Words of texts that stand for a server's address, besides those that stand for a key.
const SERVER_WORDS: [&str; 5] = ["address", "host", "server", "updates", "url"];
/// The hosts of App Center, which was shut down in 2025.
const DEAD_HOST: &str = "appcenter.ms";

/// A deployment key and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NativeKey {
    /// The key. It is never shown as a whole.
    pub(crate) text: String,
    /// The file, for people.
    pub(crate) source: String,
}

/// A server address and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NativeAddress {
    /// The address.
    pub(crate) text: String,
    /// The file, for people.
    pub(crate) source: String,
}

/// The keys that a platform's builds can have, each once; none if one of them is not certain.
pub(super) fn of_project(project: &Project, expo: Option<&expo::Config>, platform: Platform, options: &NativeOptions) -> Vec<NativeKey> {
    certain(all(project, expo, platform, options, NAME))
}

/// The server addresses that a platform's builds can have, each once; none if one of them is not certain. Those of no server are [`faults()`].
pub(super) fn servers(project: &Project, expo: Option<&expo::Config>, platform: Platform, options: &NativeOptions) -> Vec<NativeAddress> {
    let found: Vec<Setting> = SERVER_NAMES.iter().flat_map(|name| all(project, expo, platform, options, name)).collect();
    if found.iter().any(|setting| is_inserted(&setting.text)) {
        return Vec::new();
    }
    let mut addresses: Vec<NativeAddress> = Vec::new();
    for Setting { text, source } in found.into_iter().filter(|setting| dead_server(&setting.text).is_none()) {
        let text = text.trim().to_owned();
        if !addresses.iter().any(|known| known.text == text) {
            addresses.push(NativeAddress { text, source });
        }
    }
    addresses
}

/// All values of a setting that a platform's builds can have.
fn all(project: &Project, expo: Option<&expo::Config>, platform: Platform, options: &NativeOptions, name: &str) -> Vec<Setting> {
    let mut found = settings::of_native(project, platform, options, name);
    if platform == Platform::Android {
        found.extend(settings::of_variants(project, options, name));
    }
    found.extend(expo.and_then(|expo| settings::of_expo(expo, platform, name)));
    found
}

/// Whether a build inserts the value, or a part of it.
pub(crate) fn is_inserted(text: &str) -> bool {
    text.contains('$') || text.trim_start().starts_with('@')
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

/// Whether a text can only stand for a key, such as `YOUR_DEPLOYMENT_KEY`: it has no other words.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let text = text.trim_matches(|letter: char| "<>[]{} ".contains(letter)).to_lowercase();
    let words: Vec<&str> = text.split(['_', '-', ' ']).collect();
    // Somebody's own key can be `production-key`.
    let is_instruction = words.iter().any(|word| INSTRUCTIONS.contains(word)) || words.iter().all(|word| NAME_WORDS.contains(word));
    is_instruction && words.iter().all(|word| WORDS.contains(word) || MORE_WORDS.contains(word))
}

/// What an address of no server is, in words; `None` if a server can have it.
pub(crate) fn dead_server(address: &str) -> Option<String> {
    let address = address.trim();
    let host = address.split_once("://").map_or(address, |(_, rest)| rest).split(['/', ':']).next().unwrap_or_default().to_lowercase();
    if host.is_empty() {
        Some("an empty server address".to_owned())
    } else if host == DEAD_HOST || host.ends_with(&format!(".{DEAD_HOST}")) {
        Some("the address of App Center, which was shut down,".to_owned())
    } else if is_placeholder_server(address) {
        Some(format!("the placeholder {address} as the server address"))
    } else {
        None
    }
}

/// Whether a text can only stand for a server's address, such as `YOUR_SERVER_URL`. A host in a local network can be `server` or `my-host`.
fn is_placeholder_server(address: &str) -> bool {
    let (has_scheme, rest) = address.split_once("://").map_or((false, address), |(_, rest)| (true, rest));
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let host = host.trim_matches(|letter: char| "<>[]{} ".contains(letter)).to_lowercase();
    let words: Vec<&str> = host.split(['_', '-', ' ']).collect();
    let is_instruction = words.iter().any(|word| INSTRUCTIONS.contains(word) && !["here", "my"].contains(word));
    let is_known = |word: &&str| WORDS.contains(word) || MORE_WORDS.contains(word) || SERVER_WORDS.contains(word);
    (is_instruction || !has_scheme || host.contains('_')) && words.iter().all(is_known)
}

/// Why builds of a platform ask for no updates, each as the end of "the iOS app …". Nothing without native files, or if a build setting inserts a value.
pub(super) fn faults(project: &Project, expo: Option<&expo::Config>, platform: Platform, options: &NativeOptions) -> Vec<String> {
    let all = |name: &str| all(project, expo, platform, options, name);
    let has_files = expo.is_none() && settings::has_files(project, platform, options);
    let keys = all(NAME);
    let servers: Vec<Setting> = SERVER_NAMES.iter().flat_map(|name| all(name)).collect();
    let mut faults = Vec::new();
    if keys.is_empty() && has_files {
        faults.push(format!("has no deployment key ({NAME}): unless its code sets one, devices get no updates"));
    }
    for Setting { text, source } in &keys {
        if text.trim().is_empty() {
            faults.push(format!("has an empty deployment key in {source}: devices get no updates"));
        } else if is_placeholder(text) {
            faults.push(format!("has the placeholder {} in {source} instead of a deployment key: devices get no updates", text.trim()));
        }
    }
    if servers.is_empty() && has_files {
        let name = if platform == Platform::Ios { SERVER_NAMES[1] } else { SERVER_NAMES[0] };
        faults.push(format!("has no server address ({name}): unless its code sets one, devices ask App Center, which was shut down"));
    }
    for Setting { text, source } in &servers {
        faults.extend(dead_server(text).map(|what| format!("has {what} in {source}: devices get no updates")));
    }
    faults
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
    fn placeholders_and_dead_servers_are_known_for_certain() {
        for text in ["YOUR_DEPLOYMENT_KEY", "DEPLOYMENT_KEY", "<INSERT_KEY>", "deployment-key-here", "YOUR-ANDROID-KEY"] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["production-key", "my-weather-key", "$(CODEPUSH_KEY)", "o3Rl0Yk-9x_A", "", "${KEY}"] {
            assert!(!is_placeholder(text), "{text}");
        }
        let dead = [
            "https://codepush.appcenter.ms/",
            "",
            "https://",
            "YOUR_SERVER_URL",
            "https://YOUR_SERVER_URL/",
            "<your-server>",
            "SERVER_URL",
        ];
        for text in dead {
            assert!(dead_server(text).is_some(), "{text}");
        }
        for text in [
            "https://updates.example.com/",
            "https://your-server.com/",
            "http://my-server/",
            "http://server:8080/",
            "http://localhost:8787",
            "http://[::1]:8787/",
            "$(SERVER)",
            "https://notappcenter.ms",
        ] {
            assert_eq!(dead_server(text), None, "{text}");
        }
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
