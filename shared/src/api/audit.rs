//! The audit trail.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{AccountId, AuditEventId};
use crate::time::UnixMillis;

/// An audit event.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// Its id.
    pub id: AuditEventId,
    /// When it happened, as Unix time in milliseconds.
    pub time: UnixMillis,
    /// The account that acted; null if none did.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub account: Option<AuditAccount>,
    /// The credential that was used.
    pub credential: AuditCredential,
    /// The client address; null for the operator.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub client_address: Option<String>,
    /// What was done, such as `release.upload`.
    pub action: String,
    /// The object of the action.
    pub object: AuditObject,
    /// Details that depend on the action.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub details: Map<String, Value>,
}

/// The account that acted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditAccount {
    /// Its id.
    pub id: AccountId,
    /// Its email address; null once the account is deleted.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub email: Option<String>,
}

/// The credential that was used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditCredential {
    /// `dashboard_session`, `cli_browser`, `cli_device`, `session`, `access_key`, `api_key`, `operator` or `none`.
    pub kind: String,
    /// Its id; null if there was no credential.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub id: Option<String>,
}

/// The object of an action.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditObject {
    /// Its kind, such as `release`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its email address; absent unless it is an account that exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// A page of events, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditAnswer {
    /// The events.
    pub events: Vec<AuditEvent>,
    /// The `cursor` of the next page; null on the last one.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub next_cursor: Option<AuditEventId>,
}
