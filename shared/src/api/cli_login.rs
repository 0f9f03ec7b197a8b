//! CLI authorization, and authorized devices.

use serde::{Deserialize, Serialize};

use super::body::body;
use crate::ids::{AccessKeyId, CliAuthorizationId};
use crate::time::UnixMillis;

body! {
    /// A CLI that requests authorization through a browser on the same machine.
    NewBrowserAuthorization example {
        "codeChallenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "codeChallengeMethod": "S256",
        "redirectUri": "http://127.0.0.1:49152/callback", "state": "xyz", "deviceName": "laptop"
    } {
        /// The PKCE challenge: the SHA-256 of the verifier in base64url (RFC 7636).
        required code_challenge: String [min_length = 43, max_length = 43, pattern = "^[A-Za-z0-9_-]{43}$"],
        /// `S256`.
        required code_challenge_method: String [pattern = "^S256$"],
        /// Where the CLI listens: `http` on the literal address `127.0.0.1` or `[::1]` with a port, without credentials, query or fragment.
        required redirect_uri: String [max_length = 1000],
        /// Returned unchanged on the redirect, if set.
        optional state: String [max_length = 512],
        /// The id that the CLI generates once per device.
        optional device_id: String [max_length = 255],
        /// The device's name.
        optional device_name: String [max_length = 255],
        /// The client's name.
        optional client_name: String [max_length = 255],
        /// The client's version. Default: the header `X-Svc-CLI-Version`.
        optional client_version: String [max_length = 255],
        /// The client's operating system and architecture.
        optional client_platform: String [max_length = 255],
    }
}

body! {
    /// A CLI that requests authorization with a code that its user enters.
    NewDeviceAuthorization example { "deviceName": "build server", "clientName": "updraft" } {
        /// The id that the CLI generates once per device.
        optional device_id: String [max_length = 255],
        /// The device's name.
        optional device_name: String [max_length = 255],
        /// The client's name.
        optional client_name: String [max_length = 255],
        /// The client's version. Default: the header `X-Svc-CLI-Version`.
        optional client_version: String [max_length = 255],
        /// The client's operating system and architecture.
        optional client_platform: String [max_length = 255],
    }
}

body! {
    /// The grant that a CLI exchanges.
    CliExchange example { "grantType": "device_code", "deviceCode": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCBjb2Rl" } {
        /// `authorization_code` or `device_code`.
        required grant_type: String,
        /// For `authorization_code`: the code from the redirect.
        optional code: String,
        /// For `authorization_code`: the PKCE verifier.
        optional code_verifier: String [min_length = 43, max_length = 128],
        /// For `authorization_code`: the same URI as at the start, byte for byte.
        optional redirect_uri: String,
        /// For `device_code`: the device code from the start.
        optional device_code: String,
    }
}

/// A started browser authorization.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliBrowserAuthorization {
    /// The id of the authorization.
    pub authorization_id: CliAuthorizationId,
    /// The page to open in a browser.
    pub authorize_url: String,
    /// When it expires, as Unix time in milliseconds.
    pub expires_at: UnixMillis,
}

/// A started device-code authorization.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliDeviceAuthorization {
    /// The id of the authorization.
    pub authorization_id: CliAuthorizationId,
    /// The code to poll with. Shown once.
    pub device_code: String,
    /// The code that the user enters, as `XXXX-XXXX`.
    pub user_code: String,
    /// The page where the user enters the code.
    pub verification_uri: String,
    /// The same page with the code filled in. Opening it does not approve anything.
    pub verification_uri_complete: String,
    /// When it expires, as Unix time in milliseconds.
    pub expires_at: UnixMillis,
    /// Seconds to wait between polls.
    pub interval: i64,
}

/// The credential of a CLI. Shown once.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliCredential {
    /// The raw key, which the CLI sends as its bearer token.
    pub access_key: String,
    /// `Bearer`.
    pub token_type: String,
    /// The id for listing and revoking it.
    pub credential_id: AccessKeyId,
    /// When it expires, as Unix time in milliseconds.
    pub expires: UnixMillis,
    /// The account that it signs in to.
    pub account: CliCredentialAccount,
}

