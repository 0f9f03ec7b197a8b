//! `updraft release expo`.

use clap::Args;

use super::build::BuildAndRelease;
use crate::bundle::Framework;
use crate::context::Context;
use crate::error::Result;

/// Examples in the command's help.
pub(super) const EXAMPLES: &str = "Examples:
  updraft release expo --platform ios -d Staging
  updraft release expo --platform android -d Production --rollout 20 --output-dir build
  updraft release expo --platform all --app-ios my-app-ios --app-android my-app-android
  updraft release expo --platform ios --target-version '^1.2.0' --dry-run";

/// Builds and releases an Expo project.
#[derive(Debug, Args)]
pub(crate) struct ExpoCommand {
    /// What it shares with other builds.
    #[command(flatten)]
    options: BuildAndRelease,
}

impl ExpoCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        self.options.run(context, Framework::Expo).await
    }
}
