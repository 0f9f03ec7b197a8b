//! Words what is wrong with the arguments as every other error: what happened, and what to do next.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::arguments::Arguments;
use crate::error::{Error, Kind};
use crate::package::signature;

/// The arguments of the process. `help COMMAND` and `version`, which other tools have as commands, are `COMMAND --help` and `--version`.
pub(crate) fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    match words.get(1).and_then(|word| word.to_str()) {
        Some("help") => {
            words.remove(1);
            words.push("--help".into());
        }
        Some("version") if words.len() == 2 => {
            words.pop();
            words.push("--version".into());
        }
        _ => {}
    }
    words
}

/// Prints help, the version, or what is wrong with the arguments.
pub(crate) fn explain(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Nobody reads a closed pipe.
            let _ = error.print();
        }
        _ => Error::usage(what(error), next(error)).print(),
    }
    if error.use_stderr() { ExitCode::from(Kind::Usage.exit_code()) } else { ExitCode::SUCCESS }
}

/// The first paragraph of clap's text, on one line. What follows are its usage, which counts options that a variable sets as given, and tips.
fn what(error: &clap::Error) -> String {
    let text = error.render().to_string();
    if has_key(&text) {
        return "an argument looks like a private key".to_owned();
    }
    let mut lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    let separator = if error.kind() == ErrorKind::MissingRequiredArgument { ", " } else { " " };
    let first = first.strip_prefix("error: ").unwrap_or(first);
    if rest.is_empty() { first.to_owned() } else { format!("{first} {}", rest.join(separator)) }
}

/// Whether clap's text has a key that was given as an argument, or as the value of an option.
fn has_key(text: &str) -> bool {
    text.contains("PRIVATE KEY")
        || std::env::args_os().any(|word| {
            let word = word.to_string_lossy();
            let value = word.split_once('=').map_or(&*word, |(name, value)| if name.starts_with('-') { value } else { &*word });
            signature::has_key(value) && value.lines().any(|line| !line.is_empty() && text.contains(line))
        })
}

/// The name that is meant, if one looks like it, and how the command is written.
fn next(error: &clap::Error) -> String {
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let names = suggested.iter().find_map(|kind| match error.get(*kind)? {
        ContextValue::String(name) => Some(name.clone()),
        ContextValue::Strings(names) if !names.is_empty() => Some(names.join(" or ")),
        _ => None,
    });
    let suggestion = names.map(|names| format!("Did you mean {names}? ")).unwrap_or_default();
    let (name, usage) = command();
    // The command is written as it should be, but for one value.
    if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
        return format!("{suggestion}Correct the value; `{name} --help` explains it.");
    }
    format!("{suggestion}Write `{usage}`; `{name} --help` explains it.")
}

/// The command that was typed, as far as there is one, and its usage.
fn command() -> (String, String) {
    let mut root = Arguments::command();
    root.build();
    let mut command = &root;
    for word in std::env::args().skip(1) {
        command = command.find_subcommand(&word).unwrap_or(command);
    }
    let name = command.get_bin_name().unwrap_or("updraft").to_owned();
    let usage = command.clone().render_usage().to_string();
    (name, usage.trim_start_matches("Usage:").trim().to_owned())
}
