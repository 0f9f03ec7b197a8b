//! `updraft server`. STUB

use clap::Subcommand;

use crate::context::Context;
use crate::error::{Error, Result};

/// STUB
#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// List.
    List,
}

impl ServerCommand {
    /// Runs it.
    pub(crate) async fn run(self, _context: &Context) -> Result<()> {
        Err(Error::failed("not built yet", ""))
    }
}
