//! Request fields, whose names clients send in either case.

use crate::Invalid;
use crate::invalid::FieldErrors;
use crate::keys::DeploymentKey;

/// The two names of a field. If a client sends both, snake case wins.
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

/// The parameters of an update check.
pub(super) const OF_CHECKS: [Names; 6] = [DEPLOYMENT_KEY, APP_VERSION, PACKAGE_HASH, IS_COMPANION, LABEL, CLIENT_ID];

/// Parses a required field, or adds an error for it.
pub(super) fn required<T>(
    errors: &mut FieldErrors,
    names: Names,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Option<T> {
    let parsed = text.ok_or(Invalid::REQUIRED).and_then(parse);
    errors.take(names.snake, parsed)
}

/// Parses the deployment key. Surrounding whitespace is trimmed, because people paste keys.
pub(super) fn deployment_key(errors: &mut FieldErrors, text: Option<&str>) -> Option<DeploymentKey> {
    required(errors, DEPLOYMENT_KEY, text, |text| DeploymentKey::try_from(text.trim()))
}
