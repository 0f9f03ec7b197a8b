//! `updraft.toml`: which server, app and deployment a project uses. It is found upwards from the working directory, and has no secrets.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files;
use crate::error::{Error, Result};

/// The file's name.
pub(crate) const NAME: &str = "updraft.toml";

/// The contents of `updraft.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Project {
    /// The server: a URL, or a name from `updraft server list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// The deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    /// The app versions that a release targets: a version or an npm-style range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_version: Option<String>,
    /// For React Native projects. Nothing reads it yet; it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub react_native: Option<toml::Table>,
    /// What differs for iOS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ios: Option<OfPlatform>,
    /// What differs for Android.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub android: Option<OfPlatform>,
}

/// What differs for a platform.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct OfPlatform {
    /// The app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
}

/// A project file and its path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Its contents.
    pub project: Project,
    /// Where it is.
    pub path: PathBuf,
}

/// Finds the project file in the working directory or above. Errors: usage (2) if it is not valid.
pub(crate) fn find() -> Result<Option<Found>> {
    let folder = std::env::current_dir()
        .map_err(|error| Error::failed(format!("cannot find the working directory: {error}"), "Change to a folder that exists."))?;
    find_above(&folder)
}

/// Finds the project file in a folder or above. Errors: usage (2) if it is not valid.
pub(crate) fn find_above(folder: &Path) -> Result<Option<Found>> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    for folder in folder.ancestors() {
        let path = folder.join(NAME);
        if let Some(project) = files::read(&path)? {
            return Ok(Some(Found { project, path }));
        }
    }
    Ok(None)
}
