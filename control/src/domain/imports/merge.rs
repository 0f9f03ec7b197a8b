//! What a repeated import makes of a release that is here: what was changed at the source since the last import is taken over, what was changed here stays.

use import::plan;
use serde::{Deserialize, Serialize};
use shared::hash::Sha256Hex;

use crate::domain::error::{Error, Result};
use crate::domain::releases::info;
use crate::domain::releases::repo::ReleaseRow;

/// What can be changed about a release. Of the description, only the hash is kept: it can be long.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Said {
    range: String,
    description: Option<String>,
    is_mandatory: bool,
    is_disabled: bool,
    rollout: Option<i64>,
}

/// A release after the merge.
#[derive(Debug)]
pub(super) struct Merged {
    /// The release.
    pub row: ReleaseRow,
    /// Whether it differs from what was here.
    pub is_changed: bool,
    /// Whether something was changed here and there: it keeps what it has here.
    pub is_conflict: bool,
    /// What to compare with the next time.
    pub told: String,
}

/// What the source says about a release.
pub(super) fn said_of(release: &plan::Release) -> Result<String> {
    serde_json::to_string(&Said::of(release)).map_err(Error::internal)
}

impl Said {
    fn of(release: &plan::Release) -> Self {
        Self {
            range: release.range.text().to_owned(),
            description: release.description.as_deref().map(hash),
            is_mandatory: release.is_mandatory,
            is_disabled: release.is_disabled,
            rollout: info::stored_rollout(release.rollout),
        }
    }

    fn here(row: &ReleaseRow) -> Self {
        Self {
            range: row.app_version.clone(),
            description: row.description.as_deref().map(hash),
            is_mandatory: row.is_mandatory,
            is_disabled: row.is_disabled,
            rollout: row.rollout,
        }
    }
}

fn hash(text: &str) -> String {
    Sha256Hex::of(text.as_bytes()).to_string()
}

/// Merges a release of the source into the one that is here. `told` is what the source said last. Without it, nothing tells who has changed what: what is
/// here stays, except that a release that the source disables is disabled.
pub(super) fn merge(row: &ReleaseRow, release: &plan::Release, told: Option<&str>) -> Result<Merged> {
    let (here, there) = (Said::here(row), Said::of(release));
    let before: Option<Said> = told.map(serde_json::from_str).transpose().map_err(Error::internal)?;
    let (mut new, mut is_conflict) = (row.clone(), false);
    // Whether to take a member over: it differs, and was not changed here.
    let mut takes = |differs: bool, before: Option<(bool, bool)>| {
        let (ours_stayed, theirs_stayed) = before.unwrap_or((false, false));
        is_conflict |= differs && !ours_stayed && !theirs_stayed;
        differs && ours_stayed
    };
    let of = |kept: fn(&Said, &Said) -> bool| before.as_ref().map(|before| (kept(before, &here), kept(before, &there)));
    if takes(here.range != there.range, of(|one, other| one.range == other.range)) {
        new.app_version.clone_from(&there.range);
    }
    if takes(here.description != there.description, of(|one, other| one.description == other.description)) {
        new.description.clone_from(&release.description);
    }
    if takes(here.is_mandatory != there.is_mandatory, of(|one, other| one.is_mandatory == other.is_mandatory)) {
        new.is_mandatory = there.is_mandatory;
    }
    let is_newly_disabled = there.is_disabled && before.as_ref().is_none_or(|before| !before.is_disabled);
    if is_newly_disabled || takes(here.is_disabled != there.is_disabled, of(|one, other| one.is_disabled == other.is_disabled)) {
        new.is_disabled = there.is_disabled;
    }
    if takes(here.rollout != there.rollout, of(|one, other| one.rollout == other.rollout)) {
        new.rollout = there.rollout;
    }
    let is_changed = Said::here(&new) != here;
    Ok(Merged { row: new, is_changed, is_conflict, told: said_of(release)? })
}
