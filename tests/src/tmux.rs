//! A terminal for tests: a shell in tmux, whose screen can be read as a person sees it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::wait::eventually;

/// The shell's prompt.
pub const PROMPT: &str = "$ ";

/// A terminal with a shell. It is closed when dropped.
#[derive(Debug)]
pub struct Terminal {
    folder: TempDir,
    columns: usize,
}

impl Terminal {
    /// Opens a terminal of this size with a shell in `folder`, with only these variables.
    pub async fn open(columns: u16, rows: u16, folder: &Path, variables: &BTreeMap<String, String>) -> Self {
        let terminal = Self { folder: TempDir::new().unwrap(), columns: columns.into() };
        let mut command = terminal.tmux();
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &columns.to_string(), "-y", &rows.to_string(), "-c"]).arg(folder);
        command.args(["env", "-i", "TERM=tmux-256color", "LANG=C.UTF-8", &format!("PS1={PROMPT}")]);
        command.args(variables.iter().filter(|(name, _)| *name != "TERM").map(|(name, value)| format!("{name}={value}")));
        command.args(["bash", "--norc", "--noprofile"]);
        run(&mut command);
        terminal.wait_for("the prompt", |screen| screen.trim_end() == PROMPT.trim_end()).await;
        terminal
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.folder.path().join("socket")).env_remove("TMUX");
        command
    }

    /// Types a text, and presses Enter.
    pub fn enter(&self, text: &str) {
        run(self.tmux().args(["send-keys", "-l", text]));
        self.press("Enter");
    }

    /// Presses a key by its name in tmux, such as `C-c`.
    pub fn press(&self, key: &str) {
        run(self.tmux().args(["send-keys", key]));
    }

    /// The visible screen as text.
    pub fn screen(&self) -> String {
        text(run(self.tmux().args(["capture-pane", "-p"])))
    }

    /// The visible screen with its colors as escape sequences.
    pub fn colored_screen(&self) -> String {
        text(run(self.tmux().args(["capture-pane", "-p", "-e"])))
    }

    /// Waits until the screen is right, and returns it.
    pub async fn wait_for(&self, what: &str, is_right: impl Fn(&str) -> bool) -> String {
        eventually(what, async || {
            let screen = self.screen();
            if is_right(&screen) { Ok(screen) } else { Err(format!("the screen is\n{screen}")) }
        })
        .await
    }

    /// Waits until the shell asks for the next command, and returns the screen.
    pub async fn prompt(&self) -> String {
        self.wait_for("the prompt", |screen| screen.trim_end().ends_with(&format!("\n{}", PROMPT.trim_end()))).await
    }

    /// Runs a command to its end on an empty screen, and returns the screen without the command and the next prompt.
    pub async fn run(&self, command: &str) -> String {
        self.clear().await;
        self.enter(command);
        let screen = self.prompt().await;
        let typed = (PROMPT.len() + command.chars().count()).div_ceil(self.columns);
        screen.trim_end().lines().skip(typed).filter(|line| *line != PROMPT.trim_end()).map(|line| line.to_owned() + "\n").collect()
    }

    /// Clears the screen.
    pub async fn clear(&self) {
        self.enter("clear");
        self.wait_for("an empty screen", |screen| screen.trim_end() == PROMPT.trim_end()).await;
    }

    /// Whether the cursor is visible.
    pub fn shows_cursor(&self) -> bool {
        text(run(self.tmux().args(["display-message", "-p", "#{cursor_flag}"]))).trim() == "1"
    }

    /// Expects what a command must leave behind: a visible cursor, and a terminal that shows what is typed.
    pub async fn assert_restored(&self) {
        assert!(self.shows_cursor(), "the cursor is hidden");
        let modes = self.run("stty -a | tr ' ;' '\\n\\n' | grep -xE -e '-?(echo|icanon|isig)' | tr '\\n' ' '; echo").await;
        assert_eq!(modes.trim(), "isig icanon echo", "the terminal's modes");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.tmux().arg("kill-server").output();
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("tmux is installed: `cargo xtask test` installs it");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}
