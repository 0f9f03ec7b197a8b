//! What to do about refusals, where the command knows more than the client.

use shared::api::problem::Code;

use crate::error::{Error, Kind, Result};

/// For operations that only managers of an app can do.
pub(super) const APP_MANAGERS: &str = "Ask an Admin or the owner of the app for the role Admin. An API key needs the scope `apps` as well.";
/// For operations that only the owner of the app can do.
pub(super) const OWNER: &str = "Only the owner of the app can do it; `updraft collaborator list` shows who that is. API keys cannot.";
/// For operations that only a person can do.
pub(super) const NOT_API_KEYS: &str = "Sign in with `updraft login`, or use an access key: API keys cannot do this.";
/// For operations on the collaborators of an app.
pub(super) const COLLABORATOR_MANAGERS: &str =
    "Ask an Admin or the owner of the app for the role Admin. Use `updraft login` or an access key: API keys cannot do this.";

/// If the role or the scopes do not suffice, says which do. Refusals with a code have better advice already.
pub(super) fn forbidden<T>(result: Result<T>, next: &str) -> Result<T> {
    result.map_err(|error| if error.status() == Some(403) && error.code().is_none() { error.with_next(next) } else { error })
}

/// If a value is wrong, says which option or argument has it, instead of the API's name.
pub(super) fn in_options<T>(result: Result<T>, options: &[(&str, &str)]) -> Result<T> {
    result.map_err(|error| with_options(error, options))
}

/// The same of an error.
pub(super) fn with_options(error: Error, options: &[(&str, &str)]) -> Error {
    if error.status() != Some(400) {
        return error;
    }
    let renamed = |fault: &str| {
        let named = fault.split_once(": ").and_then(|(field, why)| Some((options.iter().find(|(name, _)| *name == field)?.1, why)));
        named.map_or_else(|| fault.to_owned(), |(option, why)| format!("{option}: {why}"))
    };
    let what = error.what.split("; ").map(renamed).collect::<Vec<_>>().join("; ");
    Error { what, ..error }
}

/// If the server has something that conflicts, says which command helps.
pub(super) fn conflict<T>(result: Result<T>, next: impl FnOnce() -> String) -> Result<T> {
    result.map_err(|error| if error.kind == Kind::Conflict { error.with_next(next()) } else { error })
}

/// If the role Admin needs a fresh sign-in, says how to go on.
pub(super) fn fresh<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| {
        if error.code() == Some(Code::ReauthRequired.as_str()) {
            error.with_next("Sign in with `updraft login`, or use an access key. A dashboard session must be at most 15 minutes old.")
        } else {
            error
        }
    })
}

/// Refuses what is no email address, before any request. Errors: usage (2).
pub(super) fn is_address(email: &str) -> Result<()> {
    if email.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty()) {
        return Ok(());
    }
    Err(Error::usage(format!("{email} is not an email address"), "Give the address of an account, such as grace@example.com."))
}

/// If nobody has the address, says so.
pub(super) fn no_account<T>(result: Result<T>, email: &str) -> Result<T> {
    result.map_err(|error| {
        if error.kind == Kind::NotFound && error.what.starts_with("account ") {
            let next = "Check the address. They need an account with a verified address before you can share an app with them.";
            return Error { what: format!("no account has the address {email}"), ..error }.with_next(next);
        }
        error
    })
}
