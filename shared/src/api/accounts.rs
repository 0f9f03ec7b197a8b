//! Accounts, and what their owners show again.

use serde::{Deserialize, Serialize};

use super::body::body;
use super::second_factors::StepUpProof;
use crate::time::UnixMillis;

body! {
    /// What is to change of an account.
    AccountPatch example { "name": "Ada" } {
        /// The new display name; unchanged when absent.
        optional name: String [min_length = 1, max_length = 255],
        /// The new password; unchanged when absent.
        optional password: String [min_length = 12, max_length = 1000],
        /// The password so far; needed with a new one.
        optional current_password: String [min_length = 1, max_length = 1000],
        /// A fresh proof of a second factor; needed with a new password when the account has one.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The proof that an account is to be deleted by its owner.
    AccountDeletion example { "password": "a long passphrase nobody guesses" } {
        /// The account's password.
        required password: String [min_length = 1, max_length = 1000],
        /// A fresh proof of a second factor; needed when the account has one.
        optional step_up: StepUpProof,
    }
}

body! {
    /// What shows again who uses the session: the password, or the proof of a second factor where the account has one.
    Reauthentication example { "password": "a long passphrase nobody guesses" } {
        /// The account's password; needed without a second factor.
        optional password: String [min_length = 1, max_length = 1000],
        /// A fresh proof of a second factor; needed when the account has one.
        optional step_up: StepUpProof,
    }
}

/// The session is fresh.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reauthenticated {
    /// Until when it may give lasting access without another proof, in milliseconds since 1970.
    pub fresh_until: UnixMillis,
}

/// An account, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The e-mail address.
    #[cfg_attr(feature = "openapi", schema(format = "email"))]
    pub email: String,
    /// The display name; null when there is none.
    pub name: Option<String>,
    /// When it was created, in milliseconds since 1970.
    pub created_time: UnixMillis,
    /// Whether the owner has shown to read mail at the address.
    pub email_verified: bool,
    /// Whether it has a second factor.
    pub mfa_enabled: bool,
    /// Other services that its owner may sign in by: none.
    pub linked_providers: Vec<String>,
    /// What it may have.
    pub limits: AccountLimits,
    /// Where uploads go directly.
    pub upload_url: String,
}

/// What an account may have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccountLimits {
    /// API keys that are neither revoked nor expired.
    pub max_api_keys: i64,
    /// Days of daily history.
    pub retention_days: i64,
    /// The largest bundle of its apps, in bytes.
    pub max_upload_bytes: i64,
    /// Apps that it may own.
    pub max_apps: u32,
    /// Deployments that one of its apps may have.
    pub max_deployments_per_app: u32,
    /// Named access keys.
    pub max_access_keys: u32,
    /// Collaborators that one of its apps may have, its owner included.
    pub max_collaborators_per_app: u32,
    /// Bytes that the bundles of its apps may take together, those of deleted apps included.
    pub max_stored_bytes: u64,
}

/// One account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountAnswer {
    /// The account.
    pub account: Account,
}

/// That a credential is valid.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuthenticatedAnswer {
    /// Always true; an invalid credential is answered with 401.
    pub authenticated: bool,
}
