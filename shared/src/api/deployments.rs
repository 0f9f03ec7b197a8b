//! Deployments.

use serde::{Deserialize, Serialize};

use super::body::body;
use super::releases::Release;
use crate::ids::DeploymentId;
use crate::time::UnixMillis;

body! {
    /// The deployment to create.
    NewDeployment example { "name": "Beta" } {
        /// Its name, unique within the app.
        required name: String [min_length = 1, max_length = 255],
        /// The deployment key, if installed apps already have one from another service. Generated if absent.
        optional key: String [pattern = "^[A-Za-z0-9_-]{10,100}$"],
    }
}

body! {
    /// The changes to a deployment.
    DeploymentPatch example { "name": "Beta" } {
        /// Its new name, unique within the app.
        required name: String [min_length = 1, max_length = 255],
    }
}

/// A deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// Its id.
    pub id: DeploymentId,
    /// Its name.
    pub name: String,
    /// Its deployment key, or `(hidden)` for callers without `deploymentKeys.read`.
    pub key: String,
    /// When it was created, as Unix time in milliseconds.
    pub created_time: UnixMillis,
    /// Its newest release; null if it has none.
    pub package: Option<Release>,
}

/// One deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeploymentAnswer {
    /// The deployment.
    pub deployment: Deployment,
}

/// Deployments, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeploymentsAnswer {
    /// The deployments.
    pub deployments: Vec<Deployment>,
}
