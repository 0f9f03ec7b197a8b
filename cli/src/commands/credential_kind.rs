//! Kinds of credentials, as their prefixes tell.

use crate::context::Credential;

/// What a credential is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CredentialKind {
    /// Of a sign-in: it can do everything that does not need the dashboard.
    SignIn,
    /// An access key: its owner's rights on apps.
    AccessKey,
    /// An API key: limited to scopes.
    ApiKey,
    /// Not one of Updraft's own forms.
    Unknown,
}

impl CredentialKind {
    /// The kind of a raw credential.
    pub(super) fn of(secret: &str) -> Self {
        match secret {
            secret if secret.starts_with("svc_ss_") => Self::SignIn,
            secret if secret.starts_with("svc_ak_") => Self::AccessKey,
            secret if secret.starts_with("svc_sk_") => Self::ApiKey,
            _ => Self::Unknown,
        }
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SignIn => "sign-in",
            Self::AccessKey => "access key",
            Self::ApiKey => "API key",
            Self::Unknown => "key",
        }
    }

    /// Its name for programs.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::AccessKey => "access_key",
            Self::ApiKey => "api_key",
            Self::Unknown => "unknown",
        }
    }
}

/// The kind of a credential and where it comes from: "access key, from `UPDRAFT_TOKEN`".
pub(super) fn describe(credential: &Credential) -> String {
    format!("{}, from {}", CredentialKind::of(&credential.secret).name(), source(credential))
}

/// Where a credential comes from.
pub(super) const fn source(credential: &Credential) -> &'static str {
    if credential.is_from_environment { "UPDRAFT_TOKEN" } else { "updraft login" }
}
