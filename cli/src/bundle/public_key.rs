//! The public key in the native project: an app that is built with one installs only packages that are signed with its private key.
//!
//! Only for a warning. What cannot be read, or comes from a build setting, counts as no key. So does an empty one, but for an `Info.plist`: the SDK verifies
//! releases there if the setting exists at all.

use super::project::Project;
use super::settings::{self, Setting};
use super::target_version::NativeOptions;
use super::{Platform, expo};

/// The name of the setting, in every file.
const NAME: &str = "CodePushPublicKey";

/// A public key and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey {
    /// The key as it is written: PEM, often on one line.
    pub(crate) text: String,
    /// The file, for people.
    pub(crate) source: String,
}

/// The public key that a platform's builds have. The native project counts more than the configuration of Expo, which it is made from.
pub(super) fn of_project(project: &Project, expo: Option<&expo::Config>, platform: Platform, options: &NativeOptions) -> Option<PublicKey> {
    let is_ios = platform == Platform::Ios;
    let native = settings::of_native(project, platform, options, NAME).into_iter().find_map(|found| certain(found, is_ios));
    native.or_else(|| certain(settings::of_expo(expo?, platform, NAME)?, false))
}

/// A key that is written out, in no form that only Android's tools undo. `counts_empty` says whether the SDK takes an empty text for a key.
fn certain(Setting { text, source }: Setting, counts_empty: bool) -> Option<PublicKey> {
    let is_certain = (counts_empty || !text.trim().is_empty()) && !text.contains(['$', '@', '<', '"']);
    is_certain.then_some(PublicKey { text, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_setting_says_is_unknown() {
        let found = |text: &str, counts_empty: bool| certain(Setting { text: text.to_owned(), source: "x".to_owned() }, counts_empty);
        let certain = |text: &str| found(text, false);
        for text in ["$(CODEPUSH_PUBLIC_KEY)", "${KEY}", "@string/key", " ", "<![CDATA[-----BEGIN]]>", "\"-----BEGIN\""] {
            assert_eq!(certain(text), None, "{text}");
        }
        assert!(certain("-----BEGIN").is_some());
        assert!(found(" ", true).is_some() && found("$(KEY)", true).is_none());
    }
}
