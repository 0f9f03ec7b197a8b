//! `updraft release create`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::Map;

use super::Target;
use super::destination::{self, Destination};
use super::halves::Half;
use super::options::{self, DeliveryOptions, NotesOption};
use super::publish::Publication;
use super::warnings::Warnings;
use crate::arguments::DeploymentOption;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::{prompt, terminal};
use crate::package;
use crate::package::signature::SigningKey;

/// Examples in the command's help.
pub(super) const EXAMPLES: &str = "Examples:
  updraft release create ./CodePush -d Staging --target-version 1.2.0
  updraft release create ./CodePush -d Production -t '^1.2.0' --rollout 20 --description \"Fixes the login\"
  updraft release create ./CodePush -t 1.2.0 --sign-key private.pem
  updraft release create bundle.zip --target-version '*' --dry-run";

/// Uploads a release.
#[derive(Debug, Args)]
pub(crate) struct CreateCommand {
    /// The folder that the bundler wrote, a single file, or a .zip, which is uploaded as it is.
    path: PathBuf,
    /// The app versions that it targets: a version or a range. Default: target-version of updraft.toml.
    #[arg(long, short, value_name = "RANGE", value_parser = options::range)]
    target_version: Option<String>,
    /// Who gets it, and how.
    #[command(flatten)]
    delivery: DeliveryOptions,
    /// Sign it with this RSA private key: a PEM file, or env:NAME for an environment variable. The folder must be named CodePush, www or public.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    sign_key: Option<String>,
    #[command(flatten)]
    notes: NotesOption,
    /// Check that the deployment exists, and show what would be released; upload nothing.
    #[arg(long)]
    dry_run: bool,
    /// The deployment.
    #[command(flatten)]
    deployment: DeploymentOption,
}

impl CreateCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        package::check_path(&self.path)?;
        let key = self.sign_key.as_deref().map(SigningKey::read).transpose()?.map(Arc::new);
        let description = self.notes.clone().read()?;
        if !terminal::is_interactive() {
            // Nobody can be asked, so a missing target version is an error before any request.
            self.range(context, None)?;
        }
        let publication = |range: String| Publication {
            path: &self.path,
            range,
            description,
            delivery: &self.delivery,
            key,
            warnings: Warnings::default(),
            members: Map::new(),
            half: Half::Only,
            accepts_identical: false,
        };
        if self.dry_run {
            let range = self.range(context, None)?;
            let limit = destination::limit_of_dry_run(context, &self.deployment).await?;
            let warning = match limit {
                Some(_) => destination::version_warning(&Target::new(context, &self.deployment)?, &range).await?,
                None => None,
            };
            let mut publication = publication(range);
            publication.warnings.add(warning);
            let package = publication.package(context, limit).await?;
            let (document, people) = publication.preview(context, &self.deployment, package).await?;
            context.show(&document, people);
            context.note("Dry run: nothing was uploaded.");
            return Ok(());
        }
        let destination = Destination::find(context, &self.deployment).await?;
        let range = self.range(context, destination.most_used_version())?;
        let warning = destination.version_warning(&range);
        let mut publication = publication(range);
        publication.warnings.add(warning);
        let package = publication.package(context, Some(destination.limit)).await?;
        let published = publication.publish(context, &destination, package).await?;
        context.show(&published.json, || published.print());
        published.finish(context, &destination.target)
    }

    /// The target version: the option, the project file, or the answer to a question.
    fn range(&self, context: &Context, suggestion: Option<&str>) -> Result<String> {
        if let Some(range) = &self.target_version {
            return Ok(range.clone());
        }
        if let Some(range) = options::range_of_project(context)? {
            return Ok(range);
        }
        let typed = prompt::text("Which app versions does it target (a version or a range)?", suggestion, "--target-version RANGE")?;
        options::range(&typed)
            .map_err(|why| Error::usage(format!("the target version {why}"), "Run the command again with --target-version."))
    }
}
