//! Releases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::body;
use super::field::FromJson;
use crate::Invalid;
use crate::hash::PackageHash;
use crate::keys::Label;
use crate::rollout::Percent;
use crate::time::UnixMillis;

/// How a release was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "How a release was created."))]
pub enum ReleaseMethod {
    /// From an uploaded bundle.
    Upload,
    /// From a release of another deployment.
    Promote,
    /// From an earlier release of the same deployment.
    Rollback,
}

impl FromJson for Percent {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        let number = i64::from_json(value).ok().and_then(|number| u64::try_from(number).ok());
        number.and_then(Self::new).ok_or(Invalid::from("must be a whole number from 1 to 100"))
    }
}

body! {
    /// `packageInfo` of an upload.
    NewRelease example { "appVersion": "^1.0.0", "description": "what is new" } {
        /// The binary versions that it targets: a version or an npm-style range.
        required app_version: String [min_length = 1, max_length = 255],
        /// Release notes. The length is counted in UTF-16 code units.
        optional description: String [max_length = 10000],
        /// Whether the update is mandatory. Default: false.
        optional is_mandatory: bool,
        /// Whether the release is disabled: no device gets it. Default: false.
        optional is_disabled: bool,
        /// The percentage of devices that get the release. Default: 100.
        optional rollout: Percent as i32 [minimum = 1, maximum = 100],
    }
}

body! {
    /// `packageInfo` of an update or a promotion. In an update, absent members and empty texts stay the same. In a promotion, they are inherited, except
    /// `rollout`, which is 100 by default.
    ReleaseChanges {
        /// The binary versions that it targets: a version or an npm-style range.
        optional app_version: String [max_length = 255],
        /// Release notes. The length is counted in UTF-16 code units. Cannot be changed after a promotion.
        optional description: String [max_length = 10000],
        /// Whether the update is mandatory.
        optional is_mandatory: bool,
        /// Whether the release is disabled: no device gets it.
        optional is_disabled: bool,
        /// The percentage of devices that get the release. An update must not lower it, and can change it only while the release is the newest and not
        /// fully rolled out.
        optional rollout: Percent as i32 [minimum = 1, maximum = 100],
        /// The hash of the contents. Refused if it does not match them.
        optional package_hash: String [pattern = "^[0-9a-f]{64}$"],
        /// Members to clear: only `description`. An update empties it; a promotion does not inherit it.
        optional clear: Vec<String>,
    }
}

impl FromJson for ReleaseChanges {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        let members = Map::from_json(value)?;
        serde_json::from_value(Value::Object(members)).map_err(|_| Invalid::from("must be an object"))
    }
}

body! {
    /// The changes to a release.
    ReleasePatch example { "packageInfo": { "rollout": 100 } } {
        /// The label of the release. Default: the newest.
        optional label: String [pattern = "^v[1-9][0-9]{0,8}$"],
        /// The new metadata.
        optional package_info: ReleaseChanges,
    }
}

body! {
    /// The promotion to create.
    NewPromotion example { "destination": "Production", "packageInfo": { "rollout": 20 } } {
        /// The name of the destination deployment.
        required destination: String [min_length = 1, max_length = 255],
        /// The label of the release. Default: the newest that is not disabled.
        optional label: String [pattern = "^v[1-9][0-9]{0,8}$"],
        /// Metadata that overrides that of the promoted release.
        optional package_info: ReleaseChanges,
    }
}

body! {
    /// The rollback to create.
    NewRollback example { "targetRelease": "v1" } {
        /// The label of the release to roll back to. Default: the one before the newest.
        optional target_release: String [pattern = "^v[1-9][0-9]{0,8}$"],
    }
}

/// A release. SDKs call it a package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The binary versions that it targets: a version or a range.
    pub app_version: String,
    /// A signed URL of the bundle.
    pub blob_url: String,
    /// Release notes; null if there are none.
    pub description: Option<String>,
    /// Diffs by the package hash of their base.
    pub diff_package_map: BTreeMap<String, Diff>,
    /// Whether it is disabled: no device gets it.
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// Its label.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub label: Label,
    /// A signed URL of the file manifest; null for a single-file package.
    pub manifest_blob_url: Option<String>,
    /// The deployment it was promoted from; absent if it was not promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// The label of the release it was copied from; absent for an upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub original_label: Option<Label>,
    /// The hash of its contents.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
    pub package_hash: PackageHash,
    /// The email address of the account that released it.
    pub released_by: String,
    /// How it was created.
    pub release_method: ReleaseMethod,
    /// The percentage of a staged rollout, 1-99; null if fully rolled out.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 99))]
    pub rollout: Option<i64>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// When it was created, as Unix time in milliseconds.
    pub upload_time: UnixMillis,
}

/// A diff to a release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Diff {
    /// A signed URL of the diff.
    pub url: String,
    /// Its size in bytes.
    pub size: i64,
}

/// A release in a list: without signed URLs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListedRelease {
    /// The binary versions that it targets: a version or a range.
    pub app_version: String,
    /// Release notes; null if there are none.
    pub description: Option<String>,
    /// Whether it is disabled: no device gets it.
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// Its label.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub label: Label,
    /// The deployment it was promoted from; absent if it was not promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// The label of the release it was copied from; absent for an upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub original_label: Option<Label>,
    /// The hash of its contents.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
    pub package_hash: PackageHash,
    /// The email address of the account that released it.
    pub released_by: String,
    /// How it was created.
    pub release_method: ReleaseMethod,
    /// The percentage of a staged rollout, 1-99; null if fully rolled out.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 99))]
    pub rollout: Option<i64>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// When it was created, as Unix time in milliseconds.
    pub upload_time: UnixMillis,
}

/// One release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleaseAnswer {
    /// The release.
    pub package: Release,
}

/// Releases, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryAnswer {
    /// The releases.
    pub history: Vec<Release>,
}

/// A page of releases.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReleasesAnswer {
    /// The releases on this page.
    pub releases: Vec<ListedRelease>,
    /// The `cursor` of the next page; null on the last one.
    pub next_cursor: Option<String>,
}
