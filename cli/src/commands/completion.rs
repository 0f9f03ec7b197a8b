//! `updraft completion`: completion scripts for shells.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};

use crate::arguments::Arguments;
use crate::context::Context;
use crate::error::Result;
use crate::output::terminal;

/// Prints the completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  updraft completion bash > ~/.local/share/bash-completion/completions/updraft
  updraft completion zsh > \"${fpath[1]}/_updraft\"
  updraft completion fish > ~/.config/fish/completions/updraft.fish
  updraft completion powershell >> $PROFILE")]
pub(crate) struct CompletionCommand {
    /// The shell.
    shell: ShellOption,
}

/// A shell that has completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShellOption {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
    /// PowerShell.
    #[value(name = "powershell")]
    PowerShell,
}

impl CompletionCommand {
    /// Runs it.
    #[expect(clippy::unused_async, reason = "all commands are called alike")]
    pub(crate) async fn run(self, _context: &Context) -> Result<()> {
        let shell = match self.shell {
            ShellOption::Bash => Shell::Bash,
            ShellOption::Zsh => Shell::Zsh,
            ShellOption::Fish => Shell::Fish,
            ShellOption::PowerShell => Shell::PowerShell,
        };
        // Into memory first, since writing to a closed pipe would panic.
        let mut script = Vec::new();
        generate(shell, &mut Arguments::command(), "updraft", &mut script);
        terminal::print_bytes(&script);
        Ok(())
    }
}
