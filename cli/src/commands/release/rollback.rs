//! `updraft release rollback`.

use clap::Args;
use shared::api::Field;
use shared::api::releases::{NewRollback, ReleaseAnswer};
use shared::keys::Label;

use super::target::idempotency_key;
use super::{Target, options, view};
use crate::arguments::DeploymentOption;
use crate::context::Context;
use crate::error::Result;
use crate::output::prompt;

/// Rolls a deployment back.
#[derive(Debug, Args)]
pub(crate) struct RollbackCommand {
    /// The release to roll back to. Default: the one before the newest.
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
        let to = self.to.map_or_else(|| "the release before the newest".to_owned(), String::from);
        let action = format!("gives all devices of {} in {} the contents of {to}", target.deployment, target.app);
        prompt::confirm_by_name(context, &action, &target.deployment)?;
        let body = NewRollback { target_release: Field::from(self.to.map(String::from)) };
        let answer = target.client.post_once::<ReleaseAnswer>(&target.path(&["rollbacks"]), &idempotency_key()?, &body).await;
        let answer = target.advised(answer).await?;
        let release = &answer.value.package;
        let original = release.original_label.map(String::from).unwrap_or_default();
        context.done(&format!("Rolled {} back to {original}. The new release is {}.", target.deployment, String::from(release.label)));
        context.show(&answer.json, || view::print(release, None));
        Ok(())
    }
}
