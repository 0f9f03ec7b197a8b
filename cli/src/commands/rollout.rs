//! `updraft rollout`: staged rollouts.

use clap::Subcommand;
use shared::api::Field;
use shared::api::metrics::MetricsAnswer;
use shared::api::releases::{Release, ReleaseAnswer, ReleaseChanges, ReleasePatch};
use shared::keys::Label;
use shared::rollout::Percent;

use super::release::{Target, options};
use crate::arguments::DeploymentOption;
use crate::context::Context;
use crate::error::{Kind, Result};
use crate::output::table::Details;

/// Commands on staged rollouts.
#[derive(Debug, Subcommand)]
pub(crate) enum RolloutCommand {
    /// Show the newest release's rollout, and how it does on devices.
    #[command(after_help = "Example:\n  updraft rollout show -d Production")]
    Show {
        /// The deployment.
        #[command(flatten)]
        deployment: DeploymentOption,
    },
    /// Widen the newest release's rollout. 100 finishes it.
    #[command(after_help = "Examples:\n  updraft rollout set 50\n  updraft rollout set 100 v12 -a my-app -d Production")]
    Set {
        /// The percentage of devices that get the release, 1-100. Not lower than now.
        #[arg(value_parser = options::percent)]
        percent: Percent,
        /// The release. Default: the newest.
        #[arg(value_parser = options::label)]
        label: Option<Label>,
        /// The deployment.
        #[command(flatten)]
        deployment: DeploymentOption,
    },
}

impl RolloutCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Show { deployment } => show(context, &deployment).await,
            Self::Set { percent, label, deployment } => set(context, &deployment, percent, label).await,
        }
    }
}

async fn show(context: &Context, deployment: &DeploymentOption) -> Result<()> {
    let target = Target::new(context, deployment)?;
    let label = target.newest().await?;
    let answer = target.advised(target.client.get::<ReleaseAnswer>(&target.path(&["releases", &label])).await).await?;
    if context.is_json() {
        context.show(&answer.json, || {});
        return Ok(());
    }
    // A credential without metrics.read sees the rollout only.
    let metrics = target.client.get::<MetricsAnswer>(&target.path(&["metrics"])).await.ok();
    let release = &answer.value.package;
    let mut details = Details::new();
    details.add("Release", &label).add("Rollout", rollout(release)).add("Target version", &*release.app_version);
    if let Some(counts) = metrics.as_ref().and_then(|answer| answer.value.metrics.get(&label)) {
        details.add("Active", counts.active.to_string()).add("Installed", counts.installed.to_string());
        details.add("Failed", counts.failed.to_string());
    }
    details.print();
    if release.rollout.is_some() && !release.is_disabled {
        context.note(&format!(
            "Finish it: {}. Take it back: {}.",
            target.command("rollout set 100"),
            target.command(&format!("release disable {label}"))
        ));
    }
    Ok(())
}

fn rollout(release: &Release) -> String {
    match release.rollout {
        _ if release.is_disabled => "disabled: no device gets it".to_owned(),
        Some(percent) => format!("{percent}% of devices"),
        None => "100%: finished".to_owned(),
    }
}

async fn set(context: &Context, deployment: &DeploymentOption, percent: Percent, label: Option<Label>) -> Result<()> {
    let target = Target::new(context, deployment)?;
    let changes = ReleaseChanges { rollout: Field::from(percent), ..ReleaseChanges::default() };
    let body = ReleasePatch { label: Field::from(label.map(String::from)), package_info: Field::from(changes) };
    let patched = target.client.patch::<ReleaseAnswer>(&target.path(&["release"]), &body).await;
    let result = match label {
        Some(label) => target.advised_on(&String::from(label), patched).await,
        None => target.advised(patched).await,
    };
    let answer = match result {
        // The server's text does not name the release, but the advice does.
        Err(error) if error.next.contains("LABEL") => {
            let label = label.map(String::from).or(target.newest().await.ok());
            let next = error.next.replace("LABEL", label.as_deref().unwrap_or("LABEL"));
            return Err(error.with_next(next));
        }
        Err(error) if error.kind == Kind::NotFound && label.is_none() && error.what.starts_with("release ") => {
            return Err(target.newest().await.err().unwrap_or(error));
        }
        other => other?,
    };
    let Some(answer) = answer else {
        let label = match label {
            Some(label) => String::from(label),
            None => target.newest().await?,
        };
        let answer = target.get::<ReleaseAnswer>(&["releases", &label]).await?;
        context.done(&format!("{label} is already at {}%: nothing changed.", percent.get()));
        if answer.value.package.is_disabled {
            context.note(&format!("It is disabled: no device gets it. Enable it: {}", target.command(&format!("release enable {label}"))));
        }
        context.show(&answer.json, || {});
        return Ok(());
    };
    let label = String::from(answer.value.package.label);
    if answer.value.package.is_disabled {
        let enable = target.command(&format!("release enable {label}"));
        context.done(&format!("The rollout of {label} is {}% now, but {label} is disabled: no device gets it.", percent.get()));
        context.note(&format!("Enable it: {enable}"));
    } else if answer.value.package.rollout.is_none() {
        context.done(&format!("{label} goes to all devices of {} now: its rollout is finished.", target.deployment));
    } else {
        context.done(&format!("{label} goes to {}% of the devices of {} now.", percent.get(), target.deployment));
        context.note(&format!("Finish it: {}", target.command("rollout set 100")));
    }
    context.show(&answer.json, || {});
    Ok(())
}
