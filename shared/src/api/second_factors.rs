//! Two-factor authentication. WebAuthn options and responses have the JSON forms of browsers (Web Authentication level 3, section 5.1):
//! `PublicKeyCredential.parseCreationOptionsFromJSON`, `parseRequestOptionsFromJSON` and `toJSON`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::body;
use super::field::FromJson;
use crate::Invalid;
use crate::ids::PasskeyId;
use crate::time::UnixMillis;

/// A JSON object with any members.
type Object = Map<String, Value>;

/// A step-up proof: a fresh proof of a second factor that the account has.
// No `Debug`: it holds the code.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({ "type": "totp", "code": "123456" })))]
pub struct StepUpProof {
    /// `totp` or `passkey`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The current code of the authenticator app; for `totp` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub code: Option<String>,
    /// The WebAuthn authentication response as JSON; for `passkey` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub response: Option<Map<String, Value>>,
}

impl FromJson for StepUpProof {
    /// Checks only the form. A proof of another type is accepted here, but proves nothing later.
    fn from_json(value: Value) -> Result<Self, Invalid> {
        let mut members = Map::from_json(value)?;
        let Some(Value::String(kind)) = members.remove("type") else { return Err(Invalid::from("must have a type, totp or passkey")) };
        let mut proof = Self { kind, code: None, response: None };
        match (proof.kind.as_str(), members.remove("code"), members.remove("response")) {
            ("totp", Some(Value::String(code)), _) if !code.is_empty() => proof.code = Some(code),
            ("totp", ..) => return Err(Invalid::from("must have a code")),
            ("passkey", _, Some(Value::Object(response))) => proof.response = Some(response),
            ("passkey", ..) => return Err(Invalid::from("must have a response")),
            _ => {}
        }
        Ok(proof)
    }
}

body! {
    /// The proof for an operation that requires step-up.
    FactorChange example { "stepUp": { "type": "totp", "code": "123456" } } {
        /// A step-up proof.
        optional step_up: StepUpProof,
    }
}

body! {
    /// An empty object.
    NoMembers example {} {}
}

body! {
    /// A code that completes a pending login.
    LoginCode example { "pendingToken": "svc_pl_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "code": "123456" } {
        /// The token of the pending login.
        required pending_token: String [min_length = 1],
        /// The authenticator code or recovery code.
        required code: String [min_length = 1],
    }
}

body! {
    /// The confirmation of an authenticator app setup.
    Confirmation example { "code": "123456" } {
        /// The current code of the new authenticator app.
        required code: String [min_length = 1],
        /// A step-up proof; required if two-factor authentication is already on.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The passkey to register.
    NewPasskey {
        /// The WebAuthn registration response as JSON.
        required response: Object,
        /// Its name. Default: `Passkey`.
        optional name: String [min_length = 1, max_length = 100],
        /// A step-up proof; required if two-factor authentication is already on.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The changes to a passkey.
    PasskeyPatch example { "name": "Work laptop" } {
        /// Its new name.
        required name: String [min_length = 1, max_length = 100],
    }
}

/// The result of removing a factor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FactorRemoved {
    /// A message for people.
    pub message: String,
    /// Whether two-factor authentication is still on.
    pub mfa_enabled: bool,
}

/// A method that completes a login after the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// A passkey assertion.
    Passkey,
    /// A code from an authenticator app.
    Totp,
    /// A recovery code.
    RecoveryCode,
}

/// The two-factor authentication status of an account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Mfa {
    /// Whether two-factor authentication is on.
    pub mfa_enabled: bool,
    /// The methods that can complete a login: `passkey`, `totp`, `recovery_code`.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub methods: Vec<Factor>,
    /// The number of passkeys.
    pub passkeys: i64,
    /// The number of unused recovery codes.
    pub recovery_codes_remaining: i64,
    /// Whether the account has no second factor and must set one up.
    pub mfa_setup_required: bool,
    /// The deadline to set up a second factor, as Unix time in milliseconds; absent if the account has one, or no deadline is set yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mfa_setup_deadline: Option<UnixMillis>,
}

/// The seed for an authenticator app. Shown once.
// No `Debug` on types with seeds or recovery codes.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthenticatorSetup {
    /// The seed in base32, for typing it in.
    pub secret: String,
    /// The seed as an `otpauth:` URL.
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    pub otpauth_url: String,
    /// The same as a QR code: an SVG image in a data URL.
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    pub qr_code: String,
}

/// The result of confirming an authenticator app.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthenticatorConfirmed {
    /// Always true: two-factor authentication is now on.
    pub mfa_enabled: bool,
    /// Recovery codes. Shown once; absent unless this is the first factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_codes: Option<Vec<String>>,
}

/// New recovery codes. Shown once.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodes {
    /// The recovery codes. Earlier ones no longer work.
    pub recovery_codes: Vec<String>,
}

/// Options for the browser's WebAuthn call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebAuthnOptions {
    /// WebAuthn options in their JSON form.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub options: Value,
}

/// Whether a passkey can be synced to other devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DeviceType {
    /// It stays on its authenticator.
    SingleDevice,
    /// It can be synced.
    MultiDevice,
}

/// A passkey.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Passkey {
    /// Its id, used in paths.
    pub id: PasskeyId,
    /// Its display name.
    pub name: String,
    /// `singleDevice` if it stays on its authenticator, `multiDevice` if it can be synced.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub device_type: DeviceType,
    /// Whether it was backed up at its last use.
    pub backed_up: bool,
    /// The transports of its authenticator, as reported by the browser.
    pub transports: Vec<String>,
    /// When it was added, in ISO 8601.
    #[cfg_attr(feature = "openapi", schema(format = "date-time"))]
    pub created_at: String,
    /// When it was last used, in ISO 8601; if never used, when it was added.
    #[cfg_attr(feature = "openapi", schema(format = "date-time"))]
    pub last_used_at: String,
}

/// One passkey.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PasskeyAnswer {
    /// The passkey.
    pub passkey: Passkey,
}

/// Passkeys, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PasskeysAnswer {
    /// The passkeys.
    pub passkeys: Vec<Passkey>,
}

/// A passkey that was added.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PasskeyAdded {
    /// The new passkey.
    pub passkey: Passkey,
    /// Always true: two-factor authentication is now on.
    pub mfa_enabled: bool,
    /// Recovery codes. Shown once; absent unless this is the first factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_codes: Option<Vec<String>>,
}
