//! Versions and ranges with the semantics of node's `semver` package, which are part of the protocol.
//!
//! The `semver` crate supplies only the version type: its requirements have Cargo's semantics, and its ordering includes build metadata.
//! `app_version` is what a device sends, `range` what a release targets, `gtr` whether a version is above a range.

mod app_version;
mod comparator;
mod grammar;
mod gtr;
mod order;
mod range;
mod spans;

pub use app_version::{AppVersion, parse_strict};
pub use gtr::gtr;
pub use range::Range;
pub use semver::{Prerelease, Version};
pub use spans::{Numbers, Span};

/// The highest number in a version: JavaScript's largest exact integer, above which node rejects.
const MAX_NUMBER: u64 = (1 << 53) - 1;
