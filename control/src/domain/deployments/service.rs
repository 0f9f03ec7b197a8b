//! The rules of deployments.

use serde_json::json;
use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::{DeploymentKey, Name};
use shared::time::UnixMillis;

use super::repo::{self, DeploymentRow};
use super::snapshots;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageDeployments, ReadDeploymentKeys};
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, OrConflict, Result, Thing};
use crate::domain::limits::quotas;
use crate::infra::clock::Entropy;
use crate::infra::db::{ReadTx, WriteTx};

/// Where a new deployment's key comes from.
#[derive(Debug)]
pub enum KeyChoice {
    /// 32 random bytes.
    Generated,
    /// The customer supplies the key that installed devices already have.
    Given {
        /// The key.
        key: DeploymentKey,
        /// The app's collaborator who supplies it.
        by: AccountId,
    },
}

/// A deployment to create.
#[derive(Clone, Debug)]
pub struct NewDeployment {
    /// Its name.
    pub name: Name,
    /// The key that installed devices already have; if absent, one is generated.
    pub key: Option<DeploymentKey>,
}

/// A deployment as the caller sees it.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its ID.
    pub id: DeploymentId,
    /// Its name.
    pub name: String,
    /// Its key; none when the caller may not see it.
    pub key: Option<String>,
    /// When it was created.
    pub created_time: UnixMillis,
    /// Whether its history was cleared: devices may run releases that no longer exist.
    pub was_cleared: bool,
}

impl Deployment {
    /// Converts a row to what this caller may see.
    pub fn of<N>(grant: &AppGrant<N>, row: DeploymentRow) -> Self {
        let key = grant.also::<ReadDeploymentKeys>().then(|| row.deployment_key.into());
        Self { id: row.id, name: row.name, key, created_time: row.created_time, was_cleared: row.counting_epoch > 0 }
    }
}

/// Creates a deployment. Its empty snapshot is pushed immediately, because KV caches for a while that a key is missing. Errors: 409 when the app has a
/// deployment with that name, or the key is taken.
pub async fn create(app: &Context, grant: &AppGrant<ManageDeployments>, new: NewDeployment) -> Result<Deployment> {
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    let key = new.key.map_or(KeyChoice::Generated, |key| KeyChoice::Given { key, by: grant.account().clone() });
    let of = grant.lock(tx).await?;
    // The key belongs to the account whose namespace holds the app, even when a collaborator supplies it.
    let reuses_key = match &key {
        KeyChoice::Given { key, .. } => owns_unused_key(tx, key, &of.namespace_id).await?,
        KeyChoice::Generated => false,
    };
    quotas::acquire_deployment(app, tx, &of.id, (&of.namespace_id, grant.account()), reuses_key, &grant.caller().actor()).await?;
    let row = insert(tx, &of.id, &of.namespace_id, new.name.as_str(), key, &app.entropy, now).await?;
    let event = Event::new(Action::CreateDeployment, &row.id).of_app(grant.app()).with(json!({ "name": row.name }));
    change.commit(event).await?;
    Ok(Deployment::of(grant, row))
}

/// Whether the account has this key from a deleted deployment.
pub async fn owns_unused_key(tx: &mut ReadTx, key: &DeploymentKey, account: &AccountId) -> Result<bool> {
    let found = repo::find_key(tx, key).await?;
    Ok(found.is_some_and(|row| row.account_id == *account && row.deployment_id.is_none()))
}

