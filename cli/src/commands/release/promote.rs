//! `updraft release promote`.

use clap::Args;
use shared::api::Field;
use shared::api::releases::{NewPromotion, ReleaseAnswer, ReleaseChanges};
use shared::keys::Label;
use shared::rollout::Percent;

use super::options::{self, NotesOption};
use super::target::idempotency_key;
use super::{Target, advice, view};
use crate::arguments::DeploymentOption;
use crate::commands::nearest;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// Promotes a release.
#[derive(Debug, Args)]
pub(crate) struct PromoteCommand {
    /// The release. Default: the newest that is not disabled.
    #[arg(value_parser = options::label)]
    label: Option<Label>,
    /// The deployment that gets it.
    #[arg(long, value_name = "DEPLOYMENT")]
    to: String,
    /// The percentage of devices that get it. Default: 100.
    #[arg(long, value_name = "PERCENT", value_parser = options::percent)]
    rollout: Option<Percent>,
    /// Another target version: a version or a range.
    #[arg(long, short, value_name = "RANGE", value_parser = options::range)]
    target_version: Option<String>,
    /// Make it mandatory, as `release create --mandatory` does; with =false optional. Default: as it is.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    mandatory: Option<bool>,
    /// Promote it disabled: no device gets it until you enable it.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    disabled: Option<bool>,
    #[command(flatten)]
    notes: NotesOption,
    /// The deployment that has the release.
    #[command(flatten)]
    deployment: DeploymentOption,
}

impl PromoteCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let notes = self.notes.read()?;
        let changes = ReleaseChanges {
            app_version: Field::from(self.target_version),
            description: Field::from(notes),
            is_mandatory: Field::from(self.mandatory),
            is_disabled: Field::from(self.disabled),
            rollout: Field::from(self.rollout),
            ..ReleaseChanges::default()
        };
        let body = NewPromotion {
            destination: Field::from(self.to.clone()),
            label: Field::from(self.label.map(String::from)),
            package_info: Field::from(changes),
        };
        let target = Target::new(context, &self.deployment)?;
        let result = target.client.post_once::<ReleaseAnswer>(&target.path(&["promotions"]), &idempotency_key()?, &body).await;
        let answer = match result {
            // The rollout that is unfinished, and the contents that are the same, are the destination's.
            Err(error) if error.kind == Kind::Conflict && is_about_destination(&error.what) => {
                return Err(advice::add(error, |command| target.command_at(&self.to, command)));
            }
            Err(error) if error.what.starts_with("destination deployment ") => {
                let error = Error { what: "deployment was not found".to_owned(), ..error };
                return nearest::deployment(&target.client, &target.app, &self.to, Err(error)).await;
            }
            Err(error) if error.what.contains("has no enabled release") => {
                // Without any release, there is none to enable.
                target.newest().await?;
                return target.advised(Err(error)).await;
            }
            other => match self.label {
                Some(label) => target.advised_on(&String::from(label), other).await?,
                None => target.advised(other).await?,
            },
        };
        let label = String::from(answer.value.package.label);
        let original = answer.value.package.original_label.map(|original| format!("{} of ", String::from(original))).unwrap_or_default();
        context.done(&format!("Promoted {original}{} to {}. The new release is {label}.", target.deployment, self.to));
        context.show(&answer.json, || view::print(&answer.value.package));
        if answer.value.package.rollout.is_some() {
            context.note(&format!("Widen its rollout: {}", target.command_at(&self.to, "rollout set 100")));
        }
        Ok(())
    }
}

fn is_about_destination(what: &str) -> bool {
    what.contains("is unfinished")
        || what.contains("identical to")
        || what.contains("limit of")
        || what.contains("release data for devices")
}
