//! The snapshot of a deployment, for callers of the API: the one that update checks of its devices are answered from.

use std::sync::Arc;

use shared::keys::DeploymentKey;
use shared::snapshot::Snapshot;

use super::Snapshots;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result, Thing};

/// Returns the key and the current snapshot of the deployment with this name. Errors: 404.
pub async fn of_deployment(
    app: &Context,
    snapshots: &Snapshots,
    grant: &AppGrant<ReadApp>,
    name: &str,
) -> Result<(DeploymentKey, Arc<Snapshot>)> {
    // The transaction ends here: reading the snapshot needs a connection of its own.
    let row = deployments::find(&mut app.db.read().await?, grant.app(), name).await?;
    let snapshot = snapshots.current(&row.deployment_key).await?;
    // Since then, the deployment may have been deleted, and the operator may have given its key to another one.
    let is_its_own = |snapshot: &Arc<Snapshot>| !snapshot.is_tombstone() && *snapshot.deployment() == row.id;
    let snapshot = snapshot.filter(is_its_own).ok_or(Error::NotFound(Thing::Deployment))?;
    Ok((row.deployment_key, snapshot))
}
