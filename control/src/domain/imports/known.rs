//! Finds the apps and deployments of a plan that an earlier import has written.
//!
//! By their deployment keys: those are what devices have, and no rename changes them. The key of a deployment that was deleted here still tells its app.
//! Only an app without deployments is found by its name there: a name can become that of another app.

use std::collections::BTreeMap;

use import::plan::{self, Plan};
use import::room::{Here, Room, Settled};
use shared::ids::AppId;
use shared::keys::Label;

use super::repo::{self, ImportedAppRow, ImportedDeploymentRow};
use super::{Import, history};
use crate::domain::deployments::repo as deployments;
use crate::domain::error::{Error, Result};
use crate::domain::releases::repo as releases;
use crate::infra::db::ReadTx;

/// An app of a plan that is here already.
#[derive(Clone, Debug)]
pub struct KnownApp {
    /// Its name at the source.
    pub source_name: String,
    /// Its name now.
    pub name: String,
    /// Those of the plan's deployments that are here.
    pub deployments: Vec<KnownDeployment>,
    /// Its deployments that came from the source, and that the source does not have any more: their names now.
    pub gone: Vec<String>,
}

/// A deployment of a plan that is here already.
#[derive(Clone, Debug)]
pub struct KnownDeployment {
    /// Its name at the source.
    pub source_name: String,
    /// Where it came from.
    pub row: ImportedDeploymentRow,
    /// Whether imports leave it alone, because somebody has released here or cleared its history.
    pub has_own: bool,
}

impl Import<'_> {
    /// The apps of a plan that are here already.
    pub async fn known(&self, plan: &Plan) -> Result<Vec<KnownApp>> {
        let mut tx = self.app.db.read().await?;
        let mut known = Vec::new();
        for (app, row) in plan.apps.iter().zip(self.find_apps(&mut tx, plan).await?) {
            let Some(row) = row else { continue };
            let (mut of_app, mut gone) = (Vec::new(), repo::deployments(&mut tx, &row.id).await?);
            for (deployment, row) in app.deployments.iter().zip(find_deployments(&mut tx, &row.id, app).await?) {
                let Some(row) = row else { continue };
                gone.retain(|other| other.deployment_id != row.deployment_id);
                of_app.push(KnownDeployment { source_name: deployment.source_name.clone(), has_own: has_own(&mut tx, &row).await?, row });
            }
            let gone = gone.into_iter().map(|row| row.name).collect();
            known.push(KnownApp { source_name: app.source_name.clone(), name: row.name, deployments: of_app, gone });
        }
        Ok(known)
    }

    /// The account's apps that came from the source, and that are not in the plan: their names now.
    pub async fn other_apps(&self, plan: &Plan) -> Result<Vec<String>> {
        let mut tx = self.app.db.read().await?;
        let planned = self.find_apps(&mut tx, plan).await?;
        let is_other = |row: &ImportedAppRow| planned.iter().flatten().all(|known| known.id != row.id);
        Ok(repo::apps(&mut tx, &self.owner, &self.source).await?.into_iter().filter(is_other).map(|row| row.name).collect())
    }

    /// What of a plan is here already, and how many bytes of packages fit.
    pub async fn room(&self, plan: &Plan) -> Result<Room> {
        let mut room = Room::of(self.bytes_left().await?);
        room.others = self.other_apps(plan).await?;
        for app in self.known(plan).await? {
            room.know(&app.source_name, &app.name, app.gone);
            for KnownDeployment { source_name, row, has_own } in &app.deployments {
                let label = |label: i64| u32::try_from(label).ok().and_then(Label::new);
                let mut releases = BTreeMap::new();
                for row in repo::labels(&mut self.app.db.read().await?, &row.deployment_id).await? {
                    let here = Here {
                        package_hash: row.package_hash,
                        range: row.app_version,
                        description: row.description,
                        is_disabled: row.is_disabled,
                        is_mandatory: row.is_mandatory,
                        rollout: row.rollout.map_or(Ok(100), u8::try_from).map_err(Error::internal)?,
                    };
                    releases.extend(label(row.label).map(|label| (label, here)));
                }
                let settled = Settled { name: row.name.clone(), newest: label(row.last_label), has_own: *has_own, releases };
                room.settle(&app.source_name, source_name, settled);
            }
        }
        Ok(room)
    }

    /// The apps of a plan that are here already, in its order.
    pub(super) async fn find_apps(&self, tx: &mut ReadTx, plan: &Plan) -> Result<Vec<Option<ImportedAppRow>>> {
        let mut found = Vec::with_capacity(plan.apps.len());
        for app in &plan.apps {
            found.push(self.find_app(tx, app).await?);
        }
        Ok(found)
    }

    /// The app that is here already.
    pub(super) async fn find_app(&self, tx: &mut ReadTx, app: &plan::App) -> Result<Option<ImportedAppRow>> {
        if let Some(row) = self.apps_of_keys(tx, app).await?.into_iter().next() {
            return Ok(Some(row));
        }
        // All of its deployments that are left there were deleted here.
        if let [row] = &*self.former_apps(tx, app).await? {
            return Ok(Some(row.clone()));
        }
        let named = repo::app(tx, &self.owner, &self.source, &app.source_name).await?;
        let Some(row) = named else { return Ok(None) };
        // With deployments on both sides and no key in common, it is another app that has got the name since.
        let may_be = app.deployments.is_empty() || repo::deployments(tx, &row.id).await?.is_empty();
        Ok(may_be.then_some(row))
    }

    /// The apps here that have the deployments with these keys, or had them before the keys were changed here. More than one only if somebody has moved keys
    /// from app to app.
    pub(super) async fn apps_of_keys(&self, tx: &mut ReadTx, app: &plan::App) -> Result<Vec<ImportedAppRow>> {
        let mut found: Vec<ImportedAppRow> = Vec::new();
        for deployment in &app.deployments {
            if let Some(row) = repo::app_of_key(tx, &self.owner, &self.source, &deployment.key).await?
                && found.iter().all(|other| other.id != row.id)
            {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// The apps here whose deployments with these keys were deleted here.
    async fn former_apps(&self, tx: &mut ReadTx, app: &plan::App) -> Result<Vec<ImportedAppRow>> {
        let mut found: Vec<ImportedAppRow> = Vec::new();
        for deployment in &app.deployments {
            if let Some(row) = repo::former_app_of_key(tx, &self.owner, &self.source, &deployment.key).await?
                && found.iter().all(|other| other.id != row.id)
            {
                found.push(row);
            }
        }
        Ok(found)
    }
}

/// The planned deployments of an app that are here already, in the plan's order: each is the one that has its key, or had it last.
pub(super) async fn find_deployments(tx: &mut ReadTx, app: &AppId, planned: &plan::App) -> Result<Vec<Option<ImportedDeploymentRow>>> {
    let rows = repo::deployments(tx, app).await?;
    let mut found = Vec::with_capacity(planned.deployments.len());
    for deployment in &planned.deployments {
        let last = repo::last_deployment(tx, &deployment.key).await?;
        found.push(rows.iter().find(|row| Some(&row.deployment_id) == last.as_ref()).cloned());
    }
    Ok(found)
}

/// Whether imports leave a deployment alone.
pub(super) async fn has_own(tx: &mut ReadTx, row: &ImportedDeploymentRow) -> Result<bool> {
    let last_label = deployments::last_label(tx, &row.deployment_id).await?.unwrap_or_default();
    let is_empty = releases::newest(tx, &row.deployment_id).await?.is_none();
    Ok(history::has_own(row, last_label, is_empty))
}
