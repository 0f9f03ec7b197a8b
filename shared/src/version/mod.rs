//! Versions and ranges with the meaning that node's `semver` package gives them, because it is part of the protocol.
//!
//! The `semver` crate supplies the version type only: its requirements have Cargo's meaning, and its ordering counts build metadata.
//! `app_version` is what a client sends, `range` what a release targets, `gtr` whether a version lies above a range.

mod app_version;
mod comparator;
mod grammar;
mod gtr;
mod order;
mod range;

pub use app_version::{AppVersion, parse_strict};
pub use gtr::gtr;
pub use range::Range;

/// The greatest number in a version: JavaScript counts exactly up to here, and node refuses more.
const MAX_NUMBER: u64 = (1 << 53) - 1;
