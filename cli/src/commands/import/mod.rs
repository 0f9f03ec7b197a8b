//! `updraft import`: moves apps here from another server.

mod codepush;
mod compare;
mod target;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Result;

/// Commands that move apps here.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Move apps here from any CodePush server: deployments with their keys, releases, packages, collaborators.
    #[command(after_help = codepush::EXAMPLES)]
    Codepush(codepush::CodepushCommand),
    /// Compare the update checks of the other server and this one: every difference, with its reason.
    #[command(after_help = compare::EXAMPLES)]
    Compare(compare::CompareCommand),
}

impl ImportCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Codepush(command) => command.run(context).await,
            Self::Compare(command) => command.run(context).await,
        }
    }
}
