//! A deployment key in the project that is not that of the deployment: whose it is, and whether devices still get updates.

use shared::api::apps::AppsAnswer;
use shared::api::deployments::DeploymentsAnswer;

use super::sdk::Place;
use crate::bundle::is_placeholder;
use crate::client::{Client, path};
use crate::context::Context;

/// How many other apps are asked for their keys.
const MAX_APPS: usize = 30;

/// What is wrong with the keys of a file.
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
    let Some(own) = deployments(place.client, place.app).await else { return unknown };
    let is_own = |key: &str| own.iter().find(|(_, known)| known == key);
    let Some(foreign) = wrong.iter().find(|key| is_own(key).is_none()) else {
        let name = wrong.first().and_then(|key| is_own(key)).map(|(name, _)| name.clone()).unwrap_or_default();
        return Fault { text: format!("{another}: it is that of {name}"), is_fatal: false };
    };
    if let Some((app, deployment)) = owner(context, place, foreign).await {
        let text = format!("{another}: it is that of {deployment} of {app}, and its devices get no updates of {}", place.app);
        return Fault { text, is_fatal: true };
    }
    if is_placeholder(foreign) {
        return Fault { text: format!("has the placeholder {foreign} instead of the deployment key of {of}"), is_fatal: true };
    }
    unknown
}

/// The deployments of an app with their keys; `None` if they cannot be read.
async fn deployments(client: &Client, app: &str) -> Option<Vec<(String, String)>> {
    let answer = client.get::<DeploymentsAnswer>(&path(["v1", "apps", app, "deployments"])).await.ok()?;
    Some(answer.value.deployments.into_iter().map(|deployment| (deployment.name, deployment.key)).collect())
}

/// Another app of the account that has a key, and its deployment. The apps of the project file are asked first.
async fn owner(context: &Context, place: &Place<'_>, key: &str) -> Option<(String, String)> {
    let mut apps: Vec<String> = place.client.get::<AppsAnswer>("/v1/apps").await.ok()?.value.apps.into_iter().map(|app| app.name).collect();
    let project = context.project.as_ref().map(|found| &found.project);
    let tables = project.map(|project| [project.ios.as_ref(), project.android.as_ref()]).into_iter().flatten().flatten();
    let named: Vec<&String> = tables.filter_map(|table| table.app.as_ref()).collect();
    apps.retain(|app| app != place.app);
    apps.sort_by_key(|app| !named.contains(&app));
    for app in apps.into_iter().take(MAX_APPS) {
        let found = deployments(place.client, &app).await.unwrap_or_default();
        if let Some((deployment, _)) = found.into_iter().find(|(_, known)| known == key) {
            return Some((app, deployment));
        }
    }
    None
}
