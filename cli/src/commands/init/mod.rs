//! `updraft init`: sets up a project, that is `updraft.toml` and the SDK's configuration.
//!
//! Nothing is written before everything is computed and shown. Start at [`InitCommand::run`]; each kind of project has a file, and so has each format.

pub(super) mod android;
mod capacitor;
pub(super) mod concerns;
mod cordova;
mod detect;
mod diff;
mod edits;
mod expo;
mod fingerprint;
mod json;
pub(super) mod plan;
mod plist;
mod progress;
mod project_file;
mod react_native;
pub(super) mod state;
mod strings;
mod target;
mod text;
mod values;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};
use shared::text::shell;

use crate::arguments::DeploymentOption;
use crate::config::project;
use crate::context::{Context, Contradiction};
use crate::error::{Error, Result};
use crate::output::table::printable;
use crate::output::{prompt, terminal};
use concerns::Concern;
use plan::{Plan, Platform, Sdk};
use progress::Progress;
use target::{Choice, Target};

/// Sets up the project in this folder.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  updraft init
  updraft init --app my-app --deployment Production --create --yes
  updraft init --app my-app-ios --platform ios
  updraft init --dry-run

Without a terminal, add --app, --deployment and --yes.

Files that are changed:
  all projects:  updraft.toml
  React Native:  Info.plist, strings.xml
  Expo:          app.json
  Cordova:       config.xml
  Capacitor:     capacitor.config.json
React Native and Expo projects with an SDK also get updraft-fingerprint.json.")]
pub(crate) struct InitCommand {
    /// App and deployment.
    #[command(flatten)]
    target: DeploymentOption,
    /// Set up only this platform, for a project with an app of its own for each.
    #[arg(long)]
    platform: Option<Platform>,
    /// Create the app and the deployment if they do not exist.
    #[arg(long)]
    create: bool,
    /// Show the changes to files and what --create would create; change and create nothing.
    #[arg(long)]
    dry_run: bool,
}

