//! A squatted deployment key: the operator frees it, or gives it to the deployment whose devices have it. This is the only way that a
//! deployment key ever becomes free.

use serde_json::json;
use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use crate::domain::access::apps;
use crate::domain::accounts;
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::conflict::Conflict;
use crate::domain::deployments::repo::{self, DeploymentRow};
use crate::domain::email::Email;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::mail::{Kind, Mail, NewDeploymentKey, outbox as mails};
use crate::domain::outbox::snapshots;
use crate::infra::clock::Dice;
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::db::WriteTx;

/// What an operator's command needs besides the transaction.
#[derive(Debug)]
pub struct KeyOperation<'o> {
    /// The deployment key that it is about.
    pub key: &'o DeploymentKey,
    /// The keys that seal owners' mails.
    pub keys: &'o EncryptionKeys,
    /// Randomness.
    pub dice: &'o Dice,
    /// The time.
    pub now: UnixMillis,
}

/// The deployment that has a key, with its app locked.
struct Holder {
    deployment: DeploymentId,
    deployment_name: String,
    app: AppId,
    app_name: String,
    owner: AccountId,
}

/// Who has a key.
struct Known {
    /// Whose it is; none of a key that is nobody's.
    account: Option<AccountId>,
    /// The deployment that uses it; none of a key that is only kept for its account.
    holder: Option<Holder>,
}

