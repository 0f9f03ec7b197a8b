//! The rules of deployments.

use serde_json::json;
use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::{DeploymentKey, Name};
use shared::time::UnixMillis;

use super::repo::{self, DeploymentRow};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageDeployments, ReadDeploymentKeys};
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, OrConflict, Result, Thing};
use crate::domain::limits::quotas;
use crate::domain::outbox::snapshots;
use crate::infra::clock::Dice;
use crate::infra::db::{ReadTx, WriteTx};

/// Where a new deployment's key comes from.
#[derive(Debug)]
pub enum KeyChoice {
    /// 32 random bytes.
    Generated,
    /// The customer brings the key that its installed clients already have.
    Given {
        /// The key.
        key: DeploymentKey,
        /// Who of the app's collaborators brings it.
        by: AccountId,
    },
}

/// A deployment to be made.
#[derive(Clone, Debug)]
pub struct NewDeployment {
    /// Its name.
    pub name: Name,
    /// The key that installed clients already have; else one is made.
    pub key: Option<DeploymentKey>,
}

/// A deployment as a caller may see it.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its id.
    pub id: DeploymentId,
    /// Its name.
    pub name: String,
    /// Its key; none when the caller must not see it.
    pub key: Option<String>,
    /// When it was made.
    pub created_time: UnixMillis,
}

impl Deployment {
    /// A row, as this caller may see it.
    pub fn of<N>(grant: &AppGrant<N>, row: DeploymentRow) -> Self {
        let key = grant.also::<ReadDeploymentKeys>().then_some(row.deployment_key);
        Self { id: row.id, name: row.name, key, created_time: row.created_time }
    }
}

/// Makes a deployment. Its empty snapshot is pushed at once, since KV remembers for a while that a key was missing. Errors: 409 when the app has a
/// deployment of that name, or the key is taken.
pub async fn create(app: &Context, grant: &AppGrant<ManageDeployments>, new: NewDeployment) -> Result<Deployment> {
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    let key = new.key.map_or(KeyChoice::Generated, |key| KeyChoice::Given { key, by: grant.account().clone() });
    let of = grant.lock(tx).await?;
    // The key belongs to the account whose namespace the app is in, even when a collaborator brings it.
    let reuses_key = is_kept(tx, &key, &of.namespace_id).await?;
    quotas::admit_deployment(app, tx, &of.id, (&of.namespace_id, grant.account()), reuses_key, &grant.caller().actor()).await?;
    let row = insert(tx, &of.id, &of.namespace_id, new.name.as_str(), key, &app.dice, now).await?;
    let event = Event::new(Action::CreateDeployment, &row.id).of_app(grant.app()).with(json!({ "name": row.name }));
    change.commit(event).await?;
    Ok(Deployment::of(grant, row))
}

/// Whether the account has this key from a deleted deployment.
async fn is_kept(tx: &mut ReadTx, choice: &KeyChoice, account: &AccountId) -> Result<bool> {
    let KeyChoice::Given { key, .. } = choice else { return Ok(false) };
    let found = repo::find_key(tx, key).await?;
    Ok(found.is_some_and(|row| row.account_id == *account && row.deployment_id.is_none()))
}

/// Stores a deployment with its key and asks for its first snapshot.
pub async fn insert(
    tx: &mut WriteTx,
    app: &AppId,
    account: &AccountId,
    name: &str,
    choice: KeyChoice,
    dice: &Dice,
    now: UnixMillis,
) -> Result<DeploymentRow> {
    let id = DeploymentId::v7(now, dice.bytes()?);
    let (key, by) = match choice {
        KeyChoice::Generated => (DeploymentKey::from_random(dice.bytes()?), account.clone()),
        KeyChoice::Given { key, by } => (key, by),
    };
    let taken = || Conflict::KeyTaken;
    let key_since = match repo::find_key(tx, &key).await? {
        None => {
            repo::insert_key(tx, &key, account, app, &id).await.or_conflict(taken)?;
            UnixMillis(0)
        }
        // The operator has freed it.
        Some(_) if repo::take_free_key(tx, &key, account, app, &id).await? == 1 => now,
        // Of an app that they have nothing to do with, the owner's collaborators must not bring clients to theirs.
        Some(known) if known.account_id == *account && repo::reuse_key(tx, &key, account, app, &id, &by).await? == 1 => now,
        Some(_) => return Err(Error::Conflict(taken())),
    };
    let row = DeploymentRow {
        id,
        app_id: app.clone(),
        name: name.to_owned(),
        deployment_key: key.as_str().to_owned(),
        counting_epoch: 0,
        created_time: now,
    };
    repo::insert(tx, &row, key_since).await.or_conflict(|| Conflict::DeploymentName(name.to_owned()))?;
    snapshots::enqueue(tx, &key, now).await?;
    Ok(row)
}

