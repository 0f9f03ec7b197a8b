//! A deployment key in the project that is not that of the deployment: whose it is, and whether devices still get updates.

use shared::api::apps::AppsAnswer;
use shared::api::deployments::DeploymentsAnswer;

use super::sdk::Place;
use crate::bundle::{is_inserted, is_placeholder};
use crate::client::{Client, path};
use crate::context::Context;
use crate::error::Result;

/// How many other apps are asked for their keys.
const MAX_APPS: usize = 30;

/// What stands for keys that only other roles can read.
pub(super) const HIDDEN: &str = "(hidden)";

/// What is wrong with a setting of a file.
pub(super) struct Fault {
    /// The end of a sentence that begins with the file.
    pub(super) text: String,
    /// Whether devices certainly get no updates of the app.
    pub(super) is_fatal: bool,
}

/// Says what is wrong with the keys of a file, which are not all that of the deployment. `of` names the deployment.
pub(super) async fn fault(context: &Context, keys: &[String], place: &Place<'_>, of: &str) -> Fault {
    let wrong: Vec<&String> = keys.iter().filter(|key| *key != place.key).collect();
    if wrong.iter().any(|key| key.is_empty()) {
        return Fault { text: format!("has an empty deployment key instead of that of {of}"), is_fatal: true };
    }
    let another = format!("has another deployment key than that of {of}");
    let unknown = Fault { text: another.clone(), is_fatal: false };
    // A file that is a program, or has another form.
    if wrong.is_empty() {
        return unknown;
    }
    let Ok(own) = deployments(place.client, place.app).await else { return unknown };
    let is_own = |key: &str| own.iter().find(|(_, known)| known == key);
    let Some(foreign) = wrong.iter().find(|key| is_own(key).is_none()) else {
        let name = wrong.first().and_then(|key| is_own(key)).map(|(name, _)| name.clone()).unwrap_or_default();
        return Fault { text: format!("{another}: it is that of {name}"), is_fatal: false };
    };
    if is_placeholder(foreign) {
        return Fault { text: format!("has the placeholder {foreign} instead of the deployment key of {of}"), is_fatal: true };
    }
    if is_inserted(foreign) {
        return unknown;
    }
    let whose = match owner(context, place, foreign).await {
        Owner::Deployment { app, name } => format!("it is that of {name} of {app}"),
        Owner::Nobody => "it belongs to no deployment of this account".to_owned(),
        Owner::Unknown => format!("it belongs to no deployment of {}", place.app),
    };
    Fault { text: format!("{another}: {whose}, and its devices get no updates of {}", place.app), is_fatal: true }
}

/// Says what is wrong with the keys of a file, if it is not known which deployment they are to be of.
pub(super) fn fault_of_any(keys: &[String]) -> Option<Fault> {
    let text = if keys.iter().any(String::is_empty) {
        "has an empty deployment key".to_owned()
    } else {
        format!("has the placeholder {} instead of a deployment key", keys.iter().find(|key| is_placeholder(key))?)
    };
    Some(Fault { text, is_fatal: true })
}

/// The deployments of an app with their keys. Errors: they cannot be read.
async fn deployments(client: &Client, app: &str) -> Result<Vec<(String, String)>> {
    let answer = client.get::<DeploymentsAnswer>(&path(["v1", "apps", app, "deployments"])).await?;
    Ok(answer.value.deployments.into_iter().map(|deployment| (deployment.name, deployment.key)).collect())
}

/// Who has a key, besides the app itself.
enum Owner {
    /// A deployment of another app of the account.
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

/// Looks for a key in the other apps of the account. The apps of the project file are asked first.
async fn owner(context: &Context, place: &Place<'_>, key: &str) -> Owner {
    let Ok(answer) = place.client.get::<AppsAnswer>("/v1/apps").await else { return Owner::Unknown };
    let mut apps: Vec<String> = answer.value.apps.into_iter().map(|app| app.name).collect();
    let project = context.project.as_ref().map(|found| &found.project);
    let tables = project.map(|project| [project.ios.as_ref(), project.android.as_ref()]).into_iter().flatten().flatten();
    let named: Vec<&String> = tables.filter_map(|table| table.app.as_ref()).collect();
    apps.retain(|app| app != place.app);
    apps.sort_by_key(|app| !named.contains(&app));
    let mut is_certain = apps.len() <= MAX_APPS;
    for app in apps.into_iter().take(MAX_APPS) {
        let found = deployments(place.client, &app).await;
        is_certain &= found.as_ref().is_ok_and(|found| found.iter().all(|(_, known)| known != HIDDEN));
        if let Some((name, _)) = found.unwrap_or_default().into_iter().find(|(_, known)| known == key) {
            return Owner::Deployment { app, name };
        }
    }
    if is_certain { Owner::Nobody } else { Owner::Unknown }
}
