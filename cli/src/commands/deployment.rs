//! `updraft deployment`. STUB

use clap::Subcommand;

use crate::context::Context;
use crate::error::{Error, Result};

/// STUB
#[derive(Debug, Subcommand)]
pub(crate) enum DeploymentCommand {
    /// List.
    List,
}

impl DeploymentCommand {
    /// Runs it.
    pub(crate) async fn run(self, _context: &Context) -> Result<()> {
        Err(Error::failed("not built yet", ""))
    }
}