/// Gives a deployment another name, and gives it with the name that it had. The app is locked. Errors: 404, 409 when the app has a deployment of that name.
pub async fn rename(change: &mut Change<'_>, app: &AppId, called: &str, name: &str) -> Result<(DeploymentRow, String)> {
    let row = find(change, app, called).await?;
    repo::rename(change, &row.id, name).await.or_conflict(|| Conflict::DeploymentName(name.to_owned()))?;
    let DeploymentRow { name: before, .. } = row.clone();
    Ok((DeploymentRow { name: name.to_owned(), ..row }, before))
}

/// Deletes a deployment with its releases. Its key stays the owner's. Its counts go later, in steps ([`crate::domain::counting::gone`]); blobs stay for
/// whoever clears unused ones away. Errors: 404.
pub async fn delete(app: &Context, grant: &AppGrant<ManageDeployments>, called: &str) -> Result<()> {
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    let (of, row, key) = lock(tx, grant, called).await?;
    repo::let_go(tx, &of, &row.id, now).await?;
    repo::delete(tx, &row.id).await?;
    bury(tx, vec![key], now).await?;
    change.commit(Event::new(Action::DeleteDeployment, &row.id).of_app(&of).with(json!({ "name": row.name }))).await
}

/// Removes all releases of a deployment and lets its counts begin anew. Labels are never used again. Errors: 404.
pub async fn clear(app: &Context, grant: &AppGrant<ManageDeployments>, called: &str) -> Result<()> {
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    let (of, row, key) = lock(tx, grant, called).await?;
    repo::let_go(tx, &of, &row.id, now).await?;
    repo::clear(tx, &row.id).await?;
    snapshots::enqueue(tx, &key, now).await?;
    change.commit(Event::new(Action::ClearHistory, &row.id).of_app(&of).with(json!({ "deployment": row.name }))).await
}

/// Locks the app and all its deployments, and gives the app, the deployment of this name, and its key. Errors: 403, 404.
async fn lock(tx: &mut WriteTx, grant: &AppGrant<ManageDeployments>, called: &str) -> Result<(AppId, DeploymentRow, DeploymentKey)> {
    let app = grant.lock(tx).await?;
    lock_all(tx, &app.id).await?;
    let row = find(tx, &app.id, called).await?;
    let key = DeploymentKey::try_from(row.deployment_key.as_str()).map_err(Error::internal)?;
    Ok((app.id, row, key))
}

/// Locks the deployments of an app that is locked, and gives their keys: no release is made or changed until the transaction ends.
pub async fn lock_all(tx: &mut WriteTx, app: &AppId) -> Result<Vec<DeploymentKey>> {
    let mut ids = repo::ids(tx, app).await?;
    // In the order in which batches of reports lock them, too.
    ids.sort_unstable();
    let mut keys = Vec::with_capacity(ids.len());
    for id in ids {
        keys.extend(repo::lock(tx, &id).await?);
    }
    Ok(keys)
}

/// Takes the keys of deployments that are gone out of use, and asks for their tombstones.
pub async fn bury(tx: &mut WriteTx, mut keys: Vec<DeploymentKey>, now: UnixMillis) -> Result<()> {
    // In the order in which the publisher locks them, too.
    keys.sort_unstable();
    for key in keys {
        repo::bury_key(tx, &key).await?;
        snapshots::enqueue(tx, &key, now).await?;
    }
    Ok(())
}

/// Makes the keys of `from` that an app had last another account's, those of its deleted deployments too: some of its clients may have them. A key that
/// the operator has taken from the account is not among them, although the app had it last.
pub async fn give_keys(tx: &mut WriteTx, app: &AppId, from: &AccountId, to: &AccountId) -> Result<()> {
    let mut keys = repo::keys(tx, app).await?;
    keys.sort_unstable();
    for key in keys {
        repo::give_key(tx, &key, app, from, to).await?;
    }
    Ok(())
}

/// The deployment of this name, or 404.
pub async fn find(tx: &mut ReadTx, app: &AppId, name: &str) -> Result<DeploymentRow> {
    repo::find(tx, app, name).await?.ok_or(Error::NotFound(Thing::Deployment))
}
