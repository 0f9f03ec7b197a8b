//! Sessions.

use serde::{Deserialize, Serialize};

use super::access_keys::CredentialOrigin;
use crate::ids::AccessKeyId;
use crate::time::UnixMillis;

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id.
    pub id: AccessKeyId,
    /// The IP address it was created from.
    pub created_by: String,
    /// When its owner signed in, as Unix time in milliseconds.
    pub created_time: UnixMillis,
    /// When it was last used, to within five minutes, as Unix time in milliseconds; null if never used.
    pub last_used_time: Option<UnixMillis>,
    /// When it expires, as Unix time in milliseconds.
    pub expires: UnixMillis,
    /// How its owner signed in; absent for sessions from before origins were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub credential_origin: Option<CredentialOrigin>,
    /// The name of the device; absent unless a CLI sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The client that signed in; absent unless a CLI sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The operating system and architecture; absent unless a CLI sent them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// Whether the request uses this session.
    pub is_current: bool,
}

/// Sessions, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionsAnswer {
    /// The sessions.
    pub sessions: Vec<Session>,
}

/// The result of revoking sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevokedAnswer {
    /// The number of sessions that were revoked.
    pub revoked: usize,
}
