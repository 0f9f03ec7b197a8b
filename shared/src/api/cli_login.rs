//! How command lines are let in, and the machines that were.

use serde::{Deserialize, Serialize};

use super::body::body;
use crate::ids::{AccessKeyId, CliAuthorizationId};
use crate::time::UnixMillis;

body! {
    /// A command line that asks to be let in through a browser on the same machine.
    NewBrowserAuthorization example {
        "codeChallenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "codeChallengeMethod": "S256",
        "redirectUri": "http://127.0.0.1:49152/callback", "state": "xyz", "deviceName": "laptop"
    } {
        /// The SHA-256 of the verifier, base64url (RFC 7636).
        required code_challenge: String [min_length = 43, max_length = 43, pattern = "^[A-Za-z0-9_-]{43}$"],
        /// `S256`.
        required code_challenge_method: String [pattern = "^S256$"],
        /// Where the command line listens: `http` on the literal address `127.0.0.1` or `[::1]` with a port, without credentials, query or fragment.
        required redirect_uri: String [max_length = 1000],
        /// Comes back on the redirect, unchanged; nothing comes back when absent.
        optional state: String [max_length = 512],
        /// The id that the command line gives itself, once per machine.
        optional device_id: String [max_length = 255],
        /// The machine's name.
        optional device_name: String [max_length = 255],
        /// The program.
        optional client_name: String [max_length = 255],
        /// Its version; the header `X-Svc-CLI-Version` when absent.
        optional client_version: String [max_length = 255],
        /// Its operating system and architecture.
        optional client_platform: String [max_length = 255],
    }
}

body! {
    /// A command line that asks to be let in by a code that its user copies.
    NewDeviceAuthorization example { "deviceName": "build server", "clientName": "updraft" } {
        /// The id that the command line gives itself, once per machine.
        optional device_id: String [max_length = 255],
        /// The machine's name.
        optional device_name: String [max_length = 255],
        /// The program.
        optional client_name: String [max_length = 255],
        /// Its version; the header `X-Svc-CLI-Version` when absent.
        optional client_version: String [max_length = 255],
        /// Its operating system and architecture.
        optional client_platform: String [max_length = 255],
    }
}

body! {
    /// What a command line exchanges.
    CliExchange example { "grantType": "device_code", "deviceCode": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCBjb2Rl" } {
        /// `authorization_code` or `device_code`.
        required grant_type: String,
        /// Of `authorization_code`: the code of the redirect.
        optional code: String,
        /// Of `authorization_code`: the verifier whose SHA-256 was the challenge.
        optional code_verifier: String [min_length = 43, max_length = 128],
        /// Of `authorization_code`: the same, byte by byte, as at the start.
        optional redirect_uri: String,
        /// Of `device_code`: the code of the start.
        optional device_code: String,
    }
}

/// A request through a browser that was started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliBrowserAuthorization {
    /// The ID of the request.
    pub authorization_id: CliAuthorizationId,
    /// The page to open in a browser.
    pub authorize_url: String,
    /// Until when it can be approved, in milliseconds since 1970.
    pub expires_at: UnixMillis,
}

/// A request by a code that was started.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliDeviceAuthorization {
    /// The ID of the request.
    pub authorization_id: CliAuthorizationId,
    /// What to poll with, shown once.
    pub device_code: String,
    /// What the user copies, `XXXX-XXXX`.
    pub user_code: String,
    /// The page that takes it.
    pub verification_uri: String,
    /// The same page with the code filled in. Opening it approves nothing.
    pub verification_uri_complete: String,
    /// Until when it can be approved and exchanged, in milliseconds since 1970.
    pub expires_at: UnixMillis,
    /// How many seconds to wait between two polls.
    pub interval: i64,
}

/// The credential of a command line, shown once.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliCredential {
    /// The raw key, which the CLI sends as its bearer token.
    pub access_key: String,
    /// `Bearer`.
    pub token_type: String,
    /// By which it is listed and ended.
    pub credential_id: AccessKeyId,
    /// When it expires, in milliseconds since 1970.
    pub expires: UnixMillis,
    /// The account that it signs in to.
    pub account: CliCredentialAccount,
}

