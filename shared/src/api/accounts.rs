//! Accounts and re-authentication.

use serde::{Deserialize, Serialize};

use super::body::body;
use super::second_factors::StepUpProof;
use crate::time::UnixMillis;

body! {
    /// The changes to an account.
    AccountPatch example { "name": "Ada" } {
        /// The new display name; unchanged if absent.
        optional name: String [min_length = 1, max_length = 255],
        /// The new password; unchanged if absent.
        optional password: String [min_length = 12, max_length = 1000],
        /// The current password; required with a new one.
        optional current_password: String [min_length = 1, max_length = 1000],
        /// A step-up proof; required with a new password if two-factor authentication is on.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The proof that the owner deletes the account.
    AccountDeletion example { "password": "a long passphrase nobody guesses" } {
        /// The account's password.
        required password: String [min_length = 1, max_length = 1000],
        /// A step-up proof; required if two-factor authentication is on.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The proof of who uses the session: the password, or a step-up proof if two-factor authentication is on.
    Reauthentication example { "password": "a long passphrase nobody guesses" } {
        /// The account's password; required if two-factor authentication is off.
        optional password: String [min_length = 1, max_length = 1000],
        /// A step-up proof; required if two-factor authentication is on.
        optional step_up: StepUpProof,
    }
}

/// A fresh session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reauthenticated {
    /// Until when the session can give lasting access without another proof, as Unix time in milliseconds.
    pub fresh_until: UnixMillis,
}

/// An account, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The email address.
    #[cfg_attr(feature = "openapi", schema(format = "email"))]
    pub email: String,
    /// The display name; null if none is set.
    pub name: Option<String>,
    /// When it was created, as Unix time in milliseconds.
    pub created_time: UnixMillis,
    /// Whether the email address is verified.
    pub email_verified: bool,
    /// Whether two-factor authentication is on.
    pub mfa_enabled: bool,
    /// External sign-in providers. Always empty.
    pub linked_providers: Vec<String>,
    /// The account's limits and quotas.
    pub limits: AccountLimits,
    /// The base URL for direct uploads.
    pub upload_url: String,
}

/// The limits and quotas of an account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccountLimits {
    /// Maximum number of API keys that are neither revoked nor expired.
    pub max_api_keys: i64,
    /// How many days of daily metrics are kept.
    pub retention_days: i64,
    /// Maximum size of a bundle of its apps, in bytes.
    pub max_upload_bytes: i64,
    /// Maximum number of apps that it can own.
    pub max_apps: u32,
    /// Maximum number of deployments of one of its apps.
    pub max_deployments_per_app: u32,
    /// Maximum number of named access keys.
    pub max_access_keys: u32,
    /// Maximum number of collaborators of one of its apps, including the owner.
    pub max_collaborators_per_app: u32,
    /// Maximum total size of the bundles of all its apps, including deleted apps, in bytes.
    pub max_stored_bytes: u64,
}

/// One account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountAnswer {
    /// The account.
    pub account: Account,
}

/// The result of a credential check.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuthenticatedAnswer {
    /// Always true. An invalid credential gets 401.
    pub authenticated: bool,
}
