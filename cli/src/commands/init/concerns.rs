//! What keeps a project that is set up from getting updates: no CodePush SDK, a platform without an app, a public key that devices cannot
//! read, or a server that only this machine reaches.

use std::path::Path;

use serde_json::Value;

use super::detect::{self, Kind};
use super::plan::{Plan, Platform};
use super::state::{self, FileState};
use crate::bundle::fingerprint::{Fingerprints, NAME, NativeProject};
use crate::bundle::{self, PublicKey, sdk};
use crate::config::project::Project;
use crate::config::server;
use crate::package::signature::{Unusable, VerifyingKey};

/// How many binaries a text names.
const MAX_NAMED: usize = 5;

/// Something to look at, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct Concern {
    /// What it is.
    pub(in crate::commands) text: String,
    /// What to do.
    pub(in crate::commands) next: String,
    /// Whether the next release would do harm.
    pub(in crate::commands) is_fatal: bool,
}

/// The concerns of the project in a folder; none if there is no project.
pub(in crate::commands) fn of(folder: &Path, server: Option<&str>) -> Vec<Concern> {
    let plan = Plan::new(folder.to_owned());
    let Some(kind) = detect::kind(&plan) else { return Vec::new() };
    let without_sdk = removed_sdk(&plan, kind).or_else(|| missing_sdk(&plan, kind)).or_else(|| uninstalled_sdk(&plan, kind));
    let of_keys = if kind.is_built() { malformed_keys(folder) } else { Vec::new() };
    [without_sdk, server.and_then(unreachable_server)].into_iter().flatten().chain(of_keys).collect()
}

/// Public keys of the native projects with which devices refuse every release, in the words of `release`.
fn malformed_keys(folder: &Path) -> Vec<Concern> {
    let Some(project) = NativeProject::of_files(folder) else { return Vec::new() };
    let concern = |platform: bundle::Platform| {
        let PublicKey { text, source } = project.public_key(platform)?;
        let Unusable { why, next } = VerifyingKey::of_app(&text, platform == bundle::Platform::Ios).err()?;
        Some(Concern {
            text: format!("the public key of the {} app ({source}) {why}: devices refuse every release", platform.title()),
            next: format!("{next}."),
            is_fatal: true,
        })
    };
    [bundle::Platform::Ios, bundle::Platform::Android].into_iter().filter_map(concern).collect()
}

/// The apps with a public key that devices can verify with, each as a sentence.
pub(in crate::commands) fn signed_only(folder: &Path) -> Vec<String> {
    let is_built = detect::kind(&Plan::new(folder.to_owned())).is_some_and(Kind::is_built);
    let Some(project) = NativeProject::of_files(folder).filter(|_| is_built) else { return Vec::new() };
    let found = |platform: bundle::Platform| {
        let PublicKey { text, source } = project.public_key(platform)?;
        VerifyingKey::of_app(&text, platform == bundle::Platform::Ios).ok()?;
        Some(format!("the {} app has a public key ({source}): signed releases only", platform.title()))
    };
    [bundle::Platform::Ios, bundle::Platform::Android].into_iter().filter_map(found).collect()
}

/// A deployment key that the files of both platforms of a React Native or Expo project have.
pub(in crate::commands) fn shared_key(folder: &Path) -> Option<Concern> {
    detect::kind(&Plan::new(folder.to_owned())).filter(|kind| kind.is_built())?;
    let files = |platform: Platform| state::of(folder, None, None, Some(platform)).unwrap_or_default();
    let (of_ios, of_android) = (files(Platform::Ios), files(Platform::Android));
    let is_real = |key: &String| !key.is_empty() && !bundle::is_placeholder(key) && !bundle::is_inserted(key);
    let pairs = of_ios.iter().flat_map(|ios| of_android.iter().map(move |android| (ios, android)));
    let has_same = |(ios, android): &(&FileState, &FileState)| ios.keys.iter().any(|key| is_real(key) && android.keys.contains(key));
    let (ios, android) = pairs.into_iter().find(has_same)?;
    let files = if ios.path == android.path { ios.path.clone() } else { format!("{} and {}", ios.path, android.path) };
    Some(Concern {
        text: format!(
            "iOS and Android have the same deployment key ({files}), and an update is for one platform: devices of both get each release of its app"
        ),
        next: "Set up each platform with an app of its own: `updraft init --platform ios --app NAME`, then the same for android."
            .to_owned(),
        is_fatal: false,
    })
}

