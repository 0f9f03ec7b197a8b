//! API keys. Most members are in snake case, for historical reasons.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::body;
use super::field::FromJson;
use super::second_factors::StepUpProof;
use crate::Invalid;
use crate::ids::ApiKeyId;
use crate::time::UnixMillis;

/// One thing that an API key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Release.
    Deploy,
    /// Look.
    Read,
    /// Make and manage apps and deployments.
    Apps,
}

impl Scope {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Deploy, Self::Read, Self::Apps];

    /// What is said of a list that is empty, or names something else.
    pub const WRONG: &str = "must be a list of one or more of deploy, read, apps";

    /// The name in requests, in answers and in the database.
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
    /// An API key to be made.
    NewApiKey example { "name": "ci", "scopes": ["deploy", "read"], "expires_at": null } {
        /// Its name.
        required name: String [min_length = 1, max_length = 255],
        /// What it may be used for: one or more of `deploy`, `read`, `apps`.
        required scopes: Vec<Scope> [min_items = 1],
        /// An ISO 8601 time to come at which it ends; never when null or absent.
        #[serde(rename = "expires_at")]
        optional expires_at: String [format = DateTime],
        /// A fresh proof of a second factor, for a dashboard session that is no longer fresh.
        optional step_up: StepUpProof,
    }
}

body! {
    /// What is to change of an API key; at least one of them.
    ApiKeyPatch example { "name": "ci of the app", "scopes": ["deploy"] } {
        /// Its name.
        optional name: String [min_length = 1, max_length = 255],
        /// What it may be used for: one or more of `deploy`, `read`, `apps`.
        optional scopes: Vec<Scope> [min_items = 1],
        /// An ISO 8601 time to come at which it ends, or null: never.
        #[serde(rename = "expires_at")]
        optional expires_at: String [format = DateTime],
        /// A fresh proof of a second factor, for a dashboard session that is no longer fresh.
        optional step_up: StepUpProof,
    }
}

/// An API key. It has no `Debug`, since it may hold the raw key.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// Its id, by which paths name it.
    pub id: ApiKeyId,
    /// Its name.
    pub name: String,
    /// Its public half, by which it can be recognised.
    pub key_prefix: String,
    /// Its raw form; in the answer to its creation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub key: Option<String>,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// When it ends, in ISO 8601; null: never.
    #[cfg_attr(feature = "openapi", schema(format = DateTime, required = true))]
    pub expires_at: Option<String>,
    /// When it was revoked, in milliseconds since 1970; null when it is not revoked.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub revoked_at: Option<UnixMillis>,
    /// When it was last used, to within five minutes, in milliseconds since 1970; null when never used.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub last_used_at: Option<UnixMillis>,
    /// When it was created, in milliseconds since 1970.
    pub created_at: UnixMillis,
    /// When its owner last updated it, in milliseconds since 1970.
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
