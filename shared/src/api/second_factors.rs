//! Second factors. Options and responses of WebAuthn have the JSON forms that browsers read and write (Web Authentication level 3, section 5.1):
//! `PublicKeyCredential.parseCreationOptionsFromJSON`, `parseRequestOptionsFromJSON` and `toJSON`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::body;
use super::field::FromJson;
use crate::Invalid;
use crate::ids::PasskeyId;
use crate::time::UnixMillis;

/// A JSON object of whatever members.
type Object = Map<String, Value>;

/// A fresh proof of a second factor that the account has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({ "type": "totp", "code": "123456" })))]
pub struct StepUpProof {
    /// `totp` or `passkey`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The current code of the authenticator app; with `totp`, absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub code: Option<String>,
    /// The authentication response as JSON; with `passkey`, absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub response: Option<Map<String, Value>>,
}

impl FromJson for StepUpProof {
    /// Whether it proves anything is judged later: of another type it proves nothing.
    fn from_json(value: Value) -> Result<Self, Invalid> {
        let mut members = Map::from_json(value)?;
        let Some(Value::String(kind)) = members.remove("type") else { return Err(Invalid::from("needs a type, totp or passkey")) };
        let mut proof = Self { kind, code: None, response: None };
        match (proof.kind.as_str(), members.remove("code"), members.remove("response")) {
            ("totp", Some(Value::String(code)), _) if !code.is_empty() => proof.code = Some(code),
            ("totp", ..) => return Err(Invalid::from("needs a code")),
            ("passkey", _, Some(Value::Object(response))) => proof.response = Some(response),
            ("passkey", ..) => return Err(Invalid::from("needs a response")),
            _ => {}
        }
        Ok(proof)
    }
}

body! {
    /// What allows to change a factor, or what belongs to it.
    FactorChange example { "stepUp": { "type": "totp", "code": "123456" } } {
        /// A fresh proof of a factor that the account has.
        optional step_up: StepUpProof,
    }
}

body! {
    /// A body that says nothing.
    NoMembers example {} {}
}

body! {
    /// A code that completes a login.
    LoginCode example { "pendingToken": "svc_pl_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "code": "123456" } {
        /// The token of the pending login.
        required pending_token: String [min_length = 1],
        /// The code.
        required code: String [min_length = 1],
    }
}

body! {
    /// A code of the app that was set up.
    Confirmation example { "code": "123456" } {
        /// The code that the app shows.
        required code: String [min_length = 1],
        /// A fresh proof of a factor that the account has already; needed when it has one.
        optional step_up: StepUpProof,
    }
}

body! {
    /// A passkey that the browser made.
    NewPasskey {
        /// The registration response, as the browser writes it in JSON.
        required response: Object,
        /// Its name; `Passkey` when absent.
        optional name: String [min_length = 1, max_length = 100],
        /// A fresh proof of a factor that the account has already; needed when it has one.
        optional step_up: StepUpProof,
    }
}

body! {
    /// What is to change of a passkey.
    PasskeyPatch example { "name": "Work laptop" } {
        /// Its new name.
        required name: String [min_length = 1, max_length = 100],
    }
}

/// A factor was removed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FactorRemoved {
    /// What was done, for people.
    pub message: String,
    /// Whether the account has another factor.
    pub mfa_enabled: bool,
}

/// The second factors of an account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Mfa {
    /// Whether the account has a second factor.
    pub mfa_enabled: bool,
    /// What a login can be completed with now: `passkey`, `totp`, `recovery_code`.
    pub methods: Vec<String>,
    /// How many passkeys there are.
    pub passkeys: i64,
    /// How many recovery codes were not used.
    pub recovery_codes_remaining: i64,
    /// Whether the account has none and is to set one up.
    pub mfa_setup_required: bool,
    /// The deadline to set up a second factor, in milliseconds since 1970; absent when the account has one, or no deadline is set yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mfa_setup_deadline: Option<UnixMillis>,
}

/// A seed to be put into an authenticator app. It is shown this once.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthenticatorSetup {
    /// The seed to type: base32.
    pub secret: String,
    /// The seed as an app reads it.
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    pub otpauth_url: String,
    /// The same to be scanned: an SVG picture as a data address.
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    pub qr_code: String,
}

/// The authenticator app is in force.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthenticatorConfirmed {
    /// Always true: the account has a second factor now.
    pub mfa_enabled: bool,
    /// Recovery codes, shown this once; absent unless this was the first factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_codes: Option<Vec<String>>,
}

/// Recovery codes, shown this once.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodes {
    /// The new recovery codes. The old ones no longer work.
    pub recovery_codes: Vec<String>,
}

/// What the browser is to be given.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebAuthnOptions {
    /// WebAuthn options in their JSON form.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub options: Value,
}

/// A passkey.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Passkey {
    /// Its ID, by which paths name it.
    pub id: PasskeyId,
    /// Its display name.
    pub name: String,
    /// `singleDevice` when it stays with its authenticator, `multiDevice` when it may be on several.
    pub device_type: String,
    /// Whether it was backed up when it was last used.
    pub backed_up: bool,
    /// How its authenticator is reached, as the browser said.
    pub transports: Vec<String>,
    /// When it was added, in ISO 8601.
    #[cfg_attr(feature = "openapi", schema(format = "date-time"))]
    pub created_at: String,
    /// When it was last used, in ISO 8601; when it was added, if never used.
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PasskeyAdded {
    /// The new passkey.
    pub passkey: Passkey,
    /// Always true: the account has a second factor now.
    pub mfa_enabled: bool,
    /// Recovery codes, shown this once; absent unless this was the first factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_codes: Option<Vec<String>>,
}
