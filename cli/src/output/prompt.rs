//! Questions. Without a terminal nothing is asked: the command says which option answers instead.

use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{Confirm, Input, Password, Select};

use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::interrupt::{self, Step};
use crate::output::table::plain;
use crate::output::terminal;

fn theme() -> Box<dyn Theme> {
    if terminal::stderr_style() == terminal::Palette::plain() { Box::new(SimpleTheme) } else { Box::new(ColorfulTheme::default()) }
}

/// While somebody is asked: nothing was done before, unless the command says otherwise.
fn asking() -> Step {
    interrupt::step("nothing was changed", "Run the command again.")
}

fn failed(error: dialoguer::Error) -> Error {
    let dialoguer::Error::IO(error) = error;
    match error.kind() {
        std::io::ErrorKind::Interrupted => {
            interrupt::report();
            Error::new(Kind::Interrupted, "interrupted", "")
        }
        _ => Error::failed(format!("cannot read from the terminal: {error}"), "Answer with options instead; see --help."),
    }
}

/// Asks for the name of what is about to be destroyed, unless `--yes` was given. `action` completes "This …".
///
/// Errors: usage (2) without a terminal and without `--yes`; failed (1) if another name was typed.
pub(crate) fn confirm_by_name(context: &Context, action: &str, name: &str) -> Result<()> {
    if context.global.yes {
        return Ok(());
    }
    if !terminal::is_interactive() {
        return Err(Error::usage(format!("this {action}, and there is no terminal to confirm on"), "Add --yes to confirm."));
    }
    let _step = asking();
    terminal::line(&format!("{} This {action}.", terminal::stderr_style().warning("!")));
    let typed: String = Input::with_theme(&*theme())
        .with_prompt(format!("Type {} to confirm", plain(name)))
        .allow_empty(true)
        .interact_text()
        .map_err(failed)?;
    if typed.trim() == name {
        Ok(())
    } else {
        Err(Error::failed("not confirmed: nothing was changed", "Run the command again, or add --yes."))
    }
}

/// Asks a yes-or-no question, unless `--yes` was given. Without a terminal the answer is no.
pub(crate) fn confirm(context: &Context, question: &str) -> Result<bool> {
    if context.global.yes {
        return Ok(true);
    }
    if !terminal::is_interactive() {
        return Ok(false);
    }
    let _step = asking();
    Confirm::with_theme(&*theme()).with_prompt(plain(question)).default(true).interact().map_err(failed)
}

/// Asks for a text. `option` is what to give instead without a terminal. Errors: usage (2) without one.
pub(crate) fn text(question: &str, default: Option<&str>, option: &str) -> Result<String> {
    if !terminal::is_interactive() {
        return Err(Error::usage(format!("there is no terminal to ask: {question}"), format!("Add {option}.")));
    }
    let _step = asking();
    let theme = theme();
    let mut input = Input::with_theme(&*theme).with_prompt(plain(question));
    if let Some(default) = default {
        input = input.default(plain(default));
    }
    input.interact_text().map_err(failed)
}

/// Asks for a secret, which is not shown. Errors: usage (2) without a terminal.
pub(crate) fn secret(question: &str, option: &str) -> Result<String> {
    if !terminal::is_interactive() {
        return Err(Error::usage(format!("there is no terminal to ask: {question}"), format!("Add {option}.")));
    }
    let _step = asking();
    Password::with_theme(&*theme()).with_prompt(question).interact().map_err(failed)
}

/// Asks to choose one of several; returns its index. Errors: usage (2) without a terminal.
pub(crate) fn choose(question: &str, choices: &[String], option: &str) -> Result<usize> {
    if !terminal::is_interactive() {
        return Err(Error::usage(format!("there is no terminal to ask: {question}"), format!("Add {option}.")));
    }
    let _step = asking();
    let choices: Vec<String> = choices.iter().map(|choice| plain(choice)).collect();
    Select::with_theme(&*theme()).with_prompt(plain(question)).items(&choices).default(0).interact().map_err(failed)
}
