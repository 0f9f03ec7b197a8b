//! The rules of deployments.

use serde_json::json;
use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::{DeploymentKey, Name};
use shared::time::UnixMillis;

use super::repo::{self, DeploymentRow};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageDeployments, ReadApp, ReadDeploymentKeys};
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::context::Context;
use crate::domain::error::{AppError, AppResult, OrConflict};
use crate::domain::limits::quotas;
use crate::domain::releases::service as releases;
use crate::domain::snapshot::outbox;
use crate::http::api::deployments::{DeploymentOut, DeploymentPatch, NewDeployment};
use crate::http::api::releases::ReleaseOut;
use crate::infra::clock::Dice;
use crate::infra::db::{ReadTx, WriteTx};
use shared::FieldErrors;

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

/// Makes a deployment, in the transaction's last statements. Its empty snapshot is pushed at once, since KV remembers for a while that a key was
/// missing.
pub async fn create(
    tx: &mut WriteTx,
    app: &Context,
    grant: &AppGrant<ManageDeployments>,
    actor: &Actor,
    new: &NewDeployment,
) -> AppResult<DeploymentRow> {
    let now = app.now();
    let mut errors = FieldErrors::default();
    let name = errors.take("name", new.name.text().and_then(Name::try_from));
    let key = errors.take("key", new.key.optional_text().and_then(|key| key.map(DeploymentKey::try_from).transpose()));
    let (Some(name), Some(key)) = (name, key) else { return Err(errors.into()) };
    let key = key.map_or(KeyChoice::Generated, |key| KeyChoice::Given { key, by: grant.account().clone() });
    let of = grant.lock(tx).await?;
    // The key belongs to the account whose namespace the app is in, even when a collaborator brings it.
    let reuses_key = is_kept(tx, &key, &of.namespace_id).await?;
    quotas::admit_deployment(app, tx, &of.id, (&of.namespace_id, grant.account()), reuses_key, actor).await?;
    let row = insert(tx, &of.id, &of.namespace_id, name.as_str(), key, &app.dice, now).await?;
    let event = Event::new(Action::CreateDeployment, &row.id).of_app(grant.app()).with(json!({ "name": row.name }));
    audit::note(tx, actor, event, &app.dice, now).await?;
    Ok(row)
}

/// Whether the account has this key from a deleted deployment.
async fn is_kept(tx: &mut ReadTx, choice: &KeyChoice, account: &AccountId) -> AppResult<bool> {
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
) -> AppResult<DeploymentRow> {
    let id = DeploymentId::v7(now, dice.bytes()?);
    let (key, by) = match choice {
        KeyChoice::Generated => (DeploymentKey::from_random(dice.bytes()?), account.clone()),
        KeyChoice::Given { key, by } => (key, by),
    };
    let taken = || "this deployment key is taken".to_owned();
    let key_since = match repo::find_key(tx, &key).await? {
        None => {
            repo::insert_key(tx, &key, account, app, &id).await.or_conflict(taken)?;
            UnixMillis(0)
        }
        // The operator has freed it.
        Some(_) if repo::take_free_key(tx, &key, account, app, &id).await? == 1 => now,
        // Of an app that they have nothing to do with, the owner's collaborators must not bring clients to theirs.
        Some(known) if known.account_id == *account && repo::reuse_key(tx, &key, account, app, &id, &by).await? == 1 => now,
        Some(_) => return Err(AppError::Conflict(taken())),
    };
    let row = DeploymentRow {
        id,
        app_id: app.clone(),
        name: name.to_owned(),
        deployment_key: key.as_str().to_owned(),
        counting_epoch: 0,
        created_time: now,
    };
    repo::insert(tx, &row, key_since).await.or_conflict(|| format!("a deployment named {name} exists"))?;
    outbox::enqueue(tx, &key, now).await?;
    Ok(row)
}

