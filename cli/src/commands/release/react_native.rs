//! `updraft release react-native`.

use clap::Args;

use super::build::BuildAndRelease;
use crate::bundle::Framework;
use crate::context::Context;
use crate::error::Result;

/// Examples in the command's help.
pub(super) const EXAMPLES: &str = "Examples:
  updraft release react-native --platform ios -d Staging
  updraft release react-native --platform android -d Production --rollout 20 --output-dir build
  updraft release react-native --platform all --app-ios my-app-ios --app-android my-app-android
  updraft release react-native --platform ios --target-version '^1.2.0' --dry-run";

/// Builds and releases a React Native project.
#[derive(Debug, Args)]
pub(crate) struct ReactNativeCommand {
    /// What it shares with other builds.
    #[command(flatten)]
    options: BuildAndRelease,
}

impl ReactNativeCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        self.options.run(context, Framework::ReactNative).await
    }
}
