//! `cargo xtask dist`: builds what people install, for this machine's platform.

use std::env;
use std::path::PathBuf;

use xtask::{dist, paths};

use crate::npm;
use crate::session::{Failure, Session, cargo, say};

/// Options of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder to write to
    #[arg(long, value_name = "FOLDER", default_value = "dist")]
    output: PathBuf,
    /// More platforms whose npm packages `updraft-cli` names, such as linux-x64,darwin-arm64, if you publish them all to a registry. npm asks the registry for
    /// each. Default: only this machine's
    #[arg(long, value_name = "PLATFORMS", value_delimiter = ',', value_parser = dist::npm_platform)]
    npm_platforms: Vec<String>,
}

/// Builds the program, and packs it.
pub(crate) fn run(session: &Session, options: &Options) -> Result<(), Failure> {
    let root = paths::root();
    say("building updraft for this machine");
    session.run(cargo().args(["build", "--release", "--locked", "--package", "cli", "--bin", "updraft"]).current_dir(&root))?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program = target.join("release").join(if cfg!(windows) { "updraft.exe" } else { "updraft" });
    // Node.js of the version that npm needs comes with them.
    npm::install(session)?;
    for file in dist::pack(&root, &program, env!("CARGO_PKG_VERSION"), &options.npm_platforms, &options.output)? {
        println!("{}", file.display());
    }
    Ok(())
}
