//! `updraft release rollback`.

use clap::Args;
use shared::api::Field;
use shared::api::releases::{ListedRelease, NewRollback, ReleaseAnswer, ReleasesAnswer};
use shared::keys::Label;
use shared::version::Range;

use super::target::idempotency_key;
use super::{Target, options, view};
use crate::arguments::DeploymentOption;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::prompt;

/// Rolls a deployment back.
#[derive(Debug, Args)]
pub(crate) struct RollbackCommand {
    /// The release to roll back to. Its target version must be that of the newest release. Default: the release before the newest.
    #[arg(long, value_name = "LABEL", value_parser = options::label)]
    to: Option<Label>,
    /// The deployment.
    #[command(flatten)]
    deployment: DeploymentOption,
}

impl RollbackCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let target = Target::new(context, &self.deployment)?;
        // Who is asked is asked about a certain release, and that one is rolled back to whatever happens in between.
        let to = match self.to {
            None if !context.global.yes => Some(before_newest(&target).await?),
            given => given,
        };
        let named = to.map_or_else(|| "the release before the newest".to_owned(), String::from);
        let action = format!("gives all devices of {} in {} the contents of {named}", target.deployment, target.app);
        prompt::confirm_by_name(context, &action, &target.deployment)?;
        let body = NewRollback { target_release: Field::from(to.map(String::from)) };
        let answer = target.client.post_once::<ReleaseAnswer>(&target.path(&["rollbacks"]), &idempotency_key()?, &body).await;
        let is_default = to.is_none();
        let has_none = matches!(&answer, Err(error) if does_not_fit(error) || (is_default && error.what.starts_with("release ")));
        let answer = match target.advised_on(&named, answer).await {
            Err(error) if has_none => {
                let is_without = is_default && error.kind == Kind::NotFound;
                let error = if is_without { Error { what: has_no_earlier(&target), ..error } } else { error };
                let releases = newest(&target).await;
                return Err(releases.map_or_else(|_| error.clone(), |releases| error.clone().with_next(advice(&target, &releases))));
            }
            other => other?,
        };
        let release = &answer.value.package;
        let original = release.original_label.map(String::from).unwrap_or_default();
        context.done(&format!("Rolled {} back to {original}. The new release is {}.", target.deployment, String::from(release.label)));
        context.show(&answer.json, || view::print(release));
        Ok(())
    }
}

/// The newest releases, the newest first.
async fn newest(target: &Target) -> Result<Vec<ListedRelease>> {
    let path = target.path(&["releases"]) + "?limit=100";
    Ok(target.advised(target.client.get::<ReleasesAnswer>(&path).await).await?.value.releases)
}

/// The release before the newest. Errors: not found (4) if there is none, conflict (5) if its target version is another one.
async fn before_newest(target: &Target) -> Result<Label> {
    let releases = newest(target).await?;
    let [newest, before, ..] = releases.as_slice() else {
        return Err(Error::new(Kind::NotFound, has_no_earlier(target), advice(target, &releases)));
    };
    if !is_same_range(newest, before) {
        let what = format!("{} targets other app versions than the newest release, {}", before.label, newest.label);
        return Err(Error::new(Kind::Conflict, what, advice(target, &releases)));
    }
    Ok(before.label)
}

fn has_no_earlier(target: &Target) -> String {
    format!("{} of {} has no earlier release", target.deployment, target.app)
}

/// Whether the server refused because there is no earlier release, or because it targets other app versions.
fn does_not_fit(error: &Error) -> bool {
    error.what.starts_with("an earlier release ") || error.what.contains("targets another appVersion")
}

/// The command that rolls back to the newest release that fits. If none does, the newest can only be disabled.
fn advice(target: &Target, releases: &[ListedRelease]) -> String {
    let Some((newest, earlier)) = releases.split_first() else {
        return format!("There is nothing to roll back. Create a release: {}", target.command("release create PATH"));
    };
    if let Some(fitting) = earlier.iter().find(|release| is_same_range(newest, release)) {
        return format!(
            "{} has the same target version: {}",
            fitting.label,
            target.command(&format!("release rollback --to {}", fitting.label))
        );
    }
    let disable = target.command(&format!("release disable {}", newest.label));
    format!("No earlier release has the target version {}. To take {} back: {disable}", newest.app_version, newest.label)
}

/// Whether both target the same app versions, however they are written.
fn is_same_range(one: &ListedRelease, other: &ListedRelease) -> bool {
    let canonical = |release: &ListedRelease| Range::parse(&release.app_version).map(|range| range.canonical().to_owned()).ok();
    canonical(one) == canonical(other)
}
