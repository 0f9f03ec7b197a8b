//! Members of questions, which clients name in either case.

use crate::Invalid;
use crate::invalid::FieldErrors;
use crate::keys::DeploymentKey;

/// The two names of a member. When a client sends both, the snake one counts.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub(super) snake: &'static str,
    pub(super) camel: &'static str,
}

const fn names(snake: &'static str, camel: &'static str) -> Names {
    Names { snake, camel }
}

pub(super) const DEPLOYMENT_KEY: Names = names("deployment_key", "deploymentKey");
pub(super) const APP_VERSION: Names = names("app_version", "appVersion");
pub(super) const PACKAGE_HASH: Names = names("package_hash", "packageHash");
pub(super) const IS_COMPANION: Names = names("is_companion", "isCompanion");
pub(super) const LABEL: Names = names("label", "label");
pub(super) const CLIENT_ID: Names = names("client_unique_id", "clientUniqueId");
pub(super) const STATUS: Names = names("status", "status");

/// The value of a member that must be there, parsed; else a note about it.
pub(super) fn required<T>(
    errors: &mut FieldErrors,
    names: Names,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Option<T> {
    let parsed = text.ok_or(Invalid::from("is missing")).and_then(parse);
    errors.take(names.snake, parsed)
}

/// The deployment key: white space around it is forgiven, since people paste it.
pub(super) fn deployment_key(errors: &mut FieldErrors, text: Option<&str>) -> Option<DeploymentKey> {
    required(errors, DEPLOYMENT_KEY, text, |text| DeploymentKey::try_from(text.trim()))
}
