//! A deployment's counters, for callers who may read its metrics.

use std::collections::HashMap;

use shared::ids::DeploymentId;

use super::repo::{self, CounterRow, Totals};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::deployments::service as deployments;
use crate::domain::error::Result;
use crate::infra::db::ReadTx;

/// All counters of the deployment since its history was last cleared, unordered. Errors: 404.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ReadMetrics>, deployment: &str) -> Result<Vec<CounterRow>> {
    let deployment = deployments::find(tx, grant.app(), deployment).await?;
    Ok(repo::list(tx, &deployment.id, deployment.counting_epoch).await?)
}

/// The counts of every deployment of the app, each since its history was last cleared. A deployment without reports is missing.
pub async fn totals(tx: &mut ReadTx, grant: &AppGrant<ReadMetrics>) -> Result<HashMap<DeploymentId, Totals>> {
    Ok(repo::totals(tx, grant.app()).await?)
}
