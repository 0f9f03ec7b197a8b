//! What breaks a rule here because of what is here already: quotas, taken names, taken keys. Nothing is written.

use std::collections::BTreeSet;

use import::plan::{self, Place, Plan, Problem, THE_ACCOUNT};
use shared::ids::{AppId, DeploymentId};
use shared::keys::DeploymentKey;
use shared::text::shell;

use super::{Import, Importer, known, repo};
use crate::domain::access::apps;
use crate::domain::accounts::repo as accounts;
use crate::domain::change::Change;
use crate::domain::deployments::repo::KeyRow;
use crate::domain::deployments::{repo as deployments, service};
use crate::domain::error::{Error, Quota, Result, Thing};
use crate::domain::limits::quotas;
use crate::infra::db::ReadTx;

impl Import<'_> {
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

    /// The problems of a plan. `bytes` is the sum of the new packages' sizes, each counted once.
    pub async fn problems(&self, plan: &Plan, bytes: u64) -> Result<Vec<Problem>> {
        let mut tx = self.app.db.read().await?;
        let limits = &self.app.settings.limits.quotas;
        let (mut problems, mut new_apps, mut new_deployments, mut claimed) = (Vec::new(), 0, 0, BTreeSet::new());
        let all_known = self.find_apps(&mut tx, plan).await?;
        for (app, known) in plan.apps.iter().zip(&all_known) {
            let place = Place { app: app.source_name.clone(), deployment: None, label: None };
            if let Some(text) = self.keys_apart(&mut tx, app, &mut claimed).await? {
                problems.push(Problem::new(place.clone(), text));
            }
            if known.is_none() {
                new_apps += 1;
                if let Some(id) = apps::find_owned(&mut tx, &self.owner, app.name.as_str()).await? {
                    let is_another = all_known.iter().flatten().any(|other| other.id == id);
                    problems.push(Problem::new(place.clone(), self.taken_app_name(&mut tx, &id, app, is_another).await?));
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
            let here = match known {
                Some(row) => known::find_deployments(&mut tx, &row.id, app).await?,
                None => vec![None; app.deployments.len()],
            };
            let count = app.deployments.len();
            if !self.ignores_quotas && count > limits.deployments as usize {
                let raised_by = self.raised_by("UPDRAFT_LIMIT_DEPLOYMENTS");
                problems.push(Problem::new(
                    place.clone(),
                    format!("it has {count} deployments; the quota is {}{raised_by}", limits.deployments),
                ));
            }
            for (deployment, row) in app.deployments.iter().zip(&here) {
                let place = Place { deployment: Some(deployment.source_name.clone()), ..place.clone() };
                if let Some(row) = row {
                    let name_here = known.as_ref().map_or(app.name.as_str(), |known| &known.name);
                    if let Some(text) = self.other_key(&mut tx, (name_here, row), &deployment.key).await? {
                        problems.push(Problem::new(place, text));
                    }
                    continue;
                }
                new_deployments += 1;
                if let Some(key) = deployments::find_key(&mut tx, &deployment.key).await?
                    && let Some(text) = self.taken_key(&mut tx, &key).await?
                {
                    problems.push(Problem::new(place.clone(), text));
                }
                if let Some(known) = known
                    && deployments::find(&mut tx, &known.id, deployment.name.as_str()).await?.is_some()
                {
                    let text = format!("the app {} here has another deployment of this name. Rename that one", known.name);
                    problems.push(Problem::new(place, text));
                }
            }
        }
        if !self.ignores_quotas {
            self.quotas(&mut tx, (new_apps, new_deployments), bytes, &mut problems).await?;
        }
        Ok(problems)
    }

    /// What to say of an app whose deployments are in several apps here, or in one that has those of another app there. `claimed` are the apps so far.
    async fn keys_apart(&self, tx: &mut ReadTx, app: &plan::App, claimed: &mut BTreeSet<AppId>) -> Result<Option<String>> {
        let mut rows = self.apps_of_keys(tx, app).await?;
        if rows.is_empty() {
            rows.extend(self.find_app(tx, app).await?);
        }
        let names: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
        let is_claimed = rows.iter().any(|row| !claimed.insert(row.id.clone()));
        Ok(match &*names {
            [_, _, ..] => Some(format!("its deployment keys are in several apps here: {}. Move them into one", names.join(", "))),
            [name] if is_claimed => {
                Some(format!("the app {name} here has deployment keys of this app and of another one there. Import one of them"))
            }
            _ => None,
        })
    }

    /// What to say of an app's name that another app of the account has. `is_another` if that one came from another app of the plan.
    async fn taken_app_name(&self, tx: &mut ReadTx, id: &AppId, planned: &plan::App, is_another: bool) -> Result<String> {
        let of_this_name = repo::app(tx, &self.owner, &self.source, &planned.source_name).await?;
        let may_be_same = !is_another && of_this_name.is_some_and(|row| row.id == *id);
        Ok(match repo::source(tx, id).await? {
            Some(source) if source == self.source && may_be_same => {
                let names: Vec<_> = repo::deployments(tx, id).await?.into_iter().map(|row| row.name).collect();
                format!(
                    "the account has an app of this name that was imported from there, and none of its deployments is one of these: {}. If it is another \
                     app, rename it here. If it is this app, and they were deleted there, import no more and go on here. \
                     Or delete them here, too, and import again: devices with their keys then get no updates",
                    names.join(", ")
                )
            }
            Some(source) if source == self.source => {
                "the account has an app of this name that was imported from another app there. Rename it here".to_owned()
            }
            // The same server under another address, such as one with /v1 at its end.
            Some(source) => format!(
                "the account has an app of this name that was imported from {source}. If that is the same server, import from that address; if not, \
                 rename one of them"
            ),
            None => "the account has an app of this name that was not imported. Rename one of them".to_owned(),
        })
    }

    /// How to go beyond a quota, said to who can: the operator.
    fn raised_by(&self, setting: &str) -> String {
        match self.by {
            Importer::Operator(_) => format!(". {setting} raises it for all accounts, --ignore-quotas goes beyond it for this import"),
            Importer::Owner(_) => String::new(),
        }
    }

    /// What to say of a key that another deployment has or had; `None` if it can be taken.
    async fn taken_key(&self, tx: &mut ReadTx, key: &KeyRow) -> Result<Option<String>> {
        let is_own = key.account_id == self.owner;
        if key.account_id.as_str().is_empty() || (is_own && key.deployment_id.is_none()) {
            return Ok(None);
        }
        // To free it would take the updates from devices that ask here with it.
        Ok(Some(match (&key.deployment_id, &self.by) {
            (Some(deployment), _) if is_own => self.own_key(tx, deployment).await?,
            (_, Importer::Operator(_)) => {
                "its key belongs to a deployment of another account here. If no device asks here with it, `updraft-control deployment-key release \
                 --key KEY` frees it"
                    .to_owned()
            }
            (_, Importer::Owner(_)) => "its key belongs to a deployment of another account here. Ask your administrator".to_owned(),
        }))
    }

    /// What to say of a key that another deployment of the account has. Devices ask with it, so nobody should be told to delete that deployment.
    async fn own_key(&self, tx: &mut ReadTx, deployment: &DeploymentId) -> Result<String> {
        let (app, name) = deployments::app_of(tx, deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
        let place = match apps::find(tx, &self.owner, &app).await? {
            Some(app) => format!("{} / {name}", app.name),
            None => name,
        };
        Ok(match repo::source(tx, &app).await?.filter(|source| *source != self.source) {
            Some(source) => format!(
                "its key is that of {place} here, which was imported from {source}. If that is the same server, import from that address"
            ),
            None => format!(
                "its key is that of {place} here, which was not imported from this deployment. Devices with this key get what is there"
            ),
        })
    }

    /// What to say of a deployment that is here and has another key than at the source: devices ask with that one.
    async fn other_key(
        &self,
        tx: &mut ReadTx,
        (app, row): (&str, &repo::ImportedDeploymentRow),
        key: &DeploymentKey,
    ) -> Result<Option<String>> {
        // The import leaves a deployment with releases of its own alone.
        if row.deployment_key == *key || known::has_own(tx, row).await? {
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
