//! Logging in: with a password, and with a passkey.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::body;
use crate::time::UnixMillis;

/// A JSON object of whatever members.
type Object = Map<String, Value>;

body! {
    /// Somebody who wants to log in.
    NewLogin example { "email": "ada@example.com", "password": "a long passphrase nobody guesses" } {
        /// The e-mail address.
        required email: String [format = "email", max_length = 255],
        /// The password.
        required password: String [min_length = 1, max_length = 1000],
        /// The token of a human-verification challenge; ignored unless one is needed.
        optional challenge_token: String [max_length = 2048],
    }
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IssuedSession {
    /// The raw key, which is the bearer token of the session. It is returned once.
    pub access_key: String,
    /// When the session expires, in milliseconds since 1970.
    pub expires: UnixMillis,
    /// True when the account has no second factor and must set one up; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mfa_setup_required: bool,
    /// The deadline to set up a second factor, in milliseconds since 1970; absent when the account has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mfa_setup_deadline: Option<UnixMillis>,
}

/// A login that waits for a second factor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PendingLogin {
    /// True, which tells it from a session.
    pub mfa_required: bool,
    /// What the login is completed with, besides a second factor.
    pub pending_token: String,
    /// When it expires, in milliseconds since 1970.
    pub expires: UnixMillis,
    /// By which ways it can be completed: `passkey`, `totp`, `recovery_code`.
    pub methods: Vec<String>,
}

/// What came of a right password.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum LoginAnswer {
    /// The account has no second factor.
    Session(IssuedSession),
    /// It has one.
    Pending(PendingLogin),
}

body! {
    /// A login that waits for a second factor.
    WaitingLogin example { "pendingToken": "svc_pl_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg" } {
        /// The token of the pending login.
        required pending_token: String [min_length = 1],
    }
}

body! {
    /// A passkey's answer that completes a login.
    LoginAssertion {
        /// The token of the pending login.
        required pending_token: String [min_length = 1],
        /// The authentication response, as the browser writes it in JSON.
        required response: Object,
    }
}

body! {
    /// A passkey's answer that is the whole login.
    SignInAssertion {
        /// The challenge that it answers.
        required challenge_id: String [min_length = 1],
        /// The authentication response, as the browser writes it in JSON.
        required response: Object,
    }
}
