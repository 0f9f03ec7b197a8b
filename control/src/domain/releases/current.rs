//! Deployments with their releases: what lists, reads and renames them, each with its newest release, and what clears or deletes them.

use serde_json::json;
use shared::keys::Name;

use super::blob;
use super::service::{Release, newest, newest_of_app};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageDeployments, ReadApp};
use crate::domain::audit::{Action, Event};
use crate::domain::context::Context;
use crate::domain::deployments::repo::{self, DeploymentRow};
use crate::domain::deployments::service::{self as deployments, Deployment};
use crate::domain::deployments::snapshots;
use crate::domain::error::Result;
use crate::infra::db::ReadTx;

/// A deployment with its newest release.
pub type Current = (Deployment, Option<Release>);

/// Renames a deployment. Errors: 404; 409 if the app already has a deployment with that name.
pub async fn rename(app: &Context, grant: &AppGrant<ManageDeployments>, called: &str, name: &Name) -> Result<Current> {
    let mut change = grant.begin(app).await?;
    let of = grant.lock(&mut change).await?;
    let (row, before) = deployments::rename(&mut change, &of.id, called, name.as_str()).await?;
    let newest = newest(&mut change, &row.id).await?;
    let details = json!({ "name": row.name, "before": before });
    change.commit(Event::new(Action::RenameDeployment, &row.id).of_app(&of.id).with(details)).await?;
    Ok((Deployment::of(grant, row), newest))
}

/// Deletes a deployment with its releases. Its key stays the owner's. Its counts are deleted later, in steps ([`crate::domain::counting::deletions`]). Blobs stay
/// until unused ones are cleaned up. Errors: 404.
pub async fn delete(app: &Context, grant: &AppGrant<ManageDeployments>, called: &str) -> Result<()> {
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    let (of, row) = deployments::lock(tx, grant, called).await?;
    blob::touch_released(tx, &of, &row.id, now).await?;
    repo::delete(tx, &row.id).await?;
    deployments::retire_keys(tx, vec![row.deployment_key], now).await?;
    change.commit(Event::new(Action::DeleteDeployment, &row.id).of_app(&of).with(json!({ "name": row.name }))).await
}

/// Deletes all releases of a deployment and resets its counts. Labels are never reused. Errors: 404.
pub async fn clear(app: &Context, grant: &AppGrant<ManageDeployments>, called: &str) -> Result<()> {
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    let (of, row) = deployments::lock(tx, grant, called).await?;
    blob::touch_released(tx, &of, &row.id, now).await?;
    repo::raise_epoch(tx, &row.id).await?;
    super::repo::delete_all(tx, &row.id).await?;
    snapshots::enqueue(tx, &row.deployment_key, now).await?;
    change.commit(Event::new(Action::ClearHistory, &row.id).of_app(&of).with(json!({ "deployment": row.name }))).await
}

/// The deployment with this name, as the caller may see it. Errors: 404.
pub async fn get(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, name: &str) -> Result<Current> {
    let row = deployments::find(tx, grant.app(), name).await?;
    let newest = newest(tx, &row.id).await?;
    Ok((Deployment::of(grant, row), newest))
}

/// The app's deployments, sorted by name.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ReadApp>) -> Result<Vec<Current>> {
    let mut newest = newest_of_app(tx, grant.app()).await?;
    let mut rows = repo::list(tx, grant.app()).await?;
    // Sorted here because the two databases collate text differently.
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    let current = |row: DeploymentRow| {
        let newest = newest.remove(&row.id);
        (Deployment::of(grant, row), newest)
    };
    Ok(rows.into_iter().map(current).collect())
}
