//! Checks of the SDK's configuration in the project: that it has the server and the key that commands here use.

use std::path::{Path, PathBuf};

use super::key;
use super::report::Report;
use crate::bundle;
use crate::client::Client;
use crate::commands::init::concerns::{self, Concern};
use crate::commands::init::plan::Platform;
use crate::commands::init::state::{self, FileState, Setting};
use crate::context::Context;
use crate::error::{Error, Kind};

const SDK: &str = "sdk";

/// The deployment that commands here use.
pub(super) struct Place<'p> {
    /// The server, with the credential that commands here use.
    pub(super) client: &'p Client,
    /// The server's URL.
    pub(super) server: &'p str,
    /// The app's name.
    pub(super) app: &'p str,
    /// The deployment's name.
    pub(super) deployment: &'p str,
    /// The deployment's key.
    pub(super) key: &'p str,
}

/// Checks each file that is to have the server and the key, or those of one platform.
pub(super) async fn check(context: &Context, place: Option<&Place<'_>>, only: Option<Platform>, report: &mut Report<'_>) {
    let Some(folder) = folder(context) else { return report.skipped(SDK, "there is no working directory", None) };
    let known = place.filter(|place| place.key != "(hidden)");
    let Some(files) = state::of(&folder, known.map_or("", |place| place.server), known.map_or("", |place| place.key), only) else {
        return report.skipped(SDK, "this is not a React Native, Expo, Cordova or Capacitor project", None);
    };
    let Some(place) = known else {
        return report.skipped(SDK, "the deployment's key is not known, and the project's files must have it", None);
    };
    for file in files {
        one(context, &file, place, report).await;
    }
    for Concern { text, next } in concerns::of(&folder, place.server) {
        report.warning(SDK, text, next);
    }
}

/// The project's folder: that of the project file, or the working directory.
fn folder(context: &Context) -> Option<PathBuf> {
    let of_file = context.project.as_ref().and_then(|found| found.path.parent().map(Path::to_owned));
    of_file.or_else(|| std::env::current_dir().ok())
}

async fn one(context: &Context, file: &FileState, place: &Place<'_>, report: &mut Report<'_>) {
    let FileState { path, server, key, servers, keys, by_hand } = file;
    let url = format!("{}/", place.server);
    let of = format!("{} of {}", place.deployment, place.app);
    let mut faults = Vec::new();
    // An app without them gets no updates. Another value can be meant, such as a deployment per platform, or an address of the same server.
    let mut is_fatal = *server == Setting::Missing || *key == Setting::Missing;
    match server {
        Setting::Right => {}
        Setting::Other => {
            let dead = servers.iter().find_map(|server| bundle::dead_server(server));
            is_fatal |= dead.is_some();
            faults
                .push(dead.map_or_else(|| format!("has another server address than {url}"), |what| format!("has {what} instead of {url}")));
        }
        Setting::Missing => faults.push(format!("lacks the server address {url}")),
    }
    match key {
        Setting::Right => {}
        Setting::Other => {
            let fault = key::fault(context, keys, place, &of).await;
            is_fatal |= fault.is_fatal;
            faults.push(fault.text);
        }
        Setting::Missing => faults.push(format!("lacks the deployment key of {of}")),
    }
    if faults.is_empty() {
        return report.ok(SDK, format!("{path} has the server address and the key of {of}"));
    }
    let text = format!("{path} {}", faults.join(", and "));
    let next = match by_hand {
        Some(why) => format!("`updraft init` cannot write it: {why}."),
        None => "Run `updraft init`: it writes both. If the project uses another server or deployment, correct updraft.toml.".to_owned(),
    };
    if is_fatal {
        report.failed(SDK, &Error::new(Kind::Failed, text, next));
    } else {
        report.warning(SDK, text, next);
    }
}
