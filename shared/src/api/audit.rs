//! The audit trail.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{AccountId, AuditEventId};
use crate::time::UnixMillis;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// Its id.
    pub id: AuditEventId,
    /// When it happened, in milliseconds since 1970.
    pub time: UnixMillis,
    /// Whose account did it; null when none did.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub account: Option<AuditAccount>,
    /// With what credential.
    pub credential: AuditCredential,
    /// From which address; null for the operator.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub client_address: Option<String>,
    /// What was done, such as `release.upload`.
    pub action: String,
    /// To what.
    pub object: AuditObject,
    /// More of it; what, depends on the action.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub details: Map<String, Value>,
}

/// An account that did something.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditAccount {
    /// Its id.
    pub id: AccountId,
    /// Its e-mail address; null once it is deleted.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub email: Option<String>,
}

/// The credential that something was done with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditCredential {
    /// `dashboard_session`, `cli_browser`, `cli_device`, `session`, `access_key`, `api_key`, `operator` or `none`.
    pub kind: String,
    /// Its id; null without a credential.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub id: Option<String>,
}

/// What something was done to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditObject {
    /// Its kind, such as `release`.
    pub kind: String,
    /// Its id.
    pub id: String,
}

/// Events, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditAnswer {
    /// The events.
    pub events: Vec<AuditEvent>,
    /// What leads to the next page; null on the last one.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub next_cursor: Option<AuditEventId>,
}
