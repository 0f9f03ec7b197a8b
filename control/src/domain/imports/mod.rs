//! Apps from another CodePush server. What is written here has the names, keys, labels, times and hashes that it had there.
//!
//! Each step can be repeated: it finds what an earlier run has written. An app with its deployments is one transaction, and so is the whole history of a
//! deployment, so that no device ever sees a part of one. Reading the other server and downloading packages is the crate `import`'s.
//!
//! Start reading at [`Import`].

mod apps;
pub mod compared;
mod level;
mod releases;
pub mod repo;
mod room;

pub use apps::{ImportedApp, Joined};
pub use level::{StartingLevel, starting_level};
pub use releases::Outcome;

use shared::ids::AccountId;

use crate::domain::access::operator::Operator;
use crate::domain::accounts;
use crate::domain::context::Context;
use crate::domain::email::Email;
use crate::domain::error::{Error, Result, Thing};

/// An import by the operator, into one account.
#[derive(Debug)]
pub struct Import<'i> {
    app: &'i Context,
    operator: &'i Operator<'i>,
    owner: AccountId,
    owner_email: Email,
    source: String,
    ignores_quotas: bool,
}

impl<'i> Import<'i> {
    /// An import from the server with this address into the account with this email. Errors: 404 without a verified account.
    pub async fn new(
        app: &'i Context,
        operator: &'i Operator<'i>,
        owner_email: Email,
        source: String,
        ignores_quotas: bool,
    ) -> Result<Self> {
        let owner = accounts::repo::find_verified(&mut app.db.read().await?, &owner_email).await?;
        let owner = owner.ok_or(Error::NotFound(Thing::Account))?;
        Ok(Self { app, operator, owner, owner_email, source, ignores_quotas })
    }
}
