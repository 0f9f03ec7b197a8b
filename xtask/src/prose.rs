//! The stage `prose` of `cargo xtask check`: runs textlint over every text that people read, with the phrases of `xtask/prose/rules.json`.
//!
//! `xtask/prose/lint.mjs` finds the files, `extract.mjs` takes the prose out of them, `rule.mjs` is the textlint rule. Nothing is corrected.

#[cfg(test)]
mod tests;

use std::{path::Path, process::Command};

use xtask::paths;

use crate::{
    npm,
    session::{Failure, Session},
};

/// The program, in the repository.
const PROGRAM: &str = "xtask/prose/lint.mjs";

/// Prints each wrong phrase with its file, line and replacement, and fails if there is one.
pub(crate) fn check(session: &Session) -> Result<(), Failure> {
    npm::install(session)?;
    session.run(&mut command(&paths::root())?)
}

/// The program with the Node.js of this repository. Without arguments, it checks the repository in which it is.
fn command(root: &Path) -> Result<Command, Failure> {
    let mut command = Command::new(paths::node(root)?);
    command.arg(root.join(PROGRAM)).current_dir(root);
    Ok(command)
}
