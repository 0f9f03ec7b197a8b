//! `updraft session`. STUB

use clap::Subcommand;

use crate::context::Context;
use crate::error::{Error, Result};

/// STUB
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List.
    List,
}

impl SessionCommand {
    /// Runs it.
    pub(crate) async fn run(self, _context: &Context) -> Result<()> {
        Err(Error::failed("not built yet", ""))
    }
}
