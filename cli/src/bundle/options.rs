//! The options of a build.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::target_version::NativeOptions;

/// How the bundle is built.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Build")]
pub(crate) struct BuildOptions {
    /// The folder with the app's package.json. Default: the working directory, or the nearest one above.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project_dir: Option<PathBuf>,
    /// The file that registers the app's root component. Default: what the app's own builds take.
    #[arg(long, short = 'e', value_name = "FILE")]
    pub(crate) entry_file: Option<PathBuf>,
    /// The bundle's name in the package. Default: main.jsbundle for iOS, index.android.bundle for Android.
    #[arg(long, short, value_name = "NAME", value_parser = file_name)]
    pub(crate) bundle_name: Option<String>,
    /// Build for development: with warnings, and not optimized.
    #[arg(long)]
    pub(crate) development: bool,
    /// The bundler's configuration. Default: metro.config.js of the project.
    #[arg(long, value_name = "FILE")]
    pub(crate) bundler_config: Option<PathBuf>,
    /// Another option for the bundler, such as --extra-bundler-option=--max-workers=2. It can be repeated.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) extra_bundler_option: Vec<String>,
    /// Compile to Hermes bytecode. Default: if the app's builds use Hermes.
    #[arg(long, overrides_with = "no_hermes")]
    pub(crate) hermes: bool,
    /// Release plain JavaScript.
    #[arg(long, overrides_with = "hermes")]
    pub(crate) no_hermes: bool,
    /// Another flag for the Hermes compiler, such as --extra-hermes-flag=-fno-inline. It can be repeated.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub(crate) extra_hermes_flag: Vec<String>,
    /// Compile Hermes bytecode so that it resembles an earlier bundle, for small patches: "auto" fetches the one that devices have, or give a file. If the result
    /// cannot be shown to do the same as without it, it is left out.
    #[arg(long, value_name = "auto|FILE", conflicts_with = "no_hermes")]
    pub(crate) base: Option<BaseOption>,
    /// Keep the source map in this file, or in this folder. It is never part of the package.
    #[arg(long, value_name = "PATH")]
    pub(crate) source_map_output: Option<PathBuf>,
    /// Keep what was built in this folder: the package as CodePush, and the source map next to it. With two platforms, each has a folder of its own.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output_dir: Option<PathBuf>,
    /// The native projects.
    #[command(flatten)]
    pub(crate) native: NativeOptions,
}

impl BuildOptions {
    /// Whether to compile with Hermes, if the options say so.
    pub(super) fn hermes(&self) -> Option<bool> {
        match (self.hermes, self.no_hermes) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

/// An earlier bundle.
#[derive(Clone, Debug)]
pub(crate) enum BaseOption {
    /// The one that devices have.
    Auto,
    /// This file.
    File(PathBuf),
}

impl From<OsString> for BaseOption {
    fn from(value: OsString) -> Self {
        if value == "auto" { Self::Auto } else { Self::File(value.into()) }
    }
}

/// A name without a folder.
fn file_name(text: &str) -> Result<String, String> {
    let is_plain = !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\\']);
    if is_plain { Ok(text.to_owned()) } else { Err("must be a file's name, without a folder".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundle_names_have_no_folder() {
        assert!(file_name("main.jsbundle").is_ok());
        for text in ["", "..", "a/b", "a\\b"] {
            assert!(file_name(text).is_err(), "{text}");
        }
    }
}
