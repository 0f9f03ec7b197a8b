//! The rules of deployments.

use serde_json::json;
use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::{DeploymentKey, Name};
use shared::time::UnixMillis;

use super::http::{DeploymentOut, NewDeployment};
use super::repo::{self, DeploymentRow};
use crate::audit::{self, Action, Actor, Event};
use crate::auth::AppGrant;
use crate::auth::grant::{ManageDeployments, ReadApp, ReadDeploymentKeys};
use crate::clock::Dice;
use crate::db::{ReadTx, WriteTx};
use crate::error::{AppError, AppResult, OrConflict};
use crate::releases::http::ReleaseOut;
use crate::releases::service as releases;
use crate::snapshot::outbox;
use crate::web::Faults;

/// Where a new deployment's key comes from.
#[derive(Debug)]
pub enum KeyChoice {
    /// 32 random bytes.
    Generated,
    /// The customer brings the key that its installed clients already have.
    Given(DeploymentKey),
}

/// Makes a deployment, in the transaction's last statements. Its empty snapshot is pushed at once, since KV remembers for a while that a key was
/// missing.
pub async fn create(
    tx: &mut WriteTx,
    grant: &AppGrant<ManageDeployments>,
    actor: &Actor,
    new: &NewDeployment,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<DeploymentRow> {
    let mut faults = Faults::default();
    let name = faults.take("name", new.name.text().and_then(Name::try_from));
    let key = faults.take("key", new.key.optional_text().and_then(|key| key.map(DeploymentKey::try_from).transpose()));
    let (Some(name), Some(key)) = (name, key) else { return Err(faults.into_error()) };
    let key = key.map_or(KeyChoice::Generated, KeyChoice::Given);
    // A key belongs for ever to the account that owns the app, whoever of its collaborators brings it.
    let row = insert(tx, grant.app(), grant.owner(), name.as_str(), key, dice, now).await?;
    let event = Event::new(Action::CreateDeployment, &row.id).of_app(grant.app()).with(json!({ "name": row.name }));
    audit::note(tx, actor, event, dice, now).await?;
    Ok(row)
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
    let key = match choice {
        KeyChoice::Generated => DeploymentKey::from_random(dice.bytes()?),
        KeyChoice::Given(key) => key,
    };
    let taken = || "this deployment key is taken".to_owned();
    match repo::find_key(tx, &key).await? {
        None => {
            repo::insert_key(tx, &key, account, app, &id).await.or_conflict(taken)?;
        }
        Some(known) if known.account_id == *account && repo::reuse_key(tx, &key, app, &id).await? == 1 => {}
        Some(_) => return Err(AppError::Conflict(taken())),
    }
    repo::insert(tx, &id, app, name, &key, now).await.or_conflict(|| format!("a deployment named {name} exists"))?;
    outbox::enqueue(tx, &key, now).await?;
    Ok(DeploymentRow {
        id,
        app_id: app.clone(),
        name: name.to_owned(),
        deployment_key: key.as_str().to_owned(),
        counting_epoch: 0,
        created_time: now,
    })
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
