//! Whether the binaries that a release targets have the native code that the update can use.

use std::collections::BTreeSet;

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

    /// The comparison with the binaries of the app versions in the range.
    pub(super) fn compare(&self, platform: Platform, range: &str) -> Comparison {
        let is_named = |name: &str| self.project.names(name);
        let is_kept = |name: &str| self.project.keeps_sdk(name);
        compare(&self.file, &self.project.fingerprint(platform), platform, range, &is_named, &is_kept).unwrap_or_else(|| {
            let what = format!("{NAME} has no {} app version that {range} targets, so native code was not compared", platform.title());
            Comparison { warnings: vec![printable(&what)], ..Comparison::default() }
        })
    }

    /// A warning of packages that `package.json` names, and that are not installed.
    pub(super) fn missing(&self, names: &BTreeSet<String>) -> Option<String> {
        missing(names, &install(self.project.root()))
    }
}

/// How the project differs from the binaries of a platform.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// A warning for each app version whose binaries differ, or that there is nothing to compare with.
    pub(super) warnings: Vec<String>,
    /// The packages of the binaries that `package.json` names, and that are not installed: nothing is known about their versions.
    pub(super) missing: BTreeSet<String>,
    /// Whether binaries have the SDK, and the project no longer has it.
    pub(super) cuts_off: bool,
}

fn missing(names: &BTreeSet<String>, install: &str) -> Option<String> {
    let (verb, them) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    let list = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let what = format!("{list} {verb} in package.json, and not installed, so the binaries were not compared with {them}. {install}");
    (!names.is_empty()).then(|| printable(&what))
}

/// The comparison; `None` if no recorded binary gets the update. The project is asked whether its `package.json` names a package, and whether it keeps one
/// that is not named.
fn compare(
    file: &Fingerprints,
    now: &Fingerprint,
    platform: Platform,
    range: &str,
    is_named: &dyn Fn(&str) -> bool,
    is_kept: &dyn Fn(&str) -> bool,
) -> Option<Comparison> {
    let range = Range::parse(range).ok()?;
    let mut targeted = file.targeted(platform, &range).peekable();
    targeted.peek()?;
    let mut result = Comparison::default();
    for (version, built) in targeted {
        let is_missing = |difference: &Difference| difference.change == Change::Removed && is_named(&difference.name);
        let mut all = differences(built, now);
        all.retain(|difference| difference.change == Change::Changed || !is_kept(&difference.name));
        let (missing, found): (Vec<Difference>, Vec<Difference>) = all.into_iter().partition(is_missing);
        result.missing.extend(missing.into_iter().map(|difference| difference.name));
        let Some(built) = summary(&found) else { continue };
        result.cuts_off |= is_sdk_removed(&found);
        let what = format!("the {} binaries of {version} were built {built}: {}", platform.title(), consequence(&found));
        result.warnings.push(printable(&what));
    }
    Some(result)
}

fn is_sdk_removed(found: &[Difference]) -> bool {
    found.iter().any(|difference| difference.change == Change::Removed && sdk::is_sdk(&difference.name))
}

/// What it means for a release.
fn consequence(found: &[Difference]) -> String {
    if is_sdk_removed(found) {
        format!("{}. Install the SDK again before you release", sdk::CUTS_OFF)
    } else if found.iter().all(|difference| difference.change == Change::Removed) {
        "an update that no longer uses it runs there".to_owned()
    } else {
        "an update that uses what differs can crash there. Build a new binary, or give a narrower --target-version".to_owned()
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
        let warned = |range: &str| compare(&file, &now, Platform::Ios, range, &none, &none).map(|found| found.warnings);
        let first = "the iOS binaries of 1.2.3 were built with react-native-svg 15.1.0, now 15.2.0; without react-native-camera: an update that uses \
                     what differs can crash there. Build a new binary, or give a narrower --target-version";
        let last = "the iOS binaries of 1.4.0 were built with react-native-old 1.0.0, which the project no longer has: an update that no longer \
                    uses it runs there";
        assert_eq!(warned("^1.0.0"), Some(vec![first.to_owned(), last.to_owned()]));
        assert_eq!(warned("1.2.3"), Some(vec![first.to_owned()]));
        assert_eq!(warned("~1.3"), Some(vec![]));
        assert_eq!(warned("2.x"), None);
        assert_eq!(compare(&file, &now, Platform::Android, "*", &none, &none), None);
    }

    #[test]
    fn a_missing_sdk_is_never_said_to_be_harmless() {
        let mut file = Fingerprints::default();
        file.insert(
            Platform::Ios,
            BinaryVersion::parse("1.2.3").unwrap(),
            fingerprint(&[("@code-push-next/react-native-code-push", "10.4.2")]),
        );
        let compared =
            |is_named: bool| compare(&file, &fingerprint(&[]), Platform::Ios, "1.2.3", &|_: &str| is_named, &|_: &str| false).unwrap();
        let removed = compared(false);
        assert!(removed.cuts_off && removed.missing.is_empty());
        let warning = removed.warnings.concat();
        assert!(warning.ends_with("takes no further updates. Install the SDK again before you release"), "{warning}");
        // What is only not installed is not said to be removed.
        let named = compared(true);
        assert_eq!((named.warnings, named.cuts_off), (Vec::new(), false));
        let warning = missing(&named.missing, "Run `npm ci` in the project.").unwrap();
        let expected = "@code-push-next/react-native-code-push is in package.json, and not installed, so the binaries were not compared with \
                        it. Run `npm ci` in the project.";
        assert_eq!(warning, expected);
        assert_eq!(missing(&BTreeSet::new(), ""), None);
    }
}
