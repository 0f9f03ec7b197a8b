//! `updraft fingerprint`: records what native code binaries are built from, and compares it with the project.
//!
//! One file per verb. What is recorded, and how it is found, is in [`crate::bundle::fingerprint`]; the warnings of releases are in `release`.

mod check;
mod write;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::release::platforms::Choice;
use crate::bundle::Platform;
use crate::bundle::fingerprint::{BinaryVersion, Fingerprint, NativeProject};
use crate::bundle::target_version::NativeOptions;
use crate::context::Context;
use crate::error::{Error, Result};

/// Commands on what binaries are built from.
#[derive(Debug, Subcommand)]
pub(crate) enum FingerprintCommand {
    /// Record what native code the binaries of this app version are built from.
    #[command(
        after_help = "Examples:\n  updraft fingerprint write\n  updraft fingerprint write --platform ios --app-version 1.2.3\n\nRun it where you build the binaries. It writes updraft-fingerprint.json next to package.json. Commit the file: releases compare\nthe project with it."
    )]
    Write(write::WriteCommand),
    /// Compare the project with what the binaries of this app version were built from.
    #[command(
        after_help = "Examples:\n  updraft fingerprint check\n  updraft fingerprint check --platform android --app-version 1.2.3 --output json\n\nExits with 0 if nothing differs, with 1 if something does, with 2 if the version is not recorded."
    )]
    Check(check::CheckCommand),
}

impl FingerprintCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::Write(command) => command.run(context).await,
            Self::Check(command) => command.run(context).await,
        }
    }
}

/// Which binaries a command is about.
#[derive(Debug, Args)]
struct BinaryOptions {
    /// The platform. Default: those that the project has.
    #[arg(long, value_enum)]
    platform: Option<Choice>,
    /// The app version. Default: the one that the project builds.
    #[arg(long, value_name = "VERSION", value_parser = BinaryVersion::parse)]
    app_version: Option<BinaryVersion>,
    /// The folder with the app's package.json. Default: the working directory, or the nearest one above.
    #[arg(long, value_name = "FOLDER")]
    project_dir: Option<PathBuf>,
    /// The native projects.
    #[command(flatten)]
    native: NativeOptions,
}

/// A binary that the project builds.
#[derive(Debug)]
struct Binary {
    platform: Platform,
    version: BinaryVersion,
    /// Where the version was found.
    source: String,
    fingerprint: Fingerprint,
}

impl Binary {
    /// Its name for people.
    fn title(&self) -> String {
        format!("{} {}", self.platform.title(), self.version)
    }
}

impl BinaryOptions {
    /// The project, and its binaries. Errors: usage (2), failed (1).
    async fn find(self, context: &Context) -> Result<(NativeProject, Vec<Binary>)> {
        let project = NativeProject::find(self.project_dir.as_deref(), self.native, context.is_quiet()).await?;
        let platforms = match self.platform {
            Some(Choice::Ios) => vec![Platform::Ios],
            Some(Choice::Android) => vec![Platform::Android],
            Some(Choice::All) => vec![Platform::Ios, Platform::Android],
            None => project.platforms(),
        };
        if platforms.is_empty() {
            let what = format!("{} has no folder ios and no folder android", project.root().display());
            return Err(Error::usage(what, "Give the platform and the app version: --platform ios --app-version 1.2.3"));
        }
        let binary = |platform: Platform| -> Result<Binary> {
            let (version, source) = match &self.app_version {
                Some(version) => (version.clone(), "--app-version".to_owned()),
                None => built(&project, platform).map_err(|why| {
                    let what = format!("cannot determine the app version for {}: {why}", platform.title());
                    Error::usage(what, format!("Give it: --platform {} --app-version 1.2.3", platform.name()))
                })?,
            };
            Ok(Binary { platform, version, source, fingerprint: project.fingerprint(platform) })
        };
        let binaries = platforms.into_iter().map(binary).collect::<Result<_>>()?;
        Ok((project, binaries))
    }
}

/// The version that the project builds, and where it was found. Errors: why it cannot be determined.
fn built(project: &NativeProject, platform: Platform) -> Result<(BinaryVersion, String), String> {
    let found = project.version(platform)?;
    Ok((BinaryVersion::parse(&found.version)?, found.source))
}
