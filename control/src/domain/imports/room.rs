//! What of a plan is here already, and what breaks a rule here because of it: quotas, taken names, taken keys. Nothing is written.

use import::plan::{Place, Plan, Problem, THE_ACCOUNT};
use import::run::Room;
use shared::ids::AppId;
use shared::keys::{DeploymentKey, Label};
use shared::text::shell;

use super::{Import, Importer, history, repo};
use crate::domain::access::apps;
use crate::domain::accounts::repo as accounts;
use crate::domain::change::Change;
use crate::domain::deployments::repo::KeyRow;
use crate::domain::deployments::{repo as deployments, service};
use crate::domain::error::{Error, Quota, Result};
use crate::domain::limits::quotas;
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
}

/// A deployment of a plan that is here already.
#[derive(Clone, Debug)]
pub struct KnownDeployment {
    /// Where it came from.
    pub row: repo::ImportedDeploymentRow,
    /// Whether imports leave it alone, because somebody has released here or cleared its history.
    pub has_own: bool,
}

impl Import<'_> {
    /// The apps of a plan that are here already.
    pub async fn known(&self, plan: &Plan) -> Result<Vec<KnownApp>> {
        let mut tx = self.app.db.read().await?;
        let mut known = Vec::new();
        for app in &plan.apps {
            let Some(row) = repo::app(&mut tx, &self.owner, &self.source, &app.source_name).await? else { continue };
            let mut deployments = Vec::new();
            for row in repo::deployments(&mut tx, &row.id).await? {
                if app.deployments.iter().any(|planned| planned.source_name == row.source_name) {
                    let last_label = deployments::last_label(&mut tx, &row.deployment_id).await?.unwrap_or_default();
                    let is_empty = releases::newest(&mut tx, &row.deployment_id).await?.is_none();
                    deployments.push(KnownDeployment { has_own: history::has_own(&row, last_label, is_empty), row });
                }
            }
            known.push(KnownApp { source_name: app.source_name.clone(), name: row.name, deployments });
        }
        Ok(known)
    }

    /// The bytes of packages that fit into the quota; `None` without one.
    pub async fn bytes_left(&self) -> Result<Option<u64>> {
        if self.ignores_quotas {
            return Ok(None);
        }
        let stored = self.stored_bytes(&mut self.app.db.read().await?).await?;
        Ok(Some(self.app.settings.limits.quotas.stored_bytes.saturating_sub(stored)))
    }

    /// The bytes that count against the quota, without those that an earlier run of this import has stored: they are counted with what it still imports.
    async fn stored_bytes(&self, tx: &mut ReadTx) -> Result<u64> {
        let waiting = repo::waiting_bytes(tx, &self.owner, &self.source).await?;
        Ok(quotas::stored_bytes(tx, &self.owner).await?.saturating_sub(waiting.unsigned_abs()))
    }

    /// What of a plan is here already, and how many bytes of packages fit.
    pub async fn room(&self, plan: &Plan) -> Result<Room> {
        let mut room = Room::of(self.bytes_left().await?);
        for app in self.known(plan).await? {
            for KnownDeployment { row, has_own } in &app.deployments {
                let place = |label| Place { app: app.source_name.clone(), deployment: Some(row.source_name.clone()), label };
                let label = |label: i64| u32::try_from(label).ok().and_then(Label::new);
                room.settle(place(None), label(row.last_label), *has_own);
                let hashes = repo::hashes(&mut self.app.db.read().await?, &row.deployment_id).await?;
                room.here.extend(hashes.into_iter().map(|(number, hash)| (place(label(number)), hash)));
            }
        }
        Ok(room)
    }

    /// The problems of a plan. `bytes` is the sum of the new packages' sizes, each counted once.
    pub async fn problems(&self, plan: &Plan, bytes: u64) -> Result<Vec<Problem>> {
        let mut tx = self.app.db.read().await?;
        let limits = &self.app.settings.limits.quotas;
        let (mut problems, mut new_apps, mut new_deployments) = (Vec::new(), 0, 0);
        for app in &plan.apps {
            let place = Place { app: app.source_name.clone(), deployment: None, label: None };
            let known = repo::app(&mut tx, &self.owner, &self.source, &app.source_name).await?;
            if known.is_none() {
                new_apps += 1;
                if let Some(id) = apps::find_owned(&mut tx, &self.owner, app.name.as_str()).await? {
                    // The same server under another address, such as one with /v1 at its end, or the app as a collaborator sees it.
                    let text = match repo::source(&mut tx, &id).await? {
                        Some(source) => format!(
                            "the account has an app of this name that was imported from {source}. If that is the same server, import from that \
                             address, with a key of the app's owner; if not, rename one of them"
                        ),
                        None => "the account has an app of this name that was not imported. Rename one of them".to_owned(),
                    };
                    problems.push(Problem::new(place.clone(), text));
                }
                let count = self.people(app);
                if let Some(text) = self.too_many_people(app) {
                    problems.push(Problem::new(place.clone(), text));
                } else if !self.ignores_quotas && count > limits.collaborators as usize {
                    problems.push(Problem::new(
                        place.clone(),
                        format!(
                            "it would have {count} collaborators, the owner included; the quota is {}{}",
                            limits.collaborators,
                            self.raised_by("UPDRAFT_LIMIT_COLLABORATORS_PER_APP")
                        ),
                    ));
                }
            }
            let there = match &known {
                Some(app) => repo::deployments(&mut tx, &app.id).await?,
                None => Vec::new(),
            };
            let count = app.deployments.len();
            if !self.ignores_quotas && count > limits.deployments as usize {
                let raised_by = self.raised_by("UPDRAFT_LIMIT_DEPLOYMENTS");
                problems.push(Problem::new(
                    place.clone(),
                    format!("it has {count} deployments; the quota is {}{raised_by}", limits.deployments),
                ));
            }
            for deployment in &app.deployments {
                let place = Place { deployment: Some(deployment.source_name.clone()), ..place.clone() };
                if let Some(row) = there.iter().find(|row| row.source_name == deployment.source_name) {
                    if let Some(text) = self
                        .other_key(&mut tx, (known.as_ref().map_or(app.name.as_str(), |known| &known.name), row), &deployment.key)
                        .await?
                    {
                        problems.push(Problem::new(place, text));
                    }
                    continue;
                }
                new_deployments += 1;
                if let Some(key) = deployments::find_key(&mut tx, &deployment.key).await?
                    && let Some(text) = self.taken_key(&key)
                {
                    problems.push(Problem::new(place.clone(), text));
                }
                if let Some(known) = &known
                    && deployments::find(&mut tx, &known.id, deployment.name.as_str()).await?.is_some()
                {
                    problems.push(Problem::new(place, "the app has a deployment of this name that was not imported from there"));
                }
            }
        }
        if !self.ignores_quotas {
            self.quotas(&mut tx, (new_apps, new_deployments), bytes, &mut problems).await?;
        }
        Ok(problems)
    }

    /// How to go beyond a quota, said to who can: the operator.
    fn raised_by(&self, setting: &str) -> String {
        match self.by {
            Importer::Operator(_) => format!(". {setting} raises it for all accounts, --ignore-quotas goes beyond it for this import"),
            Importer::Owner(_) => String::new(),
        }
    }

    /// What to say of a key that another deployment has or had; `None` if it can be taken.
    fn taken_key(&self, key: &KeyRow) -> Option<String> {
        let is_own = key.account_id == self.owner;
        if key.account_id.as_str().is_empty() || (is_own && key.deployment_id.is_none()) {
            return None;
        }
        // To free it would take the updates from devices that ask here with it.
        let text = match (is_own, &self.by) {
            (true, _) => {
                "its key is that of another deployment of this account, so it may have been imported already. Import from the address that was \
                 used then, or delete that deployment first"
            }
            (false, Importer::Operator(_)) => {
                "its key belongs to a deployment of another account here. If no device asks here with it, `updraft-control deployment-key release \
                 --key KEY` frees it"
            }
            (false, Importer::Owner(_)) => "its key belongs to a deployment of another account here. Ask your administrator",
        };
        Some(text.to_owned())
    }

    /// What to say of a deployment that is here and has another key than at the source: devices ask with that one.
    async fn other_key(
        &self,
        tx: &mut ReadTx,
        (app, row): (&str, &repo::ImportedDeploymentRow),
        key: &DeploymentKey,
    ) -> Result<Option<String>> {
        let last_label = deployments::last_label(tx, &row.deployment_id).await?.unwrap_or_default();
        let is_empty = releases::newest(tx, &row.deployment_id).await?.is_none();
        // The import leaves such a deployment alone.
        if history::has_own(row, last_label, is_empty) || deployments::key_of(tx, &row.deployment_id).await?.is_none_or(|here| here == *key)
        {
            return Ok(None);
        }
        let next = match self.by {
            Importer::Operator(_) => format!(
                "`updraft-control deployment-key assign {} {} {}` gives it the key again",
                shell::option("--key", key.as_str()),
                shell::option("--app", &format!("{}:{app}", self.owner_email)),
                shell::option("--deployment", &row.name)
            ),
            Importer::Owner(_) => "Your administrator can give it the key again".to_owned(),
        };
        Ok(Some(format!(
            "the deployment here has another key than there, so devices that ask here with the old one get no updates. {next}"
        )))
    }

    /// The largest package that the account may upload, in bytes.
    pub async fn largest_package(&self) -> Result<u64> {
        let default = self.app.settings.limits.account.upload_bytes;
        let own = accounts::max_upload_bytes(&mut self.app.db.read().await?, &self.owner).await?;
        let own = own.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(default);
        Ok(if self.ignores_quotas { own.max(default) } else { own })
    }

    async fn quotas(
        &self,
        tx: &mut ReadTx,
        (new_apps, new_deployments): (u32, u32),
        bytes: u64,
        problems: &mut Vec<Problem>,
    ) -> Result<()> {
        let limits = &self.app.settings.limits.quotas;
        let usage = quotas::usage(tx, &self.owner, self.app.now()).await?;
        let stored = self.stored_bytes(tx).await?;
        let place = Place { app: THE_ACCOUNT.to_owned(), deployment: None, label: None };
        let mut check = |what: &str, there: u64, more: u64, quota: u64, setting: &str| {
            if more > 0 && there.saturating_add(more) > quota {
                let text = format!("would have {} {what}; the quota is {quota}{}", there.saturating_add(more), self.raised_by(setting));
                problems.push(Problem::new(place.clone(), text));
            }
        };
        check("apps", usage.apps.unsigned_abs(), new_apps.into(), limits.apps.into(), "UPDRAFT_LIMIT_APPS");
        if let Importer::Owner(_) = self.by {
            let (today, quota) = usage.deployments_today;
            check("deployments created today", today.into(), new_deployments.into(), quota.into(), "");
        }
        check("bytes of packages", stored, bytes, limits.stored_bytes, "UPDRAFT_LIMIT_STORED_BYTES");
        Ok(())
    }

    /// Checks that an app may have one more deployment, with this key. Errors: 409.
    pub(super) async fn check_deployment(&self, change: &mut Change<'_>, app: &AppId, key: &DeploymentKey) -> Result<()> {
        if let Importer::Owner(owner) = self.by {
            let reuses_key = service::owns_unused_key(change, key, &self.owner).await?;
            return quotas::acquire_deployment(self.app, change, app, (&self.owner, &self.owner), reuses_key, &owner.actor()).await;
        }
        let count = deployments::ids(change, app).await?.len();
        let quota = self.app.settings.limits.quotas.deployments;
        if self.ignores_quotas || count < quota as usize { Ok(()) } else { Err(Error::Quota(Quota::Deployments(quota))) }
    }
}
