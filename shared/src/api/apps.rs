//! Apps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::body::body;
use crate::time::UnixMillis;

body! {
    /// An app to be made.
    NewApp example { "name": "demo" } {
        /// Its name, unique per owner.
        required name: String [min_length = 1, max_length = 255],
        /// `true`: no deployments are made with it; false when absent.
        optional manually_provision_deployments: bool,
    }
}

body! {
    /// What is to change of an app.
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
    /// Its name as the caller may use it.
    pub name: String,
    /// When it was created, in milliseconds since 1970.
    pub created_time: UnixMillis,
    /// Its deployments' names, in order.
    pub deployments: Vec<String>,
    /// Its collaborators by address.
    pub collaborators: BTreeMap<String, AppCollaborator>,
}

/// A collaborator of an app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppCollaborator {
    /// The role.
    pub permission: String,
    /// Present and true for the caller.
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

/// Apps by name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppsAnswer {
    /// The apps.
    pub apps: Vec<App>,
}
