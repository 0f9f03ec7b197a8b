//! Deployments.

use serde::{Deserialize, Serialize};

use super::body::body;
use super::releases::Release;
use crate::ids::DeploymentId;
use crate::time::UnixMillis;

body! {
    /// A deployment to be made.
    NewDeployment example { "name": "Beta" } {
        /// A text: its name, unique within the app.
        required name: String [min_length = 1, max_length = 255],
        /// A text: the key that installed clients already have, when they come from another service.
        optional key: String [pattern = "^[A-Za-z0-9_-]{10,100}$"],
    }
}

body! {
    /// What is to change of a deployment.
    DeploymentPatch example { "name": "Beta" } {
        /// A text: its new name, unique within the app.
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
    /// Its key, or `(hidden)` for callers without deploymentKeys.read.
    pub key: String,
    /// When it was made.
    pub created_time: UnixMillis,
    /// Its newest release.
    pub package: Option<Release>,
}

/// One deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the interface's document says nothing of the member")]
pub struct DeploymentAnswer {
    pub deployment: Deployment,
}

/// Deployments by name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the interface's document says nothing of the member")]
pub struct DeploymentsAnswer {
    pub deployments: Vec<Deployment>,
}
