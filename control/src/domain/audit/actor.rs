//! Who did it.

use std::net::IpAddr;

use shared::ids::AccountId;

use super::ClientAddress;

/// Who makes a change, with what credential, and from where.
#[derive(Clone, Debug)]
pub struct Actor {
    pub(super) account: Option<AccountId>,
    pub(super) credential: Option<String>,
    pub(super) credential_kind: &'static str,
    pub(super) address: Option<IpAddr>,
}

impl Actor {
    /// A caller with the credential of this id and kind.
    pub fn with_credential(account: &AccountId, credential: &str, kind: &'static str, from: ClientAddress) -> Self {
        Self { account: Some(account.clone()), credential: Some(credential.to_owned()), credential_kind: kind, address: Some(from.0) }
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
