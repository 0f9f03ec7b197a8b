//! Checks of the SDK's configuration in the project: that it has the server and the key that commands here use, and that there is an SDK.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::key::{self, Fault};
use super::project::{self, Target};
use super::report::Report;
use crate::bundle;
use crate::client::Client;
use crate::commands::init::concerns::{self, Concern};
use crate::commands::init::plan::Platform;
use crate::commands::init::state::{self, FileState, Setting};
use crate::commands::key_owner::{HIDDEN, Owner};
use crate::config::server::is_address_of;
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

/// Checks each file that is to have the server and the key of a target, or those of its platform. Without a deployment whose key is known, it checks what
/// every deployment needs.
pub(super) async fn check(context: &Context, place: Option<&Place<'_>>, target: &Target, client: Option<&Client>, report: &mut Report<'_>) {
    let Some(folder) = folder(context) else { return report.skipped(SDK, "there is no working directory") };
    let known = place.filter(|place| place.key != HIDDEN);
    let server = server(context);
    let Some(files) = state::of(&folder, server.as_deref(), known.map(|place| place.key), target.only) else {
        return report.skipped(SDK, "this is not a React Native, Expo, Cordova or Capacitor project");
    };
    let Some(known) = known else {
        all_alone(context, client, files, &folder, "updraft init", report).await;
        let (why, whose) = match (target.named(context), place.is_some()) {
            (Some(name), true) => (format!("you cannot read the key of {name}"), "it".to_owned()),
            (Some(name), false) if client.is_some() => (format!("{name} could not be read"), "its key".to_owned()),
            (Some(name), false) => (project::without_client(context).to_owned(), format!("the key of {name}")),
            (None, _) => (format!("no deployment is known{}", target.of_platform()), "its key".to_owned()),
        };
        return report.pending(SDK, format!("{why}, so it was not checked that the project has {whose}"), None);
    };
    for file in files {
        one(context, &file, known, report).await;
    }
}

/// Checks the files of a platform that no command here releases to, although the project has it. `command` sets it up.
pub(super) async fn check_platform(context: &Context, client: Option<&Client>, platform: Platform, command: &str, report: &mut Report<'_>) {
    let Some(folder) = folder(context) else { return };
    let files = state::of(&folder, server(context).as_deref(), None, Some(platform)).unwrap_or_default();
    all_alone(context, client, files, &folder, command, report).await;
}

/// Checks what concerns the project as a whole.
pub(super) fn concerns(context: &Context, report: &mut Report<'_>) {
    let Some(folder) = folder(context) else { return };
    for Concern { text, next, is_fatal } in
        concerns::of(&folder, server(context).as_deref()).into_iter().chain(concerns::shared_key(&folder))
    {
        say(report, is_fatal, text, next);
    }
    for text in concerns::signed_only(&folder) {
        report.ok(SDK, text);
    }
}

/// The URL of the server that commands here use.
fn server(context: &Context) -> Option<String> {
    context.server().ok().map(|server| server.url.as_str().to_owned())
}

/// The project's folder: that of the project file, or the working directory.
fn folder(context: &Context) -> Option<PathBuf> {
    let of_file = context.project.as_ref().and_then(|found| found.path.parent().map(Path::to_owned));
    of_file.or_else(|| std::env::current_dir().ok())
}

fn say(report: &mut Report<'_>, is_fatal: bool, text: String, next: String) {
    if is_fatal {
        report.failed(SDK, &Error::new(Kind::Failed, text, next));
    } else {
        report.warning(SDK, text, next);
    }
}