/// The account of a credential.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CliCredentialAccount {
    /// The email address of the account.
    #[cfg_attr(feature = "openapi", schema(format = "email"))]
    pub email: String,
}

/// Why nothing was exchanged, as in RFC 6749 and RFC 8628.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CliTokenError {
    /// The user has not decided yet: poll again.
    AuthorizationPending,
    /// Polled too fast: wait five seconds longer between polls from now on.
    SlowDown,
    /// The authorization was denied or canceled, or the session that approved it has ended.
    AccessDenied,
    /// The authorization or its code has expired.
    ExpiredToken,
    /// The code is unknown or was already used, or the verifier or redirect URI does not match.
    InvalidGrant,
    /// A member is missing or malformed.
    InvalidRequest,
    /// The `grantType` is not supported.
    UnsupportedGrantType,
}

impl CliTokenError {
    /// The value of `error`.
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
    /// The request id, equal to the `X-Request-Id` header.
    #[cfg_attr(feature = "openapi", schema(format = "uuid"))]
    pub request_id: String,
}

body! {
    /// The code that a user entered.
    CliUserCode example { "userCode": "BCDF-GHJK" } {
        /// Eight letters; case and dashes do not matter.
        required user_code: String,
    }
}

/// How a CLI gets its credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CliMode {
    /// Through a browser on the same machine, which hands the CLI a code.
    Pkce,
    /// With a code that the user enters in a browser.
    Device,
}

/// The state of an authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CliStatus {
    /// Waits for a decision.
    Pending,
    /// Approved, waits for the exchange.
    Approved,
    /// Exchanged for a credential.
    Consumed,
    /// Denied.
    Denied,
    /// Expired or canceled.
    Expired,
}

/// An authorization, as the approval screen shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliAuthorization {
    /// The id of the authorization.
    pub authorization_id: CliAuthorizationId,
    /// How the CLI gets its credential.
    pub mode: CliMode,
    /// The state of the authorization.
    pub status: CliStatus,
    /// The name of the device, as the CLI sent it; absent if the CLI did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The client's name, as it reported it; absent if the CLI did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The client's version; absent if the CLI did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// The operating system and architecture of the device; absent if the CLI did not send them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// The IP address it was created from.
    pub created_by: String,
    /// When it was created, as Unix time in milliseconds.
    pub created_time: UnixMillis,
    /// When it expires, as Unix time in milliseconds.
    pub expires_at: UnixMillis,
}

/// The authorization that a user code belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliResolved {
    /// The id of the authorization.
    pub authorization_id: CliAuthorizationId,
}

/// A decision on an authorization.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CliDecision {
    /// The new state: `approved` or `denied`.
    pub status: CliStatus,
    /// How the CLI gets its credential.
    pub mode: CliMode,
    /// Where to send the browser; absent in the device-code flow. It never contains a credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
}

/// An authorized device.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthorizedDevice {
    /// The credential's id.
    pub credential_id: AccessKeyId,
    /// The id that the CLI generates once per device; absent if the CLI did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// The name of the device; absent if the CLI did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The client that signed in; absent if the CLI did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The client's version when it was authorized; absent if the CLI did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// The operating system and architecture of the device; absent if the CLI did not send them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// How it was authorized: `cli_browser` or `cli_device`.
    pub credential_origin: String,
    /// The IP address it was authorized from.
    pub created_by: String,
    /// When it was authorized, as Unix time in milliseconds.
    pub created_time: UnixMillis,
    /// When the credential was last used, to within five minutes, as Unix time in milliseconds; null if never used.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub last_used_time: Option<UnixMillis>,
    /// When it expires, as Unix time in milliseconds.
    pub expires: UnixMillis,
    /// Whether the request uses this credential.
    pub is_current: bool,
}

/// Authorized devices, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuthorizedDevicesAnswer {
    /// The authorized devices.
    pub devices: Vec<AuthorizedDevice>,
}
