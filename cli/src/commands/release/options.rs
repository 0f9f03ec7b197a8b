//! Options that several commands on releases have, and the parsers of their values.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use shared::keys::Label;
use shared::rollout::Percent;
use shared::version::Range;

use crate::context::Context;
use crate::error::{Error, Result};

/// The longest release notes, in UTF-16 code units.
const LONGEST_NOTES: usize = 10_000;

/// Who gets a release, and how.
#[derive(Clone, Debug, Args)]
pub(super) struct DeliveryOptions {
    /// The percentage of devices that get it. Default: 100.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub rollout: Option<Percent>,
    /// Make it mandatory: by default, the SDKs install it at once instead of at the next start, and do not let users decline it.
    #[arg(long)]
    pub mandatory: bool,
    /// Release it disabled: no device gets it until you enable it.
    #[arg(long)]
    pub disabled: bool,
}

impl DeliveryOptions {
    /// The percentage, if it was given.
    pub(super) fn percent(&self) -> Option<i64> {
        self.rollout.map(|rollout| i64::from(rollout.get()))
    }
}

/// Release notes.
#[derive(Clone, Debug, Args)]
pub(super) struct NotesOption {
    /// Release notes.
    #[arg(long, value_name = "TEXT", conflicts_with = "description_file")]
    pub description: Option<String>,
    /// A file with the release notes; - is standard input.
    #[arg(long, value_name = "FILE")]
    pub description_file: Option<PathBuf>,
}

impl NotesOption {
    /// The release notes, if given. Errors: usage (2) if they are too long.
    pub(super) fn read(self) -> Result<Option<String>> {
        let notes = match (self.description, self.description_file) {
            (Some(text), _) => text,
            (None, Some(path)) => read(&path)?.trim_end().to_owned(),
            (None, None) => return Ok(None),
        };
        let length = notes.encode_utf16().count();
        if length > LONGEST_NOTES {
            let what = format!("the description has {length} characters, more than the limit of {LONGEST_NOTES}");
            return Err(Error::usage(what, "Shorten it, for example to a link to the full release notes."));
        }
        Ok(Some(notes))
    }
}

fn read(path: &Path) -> Result<String> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| {
        Error::usage(format!("cannot read the description from {}: {error}", path.display()), "Give a text file in UTF-8.")
    })
}

/// Parses a percentage.
pub(in crate::commands) fn percent(text: &str) -> Result<Percent, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    number.parse().ok().and_then(Percent::new).ok_or_else(|| "must be a whole number from 1 to 100".to_owned())
}

/// Parses a label.
pub(in crate::commands) fn label(text: &str) -> Result<Label, String> {
    Label::try_from(text).map_err(|_| "must be a label such as v12".to_owned())
}

/// Checks a target version. Errors: why it is not one.
pub(super) fn range(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("must not be empty; * means every version".to_owned());
    }
    Range::parse(text).map(|range| range.text().to_owned()).map_err(|error| error.to_string())
}

/// The target version of the project file, if it has one. Errors: usage (2) if it is not one.
pub(super) fn range_of_project(context: &Context) -> Result<Option<String>> {
    let Some(found) = &context.project else { return Ok(None) };
    let Some(given) = &found.project.target_version else { return Ok(None) };
    range(given).map(Some).map_err(|why| {
        Error::usage(format!("{}: target-version {why}", found.path.display()), "Correct the file, or add --target-version.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_or_explained() {
        assert_eq!(percent("20%").map(Percent::get), Ok(20));
        assert!(percent("0").is_err() && percent("101").is_err() && percent("half").is_err());
        assert_eq!(label("v12").map(String::from), Ok("v12".to_owned()));
        assert!(label("12").is_err());
        assert_eq!(range("^1.2"), Ok("^1.2".to_owned()));
        assert!(range("latest").is_err_and(|why| why.contains("1.2.3")));
    }
}
