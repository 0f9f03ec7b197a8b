//! Runs the project's programs: their output goes to standard error as it comes, and what tells why one failed is kept.

use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Command;

use crate::children;
use crate::clock;
use crate::error::{Error, Result};
use crate::output::terminal;

/// How long to wait for the rest of the output after a program has ended. Its own children can keep the pipe open.
const REST: Duration = Duration::from_secs(2);
/// The variable with the credential.
const TOKEN: &str = "UPDRAFT_TOKEN";
/// The variable with the private key, if it is in one.
static KEY: OnceLock<String> = OnceLock::new();
/// The longest line in an error, in characters.
const LONGEST: usize = 300;

/// How a program ended.
#[derive(Debug)]
pub(super) struct Finished {
    /// Its exit status.
    pub(super) status: ExitStatus,
    /// What it wrote to standard output, if it was asked for.
    pub(super) output: String,
    /// The line that tells most about a failure.
    pub(super) reason: Option<String>,
}

/// What becomes of a program's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// It is shown on standard error.
    Shown,
    /// It is returned.
    Returned,
}

/// Keeps a variable from the project's programs.
pub(crate) fn hide(variable: &str) {
    // There is one key in a run of the CLI.
    let _ = KEY.set(variable.to_owned());
}

/// Keeps credential and private key from a program: bundlers run code of hundreds of packages, which must not release or sign anything.
pub(super) fn hide_secrets(command: &mut std::process::Command) {
    command.env_remove(TOKEN);
    if let Some(key) = KEY.get() {
        command.env_remove(key);
    }
}

/// Runs a program to its end, without credential and private key. `what` names it in errors. Errors: failed (1) if it does not start.
pub(super) async fn run(command: &mut Command, what: &str, output: Output, is_quiet: bool) -> Result<Finished> {
    let next = "Install the project's packages again, on this kind of machine.";
    let cannot = |error: &std::io::Error| Error::failed(format!("cannot run {what}: {error}"), next);
    hide_secrets(command.as_std_mut());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let (mut child, _group) = children::spawn_awaited(command).map_err(|error| cannot(&error))?;
    let (mut of_output, mut of_errors) = (Telling::default(), Telling::default());
    let mut returned = String::new();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let status = {
        let reading = async {
            let shown = async {
                let Some(stdout) = stdout else { return };
                let read = |line: &str| {
                    of_output.read(line);
                    match output {
                        Output::Returned => returned.push_str(&(line.to_owned() + "\n")),
                        Output::Shown => show(line, is_quiet),
                    }
                };
                lines(stdout, read).await;
            };
            let errors = async {
                let Some(stderr) = stderr else { return };
                let read = |line: &str| {
                    of_errors.read(line);
                    show(line, is_quiet);
                };
                lines(stderr, read).await;
            };
            tokio::join!(shown, errors);
        };
        tokio::pin!(reading);
        tokio::select! {
            biased;
            () = &mut reading => child.wait().await,
            status = child.wait() => {
                let _ = clock::within(REST, &mut reading).await;
                status
            }
        }
    };
    let status = status.map_err(|error| cannot(&error))?;
    let reason = [of_errors.error, of_output.error, of_errors.last, of_output.last].into_iter().flatten().next();
    Ok(Finished { status, output: returned, reason })
}

impl Finished {
    /// Nothing if the program succeeded. Errors: failed (1) with the exit code and the reason.
    pub(super) fn check(&self, what: &str, next: &str) -> Result<()> {
        if self.status.success() {
            return Ok(());
        }
        let how = self.status.code().map_or_else(|| self.status.to_string(), |code| format!("exit code {code}"));
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        Err(Error::failed(format!("{what} failed with {how}{reason}"), next))
    }
}

/// Advice after a failure, with how to see the output that was not shown.
pub(super) fn with_output(next: &str, is_quiet: bool) -> String {
    let hidden = if is_quiet { " Its whole output is shown without --quiet and --output json." } else { "" };
    format!("{next}{hidden}")
}

fn show(line: &str, is_quiet: bool) {
    if !is_quiet {
        terminal::line(line);
    }
}

/// Reads lines to the end, without colors.
async fn lines(source: impl AsyncRead + Unpin, mut read: impl FnMut(&str)) {
    let mut source = BufReader::new(source);
    let mut bytes = Vec::new();
    // A broken pipe is an end too.
    while source.read_until(b'\n', &mut bytes).await.is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&bytes);
        read(console::strip_ansi_codes(text.trim_end()).as_ref());
        bytes.clear();
    }
}

/// The lines of an output that tell about a failure.
#[derive(Debug, Default)]
struct Telling {
    /// The first one that begins like an error.
    error: Option<String>,
    /// The last one that is not empty.
    last: Option<String>,
}

impl Telling {
    fn read(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        if self.error.is_none() && is_error(line) {
            // "Error: " after "error " or "SyntaxError: " says nothing more.
            let rest = without_prefix(line, "error").unwrap_or(line);
            self.error = Some(shortened(without_prefix(rest, "Error:").unwrap_or(rest)));
        }
        self.last = Some(shortened(line));
    }
}

/// Whether a line begins like an error: `error …`, `Error: …`, `SyntaxError: …`, or `file:1:2: error: …` of Hermes.
fn is_error(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    let is_name = |word: &str| word.strip_suffix("Error").is_some_and(|kind| kind.chars().all(char::is_alphanumeric));
    ["error", "error:", "hermesc:"].iter().any(|word| first.eq_ignore_ascii_case(word))
        || first.strip_suffix(':').is_some_and(is_name)
        || line.contains(": error: ")
}

fn without_prefix<'l>(line: &'l str, prefix: &str) -> Option<&'l str> {
    let rest = line.strip_prefix(prefix).or_else(|| line.strip_prefix("ERROR"))?;
    Some(rest.trim_start_matches(':').trim_start()).filter(|rest| !rest.is_empty())
}

fn shortened(line: &str) -> String {
    let line = line.trim_end_matches([':', ' ']);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_most_is_found() {
        for (text, expected) in [
            ("Welcome\nerror Unable to resolve module ./x from /a.js: \n\nNone of these\n", "Unable to resolve module ./x from /a.js"),
            ("error Error: /a.js: Unexpected token (1:6)\n> 1 | x\n", "/a.js: Unexpected token (1:6)"),
            ("SyntaxError: Error: /a.js: Unexpected token\n", "SyntaxError: Error: /a.js: Unexpected token"),
            ("node:internal\n  throw err\nError: Cannot find module 'x'\n    at y\n", "Cannot find module 'x'"),
            ("hermesc: Unknown argument '-x'\nhermesc: Did you mean '-y'?\n", "hermesc: Unknown argument '-x'"),
            ("x.js:1:7: error: invalid\n", "x.js:1:7: error: invalid"),
        ] {
            let mut telling = Telling::default();
            text.lines().for_each(|line| telling.read(line));
            assert_eq!(telling.error.as_deref(), Some(expected));
        }
        let mut telling = Telling::default();
        "errors are fine\n\ndone: \n".lines().for_each(|line| telling.read(line));
        assert_eq!((telling.error, telling.last.as_deref()), (None, Some("done")));
        assert_eq!(shortened(&"x".repeat(1_000)).chars().count(), LONGEST + 1);
    }
}
