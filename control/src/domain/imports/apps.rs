//! An app with its deployments and collaborators: one transaction, found again by a later run.

use import::plan;
use serde_json::json;
use shared::ids::{AppId, DeploymentId};

use super::{Import, repo};
use crate::domain::access::listing::taken;
use crate::domain::access::{Role, apps, awaited, collaborators, names};
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::collaborators::notice;
use crate::domain::deployments::service::{self as deployments, KeyChoice};
use crate::domain::email::Email;
use crate::domain::error::{Error, OrConflict, Result, Thing};
use crate::domain::mail::{Kind, Mail, SharedApp};

/// An app here, with the deployments that came from the source.
#[derive(Clone, Debug)]
pub struct ImportedApp {
    /// The app.
    pub id: AppId,
    /// Its deployments by their names at the source.
    pub deployments: Vec<(String, DeploymentId)>,
    /// What became of the source's collaborators, other than the owner here.
    pub collaborators: Vec<(String, Joined)>,
}

/// What became of a collaborator of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// Has an account here, and got access.
    Added,
    /// Has no account here: gets access when somebody confirms the address.
    Awaited,
    /// Cannot have an account: the address is none that mail can be sent to.
    NoAddress,
}

impl Import<'_> {
    /// Creates an app with its deployments and collaborators, or what an earlier run has not created of it. Errors: 409.
    pub async fn app(&self, planned: &plan::App) -> Result<ImportedApp> {
        let mut change = self.operator.begin_in(self.app).await?;
        let now = change.now();
        if !accounts::service::lock(&mut change, &mut [&self.owner]).await? {
            return Err(Error::NotFound(Thing::Account));
        }
        let known = repo::app(&mut change, &self.owner, &self.source, &planned.source_name).await?;
        let id = match &known {
            Some(id) => id.clone(),
            None => self.create(&mut change, planned).await?,
        };
        let mut of_app = ImportedApp { id, deployments: Vec::new(), collaborators: Vec::new() };
        let there = repo::deployments(&mut change, &of_app.id).await?;
        let mut created = Vec::new();
        for deployment in &planned.deployments {
            let name = &deployment.source_name;
            let id = if let Some(row) = there.iter().find(|row| row.source_name == *name) {
                row.deployment_id.clone()
            } else {
                self.check_deployments(&mut change, &of_app.id).await?;
                let key = KeyChoice::Given { key: deployment.key.clone(), by: self.owner.clone() };
                let (owner, entropy) = (&self.owner, &self.app.entropy);
                let row = deployments::insert(&mut change, &of_app.id, owner, deployment.name.as_str(), key, entropy, now).await?;
                repo::insert_deployment(&mut change, &row.id, name, now).await?;
                created.push(row.name);
                row.id
            };
            of_app.deployments.push((name.clone(), id));
        }
        // Who was added before may have left since: they are not added again.
        if known.is_none() {
            self.join(&mut change, planned, &of_app.id).await?;
        }
        self.tell(&mut change, planned, &mut of_app).await?;
        if known.is_some() && created.is_empty() {
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

    /// Gives the collaborators of the source access. All become Developers, which is what collaborators may do there.
    async fn join(&self, change: &mut Change<'_>, planned: &plan::App, app: &AppId) -> Result<()> {
        let (now, role) = (change.now(), Role::Developer);
        for email in self.addresses(planned).filter_map(|(_, email)| email) {
            if !self.ignores_quotas {
                self.app.settings.limits.quotas.check_collaborators(change, app).await?;
            }
            match accounts::repo::find_verified(change, &email).await? {
                Some(account) if accounts::service::lock(change, &mut [&account]).await? => {
                    collaborators::insert(change, app, &account, role, now).await?;
                    let shared = SharedApp {
                        time: now,
                        app: format!("{}:{}", &*self.owner_email, planned.name.as_str()),
                        app_id: app.clone(),
                        from: self.owner_email.to_string(),
                        permission: role.as_str().to_owned(),
                    };
                    let mail = Mail { to: email.to_string(), kind: Kind::AppShared(shared) };
                    notice::tell(change, self.app, &account, &mail).await?;
                }
                _ => {
                    awaited::insert(change, app, &email, role, now).await?;
                }
            }
        }
        Ok(())
    }

    /// What became of the collaborators, also if an earlier run has added them.
    async fn tell(&self, change: &mut Change<'_>, planned: &plan::App, of_app: &mut ImportedApp) -> Result<()> {
        let now = change.now();
        let waiting = awaited::list(change, &of_app.id, now).await?;
        let became = |email: Option<Email>| match email {
            None => Joined::NoAddress,
            Some(email) if waiting.iter().any(|other| *other == *email) => Joined::Awaited,
            Some(_) => Joined::Added,
        };
        of_app.collaborators = self.addresses(planned).map(|(text, email)| (text, became(email))).collect();
        Ok(())
    }

    /// The collaborators as the source writes them, and their addresses; without the owner here.
    fn addresses(&self, planned: &plan::App) -> impl Iterator<Item = (String, Option<Email>)> {
        let parsed =
            planned.collaborators.iter().map(|collaborator| (collaborator.email.clone(), Email::parse_new(&collaborator.email).ok()));
        parsed.filter(|(_, email)| email.as_ref() != Some(&self.owner_email))
    }
}
