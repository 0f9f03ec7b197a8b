//! What to do about a refusal: the command that helps.

use crate::commands::advice::with_options;
use crate::error::{Error, Kind, Result};

/// The options that have the API's fields of releases.
const OPTIONS: [(&str, &str); 10] = [
    ("appVersion", "--target-version"),
    ("clientUniqueId", "--client-id"),
    ("description", "--description"),
    ("destination", "--to"),
    ("isDisabled", "--disabled"),
    ("isMandatory", "--mandatory"),
    ("label", "LABEL"),
    ("package", "PATH"),
    ("packageHash", "--package-hash"),
    ("rollout", "--rollout"),
];

/// Adds advice to a refused request. `command` completes a command with the options that name the deployment.
pub(super) fn add(error: Error, command: impl Fn(&str) -> String) -> Error {
    let next = match error.status() {
        Some(409) => conflict(&error.what, &command),
        // One that is found before the server is asked.
        None if error.kind == Kind::Conflict => conflict(&error.what, &command),
        Some(403) if error.code().is_none() => forbidden(&error.what),
        Some(400) => invalid(&error.what),
        Some(413) if error.what.starts_with("package") => {
            Some("Remove files that devices do not need, such as source maps, or ask your administrator for a higher limit.".to_owned())
        }
        Some(404) if error.what.starts_with("release ") => Some(format!("Run {} to see the labels.", command("release list"))),
        Some(404) if error.what.starts_with("an earlier release ") => {
            Some(format!("Take the newest release back instead, if there is one: {}", command("release disable LABEL")))
        }
        _ => None,
    };
    let error = match next {
        Some(next) => error.with_next(next),
        None if error.kind == Kind::Conflict => error.with_next(format!("Run {} to see the releases.", command("release list"))),
        None => error,
    };
    let error = with_options(error, &OPTIONS);
    if error.kind == Kind::Conflict { Error { what: in_words(&error.what), ..error } } else { error }
}

/// A conflict without the names of the API's fields.
fn in_words(what: &str) -> String {
    let fields = ["appVersion", "description", "isDisabled", "rollout"];
    let text = match what.split_once(": ") {
        Some((field, why)) if fields.contains(&field) && why.starts_with("must ") => format!("the {field} {why}"),
        Some((field, why)) if fields.contains(&field) => why.to_owned(),
        _ => what.to_owned(),
    };
    // Within a sentence it is one word of it.
    ["another", "same", "this"]
        .iter()
        .fold(text, |text, word| text.replace(&format!("{word} appVersion"), &format!("{word} target version")))
}

/// If the release was not found, names it.
pub(super) fn no_release<T>(result: Result<T>, label: &str, of: &str) -> Result<T> {
    result.map_err(|error| {
        let is_missing = error.kind == Kind::NotFound && error.what.starts_with("release ");
        if is_missing { Error { what: format!("{of} has no release {label}"), ..error } } else { error }
    })
}

fn conflict(what: &str, command: &impl Fn(&str) -> String) -> Option<String> {
    let label = label(what).unwrap_or("LABEL");
    let has = |part: &str| what.contains(part);
    let next = if has("is unfinished: set it to 100") {
        let (finish, disable) = (command("rollout set 100"), command(&format!("release disable {label}")));
        format!("Finish the rollout with {finish} or stop it with {disable}, then try again.")
    } else if has("contents are identical to") {
        let (edit, enable) = (command(&format!("release edit {label}")), command(&format!("release enable {label}")));
        format!("Devices already get these contents, unless {label} is disabled: {enable}. To change its metadata: {edit}")
    } else if has("is already fully rolled out") {
        let (disable, rollback) = (command(&format!("release disable {label}")), command("release rollback"));
        format!("All devices get it. To take it back: {disable} or {rollback}")
    } else if has("so its rollout cannot be changed") {
        format!("Only the newest release can be staged: {} shows it.", command("rollout show"))
    } else if has("rollout: must not be lower") {
        let (disable, rollback) = (command("release disable LABEL"), command("release rollback"));
        format!("A rollout only grows. To take the release back: {disable} or {rollback}")
    } else if has("cannot be enabled again") {
        format!("Create a new release with its contents: {}", command(&format!("release rollback --to {label}")))
    } else if has("so its description cannot be changed") {
        "Give the description when you promote: `updraft release promote --to DEPLOYMENT --description TEXT`".to_owned()
    } else if has("its limit of releases") {
        "Clear the deployment's history, or create another deployment: `updraft deployment --help`".to_owned()
    } else if has("version ranges") || has("release data for devices") {
        format!("Disable releases that you no longer need: {}", command("release disable LABEL"))
    } else if has("promoted to its own deployment") {
        "Give another deployment with --to; `updraft deployment list` shows them.".to_owned()
    } else if has("has no enabled release") {
        format!("Enable a release first: {}", command("release enable LABEL"))
    } else if has("is disabled: enable it") {
        format!("Enable it: {} or give another label.", command(&format!("release enable {label}")))
    } else if has("is already the current release") {
        format!("Choose an earlier release: {}", command("release rollback --to LABEL"))
    } else if has("targets another appVersion than the current release") {
        let (list, disable) = (command("release list"), command("release disable LABEL"));
        format!("Give a release with the same target version by --to: {list} shows it. If there is none, take the newest back: {disable}")
    } else if has("Idempotency-Key") {
        "Run the command again.".to_owned()
    } else {
        return None;
    };
    Some(next)
}

fn invalid(what: &str) -> Option<String> {
    if what.starts_with("package:") {
        Some("Correct the contents, or give the folder itself: updraft release create FOLDER.".to_owned())
    } else if what.contains("appVersion:") {
        Some("Give a version or a range with --target-version, such as 1.2.3, ^1.2.0 or \"1.2.0 - 1.4.0\".".to_owned())
    } else {
        None
    }
}

fn forbidden(what: &str) -> Option<String> {
    let next = if what.contains("your role") {
        "Ask the app's owner for the role Developer or Admin; `updraft collaborator list` shows who that is."
    } else if what.contains("scopes do not include the permission releases.manage") {
        "Use an API key with the scope deploy, an access key, or `updraft login`."
    } else if what.contains("scopes do not include") {
        "Use an API key with more scopes, an access key, or `updraft login`."
    } else {
        return None;
    };
    Some(next.to_owned())
}

/// The first label in a text.
fn label(text: &str) -> Option<&str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric())
        .find(|word| word.strip_prefix('v').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_rollout_names_the_commands_that_help() {
        let what = "the rollout of the newest release, v12, is unfinished: set it to 100 or disable the release first";
        let next = conflict(what, &|command: &str| format!("`updraft {command} -d Staging`"));
        let expected = "Finish the rollout with `updraft rollout set 100 -d Staging` or stop it with `updraft release disable v12 -d Staging`, \
            then try again.";
        assert_eq!(next.as_deref(), Some(expected));
    }

    #[test]
    fn labels_are_found_in_texts() {
        assert_eq!(label("rollout: v3 is already fully rolled out"), Some("v3"));
        assert_eq!(label("very few versions"), None);
    }
}
