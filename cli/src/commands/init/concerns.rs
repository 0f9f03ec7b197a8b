//! What keeps a project that is set up from getting updates: no CodePush SDK, or a server that only this machine reaches.

use std::path::Path;

use serde_json::Value;

use super::detect::{self, Kind};
use super::plan::Plan;
use crate::config::server;

/// Something to look at, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct Concern {
    /// What it is.
    pub(in crate::commands) text: String,
    /// What to do.
    pub(in crate::commands) next: String,
}

/// The concerns of the project in a folder; none if there is no project.
pub(in crate::commands) fn of(folder: &Path, server: &str) -> Vec<Concern> {
    let plan = Plan::new(folder.to_owned());
    let Some(kind) = detect::kind(&plan) else { return Vec::new() };
    [missing_sdk(&plan, kind), unreachable_server(server)].into_iter().flatten().collect()
}

fn missing_sdk(plan: &Plan, kind: Kind) -> Option<Concern> {
    let package = plan.read("package.json").unwrap_or_default();
    let config = if kind == Kind::Cordova { plan.read("config.xml").unwrap_or_default() } else { String::new() };
    // A Cordova project without package.json has its plugins in this folder.
    if has_sdk(&package) || names_sdk(&config) || plan.has("plugins/cordova-plugin-code-push") {
        return None;
    }
    let install = match kind {
        Kind::Expo | Kind::ReactNative => "npm install @code-push-next/react-native-code-push",
        Kind::Cordova => "cordova plugin add cordova-plugin-code-push",
        Kind::Capacitor => "npm install cap-codepush",
    };
    let place = if package.is_empty() { "the project" } else { "package.json" };
    Some(Concern {
        text: format!("{place} has no CodePush SDK, so the app never asks for updates"),
        next: format!("Install one and follow its instructions, for example: {install}"),
    })
}

/// Whether the project depends on an SDK.
pub(super) fn has_sdk_installed(plan: &Plan) -> bool {
    has_sdk(&plan.read("package.json").unwrap_or_default())
}

/// Whether a package depends on an SDK. Its forks have names of their own, with `code-push` or `codepush` in them. The command-line tools are no SDKs.
fn has_sdk(package: &str) -> bool {
    let package: Value = serde_json::from_str(package.trim_start_matches('\u{feff}')).unwrap_or_default();
    let lists = ["dependencies", "devDependencies"].into_iter().filter_map(|list| package.get(list)?.as_object());
    lists.flat_map(|list| list.keys()).any(|name| names_sdk(name) && !name.ends_with("cli"))
}

fn names_sdk(text: &str) -> bool {
    // The settings in config.xml are written without the hyphen, and with capital letters.
    text.contains("code-push") || text.contains("codepush")
}

fn unreachable_server(server: &str) -> Option<Concern> {
    server::is_this_machine(server).then(|| Concern {
        text: format!("{server} is this machine, and phones do not reach it by this name"),
        next:
            "For tests on Android, run `adb reverse tcp:PORT tcp:PORT`; iOS simulators reach it. For everybody else, use an https address."
                .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sdks_and_their_forks_are_known_by_their_names() {
        let package = |name: &str| format!("{{\"dependencies\": {{\"react\": \"1\", \"{name}\": \"1\"}}}}");
        for name in ["react-native-code-push", "@revopush/react-native-code-push", "cap-codepush", "cordova-plugin-code-push"] {
            assert!(has_sdk(&package(name)), "{name}");
        }
        for name in ["code-push-cli", "react-native"] {
            assert!(!has_sdk(&package(name)), "{name}");
        }
        assert!(!has_sdk("not JSON"));
    }
}
