//! Sessions.

use serde::{Deserialize, Serialize};

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
    /// When its owner signed in, in milliseconds since 1970.
    pub created_time: UnixMillis,
    /// When it was last used, to within five minutes, in milliseconds since 1970; null when never used.
    pub last_used_time: Option<UnixMillis>,
    /// When it expires, in milliseconds since 1970.
    pub expires: UnixMillis,
    /// How its owner signed in; absent on sessions from before origins were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_origin: Option<String>,
    /// The name of the device; absent when it is not a CLI session, or the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The program that signed in; absent when it is not a CLI session, or the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The operating system and architecture; absent when it is not a CLI session, or the CLI did not send them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// Whether the request was made with it.
    pub is_current: bool,
}

/// Sessions, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionsAnswer {
    /// The sessions.
    pub sessions: Vec<Session>,
}

/// How many sessions were ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevokedAnswer {
    /// The number of sessions that were revoked.
    pub revoked: usize,
}
