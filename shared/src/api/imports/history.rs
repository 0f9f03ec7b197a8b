//! Packages and histories of another server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::list;
use crate::Invalid;
use crate::api::body::body;
use crate::api::field::FromJson;
use crate::api::metrics::Counts;
use crate::api::releases::ReleaseMethod;
use crate::hash::{PackageHash, Sha256Hex};
use crate::keys::Label;
use crate::time::UnixMillis;

/// The most releases that one history can be imported with.
pub const MAX_IMPORT_RELEASES: usize = 1_000;

/// A package that waits for its history.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedPackageAnswer {
    /// The package.
    pub package: ImportedPackage,
}

/// A package that waits for its history.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedPackage {
    /// The hash of its bytes, by which a history refers to it.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
    pub sha256: Sha256Hex,
    /// The hash of its contents, by which devices know it.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
    pub package_hash: PackageHash,
    /// Its size in bytes.
    pub size: u64,
    /// Until when it is kept without a history, as Unix time in milliseconds.
    pub expires: UnixMillis,
}

body! {
    /// The history of a deployment of another server.
    ImportedHistory example {
        "releases": [{
            "label": "v12",
            "appVersion": "1.0.0",
            "package": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
            "isMandatory": false,
            "releaseMethod": "Upload",
            "releasedBy": "grace@example.com",
            "uploadTime": 1_700_000_000_000_i64,
        }],
        "counts": { "v12": { "active": 20, "downloaded": 31, "installed": 30, "failed": 1 } },
    } {
        /// The releases, oldest first, with rising labels; at most 1,000.
        required releases: Vec<ImportedRelease> [max_items = 1000],
        /// What the other server has counted, by release label or binary version. It is kept as a starting level, apart from what is counted here.
        /// Without it, what an earlier import sent stays.
        optional counts: BTreeMap<String, Counts>,
    }
}

impl FromJson for Vec<ImportedRelease> {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        list(value, "label and appVersion, a package if it is new, and members of the types in the API reference")
    }
}

impl FromJson for BTreeMap<String, Counts> {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        serde_json::from_value(value)
            .map_err(|_| Invalid::from("must be an object of objects with active, downloaded, installed and failed"))
    }
}

/// A release of another server.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedRelease {
    /// Its label.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub label: Label,
    /// The binary versions that it targets: a version or a range.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 255))]
    pub app_version: String,
    /// The hash of its package's bytes. A release that is here already needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^[0-9a-f]{64}$"))]
    pub package: Option<Sha256Hex>,
    /// The hash of its contents, as devices that run it report it. Default: the hash of the package's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^[0-9a-f]{64}$"))]
    pub package_hash: Option<PackageHash>,
    /// Release notes. The length is counted in UTF-16 code units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 10000))]
    pub description: Option<String>,
    /// Whether it is disabled.
    #[serde(default)]
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    #[serde(default)]
    pub is_mandatory: bool,
    /// The percentage of devices that get it. Default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i32>, minimum = 1, maximum = 100))]
    pub rollout: Option<u64>,
    /// How it was created. Default: Upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_method: Option<ReleaseMethod>,
    /// The label of the release that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub original_label: Option<Label>,
    /// The deployment that it was promoted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// Who released it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_by: Option<String>,
    /// When, as Unix time in milliseconds. Default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub upload_time: Option<i64>,
}

/// What became of a history.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedHistoryAnswer {
    /// What became of it.
    pub result: ImportResult,
    /// How many releases were not here before.
    pub added: usize,
    /// How many releases were changed on the other server since.
    pub updated: usize,
    /// Releases that were changed here since the last import, and keep that although the other server says something else now.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub kept_releases: Vec<Label>,
    /// Releases that have another package on the other server than here.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub differing_releases: Vec<Label>,
    /// The packages to send before the history can be imported.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub missing_packages: Vec<Sha256Hex>,
}

/// What became of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "What became of a history."))]
#[serde(rename_all = "camelCase")]
pub enum ImportResult {
    /// It is here.
    Imported,
    /// Nothing was changed: packages are missing.
    PackagesMissing,
    /// Nothing was changed: somebody has released here, or cleared the history.
    HasOwnReleases,
    /// Nothing was changed: releases have other packages on the other server than here.
    OtherPackages,
}
