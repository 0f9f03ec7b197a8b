//! `updraft api`. STUB

use clap::Args;

use crate::context::Context;
use crate::error::{Error, Result};

/// STUB
#[derive(Debug, Args)]
pub(crate) struct ApiCommand {}

impl ApiCommand {
    /// Runs it.
    pub(crate) async fn run(self, _context: &Context) -> Result<()> {
        Err(Error::failed("not built yet", ""))
    }
}