impl InitCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        if !terminal::is_interactive() && !context.global.yes && !self.dry_run {
            let next = "Add --yes to change files, or --dry-run to see the changes.";
            return Err(Error::usage("there is no terminal to confirm the changes on", next));
        }
        let folder = std::env::current_dir()
            .map_err(|error| Error::failed(format!("cannot find the working directory: {error}"), "Change to a folder that exists."))?;
        let platforms = self.platforms(context, &Plan::new(folder.clone()))?;
        let progress = Progress::new();
        let &[only] = platforms.as_slice() else {
            let (mut documents, mut server) = (Map::new(), String::new());
            for platform in platforms.into_iter().flatten() {
                context.note(&format!("Setting up {}", platform.title()));
                // The first one has written to the project file.
                let context = Context { global: context.global.clone(), user: context.user.clone(), project: project::find()? };
                let document;
                (document, server) = self.set_up(&context, folder.clone(), Some(platform), true, &progress).await?;
                documents.insert(platform.name().to_owned(), document);
            }
            warn_of_concerns(&folder, &server);
            context.show(&Value::Object(documents), || {});
            return Ok(());
        };
        let (document, server) = self.set_up(context, folder.clone(), only, false, &progress).await?;
        warn_of_concerns(&folder, &server);
        context.show(&document, || {});
        Ok(())
    }

    /// The platforms to set up one after the other, each with an app of its own; `None` is the whole project with one app. An update for React Native is for
    /// one platform, so a project with both is asked about, unless it has an app already.
    fn platforms(&self, context: &Context, plan: &Plan) -> Result<Vec<Option<Platform>>> {
        let known = context.project.as_ref().map(|found| &found.project);
        let is_built = detect::kind(plan).is_some_and(detect::Kind::is_built);
        if self.platform.is_some() || self.target.app.app.is_some() || !is_built {
            return Ok(vec![self.platform]);
        }
        let both = Platform::ALL.map(Some).to_vec();
        // The tables win over the app of the whole project, as in releases.
        if known.is_some_and(|project| Platform::ALL.iter().all(|platform| app_of(project, *platform).is_some())) {
            return Ok(both);
        }
        if known.is_some_and(|project| project.app.is_some()) || !has_both(plan) || !terminal::is_interactive() {
            return Ok(vec![None]);
        }
        let choices = ["iOS and Android, each with an app of its own", "only iOS", "only Android"].map(str::to_owned);
        Ok(match prompt::choose("An update is for one platform. What do you want to set up?", &choices, "--platform ios|android")? {
            0 => both,
            1 => vec![Some(Platform::Ios)],
            _ => vec![Some(Platform::Android)],
        })
    }

    /// Sets up the project, or one platform of it; `by_table` if each platform gets an app of its own. Returns the JSON, and the server's URL.
    async fn set_up(
        &self,
        context: &Context,
        folder: PathBuf,
        only: Option<Platform>,
        by_table: bool,
        progress: &Progress,
    ) -> Result<(Value, String)> {
        let mut sdk_plan = Plan::new(folder.clone());
        let kind = detect::kind(&sdk_plan);
        // `release react-native` and `release expo` know by the project file which platform gets which app.
        let is_built = kind.is_some_and(detect::Kind::is_built);
        let known = context.project.as_ref().map(|found| &found.project);
        let by_table = by_table || (is_built && only.is_some() && known.is_none_or(|project| project.app.is_none()));
        let suggestion = detect::app_name(&sdk_plan).map(|name| match only.filter(|_| by_table) {
            Some(platform) => format!("{name}-{}", platform.name()),
            None => name,
        });
        let keys = keys_of(&folder, only);
        // In other projects, both platforms have the same files.
        let other_keys = only.filter(|_| is_built).map(|platform| keys_of(&folder, Some(platform.other()))).unwrap_or_default();
        let choice = Choice {
            app: self.target.app.app.as_deref().or_else(|| app_of(known?, only?)).or_else(|| known?.app.as_deref()),
            deployment: self.target.deployment.as_deref().or_else(|| known?.deployment.as_deref()),
            creates: self.create,
            is_dry: self.dry_run,
            platform: only,
            taken: only.zip(known).and_then(|(platform, project)| app_of(project, platform.other())),
            suggestion: suggestion.as_deref(),
            keys: &keys,
            other_keys: &other_keys,
            of_other: &[],
            progress,
        };
        let target = target::choose(&target::server(context)?, choice).await?;
        warn_of_contradictions(context, &target);
        if is_built {
            check_platforms(&sdk_plan, only, known, &target.app)?;
        }
        if target.key == "(hidden)" {
            let next = "Ask for the role Developer or Admin, or use an API key with the scope `deploy` or `apps`.";
            return Err(Error::failed(format!("you cannot read the key of the deployment {}", target.deployment), next));
        }
        let sdk = Sdk { url: format!("{}/", target.server), key: target.key.clone(), only };
        if let Some(kind) = kind {
            kind.plan(&mut sdk_plan, &sdk);
        }
        let mut file_plan = Plan::new(folder);
        let other = known.and_then(|project| project.app.as_deref()).filter(|app| *app != target.app && file_plan.has(project::NAME));
        if let (Some(platform), Some(other)) = (only, other) {
            let (option, name) = (shell::option("--app", &target.app), platform.name());
            if is_built {
                context.note(&format!(
                    "updraft.toml keeps the app {other} for commands that build nothing. For {name}, add {option} to them."
                ));
                file_plan.edit(project::NAME, |text| Ok(project_file::edit_platform(text, platform.name(), &target.app)));
            } else {
                context.note(&format!("updraft.toml keeps the app {other}. Add {option} to the commands for {name}."));
            }
        } else {
            let has_tables = known.is_some_and(|project| project.app.is_none() && (project.ios.is_some() || project.android.is_some()));
            plan_project_file(&mut file_plan, &target, only.filter(|_| is_built), by_table || has_tables);
        }
        // Binaries without the SDK get no updates: an entry of one would only be wrong.
        if is_built && concerns::has_sdk_somewhere(&sdk_plan) {
            for note in fingerprint::plan(&mut file_plan, &sdk) {
                context.note(&printable(&note));
            }
        }

        let is_made = self.make(context, &file_plan, &sdk_plan, progress)?;
        for creation in &target.creations {
            context.note(&format!("Would create {creation}."));
        }
        let diffs = |plan: &Plan| plan.changes.iter().map(|change| json!({ "path": change.path, "diff": change.diff })).collect::<Vec<_>>();
        let by_hand = sdk_plan.by_hand.iter().chain(&file_plan.by_hand).map(|(path, what)| json!({ "path": path, "text": what }));
        let changes = [diffs(&file_plan), diffs(&sdk_plan)].concat();
        let by_hand: Vec<_> = by_hand.collect();
        let project = kind.map(detect::Kind::id);
        let document = json!({
            "server": target.server,
            "app": target.app,
            "deployment": target.deployment,
            "wouldCreate": target.creations,
            "project": project,
            "changes": changes,
            "byHand": by_hand,
            "made": is_made,
        });
        if kind.is_none() {
            Context::warn("This folder has no React Native, Expo, Cordova or Capacitor project: only updraft.toml is set up here.");
        }
        for (path, what) in file_plan.by_hand.iter().chain(&sdk_plan.by_hand) {
            Context::warn(&printable(&format!("{path} was left alone: {what}.")));
        }
        if let Some(kind) = kind.filter(|_| is_made) {
            say_outcome(context, &sdk_plan, kind, &target);
        }
        Ok((document, target.server))
    }

    /// Shows the changes, and makes those that are wanted. Returns whether all are made.
    fn make(&self, context: &Context, file_plan: &Plan, sdk_plan: &Plan, progress: &Progress) -> Result<bool> {
        if self.dry_run {
            show(context, file_plan);
            show(context, sdk_plan);
            context.note("Nothing was changed (--dry-run).");
            return Ok(false);
        }
        progress.begin(&file_plan.changes);
        file_plan.apply()?;
        progress.wrote();
        for change in &file_plan.changes {
            context.done(&format!("Wrote {}.", change.path));
        }
        if sdk_plan.changes.is_empty() {
            return Ok(true);
        }
        show(context, sdk_plan);
        let count = sdk_plan.changes.len();
        let question = if count == 1 { "Make this change?".to_owned() } else { format!("Make the changes to these {count} files?") };
        if !prompt::confirm(context, &question)? {
            context.note("The project's own files were left alone. Run `updraft init` again to change them.");
            return Ok(false);
        }
        progress.begin(&sdk_plan.changes);
        sdk_plan.apply()?;
        progress.wrote();
        Ok(true)
    }
}

