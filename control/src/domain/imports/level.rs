//! What the other server had counted: a starting level, kept apart from what is counted here.

use std::collections::BTreeMap;

use import::source::Counts;
use shared::keys::Label;
use shared::time::UnixMillis;

use super::repo;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result};
use crate::infra::db::ReadTx;

/// The counts of the server that a deployment was imported from.
#[derive(Clone, Debug)]
pub struct StartingLevel {
    /// Its address.
    pub source: String,
    /// When they were read there.
    pub time: UnixMillis,
    /// The newest release that came from there.
    pub newest_label: Option<Label>,
    /// The counts by label or binary version.
    pub counts: BTreeMap<String, Counts>,
}

/// The starting level of a deployment; `None` if it was not imported. Errors: 404.
pub async fn starting_level(tx: &mut ReadTx, grant: &AppGrant<ReadMetrics>, deployment: &str) -> Result<Option<StartingLevel>> {
    let deployment = deployments::find(tx, grant.app(), deployment).await?;
    let Some(row) = repo::level(tx, &deployment.id).await? else { return Ok(None) };
    let newest_label = u32::try_from(row.last_label).ok().and_then(Label::new);
    let counts = row.counts.as_deref().map(serde_json::from_str).transpose().map_err(Error::internal)?;
    Ok(Some(StartingLevel { source: row.source, time: row.imported_time, newest_label, counts: counts.unwrap_or_default() }))
}
