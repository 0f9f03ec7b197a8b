//! Deployments with what they offer now: their newest release.

use serde_json::json;
use shared::keys::Name;

use super::service::{Release, newest, newest_of_app};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageDeployments, ReadApp};
use crate::domain::audit::{Action, Event};
use crate::domain::context::Context;
use crate::domain::deployments::repo::{self, DeploymentRow};
use crate::domain::deployments::service::{self as deployments, Deployment};
use crate::domain::error::Result;
use crate::infra::db::ReadTx;

/// A deployment with its newest release.
pub type Current = (Deployment, Option<Release>);

/// Gives a deployment another name. Errors: 404, 409 when the app has a deployment of that name.
pub async fn rename(app: &Context, grant: &AppGrant<ManageDeployments>, called: &str, name: &Name) -> Result<Current> {
    let mut change = grant.begin(app).await?;
    let of = grant.lock(&mut change).await?;
    let (row, before) = deployments::rename(&mut change, &of.id, called, name.as_str()).await?;
    let newest = newest(&mut change, &row.id).await?;
    let details = json!({ "name": row.name, "before": before });
    change.commit(Event::new(Action::RenameDeployment, &row.id).of_app(&of.id).with(details)).await?;
    Ok((Deployment::of(grant, row), newest))
}

/// The deployment of this name, as the caller may see it. Errors: 404.
pub async fn get(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, name: &str) -> Result<Current> {
    let row = deployments::find(tx, grant.app(), name).await?;
    let newest = newest(tx, &row.id).await?;
    Ok((Deployment::of(grant, row), newest))
}

/// The app's deployments by name.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ReadApp>) -> Result<Vec<Current>> {
    let mut newest = newest_of_app(tx, grant.app()).await?;
    let mut rows = repo::list(tx, grant.app()).await?;
    // Sorted here, since databases sort text each in its own way.
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    let current = |row: DeploymentRow| {
        let newest = newest.remove(&row.id);
        (Deployment::of(grant, row), newest)
    };
    Ok(rows.into_iter().map(current).collect())
}
