//! The deployments of a comparison, read by the operator.

use import::compare::Deployment;
use shared::keys::Label;
use shared::snapshot::HistoryRelease;

use super::repo;
use crate::domain::access::apps;
use crate::domain::accounts;
use crate::domain::deployments::repo as deployments;
use crate::domain::email::Email;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::repo::{self as releases, ReleaseRow};
use crate::infra::db::Db;

/// The name of a deployment of anybody's app.
#[derive(Clone, Debug)]
pub struct FullName {
    /// The owner of the app.
    pub owner: Email,
    /// The app.
    pub app: String,
    /// The deployment.
    pub deployment: String,
}

impl std::fmt::Display for FullName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}/{}", &*self.owner, self.app, self.deployment)
    }
}

/// The deployment with its key and its history. Errors: 404.
pub async fn find(db: &Db, name: &FullName) -> Result<Deployment> {
    let mut tx = db.read().await?;
    let owner = accounts::repo::find_verified(&mut tx, &name.owner).await?.ok_or(Error::NotFound(Thing::Account))?;
    let app = apps::find_owned(&mut tx, &owner, &name.app).await?.ok_or(Error::NotFound(Thing::App))?;
    let row = deployments::find(&mut tx, &app, &name.deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    let mut history = releases::history(&mut tx, &row.id).await?.into_iter().map(release).collect::<Result<Vec<_>>>()?;
    history.sort_by_key(|release| std::cmp::Reverse(release.label));
    let imported = repo::deployment(&mut tx, &row.id).await?.and_then(|row| u32::try_from(row.last_label).ok());
    Ok(Deployment::new(name.to_string(), row.deployment_key, history, imported))
}

fn release(row: ReleaseRow) -> Result<HistoryRelease> {
    let label = u32::try_from(row.label).ok().and_then(Label::new);
    Ok(HistoryRelease {
        label: label.ok_or_else(|| Error::internal("a stored label is out of range"))?,
        range: row.app_version,
        package_hash: row.package_hash,
        is_mandatory: row.is_mandatory,
        is_disabled: row.is_disabled,
        rollout: row.rollout.map(u8::try_from).transpose().map_err(Error::internal)?,
        description: row.description,
        size: u64::try_from(row.size).map_err(Error::internal)?,
        blob: row.blob_sha256,
        // Devices may get one instead of the full package; a comparison tells it by the size.
        diffs: Vec::new(),
    })
}
