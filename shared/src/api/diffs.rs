//! The diffs of a release.

use serde::{Deserialize, Serialize};

use crate::hash::PackageHash;
use crate::keys::Label;
use crate::time::UnixMillis;

/// What became of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "What became of a diff."))]
#[serde(rename_all = "snake_case")]
pub enum DiffStatus {
    /// Devices with the source are offered it.
    Ready,
    /// It is not made yet. Until then, devices with the source download the whole bundle.
    Pending,
    /// There is none. Devices with the source download the whole bundle.
    None,
}

/// Why there is no diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "Why there is no diff."))]
#[serde(rename_all = "snake_case")]
pub enum DiffProblem {
    /// Both packages have the same files.
    SameFiles,
    /// The source is a single file.
    SingleFile,
    /// It would be larger than 80 % of the bundle.
    TooLarge,
    /// Names of files: on a device's disk, it would not give the release's files.
    UnsafeNames,
    /// Devices compute another hash for the release's files than the release has.
    OtherHash,
    /// The release's stored bundle is missing or damaged.
    TargetDamaged,
    /// The source's stored bundle is missing or damaged.
    BaseDamaged,
    /// A package has too many files, or too long names.
    TooManyFiles,
    /// Applying it did not give the release's files.
    NotApplicable,
    /// The account's diffs have as many bytes as they may.
    NoRoom,
    /// The server's disk is nearly full.
    DiskFull,
    /// The server stopped again and again while it made the diff.
    Unfinished,
}

/// Why no diffs are made for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "Why no diffs are made for a release."))]
#[serde(rename_all = "snake_case")]
pub enum NoDiffsReason {
    /// The release's package is a single file.
    SingleFile,
    /// There is no earlier release in the deployment.
    NoEarlierRelease,
    /// The release is disabled: no device can be offered it.
    Disabled,
    /// A newer release for the same app versions replaced it: no device can be offered it.
    Replaced,
    /// No other release for the same app versions has another package.
    NoOtherPackage,
}

/// A package that devices may have, and what they download for the release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SourceDiff {
    /// The package hash of what the devices have.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
    pub source_hash: PackageHash,
    /// The labels of the deployment's releases with this package, newest first. Empty if the history has none any more.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub labels: Vec<Label>,
    /// What became of the diff.
    pub status: DiffStatus,
    /// The diff's size in bytes; null unless it is `ready`.
    pub size: Option<i64>,
    /// Why there is none; null unless the status is `none`.
    pub problem: Option<DiffProblem>,
    /// The problem in words for people. Their wording can change.
    pub message: Option<String>,
    /// With `unsafe_names`, the first file or folder with such a name, if it is known: at most 100 characters of its path, and what cannot be seen is written
    /// out, as in `\u{200b}`. Otherwise null, also if another package of the app is the reason.
    pub file: Option<String>,
    /// When the problem was found. Null if there is none, or if it is known from the release alone.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub found_time: Option<UnixMillis>,
    /// When the diff is tried again: it may work after a repair, or when there is room. Null if it is not tried again.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub retry_time: Option<UnixMillis>,
    /// Whether something has to be repaired. Other problems only mean that a diff would be of no use.
    pub is_fault: bool,
    /// What to do about a fault, in words for people; null if there is none. Their wording can change.
    pub advice: Option<String>,
}

/// What devices with an earlier package download for a release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReleaseDiffs {
    /// The size of the whole bundle in bytes: what all other devices download.
    pub full_size: i64,
    /// Whether devices can be offered the release. Otherwise no diffs are made for it, and those it has are deleted after a week.
    pub is_offered: bool,
    /// Whether the release's package is a single file, which has no diffs.
    pub is_single_file: bool,
    /// Whether this service makes diffs (the setting `UPDRAFT_DIFFS`). Otherwise, pending ones are not made.
    pub is_making: bool,
    /// Why no diffs are made for the release; null if they are.
    pub reason: Option<NoDiffsReason>,
    /// The reason in words for people. Their wording can change.
    pub message: Option<String>,
    /// The packages that the release has diffs from, or should have: those of the newest releases first.
    pub sources: Vec<SourceDiff>,
}

/// The diffs of a release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiffsAnswer {
    /// The diffs.
    pub diffs: ReleaseDiffs,
}
