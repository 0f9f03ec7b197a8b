//! Whether the binaries that a release targets have the native code that the update can use.

use shared::version::Range;

use crate::bundle::fingerprint::{Change, Difference, Fingerprint, Fingerprints, NAME, NativeProject, differences, summary};
use crate::bundle::{Builder, Platform, install, sdk};
use crate::output::table::printable;

/// The recorded binaries, and the project to compare them with.
#[derive(Debug)]
pub(super) struct Binaries {
    file: Fingerprints,
    project: NativeProject,
}

impl Binaries {
    /// Reads what is recorded; `None` if nothing is. Errors: a warning. No release fails because of the file.
    pub(super) async fn read(builder: &Builder) -> Result<Option<Self>, String> {
        match Fingerprints::read(builder.root()) {
            Ok(Some(file)) => Ok(Some(Self { file, project: builder.native_project().await })),
            Ok(None) => Ok(None),
            Err(error) => Err(printable(&format!("{}: the release is not compared with the binaries. {}", error.what, error.next))),
        }
    }

    /// A warning for each app version in the range whose binaries differ, or that there is nothing to compare with.
    pub(super) fn warnings(&self, platform: Platform, range: &str) -> Vec<String> {
        let is_named = |name: &str| self.project.names(name);
        let install = install(self.project.root());
        warnings(&self.file, &self.project.fingerprint(platform), platform, range, &is_named, &install).unwrap_or_else(|| {
            let what = format!("{NAME} has no {} app version that {range} targets, so native code was not compared", platform.title());
            vec![printable(&what)]
        })
    }
}

/// The warnings; `None` if no recorded binary gets the update. The project is asked whether its `package.json` names a package, and says how to install those.
fn warnings(
    file: &Fingerprints,
    now: &Fingerprint,
    platform: Platform,
    range: &str,
    is_named: &dyn Fn(&str) -> bool,
    install: &str,
) -> Option<Vec<String>> {
    let range = Range::parse(range).ok()?;
    let mut targeted = file.targeted(platform, &range).peekable();
    targeted.peek()?;
    let warning = |(version, built): (_, &Fingerprint)| {
        let found = differences(built, now);
        let built = summary(&found)?;
        let missing = found.iter().filter(|difference| difference.change == Change::Removed && is_named(&difference.name));
        let missing: Vec<&str> = missing.map(|difference| difference.name.as_str()).collect();
        let consequence = if missing.is_empty() {
            consequence(&found).to_owned()
        } else {
            let verb = if missing.len() == 1 { "is" } else { "are" };
            format!("{} {verb} in package.json, and not installed. {install}", missing.join(", "))
        };
        Some(printable(&format!("the {} binaries of {version} were built {built}: {consequence}", platform.title())))
    };
    Some(targeted.filter_map(warning).collect())
}

/// What it means for a release.
fn consequence(found: &[Difference]) -> &'static str {
    if found.iter().any(|difference| difference.change == Change::Removed && sdk::is_sdk(&difference.name)) {
        "a device that gets an update without the SDK takes no further updates. Install the SDK again before you release"
    } else if found.iter().all(|difference| difference.change == Change::Removed) {
        "an update that no longer uses it runs there"
    } else {
        "an update that uses what differs can crash there. Build a new binary, or give a narrower --target-version"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::fingerprint::{BinaryVersion, Engine};

    fn fingerprint(modules: &[(&str, &str)]) -> Fingerprint {
        let modules = modules.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect();
        Fingerprint { engine: Engine::Hermes, modules, react_native: "0.87.1".to_owned() }
    }

    #[test]
    fn each_targeted_version_that_differs_is_warned_about() {
        let mut file = Fingerprints::default();
        let now = fingerprint(&[("react-native-camera", "4.0.0"), ("react-native-svg", "15.2.0")]);
        for (version, modules) in [
            ("1.2.3", &[("react-native-svg", "15.1.0")][..]),
            ("1.3.0", &[("react-native-camera", "4.0.0"), ("react-native-svg", "15.2.0")]),
            ("1.4.0", &[("react-native-camera", "4.0.0"), ("react-native-old", "1.0.0"), ("react-native-svg", "15.2.0")]),
        ] {
            file.insert(Platform::Ios, BinaryVersion::parse(version).unwrap(), fingerprint(modules));
        }
        let none = |_: &str| false;
        let warned = |range: &str| warnings(&file, &now, Platform::Ios, range, &none, "");
        let first = "the iOS binaries of 1.2.3 were built with react-native-svg 15.1.0, now 15.2.0; without react-native-camera: an update that uses \
                     what differs can crash there. Build a new binary, or give a narrower --target-version";
        let last = "the iOS binaries of 1.4.0 were built with react-native-old 1.0.0, which the project no longer has: an update that no longer \
                    uses it runs there";
        assert_eq!(warned("^1.0.0"), Some(vec![first.to_owned(), last.to_owned()]));
        assert_eq!(warned("1.2.3"), Some(vec![first.to_owned()]));
        assert_eq!(warned("~1.3"), Some(vec![]));
        assert_eq!(warned("2.x"), None);
        assert_eq!(warnings(&file, &now, Platform::Android, "*", &none, ""), None);
    }

    #[test]
    fn a_missing_sdk_is_never_said_to_be_harmless() {
        let mut file = Fingerprints::default();
        file.insert(
            Platform::Ios,
            BinaryVersion::parse("1.2.3").unwrap(),
            fingerprint(&[("@code-push-next/react-native-code-push", "10.4.2")]),
        );
        let warned = |is_named: bool| {
            let found = warnings(&file, &fingerprint(&[]), Platform::Ios, "1.2.3", &|_: &str| is_named, "Run `npm ci` in the project.");
            found.unwrap().concat()
        };
        let (removed, missing) = (warned(false), warned(true));
        assert!(removed.ends_with("takes no further updates. Install the SDK again before you release"), "{removed}");
        assert!(
            missing.ends_with("react-native-code-push is in package.json, and not installed. Run `npm ci` in the project."),
            "{missing}"
        );
    }
}
