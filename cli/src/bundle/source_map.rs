//! One source map of the two that bundler and Hermes write, composed by React Native's own program.

use std::path::Path;

use tokio::process::Command;

use super::node;
use super::project::{Project, install};
use super::run::{self, Output};
use crate::error::{Error, Result};

/// Composes two source maps. Errors: failed (1).
pub(super) async fn compose(project: &Project, of_bundler: &Path, of_hermes: &Path, composed: &Path, is_quiet: bool) -> Result<()> {
    let program = project.react_native.folder.join("scripts/compose-source-maps.js");
    if !program.is_file() {
        let version = project.react_native.version().unwrap_or_default();
        return Err(Error::failed(format!("react-native {version} has no program that composes source maps"), install(&project.root)));
    }
    let mut command = Command::new(node::PROGRAM);
    command.arg(program).arg(of_bundler).arg(of_hermes).arg("-o").arg(composed).current_dir(&project.root);
    let finished = run::run(&mut command, "the composition of the source maps", Output::Shown, is_quiet).await?;
    finished.check("the composition of the source maps", "Release without --source-map-output and --output-dir, or correct what it names.")
}
