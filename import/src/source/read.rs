//! What the source has, as it tells it. Servers of the family leave members out, so every member is optional; [`crate::plan`] decides what that means.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::json::{Bounded, MOST_ENTRIES};
use super::sent::{SentApp, SentApps, SentDeployment, SentDeployments, SentEntry, SentHistory, SentMetrics};
use super::{Fault, Source};
use crate::plan::printable;

/// An app.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// Its name, with `owner@example.com:` in front if it is somebody else's and the account has one of the same name.
    pub name: String,
    /// Who has access.
    pub collaborators: Vec<Collaborator>,
    /// Its deployments.
    pub deployments: Vec<Deployment>,
}

/// Somebody who has access to an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collaborator {
    /// The email address.
    pub email: String,
}

/// A deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: String,
    /// Its releases, oldest first.
    pub releases: Vec<Entry>,
    /// Its counts by label and binary version; `None` if the server does not tell them.
    pub counts: Option<BTreeMap<String, Counts>>,
}

/// A release in a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// `v1` and so on.
    pub label: Option<String>,
    /// The binary versions that it targets.
    pub app_version: Option<String>,
    /// Where its package is. May have a signature in it.
    pub blob_url: Option<String>,
    /// Release notes.
    pub description: Option<String>,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// The share of devices, in percent.
    pub rollout: Option<u64>,
    /// The hash of its contents.
    pub package_hash: Option<String>,
    /// `Upload`, `Promote` or `Rollback`.
    pub release_method: Option<String>,
    /// The label of the release that it was made from.
    pub original_label: Option<String>,
    /// The deployment that it was promoted from.
    pub original_deployment: Option<String>,
    /// Who released it.
    pub released_by: Option<String>,
    /// The size of its package in bytes.
    pub size: Option<u64>,
    /// When, as Unix time in milliseconds.
    pub upload_time: Option<i64>,
    /// What about it cannot be understood. Guessing could give a release to devices that must not have it.
    pub unclear: Option<&'static str>,
}

/// The counts of a label or of a binary version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Devices that run it. Old servers also count below zero.
    pub active: i64,
    /// Downloads.
    pub downloaded: i64,
    /// Installs.
    pub installed: i64,
    /// Failed installs.
    pub failed: i64,
}

/// The most deployments of one import.
const MOST_DEPLOYMENTS: usize = 1_000;

impl Source {
    /// Reads everything of the apps that the key can see; with names, of those only. A name may leave out the owner in front. `told` is called with each
    /// app's name before it is read.
    pub async fn read(&self, only: &[String], mut told: impl FnMut(&str)) -> Result<Vec<App>, Fault> {
        let mut listed = self.apps().await?;
        if !only.is_empty() {
            let names: Vec<_> = listed.iter().map(|app| app.name.clone()).collect();
            let wanted: Vec<_> = only.iter().map(|wanted| find(&names, wanted)).collect::<Result<_, _>>()?;
            listed.retain(|app| wanted.contains(&&app.name));
        }
        // All lists first: what is too much is known before thousands of histories are read.
        let (mut apps, mut count) = (Vec::new(), 0);
        for app in listed {
            let deployments = self.deployments(&app.name).await?;
            count += deployments.len();
            if count > MOST_DEPLOYMENTS {
                return Err(Fault::TooMany { what: "deployments".to_owned(), most: MOST_DEPLOYMENTS });
            }
            apps.push((app, deployments));
        }
        let mut read = Vec::new();
        for (app, listed) in apps {
            told(&app.name);
            let mut deployments = Vec::new();
            for SentDeployment { name, key } in listed {
                let releases = self.history(&app.name, &name).await?;
                let counts = self.counts(&app.name, &name).await?;
                deployments.push(Deployment { key: key.text().unwrap_or_default(), name, releases, counts });
            }
            let collaborators = app.collaborators.0.into_iter().map(|email| Collaborator { email }).collect();
            read.push(App { name: app.name, collaborators, deployments });
        }
        Ok(read)
    }

    async fn apps(&self) -> Result<Vec<SentApp>, Fault> {
        whole(self.get::<SentApps>(&["apps"]).await?.apps, "apps")
    }

    async fn deployments(&self, app: &str) -> Result<Vec<SentDeployment>, Fault> {
        whole(self.get::<SentDeployments>(&["apps", app, "deployments"]).await?.deployments, "deployments of an app")
    }

    /// The releases of a deployment, oldest first. Read it again for addresses with new signatures.
    pub async fn history(&self, app: &str, deployment: &str) -> Result<Vec<Entry>, Fault> {
        let sent = self.get::<SentHistory>(&["apps", app, "deployments", deployment, "history"]).await?;
        Ok(whole(sent.history, "releases of a deployment")?.into_iter().map(SentEntry::read).collect())
    }

    /// The histories of the deployments with these keys, oldest release first, as far as the account sees them.
    pub async fn histories_of(&self, keys: &[&str]) -> Result<BTreeMap<String, Vec<Entry>>, Fault> {
        let mut found = BTreeMap::new();
        for app in self.apps().await? {
            for SentDeployment { name, key } in self.deployments(&app.name).await? {
                if let Some(key) = key.text().filter(|key| keys.contains(&key.as_str())) {
                    let history = self.history(&app.name, &name).await?;
                    found.insert(key, history);
                }
            }
            if found.len() == keys.len() {
                break;
            }
        }
        Ok(found)
    }

    /// The counts of a deployment. Servers without metrics do not tell them.
    async fn counts(&self, app: &str, deployment: &str) -> Result<Option<BTreeMap<String, Counts>>, Fault> {
        let sent = match self.get::<SentMetrics>(&["apps", app, "deployments", deployment, "metrics"]).await {
            Err(Fault::Refused { status: 404 | 501, .. } | Fault::Shape { .. }) => return Ok(None),
            sent => sent?,
        };
        Ok(Some(sent.metrics.entries.into_iter().filter_map(|(place, counts)| Some((place, counts?.read()))).collect()))
    }
}

/// All entries of a list. Errors: if there are more than are read.
fn whole<T>(sent: Bounded<Vec<T>>, what: &str) -> Result<Vec<T>, Fault> {
    if sent.is_cut { Err(Fault::TooMany { what: what.to_owned(), most: MOST_ENTRIES }) } else { Ok(sent.entries) }
}

/// The app that a name means: the one of exactly this name, or the only one of this name with any owner in front.
fn find<'n>(names: &'n [String], wanted: &str) -> Result<&'n String, Fault> {
    if let Some(name) = names.iter().find(|name| *name == wanted) {
        return Ok(name);
    }
    let mut bare = names.iter().filter(|name| name.rsplit_once(':').is_some_and(|(_, bare)| bare == wanted));
    match (bare.next(), bare.next()) {
        (Some(name), None) => Ok(name),
        _ => Err(Fault::NoApp(wanted.to_owned(), names.iter().map(|name| printable(name)).collect::<Vec<_>>().join(", "))),
    }
}
