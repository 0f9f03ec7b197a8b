//! `updraft device`. STUB

use clap::Subcommand;

use crate::context::Context;
use crate::error::{Error, Result};

/// STUB
#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
    /// List.
    List,
}

impl DeviceCommand {
    /// Runs it.
    pub(crate) async fn run(self, _context: &Context) -> Result<()> {
        Err(Error::failed("not built yet", ""))
    }
}
