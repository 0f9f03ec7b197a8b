//! The program `updraft` in a terminal, and its sign-in in the browser.

mod init;
mod keyring;
mod live;
mod screens;
mod sign_in;

use std::path::Path;

use tests::Cli;
use tests::cli::program;
use tests::tmux::Terminal;

/// A terminal in which `updraft` is the program under test.
async fn open(cli: &Cli, columns: u16) -> Terminal {
    let mut variables = cli.variables();
    let folder = program().parent().map(Path::to_owned).unwrap();
    variables.insert("PATH".to_owned(), format!("{}:{}", folder.display(), variables["PATH"]));
    Terminal::open(columns, 40, &cli.project(), &variables).await
}
