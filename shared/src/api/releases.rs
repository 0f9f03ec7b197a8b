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

/// How a release came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "How a release came to be."))]
pub enum ReleaseMethod {
    /// From bytes.
    Upload,
    /// From a release of another deployment.
    Promote,
    /// From an earlier release of the same deployment.
    Rollback,
}

impl FromJson for Percent {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        value.as_u64().and_then(Self::new).ok_or(Invalid::from("must be a whole number from 1 to 100"))
    }
}

body! {
    /// `packageInfo` of an upload.
    NewRelease example { "appVersion": "^1.0.0", "description": "what is new" } {
        /// The binary versions it is for: a version or a range as npm understands it.
        required app_version: String [min_length = 1, max_length = 255],
        /// Release notes; the length is counted in UTF-16 code units. None when absent.
        optional description: String [max_length = 10000],
        /// Whether clients must take it; false when absent.
        optional is_mandatory: bool,
        /// Whether it is offered to nobody; false when absent.
        optional is_disabled: bool,
        /// The percentage of clients that it is offered to; 100, null and absent are everybody.
        optional rollout: Percent as i32 [minimum = 1, maximum = 100],
    }
}

body! {
    /// `packageInfo` of a change or a promotion. What is not given stays as it is, or is inherited, and so is what is empty in a promotion; its
    /// rollout is 100 unless given.
    ReleaseChanges {
        /// The binary versions it is for: a version or a range as npm understands it.
        optional app_version: String [max_length = 255],
        /// Release notes; the length is counted in UTF-16 code units. Those that a release was promoted with stay.
        optional description: String [max_length = 10000],
        /// Whether clients must take it.
        optional is_mandatory: bool,
        /// Whether it is offered to nobody.
        optional is_disabled: bool,
        /// The percentage of clients that it is offered to; 100 is everybody. A change must not lower it, and is taken only while the release is the
        /// newest and not yet for everybody.
        optional rollout: Percent as i32 [minimum = 1, maximum = 100],
        /// The hash of its contents. A change takes no other one; a promotion that names another one is refused.
        optional package_hash: String [pattern = "^[0-9a-f]{64}$"],
    }
}

impl FromJson for ReleaseChanges {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        let members = Map::from_json(value)?;
        serde_json::from_value(Value::Object(members)).map_err(|_| Invalid::from("must be an object"))
    }
}

body! {
    /// A change of a release.
    ReleasePatch example { "packageInfo": { "rollout": 100 } } {
        /// Which release; the newest unless given.
        optional label: String [pattern = "^v[1-9][0-9]{0,8}$"],
        /// What changes.
        optional package_info: ReleaseChanges,
    }
}

body! {
    /// A promotion to be made.
    NewPromotion example { "destination": "Production", "packageInfo": { "rollout": 20 } } {
        /// The name of the deployment that the release goes to.
        required destination: String [min_length = 1, max_length = 255],
        /// Which release; the newest one that is not disabled unless given.
        optional label: String [pattern = "^v[1-9][0-9]{0,8}$"],
        /// What differs from the release that is promoted.
        optional package_info: ReleaseChanges,
    }
}

body! {
    /// A rollback to be made.
    NewRollback example { "targetRelease": "v1" } {
        /// The release to go back to; the one before the newest unless given.
        optional target_release: String [pattern = "^v[1-9][0-9]{0,8}$"],
    }
}

/// A release; clients call it a package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The binary versions it is for, as given.
    pub app_version: String,
    /// A signed address of the bundle.
    pub blob_url: String,
    /// Release notes; null when there are none.
    pub description: Option<String>,
    /// Diffs by the package hash that they start from.
    pub diff_package_map: BTreeMap<String, Diff>,
    /// Whether it is offered to nobody.
    pub is_disabled: bool,
    /// Whether clients must take it.
    pub is_mandatory: bool,
    /// Its label.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub label: Label,
    /// A signed address of the file manifest; null for a single-file package.
    pub manifest_blob_url: Option<String>,
    /// The deployment it was promoted from; absent when it was not promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// The label of the release it was copied from; absent for an upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub original_label: Option<Label>,
    /// The hash of its contents.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
    pub package_hash: PackageHash,
    /// The address of the account that made it.
    pub released_by: String,
    /// Upload, Promote or Rollback.
    pub release_method: ReleaseMethod,
    /// 1-99 for a staged rollout, null for everybody.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 99))]
    pub rollout: Option<i64>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// When it was created, in milliseconds since 1970.
    pub upload_time: UnixMillis,
}

/// A diff to a release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Diff {
    /// A signed address of the diff.
    pub url: String,
    /// Its size in bytes.
    pub size: i64,
}

/// A release in a list: all but what it takes a signature to give.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListedRelease {
    /// The binary versions it is for, as given.
    pub app_version: String,
    /// Release notes; null when there are none.
    pub description: Option<String>,
    /// Whether it is offered to nobody.
    pub is_disabled: bool,
    /// Whether clients must take it.
    pub is_mandatory: bool,
    /// Its label.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub label: Label,
    /// The deployment it was promoted from; absent when it was not promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// The label of the release it was copied from; absent for an upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub original_label: Option<Label>,
    /// The hash of its contents.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
    pub package_hash: PackageHash,
    /// The address of the account that made it.
    pub released_by: String,
    /// Upload, Promote or Rollback.
    pub release_method: ReleaseMethod,
    /// 1-99 for a staged rollout, null for everybody.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 99))]
    pub rollout: Option<i64>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// When it was created, in milliseconds since 1970.
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
    /// What leads to the next page; null on the last one.
    pub next_cursor: Option<String>,
}
