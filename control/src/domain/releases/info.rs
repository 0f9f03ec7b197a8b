//! Release metadata in an upload, a promotion or an update.

use std::str::FromStr;

use serde::Serialize;
use shared::Invalid;
use shared::hash::PackageHash;
use shared::rollout::Percent;
use shared::text::check_prose;
use shared::version::Range;

/// The longest description, in UTF-16 code units.
const MAX_DESCRIPTION: usize = 10_000;

/// Release notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description(String);

impl Description {
    /// No text.
    pub const EMPTY: Self = Self(String::new());

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Description {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.encode_utf16().count() > MAX_DESCRIPTION {
            return Err(Invalid::from(format!("must be at most {MAX_DESCRIPTION} UTF-16 code units")));
        }
        check_prose(text).map(|()| Self(text.to_owned()))
    }
}

/// The metadata of an upload.
#[derive(Clone, Debug)]
pub struct ReleaseInfo {
    /// The app binary versions that it targets.
    pub app_version: Range,
    /// Release notes.
    pub description: Option<Description>,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// Whether it is disabled: offered to no device.
    pub is_disabled: bool,
    /// The share of devices that it is offered to.
    pub rollout: Percent,
}

impl ReleaseInfo {
    /// Every member, to tell requests apart.
    pub(super) fn parts(&self) -> impl Serialize {
        (self.app_version.text(), self.description.as_ref().map(Description::as_str), self.is_mandatory, self.is_disabled, self.rollout)
    }
}

/// The same with every member optional: what an update changes, and what a promotion overrides.
#[derive(Clone, Debug, Default)]
pub struct ReleaseInfoInput {
    /// The app binary versions that it targets.
    pub app_version: Option<Range>,
    /// Release notes; an empty text: none, and none to be inherited.
    pub description: Option<Description>,
    /// Whether the update is mandatory.
    pub is_mandatory: Option<bool>,
    /// Whether it is disabled: offered to no device.
    pub is_disabled: Option<bool>,
    /// The share of devices that it is offered to.
    pub rollout: Option<Percent>,
    /// The hash of its contents, according to the sender.
    pub package_hash: Option<PackageHash>,
}

impl ReleaseInfoInput {
    /// Every member, to tell requests apart.
    pub(super) fn parts(&self) -> impl Serialize {
        let (range, description) = (self.app_version.as_ref().map(Range::text), self.description.as_ref().map(Description::as_str));
        (range, description, self.is_mandatory, self.is_disabled, self.rollout, &self.package_hash)
    }
}

/// A rollout as stored: 100% is `None`.
pub fn stored_rollout(rollout: Percent) -> Option<i64> {
    (rollout != Percent::ALL).then(|| i64::from(rollout.get()))
}