/// The platform of a React Native or Expo project that no command releases to, if the other platform has an app: it has no table in the project file, and the
/// app of the whole project, if there is one, is that of the other platform.
pub(in crate::commands) fn platform_without_app(folder: &Path, project: &Project) -> Option<Platform> {
    let without = Platform::ALL.into_iter().find(|platform| super::app_of(project, *platform).is_none())?;
    let of_other = super::app_of(project, without.other())?;
    let is_alone = project.app.as_deref().is_none_or(|app| app == of_other);
    (is_alone && has_platform(folder, without)).then_some(without)
}

/// The app of the whole project, if releases for this platform of a React Native or Expo project go to it: the platform has no table.
pub(in crate::commands) fn app_of_the_rest<'p>(folder: &Path, project: &'p Project, platform: Platform) -> Option<&'p str> {
    let app = project.app.as_deref().filter(|app| super::app_of(project, platform.other()) != Some(app))?;
    (super::app_of(project, platform).is_none() && has_platform(folder, platform)).then_some(app)
}

/// Whether a React Native or Expo project is for a platform.
fn has_platform(folder: &Path, platform: Platform) -> bool {
    let plan = Plan::new(folder.to_owned());
    // Expo creates the folders when it builds.
    let in_native =
        || NativeProject::of_files(folder).is_some_and(|native| native.platforms().iter().any(|found| found.name() == platform.name()));
    detect::kind(&plan).is_some_and(Kind::is_built) && (plan.has(platform.name()) || in_native())
}

/// Whether a React Native or Expo project has an SDK, as `release` sees it: in a monorepo, another package can name it.
pub(super) fn has_sdk_somewhere(plan: &Plan) -> bool {
    has_sdk_installed(plan) || sdk::is_installed(plan.root())
}

/// Recorded binaries with an SDK that the project no longer has, in the words of `release`.
fn removed_sdk(plan: &Plan, kind: Kind) -> Option<Concern> {
    if !kind.is_built() || has_sdk_somewhere(plan) {
        return None;
    }
    let file = Fingerprints::read(plan.root()).ok().flatten()?;
    let binaries = file.built_with(sdk::is_sdk);
    let mut names: Vec<String> =
        binaries.iter().take(MAX_NAMED).map(|(platform, version)| format!("{} {version}", platform.title())).collect();
    if binaries.len() > MAX_NAMED {
        names.push(format!("{} more", binaries.len() - MAX_NAMED));
    }
    (!binaries.is_empty()).then(|| Concern {
        text: format!("{NAME} has binaries with a CodePush SDK ({}), which the project no longer has: {}", names.join(", "), sdk::CUTS_OFF),
        next: format!("Install the SDK again before you release, for example: {}", sdk::INSTALL),
        is_fatal: true,
    })
}

/// An SDK that only `package.json` has, although other packages are installed.
fn uninstalled_sdk(plan: &Plan, kind: Kind) -> Option<Concern> {
    let has_packages = plan.root().ancestors().any(|folder| folder.join("node_modules/react-native").is_dir());
    if !kind.is_built() || !has_packages || sdk::is_installed(plan.root()) {
        return None;
    }
    let package = manifest(&plan.read("package.json").unwrap_or_default());
    let name = sdk::in_manifest(&package)?;
    Some(Concern { text: format!("{name} is in package.json, and not installed"), next: bundle::install(plan.root()), is_fatal: false })
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
        is_fatal: false,
    })
}

/// Whether the project depends on an SDK.
fn has_sdk_installed(plan: &Plan) -> bool {
    has_sdk(&plan.read("package.json").unwrap_or_default())
}

/// Whether a package depends on an SDK.
fn has_sdk(package: &str) -> bool {
    sdk::is_in_manifest(&manifest(package))
}

fn manifest(package: &str) -> Value {
    serde_json::from_str(package.trim_start_matches('\u{feff}')).unwrap_or_default()
}

fn unreachable_server(server: &str) -> Option<Concern> {
    let port = server::port_on_this_machine(server)?;
    Some(Concern {
        text: format!("{server} is this machine, and phones do not reach it by this name"),
        next: format!(
            "For tests on Android, run `adb reverse tcp:{port} tcp:{port}`; iOS simulators reach it. For everybody else, use an https address."
        ),
        is_fatal: false,
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
