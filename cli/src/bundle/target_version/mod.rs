//! The app version that an update is for, as the native project or the Expo configuration has it.
//!
//! One file per source. What cannot be determined is an error, never a guess: a wrong version means that devices get an update that their binary cannot run, or
//! none. Start at [`native`].

mod app_json;
pub(super) mod gradle;
mod ios;
mod pbxproj;
mod plist;
mod xcode;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use shared::version::AppVersion;

use super::project::Project;
use super::{Platform, expo};

/// What to do if the version cannot be determined.
pub(crate) const NEXT: &str = "Give the app version with --target-version, such as --target-version 1.2.3.";

/// A version, and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetVersion {
    /// The version: three numbers at least.
    pub(crate) version: String,
    /// Where it was found.
    pub(crate) source: String,
}

/// Where the native projects are.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Native projects")]
pub(crate) struct NativeOptions {
    /// The Gradle file that sets the version, or its folder. Default: android/app.
    #[arg(long, value_name = "FILE")]
    pub(crate) gradle_file: Option<PathBuf>,
    /// The Info.plist with the version. Default: the one that the Xcode project names.
    #[arg(long, value_name = "FILE", conflicts_with = "plist_file_prefix")]
    pub(crate) plist_file: Option<PathBuf>,
    /// What the name of Info.plist begins with: Beta means Beta-Info.plist.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) plist_file_prefix: Option<String>,
    /// The Xcode project: an .xcodeproj or its project.pbxproj. Default: the only one in ios.
    #[arg(long, value_name = "PATH")]
    pub(crate) xcode_project: Option<PathBuf>,
    /// The target of the Xcode project. Default: the only one that builds an app.
    #[arg(long, value_name = "NAME")]
    pub(crate) xcode_target: Option<String>,
    /// The configuration of the Xcode project that you ship.
    #[arg(long, value_name = "NAME", default_value = "Release")]
    pub(crate) build_configuration: String,
    /// The Podfile that says whether the app uses Hermes. Default: ios/Podfile.
    #[arg(long, value_name = "FILE")]
    pub(crate) pod_file: Option<PathBuf>,
}

/// The version that a project builds. `expo` is the configuration of Expo, if it has one. Errors: why it cannot be determined.
pub(super) fn of_project(
    project: &Project,
    expo: Option<&expo::Config>,
    platform: Platform,
    options: &NativeOptions,
) -> Result<TargetVersion, String> {
    let native = native(&project.root, project.name(), platform, options)?;
    let of_expo = match expo {
        Some(config) => of_expo(&config.value, &config.source, platform)?,
        None => None,
    };
    match (native, of_expo) {
        (Some(native), Some(of_expo)) if native.version != of_expo.version => {
            // Which one is built depends on whether the folders of the platforms are in the repository.
            Err(format!("{} is {}, but {} is {}", native.source, native.version, of_expo.source, of_expo.version))
        }
        (Some(found), _) | (None, Some(found)) => Ok(found),
        (None, None) => {
            let files = match platform {
                Platform::Android => "there is no android/app/build.gradle",
                Platform::Ios => "there is no Xcode project and no Info.plist in ios",
            };
            let of_expo = expo.map(|config| format!(", and {} has no version", config.source)).unwrap_or_default();
            Err(format!("{files}{of_expo}"))
        }
    }
}

/// The files of a platform's native project that can have settings of the SDK. Some of them may not exist.
pub(super) fn settings_files(root: &Path, name: Option<&str>, platform: Platform, options: &NativeOptions) -> Vec<PathBuf> {
    match platform {
        Platform::Android => {
            let Some(gradle) = gradle::find(root, options.gradle_file.as_deref()) else { return Vec::new() };
            xml_files(&gradle.with_file_name("src").join("main/res/values"))
        }
        Platform::Ios => ios::info_plist(root, name, options).into_iter().collect(),
    }
}

/// The XML files in a folder, in order; none if it cannot be read.
pub(super) fn xml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = entries.filter(|file| file.extension().is_some_and(|extension| extension == "xml")).collect();
    files.sort();
    files
}

/// The version of the native project; `None` if there is no such project. Errors: why it cannot be determined.
fn native(root: &Path, name: Option<&str>, platform: Platform, options: &NativeOptions) -> Result<Option<TargetVersion>, String> {
    match platform {
        Platform::Android => {
            if let Some(given) = &options.gradle_file
                && gradle::find(root, Some(given)).is_none()
            {
                return Err(format!("there is no Gradle file {}", given.display()));
            }
            let Some(file) = gradle::find(root, options.gradle_file.as_deref()) else { return Ok(None) };
            let found = gradle::version(root, &file)?;
            exact(&found.version, found.source).map(Some)
        }
        Platform::Ios => match ios::version(root, name, options)? {
            Some((version, source)) => exact(&version, source).map(Some),
            None => Ok(None),
        },
    }
}

/// The version of an Expo configuration; `None` if it has none. Errors: why it cannot be determined.
fn of_expo(config: &Value, file: &str, platform: Platform) -> Result<Option<TargetVersion>, String> {
    match app_json::version(config, platform).map_err(|why| format!("{file}: {why}"))? {
        Some((version, name)) => exact(&version, format!("{name} in {file}")).map(Some),
        None => Ok(None),
    }
}

/// A version of the form that devices report. Short ones are completed, because 1.2 as a target would mean every 1.2.x.
fn exact(version: &str, source: String) -> Result<TargetVersion, String> {
    match AppVersion::parse(version.trim()) {
        Ok(parsed) => Ok(TargetVersion { version: parsed.version().to_string(), source }),
        Err(_) => Err(format!("{version:?} is not a version such as 1.2.3: {source}")),
    }
}

/// A path for people: below the project if it is.
pub(super) fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string().replace('\\', "/")
}

/// Reads a text file.
fn text(root: &Path, path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", shown(root, path)))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The settings of a `.properties` file.
pub(super) fn properties(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '!']));
    lines.filter_map(|line| line.split_once(['=', ':'])).map(|(name, value)| (name.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_versions_are_completed() {
        let version = |text: &str| exact(text, "x".to_owned()).map(|found| found.version);
        assert_eq!(version("1"), Ok("1.0.0".to_owned()));
        assert_eq!(version("1.2"), Ok("1.2.0".to_owned()));
        assert_eq!(version(" 1.2.3-beta.1 "), Ok("1.2.3-beta.1".to_owned()));
        assert!(version("1.2.3.4").is_err_and(|why| why.contains("1.2.3.4")));
        assert!(version("").is_err());
    }

    #[test]
    fn a_project_without_a_platform_has_no_version() {
        let folder = tempfile::tempdir().unwrap();
        for platform in [Platform::Ios, Platform::Android] {
            assert_eq!(native(folder.path(), Some("app"), platform, &NativeOptions::default()), Ok(None));
        }
        let options = NativeOptions { gradle_file: Some("other/build.gradle".into()), ..NativeOptions::default() };
        assert!(native(folder.path(), None, Platform::Android, &options).is_err());
    }

    #[test]
    fn properties_have_comments_and_two_separators() {
        let found: Vec<_> = properties("# a=b\n! c\n d = e=f \ng: h\n\ni\n").collect();
        assert_eq!(found, [("d", "e=f"), ("g", "h")]);
    }
}
