//! Why there is no diff between two packages, and why a release has none at all.

use std::fmt;

use shared::diff::UnsafeName;
use shared::keys::Label;
use shared::text::{brief_path, isolate};

use crate::stored_text;

/// Why there is no diff between two packages. Devices download the whole bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Both have the same files.
    SameFiles,
    /// The earlier package is a single file.
    SingleFile,
    /// It would be larger than 80 % of the bundle.
    TooLarge,
    /// Names of files: on a device's disk, the diff would not give the release's files.
    UnsafeNames,
    /// Devices compute another hash for the release's files than the release has, so they would refuse every diff.
    OtherHash,
    /// The stored bundle of the release is missing or damaged.
    TargetDamaged,
    /// The stored bundle of the earlier release is missing or damaged.
    BaseDamaged,
    /// A package has too many files, or too long names.
    TooManyFiles,
    /// The diff was made, but applying it did not give the release's files.
    NotApplicable,
    /// The owner's diffs have as many bytes as they may.
    NoRoom,
    /// The server's disk is nearly full.
    DiskFull,
    /// The process ended again and again while the diff was being made, or it took too long.
    Unfinished,
}

stored_text!(
    Problem,
    "must be the name of a problem of diffs",
    SameFiles = "same_files",
    SingleFile = "single_file",
    TooLarge = "too_large",
    UnsafeNames = "unsafe_names",
    OtherHash = "other_hash",
    TargetDamaged = "target_damaged",
    BaseDamaged = "base_damaged",
    TooManyFiles = "too_many_files",
    NotApplicable = "not_applicable",
    NoRoom = "no_room",
    DiskFull = "disk_full",
    Unfinished = "unfinished"
);

impl Problem {
    /// Whether something has to be repaired: not for a diff that would be of no use.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::TargetDamaged | Self::BaseDamaged | Self::NotApplicable | Self::Unfinished)
    }

    /// Whether no other diff to the same release can be made either.
    pub fn is_of_target(self) -> bool {
        matches!(self, Self::TargetDamaged | Self::OtherHash)
    }

    /// After how long the same is tried again, in milliseconds: it may have been repaired, or be handled by a newer release of Updraft. `None`: not again.
    pub fn retried_after(self) -> Option<i64> {
        const HOUR: i64 = 60 * 60 * 1_000;
        const MINUTE: i64 = 60 * 1_000;
        match self {
            Self::TargetDamaged | Self::BaseDamaged | Self::TooManyFiles | Self::NoRoom => Some(6 * HOUR),
            // An upload can take the room for a moment only.
            Self::DiskFull => Some(20 * MINUTE),
            Self::Unfinished => Some(7 * 24 * HOUR),
            _ => None,
        }
    }
}

/// For people.
impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::SameFiles => "both have the same files",
            Self::SingleFile => "the earlier package is a single file",
            Self::TooLarge => "the diff would be larger than 80 % of the bundle",
            Self::UnsafeNames => "some devices could not apply a diff, because of the name of a file in one of the packages",
            Self::OtherHash => "devices compute another hash for these files than the release has",
            Self::TargetDamaged => "the release's stored bundle is missing or damaged",
            Self::BaseDamaged => "the earlier release's stored bundle is missing or damaged",
            Self::TooManyFiles => "a package has too many files, or too long names",
            Self::NotApplicable => "applying the diff did not give the release's files",
            Self::NoRoom => "there is no room for it: the account's diffs have as many bytes as they may",
            Self::DiskFull => "the server's disk is nearly full",
            Self::Unfinished => "the server stopped again and again while it made the diff, or it took too long",
        })
    }
}

/// A file or folder whose name prevents a diff. Its name is the customer's own: shown to them, never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct UnsafeFile(UnsafeName);

impl UnsafeFile {
    /// The name that was found.
    pub fn new(found: UnsafeName) -> Self {
        Self(found)
    }

    /// Its path, bounded, with what cannot be seen written out.
    pub fn path(&self) -> String {
        brief_path(&self.0.path)
    }
}

impl fmt::Debug for UnsafeFile {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("UnsafeFile")
    }
}

/// For people: goes on after what the problem is.
impl fmt::Display for UnsafeFile {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.0.is_in_target { "this release" } else { "the earlier one" };
        write!(to, "in {of}, {} {}", isolate(&self.path()), self.0.fault)
    }
}

/// Why no diffs are made for a release. Devices download the whole bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its package is a single file.
    SingleFile,
    /// There is no earlier release in the deployment.
    NoEarlierRelease,
    /// It is disabled, so no device can be offered it.
    Disabled,
    /// A newer release replaced it, so no device can be offered it: the newest such one.
    Replaced(Option<Label>),
    /// No other release for the same app versions has another package.
    NoOtherPackage,
}

impl Reason {
    /// A sentence for people, about the release with this label.
    pub fn sentence(self, label: Label) -> String {
        match self {
            Self::SingleFile => format!("{label} is a single file, which has no diffs: devices download all of it."),
            Self::NoEarlierRelease => {
                format!("There is no release before {label} to make a diff from: devices download the whole bundle.")
            }
            Self::Disabled => format!("{label} is disabled: no device can be offered it, so no diffs are made for it."),
            Self::Replaced(by) => {
                let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
                format!("{label} was replaced{by}: no device can be offered it, so no diffs are made for it.")
            }
            Self::NoOtherPackage => format!("No earlier release for the same app versions has other contents, so {label} needs no diffs."),
        }
    }
}
