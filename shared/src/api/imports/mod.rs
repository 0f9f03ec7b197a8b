//! Imports of apps from another server, by their new owner.
//!
//! The client reads the other server and sends what it has found: the service never fetches an address that a client names. A history is sent in the shape
//! that CodePush servers give it, so that one set of rules decides for all imports.

mod history;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::body;
use super::field::FromJson;
use crate::Invalid;
use crate::keys::Label;

pub use history::*;

/// The largest body of an import that is not a package, in bytes.
pub const MAX_IMPORT_BODY: usize = 8 << 20;

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
    /// Its name on the other server. A repeated import finds the app by its deployment keys, or else by this name, and by the server's address.
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

/// What blocks an import.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportProblemsAnswer {
    /// The problems; empty if the import is possible.
    pub problems: Vec<ImportProblem>,
    /// The apps of the plan that are here already: only what is new there needs a package.
    pub known_apps: Vec<KnownApp>,
    /// The caller's apps that were imported from there, and that are not in the plan: their names.
    pub other_apps: Vec<String>,
    /// The limits for histories and archives, so that what exceeds them is known before anything is sent.
    pub limits: ImportLimits,
}

/// An app of another server that is here already.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct KnownApp {
    /// Its name on the other server.
    pub source_name: String,
    /// Its name now.
    pub name: String,
    /// Those of the plan's deployments that are here.
    pub deployments: Vec<KnownDeployment>,
    /// Its imported deployments that are not in the plan, because the other server does not have them any more: their names.
    pub gone_deployments: Vec<String>,
}

/// A deployment of another server that is here already.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct KnownDeployment {
    /// Its name on the other server.
    pub source_name: String,
    /// Its name now.
    pub name: String,
    /// The newest release that came from there. Releases up to this one are not imported again; null without releases.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub newest_label: Option<Label>,
    /// Whether imports leave it alone: somebody has released here, or cleared its history.
    pub has_own_releases: bool,
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
    /// Bytes of packages that still fit into the caller's storage quota.
    pub stored_bytes_left: u64,
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
    /// Has no access: only the first import of an app adds collaborators.
    NotAdded,
    /// Has no account: gets access when somebody confirms the address within 90 days.
    Awaited,
    /// The address cannot receive mail, so no account can have it.
    NoAddress,
}
