//! Apps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::body::body;
use crate::time::UnixMillis;

body! {
    /// The app to create.
    NewApp example { "name": "demo" } {
        /// Its name, unique per owner.
        required name: String [min_length = 1, max_length = 255],
        /// Whether to create the app without deployments. Default: false.
        optional manually_provision_deployments: bool,
    }
}

body! {
    /// The changes to an app.
    AppPatch example { "name": "demo" } {
        /// Its new name, unique per owner.
        required name: String [min_length = 1, max_length = 255],
    }
}

/// An app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct App {
    /// The name by which the caller reaches the app.
    pub name: String,
    /// When it was created, as Unix time in milliseconds.
    pub created_time: UnixMillis,
    /// The names of its deployments, sorted.
    pub deployments: Vec<String>,
    /// Its collaborators by email address.
    pub collaborators: BTreeMap<String, AppCollaborator>,
}

/// The role of a collaborator on an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Role {
    /// Owns the app.
    Owner,
    /// Manages deployments and collaborators.
    Admin,
    /// Manages releases.
    Developer,
    /// Read-only access.
    Viewer,
}

/// A collaborator of an app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppCollaborator {
    /// The role.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub permission: Role,
    /// True for the caller; absent for others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_current_account: bool,
}

/// One app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppAnswer {
    /// The app.
    pub app: App,
}

/// Apps, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppsAnswer {
    /// The apps.
    pub apps: Vec<App>,
}
