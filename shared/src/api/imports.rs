//! Imports of apps from another server, by their new owner.
//!
//! The client reads the other server and sends what it has found: the service never fetches an address that a client names. A history is sent in the shape
//! that CodePush servers give it, so that one set of rules decides for all imports.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::body;
use super::field::FromJson;
use super::metrics::Counts;
use super::releases::ReleaseMethod;
use crate::Invalid;
use crate::hash::{PackageHash, Sha256Hex};
use crate::keys::Label;
use crate::time::UnixMillis;

/// The largest body of an import that is not a package, in bytes.
pub const MAX_IMPORT_BODY: usize = 8 << 20;
/// The most releases that one history can be imported with.
pub const MAX_IMPORT_RELEASES: usize = 1_000;

body! {
    /// The apps of a planned import.
    PlannedImport {
        /// The address of the other server.
        required source: String [max_length = 500],
        /// The apps.
        required apps: Vec<PlannedApp>,
        /// The size of all packages together, in bytes. A package that several releases of one app share counts once. Default: 0.
        optional stored_bytes: i64 [minimum = 0],
    }
}

/// An app of another server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlannedApp {
    /// Its name on the other server. By it, and the server's address, a repeated import finds the app again.
    pub source_name: String,
    /// Its name here.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 255))]
    pub name: String,
    /// The email addresses of its collaborators. They become Developers; an address without an account gets access when somebody confirms it within 90 days.
    #[serde(default)]
    pub collaborators: Vec<String>,
    /// Its deployments.
    pub deployments: Vec<PlannedDeployment>,
}

/// A deployment of another server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlannedDeployment {
    /// Its name on the other server.
    pub source_name: String,
    /// Its name here.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 255))]
    pub name: String,
    /// Its key, which installed devices have.
    pub key: String,
}

body! {
    /// The app to import.
    NewImportedApp example {
        "source": "https://codepush.example.com",
        "app": {
            "sourceName": "Weather",
            "name": "Weather",
            "collaborators": ["grace@example.com"],
            "deployments": [{ "sourceName": "Production", "name": "Production", "key": "aKeyThatInstalledDevicesAlreadyHave0" }],
        },
    } {
        /// The address of the other server.
        required source: String [max_length = 500],
        /// The app.
        required app: PlannedApp,
    }
}

impl FromJson for PlannedApp {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        serde_json::from_value(value).map_err(|_| Invalid::from(format!("must be an object with {APP_MEMBERS}")))
    }
}

impl FromJson for Vec<PlannedApp> {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        list(value, APP_MEMBERS)
    }
}

const APP_MEMBERS: &str = "sourceName, name, and deployments that have sourceName, name and key";

/// The items of a list. Errors: which item is wrong, and what an item needs.
fn list<T: DeserializeOwned>(value: Value, members: &str) -> Result<Vec<T>, Invalid> {
    let Value::Array(items) = value else { return Err(Invalid::from("must be a list")) };
    let read = |(index, item)| {
        let wrong = |_| Invalid::from(format!("number {} must be an object with {members}", index + 1));
        serde_json::from_value(item).map_err(wrong)
    };
    items.into_iter().enumerate().map(read).collect()
}

/// What stands against an import.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportProblemsAnswer {
    /// The problems; empty if the import is possible.
    pub problems: Vec<ImportProblem>,
    /// The limits for histories and archives, so that what exceeds them is known before anything is sent.
    pub limits: ImportLimits,
}

/// The limits of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportLimits {
    /// Releases of one history.
    pub max_releases: usize,
    /// Different version ranges of a deployment that can still be offered.
    pub max_version_ranges: usize,
    /// Bytes of a deployment's snapshot, which has its releases, ranges and descriptions.
    pub max_snapshot_bytes: u64,
    /// Entries of an archive, including directories.
    pub max_archive_entries: u32,
    /// Uncompressed bytes of an archive.
    pub max_archive_bytes: u64,
    /// Uncompressed bytes of an archive per byte of its file.
    pub max_archive_ratio: u64,
}

/// A reason why something cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportProblem {
    /// The app's name on the other server; null if it is about the account.
    pub app: Option<String>,
    /// The deployment's name on the other server; null if it is not about one.
    pub deployment: Option<String>,
    /// The reason.
    pub message: String,
}

/// An imported app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedAppAnswer {
    /// The app.
    pub app: ImportedApp,
}

/// An imported app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedApp {
    /// Its name now.
    pub name: String,
    /// The deployments that came from the other server.
    pub deployments: Vec<ImportedDeployment>,
    /// What became of the collaborators, other than the owner.
    pub collaborators: Vec<ImportedCollaborator>,
}

/// An imported deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedDeployment {
    /// Its name on the other server.
    pub source_name: String,
    /// Its name now.
    pub name: String,
}

/// A collaborator of an imported app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedCollaborator {
    /// The email address.
    pub email: String,
    /// What became of them.
    pub state: CollaboratorState,
}

/// What became of a collaborator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "What became of a collaborator."))]
#[serde(rename_all = "camelCase")]
pub enum CollaboratorState {
    /// Has an account, and access.
    Added,
    /// Has no account: gets access when somebody confirms the address within 90 days.
    Awaited,
    /// The address cannot receive mail, so no account can have it.
    NoAddress,
}

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
        optional counts: BTreeMap<String, Counts>,
    }
}

impl FromJson for Vec<ImportedRelease> {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        list(value, "label, appVersion and package, and members of the types in the API reference")
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
    /// The hash of its package's bytes.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{64}$"))]
    pub package: Sha256Hex,
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
}
