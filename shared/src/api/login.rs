//! Login with a password or a passkey.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::body;
use super::second_factors::Factor;
use crate::time::UnixMillis;

/// A JSON object with any members.
type Object = Map<String, Value>;

body! {
    /// The credentials of a login.
    NewLogin example { "email": "ada@example.com", "password": "a long passphrase nobody guesses" } {
        /// The email address.
        required email: String [format = "email", max_length = 255],
        /// The password.
        required password: String [min_length = 1, max_length = 1000],
        /// The token of a human-verification challenge; ignored unless the challenge is required.
        optional challenge_token: String [max_length = 2048],
    }
}

/// A session.
// No `Debug`: it holds the raw key.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IssuedSession {
    /// The raw key, which is the bearer token of the session. It is returned once.
    pub access_key: String,
    /// When the session expires, as Unix time in milliseconds.
    pub expires: UnixMillis,
    /// True if the account has no second factor and must set one up; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mfa_setup_required: bool,
    /// The deadline to set up a second factor, as Unix time in milliseconds; absent if the account has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mfa_setup_deadline: Option<UnixMillis>,
}

/// A session, and how many recovery codes are left.
// No `Debug`: it holds the raw key.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecoveredSession {
    /// The session.
    #[serde(flatten)]
    pub session: IssuedSession,
    /// The number of unused recovery codes.
    pub recovery_codes_remaining: i64,
}

/// WebAuthn options for a passwordless sign-in, with the id of their challenge.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SignInOptions {
    /// The id of the challenge, to send back with the passkey's response.
    pub challenge_id: String,
    /// WebAuthn request options in their JSON form, for any passkey of this service.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub options: Value,
}

/// A pending login, which needs a second factor.
// No `Debug`: it holds the token.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PendingLogin {
    /// Always true. Distinguishes it from a session.
    pub mfa_required: bool,
    /// The token to complete the login with, together with a second factor.
    pub pending_token: String,
    /// When it expires, as Unix time in milliseconds.
    pub expires: UnixMillis,
    /// The methods that can complete it: `passkey`, `totp`, `recovery_code`.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub methods: Vec<Factor>,
}

/// The result of a correct password.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum LoginAnswer {
    /// Two-factor authentication is off.
    Session(IssuedSession),
    /// Two-factor authentication is on.
    Pending(PendingLogin),
}

body! {
    /// A pending login.
    WaitingLogin example { "pendingToken": "svc_pl_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg" } {
        /// The token of the pending login.
        required pending_token: String [min_length = 1],
    }
}

body! {
    /// A passkey assertion that completes a pending login.
    LoginAssertion {
        /// The token of the pending login.
        required pending_token: String [min_length = 1],
        /// The WebAuthn authentication response as JSON.
        required response: Object,
    }
}

body! {
    /// A passkey assertion for a passwordless sign-in.
    SignInAssertion {
        /// The `challengeId` that came with the options.
        required challenge_id: String [min_length = 1],
        /// The WebAuthn authentication response as JSON.
        required response: Object,
    }
}