/// Gives a deployment another name, in the transaction's last statements. Errors: 404, 409 when the app has a deployment of that name.
pub async fn rename(
    tx: &mut WriteTx,
    grant: &AppGrant<ManageDeployments>,
    actor: &Actor,
    called: &str,
    patch: &DeploymentPatch,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<DeploymentRow> {
    let mut errors = FieldErrors::default();
    let Some(name) = errors.take("name", patch.name.text().and_then(Name::try_from)) else { return Err(errors.into()) };
    let app = grant.lock(tx).await?;
    let row = find(tx, &app.id, called).await?;
    repo::rename(tx, &row.id, name.as_str()).await.or_conflict(|| format!("a deployment named {} exists", name.as_str()))?;
    let details = json!({ "name": name.as_str(), "before": row.name });
    audit::note(tx, actor, Event::new(Action::RenameDeployment, &row.id).of_app(&app.id).with(details), dice, now).await?;
    Ok(DeploymentRow { name: name.as_str().to_owned(), ..row })
}

/// Deletes a deployment with its releases, in the transaction's last statements. Its key stays the owner's. Its counts go later, in steps
/// ([`crate::domain::counting::gone`]); blobs stay for whoever clears unused ones away. Errors: 404.
pub async fn delete(
    tx: &mut WriteTx,
    grant: &AppGrant<ManageDeployments>,
    actor: &Actor,
    called: &str,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<()> {
    let (app, row, key) = lock(tx, grant, called).await?;
    repo::let_go(tx, &app, &row.id, now).await?;
    repo::delete(tx, &row.id).await?;
    bury(tx, vec![key], now).await?;
    let event = Event::new(Action::DeleteDeployment, &row.id).of_app(&app).with(json!({ "name": row.name }));
    audit::note(tx, actor, event, dice, now).await
}

/// Removes all releases of a deployment and lets its counts begin anew, in the transaction's last statements. Labels are never used again. Errors: 404.
pub async fn clear(
    tx: &mut WriteTx,
    grant: &AppGrant<ManageDeployments>,
    actor: &Actor,
    called: &str,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<()> {
    let (app, row, key) = lock(tx, grant, called).await?;
    repo::let_go(tx, &app, &row.id, now).await?;
    repo::clear(tx, &row.id).await?;
    outbox::enqueue(tx, &key, now).await?;
    let event = Event::new(Action::ClearHistory, &row.id).of_app(&app).with(json!({ "deployment": row.name }));
    audit::note(tx, actor, event, dice, now).await
}

/// Locks the app and all its deployments, and gives the app, the deployment of this name, and its key. Errors: 403, 404.
async fn lock(tx: &mut WriteTx, grant: &AppGrant<ManageDeployments>, called: &str) -> AppResult<(AppId, DeploymentRow, DeploymentKey)> {
    let app = grant.lock(tx).await?;
    lock_all(tx, &app.id).await?;
    let row = find(tx, &app.id, called).await?;
    let key = DeploymentKey::try_from(row.deployment_key.as_str()).map_err(AppError::internal)?;
    Ok((app.id, row, key))
}

/// Locks the deployments of an app that is locked, and gives their keys: no release is made or changed until the transaction ends.
pub async fn lock_all(tx: &mut WriteTx, app: &AppId) -> AppResult<Vec<DeploymentKey>> {
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
pub async fn bury(tx: &mut WriteTx, mut keys: Vec<DeploymentKey>, now: UnixMillis) -> AppResult<()> {
    // In the order in which the publisher locks them, too.
    keys.sort_unstable();
    for key in keys {
        repo::bury_key(tx, &key).await?;
        outbox::enqueue(tx, &key, now).await?;
    }
    Ok(())
}

/// Makes the keys of `from` that an app had last another account's, those of its deleted deployments too: some of its clients may have them. A key that
/// the operator has taken from the account is not among them, although the app had it last.
pub async fn give_keys(tx: &mut WriteTx, app: &AppId, from: &AccountId, to: &AccountId) -> AppResult<()> {
    let mut keys = repo::keys(tx, app).await?;
    keys.sort_unstable();
    for key in keys {
        repo::give_key(tx, &key, app, from, to).await?;
    }
    Ok(())
}

/// The deployment of this name, or 404.
pub async fn find(tx: &mut ReadTx, app: &AppId, name: &str) -> AppResult<DeploymentRow> {
    repo::find(tx, app, name).await?.ok_or(AppError::NotFound("deployment"))
}

/// A deployment as the caller may see it, with its newest release.
pub async fn out(
    tx: &mut ReadTx,
    row: DeploymentRow,
    may_read_keys: bool,
    urls: &shared::wire::check::DownloadUrls<'_>,
) -> AppResult<DeploymentOut> {
    let package = releases::newest(tx, &row, urls).await?;
    Ok(shown(row, package, may_read_keys))
}

/// A deployment with this newest release, as the caller may see it.
pub fn shown(row: DeploymentRow, package: Option<ReleaseOut>, may_read_keys: bool) -> DeploymentOut {
    let key = if may_read_keys { row.deployment_key } else { "(hidden)".to_owned() };
    DeploymentOut { id: row.id, name: row.name, key, created_time: row.created_time, package }
}

/// The app's deployments by name.
pub async fn list(
    tx: &mut ReadTx,
    grant: &AppGrant<ReadApp>,
    urls: &shared::wire::check::DownloadUrls<'_>,
) -> AppResult<Vec<DeploymentOut>> {
    let mut deployments = Vec::new();
    let mut rows = repo::list(tx, grant.app()).await?;
    // Sorted here, since databases sort text each in its own way.
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    for row in rows {
        deployments.push(out(tx, row, grant.also::<ReadDeploymentKeys>(), urls).await?);
    }
    Ok(deployments)
}
