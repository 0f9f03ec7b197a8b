//! The actor of a change.

use std::net::IpAddr;

use shared::ids::AccountId;

use super::ClientAddress;

/// Who makes a change, with which credential, and from where.
#[derive(Clone, Debug)]
pub struct Actor {
    pub(super) account: Option<AccountId>,
    pub(super) credential: Option<String>,
    pub(super) credential_kind: &'static str,
    pub(super) address: Option<IpAddr>,
}

impl Actor {
    /// A caller with a credential.
    pub(in crate::domain) fn with_credential(account: &AccountId, credential: &str, kind: &'static str, from: ClientAddress) -> Self {
        Self { account: Some(account.clone()), credential: Some(credential.to_owned()), credential_kind: kind, address: Some(from.0) }
    }

    /// Someone without a credential.
    pub(in crate::domain) fn anonymous(from: ClientAddress) -> Self {
        Self { account: None, credential: None, credential_kind: "none", address: Some(from.0) }
    }

    /// Someone without a credential who proved to be the account's owner: by its password, or by the token of an email.
    pub(in crate::domain) fn owner(account: &AccountId, from: ClientAddress) -> Self {
        Self { account: Some(account.clone()), ..Self::anonymous(from) }
    }

    /// Several actors, from any address.
    pub(in crate::domain) fn many() -> Self {
        Self { account: None, credential: None, credential_kind: "none", address: None }
    }

    /// The operator, by a command.
    pub(in crate::domain) fn operator() -> Self {
        Self { account: None, credential: None, credential_kind: "operator", address: None }
    }
}

impl Actor {
    /// The client address; none for the operator.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }
}