/// Says what is wrong with the server address of a file. An app without one gets no updates. Another one can be meant, such as another address of the same server.
fn server_fault(file: &FileState, server: Option<&str>) -> Option<Fault> {
    let url = server.map(|server| format!("{server}/"));
    let fault = |text: String, is_fatal: bool| Some(Fault { text, is_fatal });
    match file.server {
        Setting::Right => None,
        Setting::Missing => {
            fault(url.map_or_else(|| "lacks the server address".to_owned(), |url| format!("lacks the server address {url}")), true)
        }
        Setting::Other => {
            if let Some(dead) = file.servers.iter().find_map(|address| bundle::dead_server(address)) {
                return fault(
                    url.map_or_else(|| format!("has {}", dead.trim_end_matches(',')), |url| format!("has {dead} instead of {url}")),
                    true,
                );
            }
            let (server, url) = server.zip(url)?;
            let other = match file.servers.iter().find(|address| !is_address_of(address, server)) {
                None if !file.servers.is_empty() => return None,
                None => return fault(format!("has another server address than {url}"), false),
                Some(other) => other,
            };
            if bundle::is_inserted(other) {
                return fault(format!("has the server address {other}, which only a build knows, instead of {url}"), false);
            }
            let consequence = "devices of that build ask that server, and do not get the releases of this one";
            fault(format!("has another server address ({other}) than {url}: {consequence}"), false)
        }
    }
}

async fn one(context: &Context, file: &FileState, place: &Place<'_>, report: &mut Report<'_>) {
    let of = format!("{} of {}", place.deployment, place.app);
    let key = match file.key {
        Setting::Right => None,
        Setting::Other => Some(key::fault(context, &file.keys, place, &of).await),
        Setting::Missing => Some(Fault { text: format!("lacks the deployment key of {of}"), is_fatal: true }),
    };
    let address = server_fault(file, Some(place.server));
    let writes = writes(address.as_ref(), key.as_ref());
    let faults: Vec<Fault> = address.into_iter().chain(key).collect();
    let right = format!("has the server address and the key of {of}");
    let next = format!("Run `updraft init`: it writes {writes}. If the project uses another server or deployment, correct updraft.toml.");
    say_faults(file, faults, &right, next, report);
}

/// Checks the files that the project is to have, without a deployment to compare them with. `command` sets the project up.
async fn all_alone(
    context: &Context,
    client: Option<&Client>,
    mut files: Vec<FileState>,
    folder: &Path,
    command: &str,
    report: &mut Report<'_>,
) {
    files.retain(|file| file.is_expected(folder));
    let owners = key::owners(context, client, &files).await;
    let server = server(context);
    for file in &files {
        alone(file, server.as_deref(), &owners, command, report);
    }
}

fn alone(file: &FileState, server: Option<&str>, owners: &BTreeMap<String, Owner>, command: &str, report: &mut Report<'_>) {
    let key = match file.key {
        Setting::Missing => Some(Fault { text: "lacks a deployment key".to_owned(), is_fatal: true }),
        _ => key::fault_of_any(&file.keys, owners, server.unwrap_or_default()),
    };
    // Only a key that nobody here has is not fatal.
    let is_of_nobody = key.as_ref().is_some_and(|fault| !fault.is_fatal);
    let address = server_fault(file, server);
    let writes = writes(address.as_ref(), key.as_ref());
    let faults: Vec<Fault> = address.into_iter().chain(key).collect();
    let mut next = match file.by_hand {
        Some(_) => format!("Run `{command}`: it says what to write there."),
        None => format!("Run `{command}`: it writes {writes}."),
    };
    if is_of_nobody {
        next.push_str(" Or ask the owner of the app with this key to share it with you.");
    }
    let right = format!("has a server address and {}", key::named(&file.keys, owners));
    say_faults(file, faults, &right, next, report);
}

/// What `updraft init` writes if these are wrong.
fn writes(address: Option<&Fault>, key: Option<&Fault>) -> &'static str {
    match (address, key) {
        (Some(_), None) => "the server address",
        (None, Some(_)) => "the deployment key",
        _ => "both",
    }
}

fn say_faults(file: &FileState, mut faults: Vec<Fault>, right: &str, next: String, report: &mut Report<'_>) {
    let path = &file.path;
    if faults.is_empty() {
        return report.ok(SDK, format!("{path} {right}"));
    }
    // The others end with what follows.
    faults.sort_by_key(|fault| !fault.is_fatal);
    let texts: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
    let next = match file.advice() {
        Some(why) => format!("`updraft init` cannot write it: {why}."),
        None => next,
    };
    say(report, faults.iter().any(|fault| fault.is_fatal), format!("{path} {}", texts.join(", and ")), next);
}
