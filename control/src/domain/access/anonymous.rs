//! The right to public operations, which need no credential. The import check lists the areas that may use it.

use shared::ids::AccountId;

use crate::domain::audit::{Actor, ClientAddress};
use crate::domain::change::{self, Change};
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::infra::db::WriteTx;

/// A client without a credential.
#[derive(Clone, Debug)]
pub struct Anonymous(Actor);

impl Anonymous {
    /// The client at this address.
    pub fn at(from: ClientAddress) -> Self {
        Self(Actor::anonymous(from))
    }

    /// The client that has just proven to own the account: by the password, or by a mailed token.
    pub fn owner(account: &AccountId, from: ClientAddress) -> Self {
        Self(Actor::owner(account, from))
    }

    /// Several clients, from any address.
    pub fn many() -> Self {
        Self(Actor::many())
    }

    /// The client as an actor in the audit trail.
    pub fn actor(&self) -> &Actor {
        &self.0
    }

    /// Begins a change.
    pub async fn begin(self, app: &Context) -> Result<Change<'_>> {
        change::begin(app, self.0).await
    }

    /// Continues as a change in a transaction that has counted the attempt.
    pub fn change_in(self, app: &Context, tx: WriteTx) -> Change<'_> {
        change::begin_in(app, tx, self.0)
    }
}
