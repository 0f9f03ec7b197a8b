//! Operator commands for a squatted deployment key: free it, or assign it to the deployment whose devices have it. A deployment key becomes free in
//! no other way.

use serde_json::json;
use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use crate::domain::access::apps;
use crate::domain::access::operator::{Operator, OperatorChange};
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::change::ChangeContext;
use crate::domain::conflict::Conflict;
use crate::domain::deployments::repo::{self, DeploymentRow};
use crate::domain::deployments::snapshots;
use crate::domain::email::Email;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::mail::{Kind, Mail, NewDeploymentKey, outbox as mails};
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::db::WriteTx;

/// A command for one deployment key.
#[derive(Debug)]
pub struct KeyOperation<'o> {
    /// The operator.
    pub operator: &'o Operator<'o>,
    /// The deployment key.
    pub key: &'o DeploymentKey,
    /// The keys that encrypt the emails to owners.
    pub keys: &'o EncryptionKeys,
}

/// The deployment that uses a key; its app is locked.
struct Holder {
    deployment: DeploymentId,
    deployment_name: String,
    app: AppId,
    app_name: String,
    owner: AccountId,
}

/// Who owns and who uses a key.
struct KeyState {
    /// The owner; `None` for a free key.
    account: Option<AccountId>,
    /// The deployment that uses it; `None` for a key that is only kept for its account.
    holder: Option<Holder>,
}

impl KeyOperation<'_> {
    /// Frees the key, so that the next account that brings it gets it. A deployment that uses it gets a new key, and its devices get no more updates.
    /// The owner is told, even if no deployment uses the key. Errors: 404.
    pub async fn release(&self) -> Result<()> {
        let mut change = self.operator.begin().await?;
        let tx = &mut change;
        let state = self.lock(tx, None).await?;
        let mut changed = vec![self.key.clone()];
        self.take(tx, &state, None, &mut changed).await?;
        self.enqueue(tx, changed).await?;
        let details = json!({ "account": state.account, "wasInUse": state.holder.is_some() });
        self.finish(change, Action::ReleaseDeploymentKey, state.holder.map(|holder| holder.app).as_ref(), details).await
    }

    /// Assigns the key to this deployment. The deployment's old key remains its owner's, unused. Errors: 404; 409 if the deployment already has the
    /// key.
    pub async fn assign(&self, owner_email: &Email, app_name: &str, deployment: &str) -> Result<()> {
        let mut change = self.operator.begin().await?;
        let (now, tx) = (change.now(), &mut change);
        let owner = accounts::repo::find_by_email(tx, owner_email).await?.ok_or(Error::NotFound(Thing::Account))?;
        let app = apps::find_owned(tx, &owner, app_name).await?.ok_or(Error::NotFound(Thing::App))?;
        let state = self.lock(tx, Some(&app)).await?;
        let row = repo::find(tx, &app, deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
        if row.deployment_key == *self.key {
            return Err(Error::Conflict(Conflict::HasKey));
        }
        repo::lock(tx, &row.id).await?;
        let mut changed = vec![self.key.clone(), row.deployment_key.clone()];
        self.take(tx, &state, Some(&owner), &mut changed).await?;
        repo::retire_key(tx, &row.deployment_key).await?;
        repo::take_free_key(tx, self.key, &owner, &app, &row.id).await?;
        repo::set_key(tx, &row.id, self.key, now).await?;
        self.enqueue(tx, changed).await?;
        self.notify(tx, owner_email.to_string(), app_name, &row, self.key).await?;
        let details = json!({ "deployment": row.id, "account": state.account, "wasInUse": state.holder.is_some() });
        self.finish(change, Action::AssignDeploymentKey, Some(&app), details).await
    }

    /// Locks the app whose deployment uses the key, if any, and `other`, in the order of their ids; then that deployment.
    async fn lock(&self, tx: &mut WriteTx, other: Option<&AppId>) -> Result<KeyState> {
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
        let Some((deployment, app, deployment_name)) = using else { return Ok(KeyState { account, holder: None }) };
        let row = locked.into_iter().find(|row| row.id == app).ok_or(Error::NotFound(Thing::App))?;
        // The deployment was deleted or got another key before its app was locked.
        if repo::lock(tx, &deployment).await?.is_none_or(|row| row.deployment_key != *self.key) {
            return Err(Error::Conflict(Conflict::DeploymentChanged));
        }
        let holder = Holder { deployment, deployment_name, app, app_name: row.name, owner: row.namespace_id };
        Ok(KeyState { account, holder: Some(holder) })
    }

    /// Frees the key. A deployment that used it gets a new one. The account that had the key is told, unless the key goes to one of its own
    /// deployments (`to`).
    async fn take(
        &self,
        tx: &mut OperatorChange<'_>,
        state: &KeyState,
        to: Option<&AccountId>,
        changed: &mut Vec<DeploymentKey>,
    ) -> Result<()> {
        if let Some(Holder { deployment, deployment_name, app, app_name, owner }) = &state.holder {
            let new = DeploymentKey::from_random(tx.context().entropy().bytes()?);
            repo::insert_key(tx, &new, owner, app, deployment).await?;
            repo::set_key(tx, deployment, &new, UnixMillis(0)).await?;
            changed.push(new.clone());
            let email = accounts::repo::find(tx, owner).await?.ok_or(Error::NotFound(Thing::Account))?.email;
            let row = repo::find(tx, app, deployment_name).await?.ok_or(Error::NotFound(Thing::Deployment))?;
            self.notify(tx, email, app_name, &row, &new).await?;
        } else if let Some(account) = state.account.as_ref().filter(|account| Some(*account) != to) {
            // The key outlives a deleted account.
            if let Some(owner) = accounts::repo::find(tx, account).await? {
                let (entropy, now) = (tx.context().entropy(), tx.now());
                let kind = Kind::DeploymentKeyReleased { time: now, key: self.key.as_str().to_owned() };
                mails::enqueue_at(tx, self.keys, entropy, now, &Mail { to: owner.email, kind }).await?;
            }
        }
        if repo::free_key(tx, self.key).await? == 0 {
            repo::insert_free_key(tx, self.key).await?;
        }
        Ok(())
    }

    async fn notify(&self, tx: &mut OperatorChange<'_>, to: String, app: &str, row: &DeploymentRow, key: &DeploymentKey) -> Result<()> {
        // A key other than `self.key` is the new one that replaces a key that was taken away.
        let was_taken = key != self.key;
        let (entropy, now) = (tx.context().entropy(), tx.now());
        let notice = NewDeploymentKey { time: now, app: app.to_owned(), deployment: row.name.clone(), was_taken };
        mails::enqueue_at(tx, self.keys, entropy, now, &Mail { to, kind: Kind::DeploymentKeyChanged(notice) }).await
    }

    /// The publisher locks keys in this order too.
    async fn enqueue(&self, tx: &mut OperatorChange<'_>, mut keys: Vec<DeploymentKey>) -> Result<()> {
        let now = tx.now();
        keys.sort_unstable();
        for key in keys {
            snapshots::enqueue(tx, &key, now).await?;
        }
        Ok(())
    }

    async fn finish(&self, change: OperatorChange<'_>, action: Action, app: Option<&AppId>, details: serde_json::Value) -> Result<()> {
        let event = Event::new(action, self.key.as_str()).with(details);
        let event = match app {
            Some(app) => event.of_app(app),
            None => event,
        };
        change.commit(event).await
    }
}
