//! The grammar: `updraft <noun> <verb>`.

use clap::{Args, Parser, ValueEnum};

use crate::commands::Command;

/// Publish over-the-air updates, and manage the apps that get them.
#[derive(Debug, Parser)]
#[command(name = "updraft", version, about, long_about = None, propagate_version = true, disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The server: a name from `updraft server list`, or a URL.
    #[arg(long, short, global = true, env = "UPDRAFT_URL", hide_env_values = true, value_name = "NAME|URL")]
    pub server: Option<String>,
    /// The format of results on standard output. table: tab-separated values unless it is a terminal.
    #[arg(long, short, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: OutputFormat,
    /// Print no messages and no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Answer yes to every question.
    #[arg(long, short, global = true)]
    pub yes: bool,
    /// Print each request to standard error.
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// The format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    // Tables on a terminal, tab-separated values elsewhere. No doc comments: with them, clap prints every --help in its long form.
    #[default]
    Table,
    // The API's JSON, one document.
    Json,
}

/// Parses a whole number from `MIN` to `MAX`.
pub(crate) fn number<const MIN: u16, const MAX: u16>(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| (MIN..=MAX).contains(number));
    number.ok_or_else(|| format!("must be a whole number from {MIN} to {MAX}"))
}

/// The app that a command acts on.
#[derive(Clone, Debug, Args)]
pub(crate) struct AppOption {
    /// The app: its name, or `owner@example.com:name`. Default: the one in updraft.toml.
    #[arg(long, short, env = "UPDRAFT_APP", hide_env_values = true, value_name = "NAME")]
    pub app: Option<String>,
}

/// The deployment that a command acts on.
#[derive(Clone, Debug, Args)]
pub(crate) struct DeploymentOption {
    /// The app.
    #[command(flatten)]
    pub app: AppOption,
    /// The deployment. Default: the one in updraft.toml.
    #[arg(long, short, env = "UPDRAFT_DEPLOYMENT", hide_env_values = true, value_name = "NAME")]
    pub deployment: Option<String>,
}
