//! The dialect's objects as its clients read them. Times are Unix milliseconds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shared::Invalid;
use shared::api::metrics::Counts;
use shared::api::releases::{Diff, Release, ReleaseChanges, ReleaseMethod};
use shared::api::{Field, FromJson};
use shared::hash::PackageHash;
use shared::ids::{AccessKeyId, DeploymentId};
use shared::keys::Label;
use shared::time::UnixMillis;

/// The two roles that clients know.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) enum Permission {
    /// The app's owner.
    Owner,
    /// Everybody else: Admins, Developers and Viewers.
    Collaborator,
}

/// A collaborator of an app.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Collaborator {
    /// The role.
    pub permission: Permission,
    /// True for the caller; absent for others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_current_account: bool,
}

/// Collaborators by email address.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Collaborators {
    /// The collaborators, the owner included.
    pub collaborators: BTreeMap<String, Collaborator>,
}

/// An app.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct App {
    /// The name by which the caller reaches it.
    pub name: String,
    /// Its collaborators.
    #[serde(flatten)]
    pub collaborators: Collaborators,
    /// The names of its deployments, sorted.
    pub deployments: Vec<String>,
    /// When it was created.
    pub created_time: UnixMillis,
}

/// A deployment.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Deployment {
    /// Its ID.
    pub id: DeploymentId,
    /// Its name.
    pub name: String,
    /// Its key, or `(hidden)` for callers who may not see it.
    pub key: String,
    /// When it was created.
    pub created_time: UnixMillis,
    /// Its newest release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<Package>,
}

/// A release.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of CodePush")]
pub(super) struct Package {
    /// The binary versions that it targets.
    pub app_version: String,
    /// A signed URL of the bundle.
    pub blob_url: String,
    /// Release notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Diffs by the package hash of their base.
    pub diff_package_map: BTreeMap<String, Diff>,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// Its label.
    pub label: Label,
    /// A signed URL of the file manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest_blob_url: Option<String>,
    /// The deployment it was promoted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// The label of the release it was copied from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_label: Option<Label>,
    /// The hash of its contents.
    pub package_hash: PackageHash,
    /// The email address of the account that released it.
    pub released_by: String,
    /// How it was created.
    pub release_method: ReleaseMethod,
    /// The percentage of devices that get it: 100 if it is fully rolled out.
    pub rollout: i64,
    /// The bundle's size in bytes.
    pub size: i64,
    /// When it was created.
    pub upload_time: UnixMillis,
}

impl From<Release> for Package {
    fn from(release: Release) -> Self {
        Self {
            app_version: release.app_version,
            blob_url: release.blob_url,
            description: release.description,
            diff_package_map: release.diff_package_map,
            is_disabled: release.is_disabled,
            is_mandatory: release.is_mandatory,
            label: release.label,
            manifest_blob_url: release.manifest_blob_url,
            original_deployment: release.original_deployment,
            original_label: release.original_label,
            package_hash: release.package_hash,
            released_by: release.released_by,
            release_method: release.release_method,
            // Clients know no release without a percentage.
            rollout: release.rollout.unwrap_or(100),
            size: release.size,
            upload_time: release.upload_time,
        }
    }
}

/// An access key or a session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessKey {
    /// Always `(hidden)` in lists; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    /// Its ID.
    pub id: AccessKeyId,
    /// Its name.
    pub friendly_name: String,
    /// The same.
    pub description: String,
    /// The machine that it belongs to, by its name or address.
    pub created_by: String,
    /// When it was created.
    pub created_time: UnixMillis,
    /// When it expires.
    pub expires: UnixMillis,
    /// True for a session; absent for a key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_session: bool,
}

/// An object under one name, such as `{"app":{…}}`.
macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident { $member:ident: $type:ty },)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Serialize)]
            #[serde(rename_all = "camelCase")]
            pub(super) struct $name {
                /// The object.
                pub $member: $type,
            }
        )*
    };
}

answers! {
    /// Apps, sorted by name.
    Apps { apps: Vec<App> },
    /// One app.
    OneApp { app: App },
    /// Deployments, sorted by name.
    Deployments { deployments: Vec<Deployment> },
    /// One deployment.
    OneDeployment { deployment: Deployment },
    /// A deployment's counts by label and binary version.
    Metrics { metrics: BTreeMap<String, Counts> },
    /// One release.
    OnePackage { package: Package },
    /// Access keys, oldest first.
    AccessKeys { access_keys: Vec<AccessKey> },
    /// One access key.
    OneAccessKey { access_key: AccessKey },
}

/// A new deployment: its name and its key.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NewDeployment {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: String,
}

answers! {
    /// One new deployment.
    CreatedDeployment { deployment: NewDeployment },
}

/// The body of a change or a promotion. `packageInfo.label` and `label` are the same.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PackageChange {
    /// The release's label.
    #[serde(default)]
    pub label: Field<String>,
    /// The new values.
    #[serde(default)]
    pub package_info: Field<PackageInfo>,
}

/// The new values of a release, and its label.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct PackageInfo {
    /// The label.
    #[serde(default)]
    label: Field<String>,
    /// The values.
    #[serde(flatten)]
    changes: ReleaseChanges,
}

impl FromJson for PackageInfo {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        let members = Map::from_json(value)?;
        serde_json::from_value(Value::Object(members)).map_err(|_| Invalid::from("must be an object"))
    }
}

impl PackageChange {
    /// The label, from wherever it is, and the new values.
    pub fn split(self) -> (Field<String>, Field<ReleaseChanges>) {
        let (inner, changes) = match self.package_info {
            Field::Value(PackageInfo { label, changes }) => (label, Field::Value(changes)),
            Field::Wrong(error) => (Field::Missing, Field::Wrong(error)),
            Field::Null | Field::Missing => (Field::Missing, Field::Missing),
        };
        (if inner.is_given() { inner } else { self.label }, changes)
    }
}