/// Says whether the project is set up. What is left to do by hand is named before.
fn say_outcome(context: &Context, plan: &Plan, kind: detect::Kind, target: &Target) {
    let (name, of) = (kind.name(), format!("for {} of {}", target.deployment, target.app));
    match (plan.changes.is_empty(), plan.by_hand.is_empty()) {
        (true, true) => context.done(&format!("The {name} project needs no changes {of}.")),
        (false, true) => context.done(&format!("The {name} project is set up {of}.")),
        (true, false) => context.note(&format!("The {name} project is not set up {of} before you have done what is left.")),
        (false, false) => context.note(&format!("The rest of the {name} project is set up {of}.")),
    }
    if !plan.changes.is_empty() {
        plan.next.iter().for_each(|next| context.note(&format!("  next: {next}")));
    }
}

/// Warns of what keeps the project from getting updates: once, also if two platforms are set up.
fn warn_of_concerns(folder: &Path, server: &str) {
    for Concern { text, next, .. } in concerns::of(folder, Some(server)) {
        Context::warn(&printable(&format!("{text}. {next}")));
    }
}

/// Refuses the app of the other platform, and warns of one app for both. Errors: usage (2).
fn check_platforms(plan: &Plan, only: Option<Platform>, known: Option<&project::Project>, app: &str) -> Result<()> {
    if let Some((platform, project)) = only.zip(known)
        && app_of(project, platform.other()) == Some(app)
    {
        let what = format!("{app} is the app of {} already, and an update is for one platform", platform.other().title());
        return Err(Error::usage(what, format!("Choose another app for {}, or create one.", platform.title())));
    }
    let one = Platform::ALL.into_iter().find(|platform| known.is_some_and(|project| app_of(project, *platform).is_some()));
    if let Some(platform) = one.filter(|_| only.is_none() && has_both(plan)) {
        let what = format!("updraft.toml has an app for {}, and {app} would be written into both platforms", platform.title());
        return Err(Error::usage(what, format!("Set up the other platform: add --platform {}.", platform.other().name())));
    }
    if only.is_none() && has_both(plan) {
        Context::warn(&format!(
            "An update is for one platform, and devices of both would get those of {app}. Set up each with an app of its own: \
             `updraft init --platform ios --app NAME`, then the same for android."
        ));
    }
    Ok(())
}

