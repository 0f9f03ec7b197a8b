//! The configuration of an Expo project: `app.json`, or what the project's own Expo CLI makes of `app.config.js`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::process::Command;

use super::node;
use super::project::{Project, install};
use super::run::{self, Output};
use crate::error::{Error, Result};

/// The evaluated configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// What `app.json` has below `expo`.
    pub(super) value: Value,
    /// The file, for people.
    pub(super) source: String,
}

/// The program of the installed Expo. Errors: failed (1) if it is missing.
pub(super) fn program(project: &Project) -> Result<PathBuf> {
    let Some(expo) = project.package("expo") else {
        let what = format!("expo is not installed in {}", project.root.display());
        let is_bare = project.package("@react-native-community/cli").is_some();
        let next = if is_bare { "Run `updraft release react-native` instead.".to_owned() } else { install(&project.root) };
        return Err(Error::failed(what, next));
    };
    let places = ["bin/cli", "bin/cli.js"].map(|place| expo.folder.join(place));
    places.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        let what =
            format!("expo {} has no bundler: {} is missing", expo.version().unwrap_or_default(), expo.folder.join("bin/cli").display());
        Error::failed(what, install(&project.root))
    })
}

/// Reads the configuration. Errors: failed (1), usage (2).
pub(super) async fn read(project: &Project, is_quiet: bool) -> Result<Config> {
    if let Some(name) = script(project) {
        return evaluate(project, name, is_quiet).await;
    }
    let Some(name) = static_file(project) else {
        let what = format!("{} has no app.json and no app.config.js", project.root.display());
        return Err(Error::usage(what, "Run the command in the Expo project, or give its folder with --project-dir."));
    };
    match from_file(&project.root.join(name)) {
        Some(value) => Ok(Config { value, source: name.to_owned() }),
        // Expo also reads comments, and says where a file is malformed.
        None => evaluate(project, name.to_owned(), is_quiet).await,
    }
}

/// The configuration if it is a plain file; `None` if there is none. Errors: the name of the file that only Expo's CLI can read.
pub(super) fn of_files(project: &Project) -> Result<Option<Config>, String> {
    if let Some(name) = script(project) {
        return Err(name);
    }
    let Some(name) = static_file(project) else { return Ok(None) };
    let value = from_file(&project.root.join(name)).ok_or(name)?;
    Ok(Some(Config { value, source: name.to_owned() }))
}

/// The script that has the configuration, if one does.
fn script(project: &Project) -> Option<String> {
    let names = ["ts", "js", "mts", "mjs", "cts", "cjs"].map(|ending| format!("app.config.{ending}"));
    names.into_iter().find(|name| project.root.join(name).is_file())
}

/// The plain file that has the configuration, if one does.
fn static_file(project: &Project) -> Option<&'static str> {
    ["app.json", "app.config.json"].into_iter().find(|name| project.root.join(name).is_file())
}

fn from_file(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok().map(unwrapped)
}

/// Asks the project's own Expo CLI.
async fn evaluate(project: &Project, name: String, is_quiet: bool) -> Result<Config> {
    let program = program(project)?;
    let mut command = Command::new(node::PROGRAM);
    command.arg(program).args(["config", "--json"]).current_dir(&project.root);
    let next = "Run `npx expo config` in the project to see the error.";
    let what = format!("`expo config`, which reads {name},");
    let finished = run::run(&mut command, &what, Output::Returned, is_quiet).await?;
    finished.check(&what, next)?;
    let json = json(&finished.output);
    let value: Value = serde_json::from_str(json).map_err(|error| Error::failed(format!("{what} printed no JSON: {error}"), next))?;
    Ok(Config { value: unwrapped(value), source: name })
}

/// The JSON in an output. The configuration itself can print lines before it.
fn json(output: &str) -> &str {
    let start = if output.starts_with('{') { Some(0) } else { output.find("\n{").map(|end| end + 1) };
    start.and_then(|start| output.get(start..)).unwrap_or_default()
}

/// A configuration without the member that it can be in.
fn unwrapped(mut value: Value) -> Value {
    match value.get_mut("expo") {
        Some(expo) if expo.is_object() => expo.take(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_outer_member_is_optional() {
        assert_eq!(unwrapped(json!({ "expo": { "version": "1" } })), json!({ "version": "1" }));
        assert_eq!(unwrapped(json!({ "version": "1" })), json!({ "version": "1" }));
    }

    #[test]
    fn what_a_configuration_prints_is_skipped() {
        for output in ["{\"a\":1}\n", "hello {\n{\"a\":1}\n"] {
            assert_eq!(super::json(output), "{\"a\":1}\n");
        }
        assert_eq!(super::json("nothing"), "");
    }
}
