//! API keys. Most members are in `snake_case` for historical reasons.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::body;
use super::field::FromJson;
use super::second_factors::StepUpProof;
use crate::Invalid;
use crate::ids::ApiKeyId;
use crate::time::UnixMillis;

/// A scope of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Manage releases.
    Deploy,
    /// Read only.
    Read,
    /// Create and manage apps and deployments.
    Apps,
}

impl Scope {
    /// All scopes, in display order.
    pub const ALL: [Self; 3] = [Self::Deploy, Self::Read, Self::Apps];

    /// The error for an empty list or an unknown scope.
    pub const WRONG: &str = "must be a list of one or more of deploy, read, apps";

    /// The name in requests, responses and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Read => "read",
            Self::Apps => "apps",
        }
    }
}

impl FromStr for Scope {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or(Invalid::from(Self::WRONG))
    }
}

impl FromJson for Vec<Scope> {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        Vec::<String>::from_json(value)?.iter().map(|name| name.parse()).collect()
    }
}

body! {
    /// The API key to create.
    NewApiKey example { "name": "ci", "scopes": ["deploy", "read"], "expires_at": null } {
        /// Its name.
        required name: String [min_length = 1, max_length = 255],
        /// Its scopes: one or more of `deploy`, `read`, `apps`.
        required scopes: Vec<Scope> [min_items = 1],
        /// When it expires: an ISO 8601 time in the future. Never if null or absent.
        #[serde(rename = "expires_at")]
        optional expires_at: String [format = DateTime],
        /// A step-up proof, as an alternative to a fresh dashboard session.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The changes to an API key. At least one of `name`, `scopes` and `expires_at` is required.
    ApiKeyPatch example { "name": "ci of the app", "scopes": ["deploy"] } {
        /// Its name.
        optional name: String [min_length = 1, max_length = 255],
        /// Its scopes: one or more of `deploy`, `read`, `apps`.
        optional scopes: Vec<Scope> [min_items = 1],
        /// When it expires: an ISO 8601 time in the future, or null for never.
        #[serde(rename = "expires_at")]
        optional expires_at: String [format = DateTime],
        /// A step-up proof, as an alternative to a fresh dashboard session.
        optional step_up: StepUpProof,
    }
}

// No `Debug`: it may contain the raw key.
/// An API key.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// Its id, used in paths.
    pub id: ApiKeyId,
    /// Its name.
    pub name: String,
    /// Its public prefix, for recognizing it.
    pub key_prefix: String,
    /// The raw key; only in the response to its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub key: Option<String>,
    /// Its scopes.
    pub scopes: Vec<Scope>,
    /// When it expires, in ISO 8601; null if never.
    #[cfg_attr(feature = "openapi", schema(format = DateTime, required = true))]
    pub expires_at: Option<String>,
    /// When it was revoked, as Unix time in milliseconds; null if it is not revoked.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub revoked_at: Option<UnixMillis>,
    /// When it was last used, to within five minutes, as Unix time in milliseconds; null if never used.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub last_used_at: Option<UnixMillis>,
    /// When it was created, as Unix time in milliseconds.
    pub created_at: UnixMillis,
    /// When its owner last updated it, as Unix time in milliseconds.
    pub updated_at: UnixMillis,
}

/// API keys, oldest first.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiKeysAnswer {
    /// The API keys, revoked and expired ones included.
    pub api_keys: Vec<ApiKey>,
}
