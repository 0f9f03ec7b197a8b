//! Access keys.

use serde::{Deserialize, Serialize};

use super::body::body;
use super::second_factors::StepUpProof;
use crate::time::UnixMillis;

body! {
    /// An access key to be made. A member `createdBy`, which old clients send, is ignored.
    NewAccessKey example { "friendlyName": "laptop", "ttl": 86_400_000 } {
        /// Must be absent: the raw key is made by the server.
        optional name: String [ignore],
        /// Its name, unique within the account. Not `.` or `..`.
        required friendly_name: String [min_length = 1, max_length = 255],
        /// Says nothing: a key's description is its name.
        optional description: String,
        /// How long it is valid, in milliseconds; 60 days when absent.
        optional ttl: i64 [minimum = 1],
        /// A fresh proof of a second factor, for a dashboard session that is no longer fresh.
        optional step_up: StepUpProof,
    }
}

body! {
    /// What is to change of an access key; all as in its creation, `name` included, which is refused.
    AccessKeyPatch example { "friendlyName": "old laptop" } {
        /// Must be absent.
        optional name: String [ignore],
        /// Its new name.
        optional friendly_name: String [min_length = 1, max_length = 255],
        /// Says nothing.
        optional description: String,
        /// How long it is valid from now on, in milliseconds. Of a session it cannot be changed.
        optional ttl: i64 [minimum = 1],
        /// A fresh proof of a second factor, for a dashboard session that is no longer fresh.
        optional step_up: StepUpProof,
    }
}

/// An access key or a session. It has no `Debug`, since it may hold the raw key.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccessKey {
    /// The raw key in the answer to its creation, `(hidden)` in lists, absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub name: Option<String>,
    /// Its name, unique within the account.
    pub friendly_name: String,
    /// The same as `friendlyName`, for old clients.
    pub description: String,
    /// The IP address it was created from.
    pub created_by: String,
    /// When it was created, in milliseconds since 1970.
    pub created_time: UnixMillis,
    /// When it expires, in milliseconds since 1970.
    pub expires: UnixMillis,
    /// Whether it was made by a login, not for a command line and not by hand.
    pub is_session: bool,
    /// How its owner signed in; absent on named keys and on sessions from before origins were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = CredentialOrigin, required = false))]
    pub credential_origin: Option<String>,
    /// The ID that the CLI generates once per device; absent when it is not a CLI session, or the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub device_id: Option<String>,
    /// The name of the device; absent when it is not a CLI session, or the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub device_name: Option<String>,
    /// The program that signed in; absent when it is not a CLI session, or the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub client_name: Option<String>,
    /// The version of that program; absent when it is not a CLI session, or the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub client_version: Option<String>,
    /// The operating system and architecture; absent when it is not a CLI session, or the CLI did not send them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub client_platform: Option<String>,
}

/// How the owner of a session signed in. It is for the document only.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "no value is made of what only describes")]
enum CredentialOrigin {
    /// On the dashboard.
    DashboardSession,
    /// For a command line, through the browser.
    CliBrowser,
    /// For a command line, by a device code.
    CliDevice,
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
