//! What keeps a project that is set up from getting updates: no CodePush SDK, or a server that only this machine reaches.

use std::path::Path;

use serde_json::Value;

use super::detect::{self, Kind};
use super::plan::Plan;
use crate::bundle::sdk;
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
    if has_sdk(&package) || sdk::is_named_in(&config) || plan.has("plugins/cordova-plugin-code-push") {
        return None;
    }
    // As `release` sees it: in a monorepo, another package can name it.
    if kind.is_built() && sdk::is_installed(plan.root()) {
        return None;
    }
    let install = match kind {
        Kind::Expo | Kind::ReactNative => sdk::INSTALL,
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

/// Whether a package depends on an SDK.
fn has_sdk(package: &str) -> bool {
    let package: Value = serde_json::from_str(package.trim_start_matches('\u{feff}')).unwrap_or_default();
    sdk::is_in_manifest(&package)
}

fn unreachable_server(server: &str) -> Option<Concern> {
    let port = server::port_on_this_machine(server)?;
    Some(Concern {
        text: format!("{server} is this machine, and phones do not reach it by this name"),
        next: format!(
            "For tests on Android, run `adb reverse tcp:{port} tcp:{port}`; iOS simulators reach it. For everybody else, use an https address."
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_for_android_names_the_port() {
        let next = |server: &str| unreachable_server(server).map(|concern| concern.next).unwrap_or_default();
        assert!(next("http://127.0.0.1:8080").contains("`adb reverse tcp:8080 tcp:8080`"));
        assert!(next("http://localhost").contains("`adb reverse tcp:80 tcp:80`"));
        assert_eq!(next("https://updates.example.com"), "");
    }
}
