//! `updraft release edit`, `disable` and `enable`.

use clap::Args;
use serde_json::Value;
use shared::api::Field;
use shared::api::releases::{ReleaseAnswer, ReleaseChanges, ReleasePatch};
use shared::keys::Label;

use super::options::{self, NotesOption};
use super::{Target, view};
use crate::arguments::DeploymentOption;
use crate::context::Context;
use crate::error::{Error, Result};

/// Edits a release.
#[derive(Debug, Args)]
pub(crate) struct EditCommand {
    /// The release. Default: the newest.
    #[arg(value_parser = options::label)]
    label: Option<Label>,
    #[command(flatten)]
    notes: NotesOption,
    /// Remove the description.
    #[arg(long, conflicts_with_all = ["description", "description_file"])]
    clear_description: bool,
    /// The app versions that it targets: a version or a range.
    #[arg(long, short, value_name = "RANGE", value_parser = options::range)]
    target_version: Option<String>,
    /// Make it mandatory; with =false optional.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    mandatory: Option<bool>,
    /// The deployment.
    #[command(flatten)]
    deployment: DeploymentOption,
}

impl EditCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let notes = self.notes.read()?;
        if notes.is_none() && !self.clear_description && self.target_version.is_none() && self.mandatory.is_none() {
            let next = "Add --description, --description-file, --clear-description, --target-version or --mandatory. Rollouts: `updraft rollout set`.";
            return Err(Error::usage("there is nothing to edit", next));
        }
        // The API takes an empty description as unchanged; clearing has a name of its own.
        let is_cleared = self.clear_description || notes.as_deref() == Some("");
        let changes = ReleaseChanges {
            app_version: Field::from(self.target_version),
            description: Field::from(notes.filter(|notes| !notes.is_empty())),
            is_mandatory: Field::from(self.mandatory),
            clear: Field::from(is_cleared.then(|| vec!["description".to_owned()])),
            ..ReleaseChanges::default()
        };
        let target = Target::new(context, &self.deployment)?;
        let Some(answer) = patch(&target, self.label, changes).await? else {
            context.done("Nothing changed: the release already has these values.");
            context.show(&Value::Null, || {});
            return Ok(());
        };
        context.done(&format!("Edited {} of {}.", String::from(answer.value.package.label), target.deployment));
        context.show(&answer.json, || view::print(&answer.value.package));
        Ok(())
    }
}

/// Disables or enables a release.
pub(super) async fn set_disabled(context: &Context, label: Label, deployment: &DeploymentOption, is_disabled: bool) -> Result<()> {
    let target = Target::new(context, deployment)?;
    let changes = ReleaseChanges { is_disabled: Field::from(is_disabled), ..ReleaseChanges::default() };
    let answer = patch(&target, Some(label), changes).await?;
    let label = String::from(label);
    match (&answer, is_disabled) {
        (None, true) => context.done(&format!("{label} is already disabled: nothing changed.")),
        (None, false) => context.done(&format!("{label} is already enabled: nothing changed.")),
        (Some(_), true) => {
            context.done(&format!("Disabled {label}: no device of {} gets it anymore.", target.deployment));
            context.note(&format!(
                "At their next check, devices get the newest enabled release for their app version, if there is one. Undo: {}",
                target.command(&format!("release enable {label}"))
            ));
        }
        (Some(_), false) => context.done(&format!("Enabled {label}: devices of {} get it again.", target.deployment)),
    }
    let json = match answer {
        Some(answer) => answer.json,
        // The same shape, whether something changed or not.
        None => target.get::<ReleaseAnswer>(&["releases", &label]).await?.json,
    };
    context.show(&json, || {});
    Ok(())
}

async fn patch(target: &Target, label: Option<Label>, changes: ReleaseChanges) -> Result<Option<crate::client::Answer<ReleaseAnswer>>> {
    let body = ReleasePatch { label: Field::from(label.map(String::from)), package_info: Field::from(changes) };
    let patched = target.client.patch::<ReleaseAnswer>(&target.path(&["release"]), &body).await;
    match label {
        Some(label) => target.advised_on(&String::from(label), patched).await,
        None => target.advised(patched).await,
    }
}
