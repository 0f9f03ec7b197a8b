//! The health of the service.

use serde::{Deserialize, Serialize};

/// The health of the service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// `ok`, or `unavailable` if the database or the bundle storage fails.
    pub status: String,
    /// The version of the service.
    pub version: String,
    /// The result of each check; absent with `?live`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// As in the error envelope; absent unless the database or the bundle storage fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub error: Option<String>,
    /// As in the error envelope; absent unless the database or the bundle storage fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub request_id: Option<String>,
}

/// The result of each check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Checks {
    /// The database: `ok` or `failed`.
    pub database: CheckResult,
    /// The bundle storage: `ok` or `failed`.
    pub storage: CheckResult,
    /// The edge: `ok`, `degraded`, or `off` if none is configured. It is degraded while snapshots wait for more than a minute to be written to it, and
    /// for ten minutes after it was given snapshots or bundles that this service has not written.
    pub edge: CheckResult,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// It works.
    Ok,
    /// It works, but lags behind, or was given what this service has not written.
    Degraded,
    /// Not configured.
    Off,
    /// It does not work.
    Failed,
}
