//! `updraft man`: manual pages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use serde_json::json;

use crate::arguments::Arguments;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::terminal;

/// Writes the manual pages.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  updraft man | man -l -\n  updraft man ~/.local/share/man/man1")]
pub(crate) struct ManCommand {
    /// The folder for one page per command. Without it, the page of `updraft` is printed.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl ManCommand {
    /// Runs it.
    #[expect(clippy::unused_async, reason = "all commands are called alike")]
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let mut command = Arguments::command();
        command.build();
        let Some(folder) = self.folder else {
            let mut page = Vec::new();
            page_of(command).render(&mut page).map_err(|error| Error::failed(format!("cannot make the page: {error}"), "Try again."))?;
            terminal::print_bytes(&page);
            return Ok(());
        };
        let mut pages = Vec::new();
        fs::create_dir_all(&folder).and_then(|()| write(&command, &folder, &mut pages)).map_err(|error| {
            Error::failed(format!("cannot write to {}: {error}", folder.display()), "Choose a folder that you can write to.")
        })?;
        context.done(&format!("Wrote {} pages to {}.", pages.len(), folder.display()));
        context.show(&json!(pages), || {});
        Ok(())
    }
}

/// The page of a command. Its name in titles is that of the file, such as `updraft-app-list`.
fn page_of(command: Command) -> Man {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    Man::new(command).title(name).source(concat!("updraft ", env!("CARGO_PKG_VERSION"))).manual("Updraft manual")
}

/// Writes the page of a command and of all below it.
fn write(command: &Command, folder: &Path, pages: &mut Vec<String>) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(below, folder, pages)?;
    }
    pages.push(page_of(command.clone()).generate_to(folder)?.display().to_string());
    Ok(())
}
