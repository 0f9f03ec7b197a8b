//! What the source has, as it tells it. Servers of the family leave members out, so every member is optional; [`crate::plan`] decides what that means.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// Whether they own it.
    pub is_owner: bool,
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
    /// Its counts by label and binary version.
    pub counts: BTreeMap<String, Counts>,
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
    /// The share of devices, as sent: a number, a text or nothing.
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

impl Source {
    /// Reads everything of the apps that the key can see; with names, of those only. A name may leave out the owner in front. `told` is called with each
    /// app's name before it is read.
    pub async fn read(&self, only: &[String], mut told: impl FnMut(&str)) -> Result<Vec<App>, Fault> {
        let mut listed: Vec<(String, Map<String, Value>)> = Vec::new();
        for object in list(self.get(&["apps"]).await?, "apps", "/apps")? {
            listed.extend(text(&object, "name").map(|name| (name, object)));
        }
        if !only.is_empty() {
            let names: Vec<_> = listed.iter().map(|(name, _)| name.clone()).collect();
            let wanted: Vec<_> = only.iter().map(|wanted| find(&names, wanted)).collect::<Result<_, _>>()?;
            listed.retain(|(name, _)| wanted.contains(&name));
        }
        let mut apps = Vec::new();
        for (name, object) in listed {
            told(&name);
            let collaborators = object.get("collaborators").and_then(Value::as_object).map(collaborators).unwrap_or_default();
            let deployments = self.deployments(&name).await?;
            apps.push(App { name, collaborators, deployments });
        }
        Ok(apps)
    }

    async fn deployments(&self, app: &str) -> Result<Vec<Deployment>, Fault> {
        let listed = list(self.get(&["apps", app, "deployments"]).await?, "deployments", "the list of deployments")?;
        let mut deployments = Vec::new();
        for object in listed {
            let Some(name) = text(&object, "name") else { continue };
            let releases = self.history(app, &name).await?;
            let counts = self.counts(app, &name).await?;
            deployments.push(Deployment { key: text(&object, "key").unwrap_or_default(), name, releases, counts });
        }
        Ok(deployments)
    }

    /// The releases of a deployment, oldest first. Read it again for addresses with new signatures.
    pub async fn history(&self, app: &str, deployment: &str) -> Result<Vec<Entry>, Fault> {
        let listed = list(self.get(&["apps", app, "deployments", deployment, "history"]).await?, "history", "the history")?;
        Ok(listed.iter().map(Entry::of).collect())
    }

    /// The histories of the deployments with these keys, oldest release first, as far as the account sees them.
    pub async fn histories_of(&self, keys: &[&str]) -> Result<BTreeMap<String, Vec<Entry>>, Fault> {
        let mut found = BTreeMap::new();
        for app in list(self.get(&["apps"]).await?, "apps", "/apps")?.iter().filter_map(|object| text(object, "name")) {
            let listed = list(self.get(&["apps", &app, "deployments"]).await?, "deployments", "the list of deployments")?;
            for object in listed {
                let (Some(name), Some(key)) = (text(&object, "name"), text(&object, "key")) else { continue };
                if keys.contains(&key.as_str()) {
                    let history = self.history(&app, &name).await?;
                    found.insert(key, history);
                }
            }
            if found.len() == keys.len() {
                break;
            }
        }
        Ok(found)
    }

    /// The counts of a deployment. Servers without metrics have none.
    async fn counts(&self, app: &str, deployment: &str) -> Result<BTreeMap<String, Counts>, Fault> {
        let answer = match self.get(&["apps", app, "deployments", deployment, "metrics"]).await {
            Err(Fault::Refused { status: 404 | 501, .. } | Fault::Shape { .. }) => return Ok(BTreeMap::new()),
            answer => answer?,
        };
        let Some(metrics) = answer.get("metrics").and_then(Value::as_object) else { return Ok(BTreeMap::new()) };
        let of = |(place, counts): (&String, &Value)| counts.as_object().map(|counts| (place.clone(), Counts::of(counts)));
        Ok(metrics.iter().filter_map(of).collect())
    }
}

impl Entry {
    fn of(object: &Map<String, Value>) -> Self {
        Self {
            label: text(object, "label"),
            app_version: text(object, "appVersion"),
            blob_url: text(object, "blobUrl"),
            description: text(object, "description"),
            is_disabled: flag(object, "isDisabled"),
            is_mandatory: flag(object, "isMandatory"),
            rollout: number(object, "rollout").and_then(|number| u64::try_from(number).ok()),
            package_hash: text(object, "packageHash"),
            release_method: text(object, "releaseMethod"),
            original_label: text(object, "originalLabel"),
            original_deployment: text(object, "originalDeployment"),
            released_by: text(object, "releasedBy"),
            size: number(object, "size").and_then(|number| u64::try_from(number).ok()),
            upload_time: number(object, "uploadTime"),
        }
    }
}

impl Counts {
    fn of(object: &Map<String, Value>) -> Self {
        let count = |name| number(object, name).unwrap_or_default();
        Self { active: count("active"), downloaded: count("downloaded"), installed: count("installed"), failed: count("failed") }
    }
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

fn collaborators(object: &Map<String, Value>) -> Vec<Collaborator> {
    let is_owner = |value: &Value| value.get("permission").and_then(Value::as_str) == Some("Owner");
    object.iter().map(|(email, value)| Collaborator { email: email.clone(), is_owner: is_owner(value) }).collect()
}

/// The objects in a member that is a list.
fn list(mut answer: Map<String, Value>, member: &str, path: &str) -> Result<Vec<Map<String, Value>>, Fault> {
    let Some(Value::Array(list)) = answer.remove(member) else {
        return Err(Fault::Shape { path: path.to_owned(), what: "the answer has no such list" });
    };
    let object = |value| match value {
        Value::Object(object) => Some(object),
        _ => None,
    };
    Ok(list.into_iter().filter_map(object).collect())
}

fn text(object: &Map<String, Value>, name: &str) -> Option<String> {
    object.get(name)?.as_str().map(str::to_owned)
}

fn flag(object: &Map<String, Value>, name: &str) -> bool {
    object.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// A number, also as text or with a fraction of zero, as JavaScript servers send it.
fn number(object: &Map<String, Value>, name: &str) -> Option<i64> {
    let value = object.get(name)?;
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().filter(|float| float.abs() < 9e15).map(|float| float as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}
