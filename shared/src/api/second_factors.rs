//! Second factors.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::body;
use super::field::FromJson;
use crate::Invalid;

/// A fresh proof of a second factor that the account has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({ "type": "totp", "code": "123456" })))]
pub struct StepUpProof {
    /// `totp` or `passkey`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The authenticator app's code now; with `totp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub code: Option<String>,
    /// The authentication response as JSON; with `passkey`.
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
