//! Who did it.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use shared::ids::AccountId;

use crate::domain::access::{CredentialKind, SignedIn};
use crate::domain::audit::ClientAddress;
use crate::domain::context::AppState;
use crate::domain::error::{AppError, AppResult};

/// Who makes a change, with what credential, and from where.
///
/// As an extractor: the caller of an operation that needs a credential, of whatever kind.
#[derive(Clone, Debug)]
pub struct Actor {
    pub(super) account: Option<AccountId>,
    pub(super) credential: Option<String>,
    pub(super) credential_kind: &'static str,
    pub(super) address: Option<IpAddr>,
}

impl Actor {
    /// A caller with a credential.
    pub fn caller(signed_in: &SignedIn, from: ClientAddress) -> Self {
        Self {
            account: Some(signed_in.account().clone()),
            credential: Some(signed_in.credential().as_str().to_owned()),
            credential_kind: kind(signed_in.kind()),
            address: Some(from.0),
        }
    }

    /// Somebody without a credential.
    pub fn stranger(from: ClientAddress) -> Self {
        Self { account: None, credential: None, credential_kind: "none", address: Some(from.0) }
    }

    /// Somebody without a credential who has shown to be the account's owner: by its password, or by the token of a mail.
    pub fn owner(account: &AccountId, from: ClientAddress) -> Self {
        Self { account: Some(account.clone()), ..Self::stranger(from) }
    }

    /// Several, from wherever they came.
    pub fn many() -> Self {
        Self { account: None, credential: None, credential_kind: "none", address: None }
    }

    /// Whoever runs the service, by its command line.
    pub fn operator() -> Self {
        Self { account: None, credential: None, credential_kind: "operator", address: None }
    }
}

impl Actor {
    /// From where; none of the operator.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }
}

impl FromRequestParts<AppState> for Actor {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let signed_in = SignedIn::from_request_parts(parts, app).await?;
        let from = ClientAddress::from_request_parts(parts, app).await?;
        Ok(Self::caller(&signed_in, from))
    }
}

/// The kind of a credential in the trail. Not `credentialOrigin`, which named keys and old sessions have none of.
fn kind(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::DashboardSession => "dashboard_session",
        CredentialKind::CliBrowser => "cli_browser",
        CredentialKind::CliDevice => "cli_device",
        CredentialKind::SessionWithoutOrigin => "session",
        CredentialKind::NamedKey => "access_key",
        CredentialKind::ApiKey => "api_key",
    }
}