/// Whether a project is for both platforms.
fn has_both(plan: &Plan) -> bool {
    // Expo makes the platforms' folders when it builds.
    detect::kind(plan) == Some(detect::Kind::Expo) || Platform::ALL.iter().all(|platform| plan.has(platform.name()))
}

/// The deployment keys that the project's files have, or those of one platform.
fn keys_of(folder: &Path, only: Option<Platform>) -> Vec<String> {
    let files = state::of(folder, None, None, only).unwrap_or_default();
    files.into_iter().flat_map(|file| file.keys).filter(|key| !key.is_empty()).collect()
}

/// The app of a platform's table.
fn app_of(project: &project::Project, platform: Platform) -> Option<&str> {
    let table = match platform {
        Platform::Ios => project.ios.as_ref(),
        Platform::Android => project.android.as_ref(),
    };
    table?.app.as_deref()
}

/// Says which variables contradict the project file, and what that means for it.
fn warn_of_contradictions(context: &Context, target: &Target) {
    for Contradiction { variable, value, setting, in_file } in context.contradictions() {
        let chosen = match setting {
            "server" => target.server.as_str(),
            "app" => target.app.as_str(),
            _ => target.deployment.as_str(),
        };
        let outcome = if chosen == in_file {
            format!("other commands in this shell use {value}: unset {variable}")
        } else {
            format!("updraft.toml gets {chosen}. To keep {in_file}, unset {variable} and run `updraft init` again")
        };
        Context::warn(&format!("{variable} is {value}, and updraft.toml has {setting} = {in_file}: {outcome}."));
    }
}

/// The change of `updraft.toml` in the folder. For one platform, its table also gets the app, or only its table if
/// the file has the apps by table.
fn plan_project_file(plan: &mut Plan, target: &Target, platform: Option<Platform>, by_table: bool) {
    let mut settings = vec![("server", target.server.as_str()), ("app", target.app.as_str()), ("deployment", target.deployment.as_str())];
    settings.retain(|(name, _)| !(by_table && platform.is_some() && *name == "app"));
    let of_platform = |text: String| match platform {
        Some(platform) => project_file::edit_platform(&text, platform.name(), &target.app),
        None => text,
    };
    if plan.has(project::NAME) {
        plan.edit(project::NAME, |text| Ok(of_platform(project_file::edit(text, &settings))));
    } else {
        let app = Some(target.app.as_str()).filter(|_| !(by_table && platform.is_some()));
        plan.create(project::NAME, &of_platform(project_file::create(&target.server, app, &target.deployment)));
    }
}

/// Prints the diffs, in colors on a terminal.
fn show(context: &Context, plan: &Plan) {
    if context.is_json() {
        return;
    }
    let style = terminal::stdout_style();
    for line in plan.changes.iter().flat_map(|change| change.diff.lines()) {
        // On a terminal, lines have no control characters, such as tabs and the carriage returns of files with CRLF.
        let line = if terminal::is_output() { printable(&line.trim_end_matches('\r').replace('\t', "    ")) } else { line.to_owned() };
        let painted = match line.as_bytes().first() {
            _ if line.starts_with("--- ") || line.starts_with("+++ ") => style.bold(&line),
            Some(b'+') => style.success(&line),
            Some(b'-') => style.error(&line),
            Some(b'@') => style.dim(&line),
            _ => line,
        };
        terminal::print(&format!("{painted}\n"));
    }
}
