//! Apps from another CodePush server. What is written here has the names, keys, labels, times and hashes that it had there.
//!
//! Each step can be repeated: it finds what an earlier run has written. An app with its deployments is one transaction, and so is the whole history of a
//! deployment, so that no device ever sees a part of one. Reading the other server and downloading packages is the crate `import`'s; the service itself
//! never does, except by the operator's command.
//!
//! Start reading at [`Import`].

mod apps;
pub mod compared;
mod history;
mod known;
mod level;
mod merge;
pub mod packages;
mod releases;
pub mod repo;
mod room;
pub mod sent;

pub use apps::ImportedApp;
pub use known::{KnownApp, KnownDeployment};
pub use level::{StartingLevel, starting_level};

use shared::ids::AccountId;

use crate::domain::access::NotApiKey;
use crate::domain::access::operator::Operator;
use crate::domain::accounts;
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::email::{self, Email};
use crate::domain::error::{Error, Result, Thing};

/// An import into one account.
#[derive(Debug)]
pub struct Import<'i> {
    app: &'i Context,
    by: Importer<'i>,
    owner: AccountId,
    owner_email: String,
    source: String,
    ignores_quotas: bool,
}

/// Who imports.
#[derive(Debug)]
enum Importer<'i> {
    Operator(&'i Operator<'i>),
    Owner(&'i NotApiKey),
}

impl<'i> Import<'i> {
    /// An import by the operator, from the server with this address into the account with this email. Errors: 404 without a verified account.
    pub async fn by_operator(
        app: &'i Context,
        operator: &'i Operator<'i>,
        owner_email: &Email,
        source: String,
        ignores_quotas: bool,
    ) -> Result<Self> {
        let owner = accounts::repo::find_verified(&mut app.db.read().await?, owner_email).await?;
        let owner = owner.ok_or(Error::NotFound(Thing::Account))?;
        Ok(Self { app, by: Importer::Operator(operator), owner, owner_email: owner_email.to_string(), source, ignores_quotas })
    }

    /// An import by the account that will own the apps, within its quotas.
    pub fn by_owner(app: &'i Context, owner: &'i NotApiKey, source: String) -> Self {
        let owner_email = email::for_lookup(owner.email());
        Self { app, owner: owner.account().clone(), by: Importer::Owner(owner), owner_email, source, ignores_quotas: false }
    }

    async fn begin(&self) -> Result<Change<'i>> {
        match self.by {
            Importer::Operator(operator) => operator.begin_in(self.app).await,
            Importer::Owner(owner) => owner.begin(self.app).await,
        }
    }
}
