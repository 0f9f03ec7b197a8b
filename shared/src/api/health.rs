//! The state of the service.

use serde::{Deserialize, Serialize};

// What is answered; the document says nothing of it beyond its members.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the interface's document says nothing of it and its members")]
pub struct Health {
    pub status: String,
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// The envelope's member, on a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub error: Option<String>,
    /// The envelope's member, on a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub request_id: Option<String>,
}

/// What each check said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the interface's document says nothing of the members")]
pub struct Checks {
    pub database: CheckResult,
    pub storage: CheckResult,
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