impl KeyOperation<'_> {
    /// Frees the key, so that the next account that brings it has it. A deployment that uses it gets a new one: its devices get no updates any more. The
    /// owner is told, also of a key that no deployment uses. Errors: 404.
    pub async fn release(&self, tx: &mut WriteTx) -> Result<()> {
        let known = self.lock(tx, None).await?;
        let mut changed = vec![self.key.clone()];
        self.take(tx, &known, None, &mut changed).await?;
        self.enqueue(tx, changed).await?;
        let details = json!({ "account": known.account, "wasInUse": known.holder.is_some() });
        self.note(tx, Action::ReleaseDeploymentKey, known.holder.map(|holder| holder.app).as_ref(), details).await
    }

    /// Gives the key to the deployment of this name, of the app of this name of this owner. Its own key stays its owner's, unused. Errors: 404; 409 when
    /// the deployment has the key.
    pub async fn assign(&self, tx: &mut WriteTx, owner_email: &Email, app_name: &str, deployment: &str) -> Result<()> {
        let owner = accounts::repo::find_by_email(tx, owner_email).await?.ok_or(Error::NotFound(Thing::Account))?;
        let app = apps::find_owned(tx, &owner, app_name).await?.ok_or(Error::NotFound(Thing::App))?;
        let known = self.lock(tx, Some(&app)).await?;
        let row = repo::find(tx, &app, deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
        if row.deployment_key == self.key.as_str() {
            return Err(Error::Conflict(Conflict::HasKey));
        }
        repo::lock(tx, &row.id).await?;
        let before = DeploymentKey::try_from(row.deployment_key.as_str()).map_err(Error::internal)?;
        let mut changed = vec![self.key.clone(), before.clone()];
        self.take(tx, &known, Some(&owner), &mut changed).await?;
        repo::bury_key(tx, &before).await?;
        repo::take_free_key(tx, self.key, &owner, &app, &row.id).await?;
        repo::set_key(tx, &row.id, self.key, self.now).await?;
        self.enqueue(tx, changed).await?;
        self.tell(tx, owner_email.to_string(), app_name, &row, self.key).await?;
        let details = json!({ "deployment": row.id, "account": known.account, "wasInUse": known.holder.is_some() });
        self.note(tx, Action::AssignDeploymentKey, Some(&app), details).await
    }

    /// Locks the app whose deployment uses the key, if one does, and `other`, in the order of their ids; then that deployment.
    async fn lock(&self, tx: &mut WriteTx, other: Option<&AppId>) -> Result<Known> {
        let found = repo::find_key(tx, self.key).await?;
        if found.is_none() && other.is_none() {
            return Err(Error::NotFound(Thing::DeploymentKey));
        }
        let (account, deployment) = found.map_or((None, None), |row| (Some(row.account_id), row.deployment_id));
        let account = account.filter(|account| !account.as_str().is_empty());
        let using = match deployment {
            Some(deployment) => repo::app_of(tx, &deployment).await?.map(|(app, name)| (deployment, app, name)),
            None => None,
        };
        let mut ids: Vec<&AppId> = using.iter().map(|(_, app, _)| app).chain(other).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut locked = Vec::new();
        for id in ids {
            locked.extend(apps::lock(tx, id).await?);
        }
        let Some((deployment, app, deployment_name)) = using else { return Ok(Known { account, holder: None }) };
        let row = locked.into_iter().find(|row| row.id == app).ok_or(Error::NotFound(Thing::App))?;
        // Deleted, or given another key, just before its app was locked.
        if repo::lock(tx, &deployment).await?.as_ref() != Some(self.key) {
            return Err(Error::Conflict(Conflict::DeploymentChanged));
        }
        let holder = Holder { deployment, deployment_name, app, app_name: row.name, owner: row.namespace_id };
        Ok(Known { account, holder: Some(holder) })
    }

    /// Makes the key nobody's. A deployment that used it gets a new one. The account that had the key is told, unless it is for a deployment of theirs (`to`).
    async fn take(&self, tx: &mut WriteTx, known: &Known, to: Option<&AccountId>, changed: &mut Vec<DeploymentKey>) -> Result<()> {
        if let Some(Holder { deployment, deployment_name, app, app_name, owner }) = &known.holder {
            let new = DeploymentKey::from_random(self.dice.bytes()?);
            repo::insert_key(tx, &new, owner, app, deployment).await?;
            repo::set_key(tx, deployment, &new, UnixMillis(0)).await?;
            changed.push(new.clone());
            let email = accounts::repo::find(tx, owner).await?.ok_or(Error::NotFound(Thing::Account))?.email;
            let row = repo::find(tx, app, deployment_name).await?.ok_or(Error::NotFound(Thing::Deployment))?;
            self.tell(tx, email, app_name, &row, &new).await?;
        } else if let Some(account) = known.account.as_ref().filter(|account| Some(*account) != to) {
            // The key outlives a deleted account.
            if let Some(owner) = accounts::repo::find(tx, account).await? {
                let kind = Kind::DeploymentKeyReleased { time: self.now, key: self.key.as_str().to_owned() };
                mails::put_at(tx, self.keys, self.dice, self.now, &Mail { to: owner.email, kind }).await?;
            }
        }
        if repo::free_key(tx, self.key).await? == 0 {
            repo::insert_free_key(tx, self.key).await?;
        }
        Ok(())
    }

    async fn tell(&self, tx: &mut WriteTx, to: String, app: &str, row: &DeploymentRow, key: &DeploymentKey) -> Result<()> {
        // A key that was never anybody's is the replacement of one that was taken.
        let was_taken = key != self.key;
        let notice = NewDeploymentKey { time: self.now, app: app.to_owned(), deployment: row.name.clone(), was_taken };
        mails::put_at(tx, self.keys, self.dice, self.now, &Mail { to, kind: Kind::DeploymentKeyChanged(notice) }).await
    }

    /// In the order in which the publisher locks them, too.
    async fn enqueue(&self, tx: &mut WriteTx, mut keys: Vec<DeploymentKey>) -> Result<()> {
        keys.sort_unstable();
        for key in keys {
            snapshots::enqueue(tx, &key, self.now).await?;
        }
        Ok(())
    }

    async fn note(&self, tx: &mut WriteTx, action: Action, app: Option<&AppId>, details: serde_json::Value) -> Result<()> {
        let event = Event::new(action, self.key.as_str()).with(details);
        let event = match app {
            Some(app) => event.of_app(app),
            None => event,
        };
        audit::note(tx, &Actor::operator(), event, self.dice, self.now).await
    }
}
