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
    /// The address it was made from.
    pub created_by: String,
    /// When its owner signed in.
    pub created_time: UnixMillis,
    /// When it was last used, to within five minutes.
    pub last_used_time: Option<UnixMillis>,
    /// When it ends at the latest.
    pub expires: UnixMillis,
    /// How its owner signed in; absent on sessions from before origins were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_origin: Option<String>,
    /// The machine's name, of a command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The program, of a command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// Its operating system and architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// Whether the request was made with it.
    pub is_current: bool,
}

/// Sessions, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the member is what the answer is called")]
pub struct SessionsAnswer {
    pub sessions: Vec<Session>,
}

/// How many sessions were ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the member is what the answer is called")]
pub struct RevokedAnswer {
    pub revoked: usize,
}
