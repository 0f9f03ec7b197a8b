//! What an upload, a promotion or a change says of a release.

use std::str::FromStr;

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

/// What an upload says of itself.
#[derive(Clone, Debug)]
pub struct ReleaseInfo {
    /// The binary versions it is for.
    pub app_version: Range,
    /// Release notes.
    pub description: Option<Description>,
    /// Whether clients must take it.
    pub is_mandatory: bool,
    /// Whether it is offered to nobody.
    pub is_disabled: bool,
    /// To how many it is offered.
    pub rollout: Percent,
}

/// The same with each member absent or not: what a change changes, and what a promotion does not inherit.
#[derive(Clone, Debug, Default)]
pub struct GivenInfo {
    /// The binary versions it is for.
    pub app_version: Option<Range>,
    /// Release notes.
    pub description: Option<Description>,
    /// Whether clients must take it.
    pub is_mandatory: Option<bool>,
    /// Whether it is offered to nobody.
    pub is_disabled: Option<bool>,
    /// To how many it is offered.
    pub rollout: Option<Percent>,
    /// The hash of its contents, as the sender has it.
    pub package_hash: Option<PackageHash>,
}

/// A rollout as it is stored: everybody is none.
pub fn stored_rollout(rollout: Percent) -> Option<i64> {
    (rollout != Percent::ALL).then(|| i64::from(rollout.get()))
}
