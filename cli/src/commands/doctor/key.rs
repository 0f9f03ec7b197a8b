//! A deployment key in the project that is not that of the deployment: whose it is, and whether devices still get updates.

use std::collections::BTreeMap;

use super::sdk::Place;
use crate::bundle::{is_inserted, is_placeholder};
use crate::client::Client;
use crate::commands::init::state::FileState;
use crate::commands::key_owner::{self, Owner};
use crate::context::Context;

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
    let Ok(own) = key_owner::deployments(place.client, place.app).await else { return unknown };
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
    let owners = key_owner::find(context, place.client, &[foreign.as_str()], Some(place.app)).await;
    let whose = owners.first().and_then(|owner| owner.words(place.server));
    let whose = whose.unwrap_or_else(|| format!("belongs to no deployment of {}", place.app));
    Fault { text: format!("{another}: it {whose}, and its devices get no updates of {}", place.app), is_fatal: true }
}

/// Who has the keys of files, by key. Nothing is known without a client, nor of texts that are no keys.
pub(super) async fn owners(context: &Context, client: Option<&Client>, files: &[FileState]) -> BTreeMap<String, Owner> {
    let Some(client) = client else { return BTreeMap::new() };
    let is_key = |key: &&str| !key.is_empty() && !is_placeholder(key) && !is_inserted(key);
    let keys: Vec<&str> = files.iter().flat_map(|file| &file.keys).map(String::as_str).filter(is_key).collect();
    let found = key_owner::find(context, client, &keys, None).await;
    keys.into_iter().map(str::to_owned).zip(found).collect()
}

/// Says what is wrong with the keys of a file, if it is not known which deployment they are to be of. One that nobody here has can still be that of an app
/// which is not shared with the account.
pub(super) fn fault_of_any(keys: &[String], owners: &BTreeMap<String, Owner>, server: &str) -> Option<Fault> {
    let fatal = |text: String| Some(Fault { text, is_fatal: true });
    if keys.iter().any(String::is_empty) {
        return fatal("has an empty deployment key".to_owned());
    }
    if let Some(key) = keys.iter().find(|key| is_placeholder(key)) {
        return fatal(format!("has the placeholder {key} instead of a deployment key"));
    }
    let nobody = keys.iter().find_map(|key| owners.get(key).filter(|owner| **owner == Owner::Nobody))?;
    Some(Fault { text: format!("has a deployment key that {}", nobody.words(server)?), is_fatal: false })
}

/// The deployment that all keys of a file are of, for the end of a sentence: `the deployment key of Production of demo`; without one, `a deployment key`.
pub(super) fn named(keys: &[String], owners: &BTreeMap<String, Owner>) -> String {
    let all: Option<Vec<&Owner>> = keys.iter().map(|key| owners.get(key)).collect();
    match all.as_deref() {
        Some([Owner::Deployment { app, name }, rest @ ..])
            if rest.iter().all(|other| matches!(other, Owner::Deployment { app: a, name: n } if a == app && n == name)) =>
        {
            format!("the deployment key of {name} of {app}")
        }
        _ => "a deployment key".to_owned(),
    }
}
