//! Access keys.

use serde::{Deserialize, Serialize};

use super::body::body;
use super::second_factors::StepUpProof;
use crate::time::UnixMillis;

body! {
    /// The access key to create. `createdBy`, which old clients send, is ignored.
    NewAccessKey example { "friendlyName": "laptop", "ttl": 86_400_000 } {
        /// Must be absent: the server generates the raw key.
        optional name: String [ignore],
        /// Its name, unique within the account. Not `.` or `..`.
        required friendly_name: String [min_length = 1, max_length = 255],
        /// Ignored: the description of a key is its name.
        optional description: String,
        /// Its lifetime in milliseconds. Default: 60 days.
        optional ttl: i64 [minimum = 1],
        /// A step-up proof, as an alternative to a fresh dashboard session.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The changes to an access key. As in its creation, `name` is refused.
    AccessKeyPatch example { "friendlyName": "old laptop" } {
        /// Must be absent.
        optional name: String [ignore],
        /// Its new name.
        optional friendly_name: String [min_length = 1, max_length = 255],
        /// Ignored.
        optional description: String,
        /// Its lifetime from now, in milliseconds. Cannot be set for a session.
        optional ttl: i64 [minimum = 1],
        /// A step-up proof, as an alternative to a fresh dashboard session.
        optional step_up: StepUpProof,
    }
}

// No `Debug`: it may contain the raw key.
/// An access key or a session.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccessKey {
    /// The raw key in the response to its creation, `(hidden)` in lists, absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub name: Option<String>,
    /// Its name, unique within the account.
    pub friendly_name: String,
    /// The same as `friendlyName`, for old clients.
    pub description: String,
    /// The IP address it was created from.
    pub created_by: String,
    /// When it was created, as Unix time in milliseconds.
    pub created_time: UnixMillis,
    /// When it expires, as Unix time in milliseconds.
    pub expires: UnixMillis,
    /// Whether a login created it. False for CLI credentials and keys created by hand.
    pub is_session: bool,
    /// How its owner signed in; absent for named keys and for sessions from before origins were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = CredentialOrigin, required = false))]
    pub credential_origin: Option<CredentialOrigin>,
    /// The id that the CLI generates once per device; absent unless a CLI sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub device_id: Option<String>,
    /// The name of the device; absent unless a CLI sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub device_name: Option<String>,
    /// The client that signed in; absent unless a CLI sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub client_name: Option<String>,
    /// The client's version; absent unless a CLI sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub client_version: Option<String>,
    /// The operating system and architecture; absent unless a CLI sent them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub client_platform: Option<String>,
}

/// How the owner of a session signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CredentialOrigin {
    /// On the dashboard.
    DashboardSession,
    /// For a CLI, through the browser.
    CliBrowser,
    /// For a CLI, with a device code.
    CliDevice,
}

impl CredentialOrigin {
    /// The name in responses and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DashboardSession => "dashboard_session",
            Self::CliBrowser => "cli_browser",
            Self::CliDevice => "cli_device",
        }
    }
}

/// One access key.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccessKeyAnswer {
    /// The access key.
    pub access_key: AccessKey,
}

/// Access keys, oldest first.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccessKeysAnswer {
    /// The access keys and sessions.
    pub access_keys: Vec<AccessKey>,
}
