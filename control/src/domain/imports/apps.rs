//! An app with its deployments and collaborators: one transaction, found again by a later run also if it was renamed there.

use std::collections::BTreeSet;

use import::plan;
use import::report::Joined;
use serde_json::json;
use shared::ids::{AccountId, AppId, DeploymentId};

use super::{Import, Importer, known, repo};
use crate::domain::access::listing::taken;
use crate::domain::access::{Role, apps, awaited, collaborators, names};
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::collaborators::{notice, service as collaborators_of};
use crate::domain::deployments::service::{self as deployments, KeyChoice};
use crate::domain::email::Email;
use crate::domain::error::{Error, OrConflict, Result, Thing};
use crate::domain::mail::{Kind, Mail, SharedApp};
use crate::infra::db::ReadTx;

/// An app here, with the deployments that came from the source.
#[derive(Clone, Debug)]
pub struct ImportedApp {
    /// The app.
    pub id: AppId,
    /// Its name now.
    pub name: String,
    /// Its deployments: their names at the source, their IDs, and their names now.
    pub deployments: Vec<(String, DeploymentId, String)>,
    /// What became of the source's collaborators, other than the owner here.
    pub collaborators: Vec<(String, Joined)>,
}

impl Import<'_> {
    /// Creates an app with its deployments and collaborators, or what an earlier run has not created of it. Errors: 400 for more collaborators than its
    /// owner can add at once; 409; 429, because each collaborator of a new app counts as one that its owner adds.
    pub async fn app(&self, planned: &plan::App) -> Result<ImportedApp> {
        let mut is_counted = false;
        if let Importer::Owner(owner) = self.by
            && self.find_app(&mut self.app.db.read().await?, planned).await?.is_none()
        {
            if let Some(text) = self.too_many_people(planned) {
                return Err(Error::invalid("app", text));
            }
            collaborators_of::acquire_many(self.app, owner, self.people(planned) - 1).await?;
            is_counted = true;
        }
        let mut change = self.begin().await?;
        let now = change.now();
        // The app before the account, as everywhere.
        let found = self.find_app(&mut change, planned).await?;
        let known = match &found {
            Some(row) => apps::lock(&mut change, &row.id).await?,
            None => None,
        };
        // Another import may have changed it while this waited for it.
        if known.is_some() && self.find_app(&mut change, planned).await? != found {
            return Err(Error::unavailable("the app was changed while this waited for it"));
        }
        if self.apps_of_keys(&mut change, planned).await?.len() > 1 {
            return Err(Error::invalid("app", "has deployment keys that are in several apps here"));
        }
        if known.is_none() && !is_counted && matches!(self.by, Importer::Owner(_)) {
            return Err(Error::unavailable("the app was deleted while this waited for it"));
        }
        // Who was added before may have left since: they are not added again.
        let joining = if known.is_none() { self.accounts(&mut change, planned).await? } else { BTreeSet::new() };
        // All at once, in a fixed order: two imports that name each other's owner must not wait for each other.
        accounts::service::lock(&mut change, &mut joining.iter().chain([&self.owner]).collect::<Vec<_>>()).await?;
        if !accounts::service::lock(&mut change, &mut [&self.owner]).await? {
            return Err(Error::NotFound(Thing::Account));
        }
        let (id, name) = match &known {
            // Transferred while this waited for its lock.
            Some(row) if apps::role(&mut change, &row.id, &self.owner).await? != Some(Role::Owner) => {
                return Err(Error::NotFound(Thing::App));
            }
            Some(row) => (row.id.clone(), row.name.clone()),
            None => (self.create(&mut change, planned).await?, planned.name.as_str().to_owned()),
        };
        let mut of_app = ImportedApp { id, name, deployments: Vec::new(), collaborators: Vec::new() };
        let mut is_renamed = found.is_some_and(|row| row.source_name != planned.source_name);
        if is_renamed {
            repo::rename_app(&mut change, &of_app.id, &planned.source_name).await?;
        }
        let here = known::find_deployments(&mut change, &of_app.id, planned).await?;
        let mut created = Vec::new();
        for (deployment, row) in planned.deployments.iter().zip(here) {
            let name = &deployment.source_name;
            let (id, name_here) = if let Some(row) = row {
                if row.source_name != *name {
                    repo::rename_deployment(&mut change, &row.deployment_id, name).await?;
                    is_renamed = true;
                }
                (row.deployment_id, row.name)
            } else {
                self.check_deployment(&mut change, &of_app.id, &deployment.key).await?;
                let key = KeyChoice::Given { key: deployment.key.clone(), by: self.owner.clone() };
                let (owner, entropy) = (&self.owner, &self.app.entropy);
                let row = deployments::insert(&mut change, &of_app.id, owner, deployment.name.as_str(), key, entropy, now).await?;
                repo::insert_deployment(&mut change, &row.id, name, now).await?;
                created.push(row.name.clone());
                (row.id, row.name)
            };
            of_app.deployments.push((name.clone(), id, name_here));
        }
        if known.is_none() {
            self.join(&mut change, planned, &of_app.id, &joining).await?;
        }
        self.tell(&mut change, planned, &mut of_app).await?;
        if known.is_some() && created.is_empty() {
            if is_renamed {
                change.commit_bookkeeping().await?;
            }
            return Ok(of_app);
        }
        let details = json!({ "name": planned.name, "source": self.source, "deployments": created });
        change.commit(Event::new(Action::ImportApp, &of_app.id).of_app(&of_app.id).with(details)).await?;
        Ok(of_app)
    }

    async fn create(&self, change: &mut Change<'_>, planned: &plan::App) -> Result<AppId> {
        if !self.ignores_quotas {
            self.app.settings.limits.quotas.check_apps(change, &self.owner).await?;
        }
        let (now, name) = (change.now(), planned.name.as_str());
        let id = AppId::v7(now, self.app.entropy.bytes()?);
        apps::insert(change, &id, &self.owner, name, now).await.or_conflict(|| taken(name))?;
        names::keep(change, &self.owner, name, &id).await?;
        repo::insert_app(change, &id, &self.source, &planned.source_name, now).await?;
        Ok(id)
    }

    /// The accounts here of the collaborators of the source, other than the owner.
    async fn accounts(&self, tx: &mut ReadTx, planned: &plan::App) -> Result<BTreeSet<AccountId>> {
        let mut found = BTreeSet::new();
        for email in self.emails(planned) {
            found.extend(accounts::repo::find_verified(tx, &email).await?.filter(|account| *account != self.owner));
        }
        Ok(found)
    }

    /// Gives the collaborators of the source access. All become Developers, which is what collaborators may do there. `locked` are their accounts.
    async fn join(&self, change: &mut Change<'_>, planned: &plan::App, app: &AppId, locked: &BTreeSet<AccountId>) -> Result<()> {
        let (now, role) = (change.now(), Role::Developer);
        let (mut joined, mut mails) = (BTreeSet::new(), Vec::new());
        for email in self.emails(planned) {
            if !self.ignores_quotas {
                self.app.settings.limits.quotas.check_collaborators(change, app).await?;
            }
            // An address may have changed hands while this waited for the locks: then its account is none of these.
            match accounts::repo::find_verified(change, &email).await?.filter(|account| locked.contains(account)) {
                Some(account) if joined.insert(account.clone()) => {
                    collaborators::insert(change, app, &account, role, now).await?;
                    let shared = SharedApp {
                        time: now,
                        app: format!("{}:{}", self.owner_email, planned.name.as_str()),
                        app_id: app.clone(),
                        from: self.owner_email.clone(),
                        permission: role.as_str().to_owned(),
                    };
                    mails.push((account, Mail { to: email.to_string(), kind: Kind::AppShared(shared) }));
                }
                // Two addresses of one account.
                Some(_) => {}
                None => {
                    awaited::insert(change, app, &email, role, now).await?;
                }
            }
        }
        for (account, mail) in mails {
            notice::tell(change, self.app, &account, &mail).await?;
        }
        Ok(())
    }

    /// What became of the collaborators, also if an earlier run has added them.
    async fn tell(&self, change: &mut Change<'_>, planned: &plan::App, of_app: &mut ImportedApp) -> Result<()> {
        let now = change.now();
        let waiting = awaited::list(change, &of_app.id, now).await?;
        // No app has more of them, and each costs two reads.
        for (text, email) in self.addresses(planned).into_iter().take(self.app.settings.limits.quotas.collaborators as usize) {
            let joined = match email {
                None => Joined::NoAddress,
                Some(email) if waiting.iter().any(|other| *other == *email) => Joined::Awaited,
                Some(email) => match accounts::repo::find_verified(change, &email).await? {
                    Some(account) if apps::role(change, &of_app.id, &account).await?.is_some() => Joined::Added,
                    _ => Joined::NotAdded,
                },
            };
            of_app.collaborators.push((text, joined));
        }
        Ok(())
    }

    /// Why an app has more collaborators than its owner can import at once: each tells whether an address has an account, so each counts.
    pub(super) fn too_many_people(&self, planned: &plan::App) -> Option<String> {
        let (Importer::Owner(_), count) = (&self.by, self.people(planned) - 1) else { return None };
        let most = self.app.settings.limits.collaborators.count as usize;
        (count > most)
            .then(|| format!("it has {count} collaborators; at most {most} can be imported at once. Your administrator can import it"))
    }

    /// How many people will have access to an app, its owner included.
    pub(super) fn people(&self, planned: &plan::App) -> usize {
        1 + self.emails(planned).len()
    }

    /// Their addresses, each once.
    fn emails(&self, planned: &plan::App) -> Vec<Email> {
        let mut known = BTreeSet::new();
        self.addresses(planned).into_iter().filter_map(|(_, email)| email).filter(|email| known.insert(email.to_string())).collect()
    }

    /// The collaborators as the source writes them, and their addresses; without the owner here.
    fn addresses(&self, planned: &plan::App) -> Vec<(String, Option<Email>)> {
        let parsed =
            planned.collaborators.iter().map(|collaborator| (collaborator.email.clone(), Email::parse_new(&collaborator.email).ok()));
        parsed.filter(|(_, email)| email.as_deref() != Some(&*self.owner_email)).collect()
    }
}