/// Inserts a deployment with its key, and queues its first snapshot.
pub async fn insert(
    tx: &mut WriteTx,
    app: &AppId,
    account: &AccountId,
    name: &str,
    choice: KeyChoice,
    entropy: &Entropy,
    now: UnixMillis,
) -> Result<DeploymentRow> {
    let id = DeploymentId::v7(now, entropy.bytes()?);
    let (key, by) = match choice {
        KeyChoice::Generated => (DeploymentKey::from_random(entropy.bytes()?), account.clone()),
        KeyChoice::Given { key, by } => (key, by),
    };
    let taken = || Conflict::KeyTaken;
    let key_since = match repo::find_key(tx, &key).await? {
        None => {
            repo::insert_key(tx, &key, account, app, &id).await.or_conflict(taken)?;
            UnixMillis(0)
        }
        // The operator has released it.
        Some(_) if repo::take_free_key(tx, &key, account, app, &id).await? == 1 => now,
        // Collaborators of the owner must not redirect devices of an app that they have no access to.
        Some(known) if known.account_id == *account && repo::reuse_key(tx, &key, account, app, &id, &by).await? == 1 => now,
        Some(_) => return Err(Error::Conflict(taken())),
    };
    let row =
        DeploymentRow { id, app_id: app.clone(), name: name.to_owned(), deployment_key: key.clone(), counting_epoch: 0, created_time: now };
    repo::insert(tx, &row, key_since).await.or_conflict(|| Conflict::DeploymentName(name.to_owned()))?;
    snapshots::enqueue(tx, &key, now).await?;
    Ok(row)
}

/// Renames a deployment, and returns it with its old name. The app must be locked. Errors: 404, 409 when the app has a deployment with that name.
pub async fn rename(change: &mut Change<'_>, app: &AppId, called: &str, name: &str) -> Result<(DeploymentRow, String)> {
    let row = find(change, app, called).await?;
    repo::rename(change, &row.id, name).await.or_conflict(|| Conflict::DeploymentName(name.to_owned()))?;
    let DeploymentRow { name: before, .. } = row.clone();
    Ok((DeploymentRow { name: name.to_owned(), ..row }, before))
}

/// Locks the app and all its deployments, and returns the app and the deployment with this name. Errors: 403, 404.
pub async fn lock(tx: &mut WriteTx, grant: &AppGrant<ManageDeployments>, called: &str) -> Result<(AppId, DeploymentRow)> {
    let app = grant.lock(tx).await?;
    lock_all(tx, &app.id).await?;
    let row = find(tx, &app.id, called).await?;
    Ok((app.id, row))
}

/// Locks the deployments of a locked app, and returns their keys. No release can be created or changed until the transaction ends.
pub async fn lock_all(tx: &mut WriteTx, app: &AppId) -> Result<Vec<DeploymentKey>> {
    let mut ids = repo::ids(tx, app).await?;
    // In the order in which batches of reports lock them.
    ids.sort_unstable();
    let mut keys = Vec::with_capacity(ids.len());
    for id in ids {
        keys.extend(repo::lock(tx, &id).await?.map(|row| row.deployment_key));
    }
    Ok(keys)
}

/// Takes the keys of deleted deployments out of use, and queues their tombstones.
pub async fn retire_keys(tx: &mut WriteTx, mut keys: Vec<DeploymentKey>, now: UnixMillis) -> Result<()> {
    // In the order in which the publisher locks them.
    keys.sort_unstable();
    for key in keys {
        repo::retire_key(tx, &key).await?;
        snapshots::enqueue(tx, &key, now).await?;
    }
    Ok(())
}

/// Moves the keys of `from` that the app had last to another account, including those of deleted deployments: some devices may still have them. A key that
/// the operator has taken from the account is not moved, although the app had it last.
pub async fn give_keys(tx: &mut WriteTx, app: &AppId, from: &AccountId, to: &AccountId) -> Result<()> {
    let mut keys = repo::keys(tx, app).await?;
    keys.sort_unstable();
    for key in keys {
        repo::give_key(tx, &key, app, from, to).await?;
    }
    Ok(())
}

/// The deployment with this name. Errors: 404.
pub async fn find(tx: &mut ReadTx, app: &AppId, name: &str) -> Result<DeploymentRow> {
    repo::find(tx, app, name).await?.ok_or(Error::NotFound(Thing::Deployment))
}
