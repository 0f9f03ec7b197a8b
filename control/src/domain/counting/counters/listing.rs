//! The counts of a deployment for those who may see them.

use super::repo::{self, CounterRow};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::deployments::service as deployments;
use crate::domain::error::Result;
use crate::infra::db::ReadTx;

/// Every counter of the deployment since its history was last cleared, in no order. Errors: 404.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ReadMetrics>, deployment: &str) -> Result<Vec<CounterRow>> {
    let deployment = deployments::find(tx, grant.app(), deployment).await?;
    Ok(repo::list(tx, &deployment.id, deployment.counting_epoch).await?)
}
