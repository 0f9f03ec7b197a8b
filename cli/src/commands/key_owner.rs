//! Whose a deployment key is: which deployment of the account's apps has it.

use shared::api::apps::AppsAnswer;
use shared::api::deployments::DeploymentsAnswer;

use crate::client::{Client, path};
use crate::context::Context;
use crate::error::Result;

/// What stands for keys that only other roles can read.
pub(super) const HIDDEN: &str = "(hidden)";

/// How many apps are asked for their keys.
const MAX_APPS: usize = 30;

/// Who has a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A deployment of an app of the account.
    Deployment {
        /// The app.
        app: String,
        /// The deployment.
        name: String,
    },
    /// No app of the account.
    Nobody,
    /// No app whose keys were read; there are others.
    Unknown,
}

impl Owner {
    /// What completes a sentence that begins with the key; `None` if nothing is known. `server` is its URL.
    pub(super) fn words(&self, server: &str) -> Option<String> {
        match self {
            Self::Deployment { app, name } => Some(format!("is that of {name} of {app}")),
            Self::Nobody => Some(format!("belongs to no deployment of your apps on {server}")),
            Self::Unknown => None,
        }
    }
}

/// The deployments of an app with their keys. Errors: they cannot be read.
pub(super) async fn deployments(client: &Client, app: &str) -> Result<Vec<(String, String)>> {
    let answer = client.get::<DeploymentsAnswer>(&path(["v1", "apps", app, "deployments"])).await?;
    Ok(answer.value.deployments.into_iter().map(|deployment| (deployment.name, deployment.key)).collect())
}

/// Looks for keys in the apps of the account, besides one whose keys are known. The apps of the project file are asked first.
pub(super) async fn find(context: &Context, client: &Client, keys: &[&str], except: Option<&str>) -> Vec<Owner> {
    let mut owners = vec![Owner::Unknown; keys.len()];
    if keys.is_empty() {
        return owners;
    }
    let Ok(answer) = client.get::<AppsAnswer>("/v1/apps").await else { return owners };
    let mut apps: Vec<String> = answer.value.apps.into_iter().map(|app| app.name).filter(|app| Some(app.as_str()) != except).collect();
    let project = context.project.as_ref().map(|found| &found.project);
    let tables = project.map(|project| [project.ios.as_ref(), project.android.as_ref()]).into_iter().flatten().flatten();
    let named: Vec<&String> = tables.filter_map(|table| table.app.as_ref()).collect();
    apps.sort_by_key(|app| !named.contains(&app));
    let mut is_certain = apps.len() <= MAX_APPS;
    for app in apps.into_iter().take(MAX_APPS) {
        let found = deployments(client, &app).await;
        is_certain &= found.as_ref().is_ok_and(|found| found.iter().all(|(_, known)| known != HIDDEN));
        for (name, known) in found.unwrap_or_default() {
            for (_, owner) in keys.iter().zip(&mut owners).filter(|(key, _)| **key == known) {
                *owner = Owner::Deployment { app: app.clone(), name: name.clone() };
            }
        }
        if !owners.contains(&Owner::Unknown) {
            return owners;
        }
    }
    if is_certain {
        owners.iter_mut().filter(|owner| **owner == Owner::Unknown).for_each(|owner| *owner = Owner::Nobody);
    }
    owners
}
