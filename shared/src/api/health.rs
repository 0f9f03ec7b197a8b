//! The state of the service.

use serde::{Deserialize, Serialize};

/// The state of the service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// `ok`, or `unavailable` when the database or storage fails.
    pub status: String,
    /// The version of the service.
    pub version: String,
    /// The result of each check; absent with `?live`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// The error envelope's member; absent unless the database or storage fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub error: Option<String>,
    /// The error envelope's member; absent unless the database or storage fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub request_id: Option<String>,
}

/// What each check said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Checks {
    /// The database: `ok` or `failed`.
    pub database: CheckResult,
    /// The storage of bundles: `ok` or `failed`.
    pub storage: CheckResult,
    /// The edge: `ok`, `degraded`, or `off` when none is configured.
    pub edge: CheckResult,
}

/// The state of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// It works.
    Ok,
    /// It works, but lags behind.
    Degraded,
    /// There is none.
    Off,
    /// It does not work.
    Failed,
}