/// Whose credential it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CliCredentialAccount {
    /// The e-mail address of the account.
    #[cfg_attr(feature = "openapi", schema(format = "email"))]
    pub email: String,
}

/// Why nothing was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CliTokenError {
    /// Nobody has decided yet: poll again.
    AuthorizationPending,
    /// The polls come too fast: wait five seconds longer between them from now on.
    SlowDown,
    /// The request was denied or cancelled, or who approved it is no longer signed in.
    AccessDenied,
    /// The time of the request, or of its code, has run out.
    ExpiredToken,
    /// The code is not known, was used already, or what came with it does not belong to it.
    InvalidGrant,
    /// A member is missing or malformed.
    InvalidRequest,
    /// The `grantType` is neither of the two.
    UnsupportedGrantType,
}

impl CliTokenError {
    /// The word in `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::AccessDenied => "access_denied",
            Self::ExpiredToken => "expired_token",
            Self::InvalidGrant => "invalid_grant",
            Self::InvalidRequest => "invalid_request",
            Self::UnsupportedGrantType => "unsupported_grant_type",
        }
    }
}

/// Why nothing was exchanged.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliTokenProblem {
    /// The error code.
    pub error: CliTokenError,
    /// The request's id, as in `X-Request-Id`.
    #[cfg_attr(feature = "openapi", schema(format = "uuid"))]
    pub request_id: String,
}

body! {
    /// The code that a user copied.
    CliUserCode example { "userCode": "BCDF-GHJK" } {
        /// Eight letters; case and dashes do not matter.
        required user_code: String,
    }
}

/// By which way a command line wants to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CliMode {
    /// Through a browser on the same machine, which takes a code back to the command line.
    Pkce,
    /// By a code that the user copies into a browser.
    Device,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CliStatus {
    /// Nobody has decided.
    Pending,
    /// It waits for the command line.
    Approved,
    /// The command line is in.
    Consumed,
    /// It was denied.
    Denied,
    /// Its time has run out, or it was cancelled.
    Expired,
}

/// A request, as the approval screen shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliAuthorization {
    /// The ID of the request.
    pub authorization_id: CliAuthorizationId,
    /// How the CLI gets its credential.
    pub mode: CliMode,
    /// The state of the request.
    pub status: CliStatus,
    /// The name of the device, as the CLI sent it; absent when it sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The program, as it calls itself; absent when the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The version of the program; absent when the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// The operating system and architecture of the device; absent when the CLI did not send them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// The IP address it was created from.
    pub created_by: String,
    /// When it was created, in milliseconds since 1970.
    pub created_time: UnixMillis,
    /// Until when it can be approved, in milliseconds since 1970.
    pub expires_at: UnixMillis,
}

/// The request that a user code is of.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliResolved {
    /// The ID of the request.
    pub authorization_id: CliAuthorizationId,
}

/// What was decided.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliDecision {
    /// The state of the request now: `approved` or `denied`.
    pub status: CliStatus,
    /// How the CLI gets its credential.
    pub mode: CliMode,
    /// Where the browser goes; absent for devices. It never holds a credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
}

/// A machine with a credential.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The credential's id.
    pub credential_id: AccessKeyId,
    /// The ID that the CLI generates once per device; absent when it sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// The name of the device; absent when the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The program that signed in; absent when the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The version of the program when it was authorized; absent when the CLI did not send one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// The operating system and architecture of the device; absent when the CLI did not send them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// By which way it was let in: `cli_browser` or `cli_device`.
    pub credential_origin: String,
    /// The IP address it was authorized from.
    pub created_by: String,
    /// When it was authorized, in milliseconds since 1970.
    pub created_time: UnixMillis,
    /// When the credential was last used, to within five minutes, in milliseconds since 1970; null when never used.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub last_used_time: Option<UnixMillis>,
    /// When it expires, in milliseconds since 1970.
    pub expires: UnixMillis,
    /// Whether the request was made with it.
    pub is_current: bool,
}

/// Machines, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MachinesAnswer {
    /// The authorized devices.
    pub devices: Vec<Machine>,
}
