//! Bodies that the API and the CodePush dialect read alike. Each returns the errors of all its members.

use shared::FieldErrors;
use shared::api::apps::NewApp;
use shared::api::deployments::NewDeployment;
use shared::keys::{DeploymentKey, Name};

use crate::domain::apps::service as apps;
use crate::domain::deployments::service as deployments;

/// A new app.
pub fn new_app(new: NewApp) -> Result<apps::NewApp, FieldErrors> {
    let mut errors = FieldErrors::default();
    let name = errors.take("name", new.name.parse::<Name>());
    let is_manual = errors.take("manuallyProvisionDeployments", new.manually_provision_deployments.optional());
    match (name, is_manual) {
        (Some(name), Some(is_manual)) => Ok(apps::NewApp { name, has_no_deployments: is_manual.unwrap_or(false) }),
        _ => Err(errors),
    }
}

/// A new deployment.
pub fn new_deployment(new: NewDeployment) -> Result<deployments::NewDeployment, FieldErrors> {
    let mut errors = FieldErrors::default();
    let name = errors.take("name", new.name.parse::<Name>());
    let key = errors.take("key", new.key.parse_optional::<DeploymentKey>());
    match (name, key) {
        (Some(name), Some(key)) => Ok(deployments::NewDeployment { name, key }),
        _ => Err(errors),
    }
}
