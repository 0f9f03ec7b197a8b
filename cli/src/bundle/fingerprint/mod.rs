//! What native code an app's binaries are built from: React Native, the JavaScript engine, and the installed packages with native code.
//!
//! One file per step: `autolinking` finds the packages, `difference` compares, `file` has `updraft-fingerprint.json`. Deliberately not here: the app's
//! own native sources, which change with every build, such as by version numbers. Start at [`NativeProject`].

mod autolinking;
mod difference;
mod file;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) use self::difference::{Change, Difference, differences, summary};
pub(crate) use self::file::{BinaryVersion, Fingerprints, NAME};

use super::project::Project;
use super::public_key::{self, PublicKey};
use super::target_version::{self, NativeOptions, TargetVersion};
use super::{Platform, engine, expo, sdk};
use crate::error::{Kind, Result};

/// What to say for a package without a version, such as one that is linked from the same repository.
const NO_VERSION: &str = "0.0.0";

/// The native code of a platform's binary.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Fingerprint {
    /// The JavaScript engine.
    pub(crate) engine: Engine,
    /// The packages with native code: their names and exact versions.
    pub(crate) modules: BTreeMap<String, String>,
    /// The version of React Native.
    pub(crate) react_native: String,
}

/// A JavaScript engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    /// Hermes.
    Hermes,
    /// `JavaScriptCore`, or another engine that takes plain JavaScript.
    Jsc,
}

impl Engine {
    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hermes => "hermes",
            Self::Jsc => "jsc",
        }
    }
}

/// A React Native project, as its native builds see it.
#[derive(Debug)]
pub(crate) struct NativeProject {
    project: Project,
    /// The configuration of Expo, if it is an Expo project.
    expo: Option<expo::Config>,
    options: NativeOptions,
}

impl NativeProject {
    /// The project in a folder; without one, in the working directory or above. Errors: usage (2), failed (1).
    pub(crate) async fn find(given: Option<&Path>, options: NativeOptions, is_quiet: bool) -> Result<Self> {
        let project = Project::find(given)?;
        let expo = if autolinking::uses_expo(&project) {
            match expo::read(&project, is_quiet).await {
                Ok(config) => Some(config),
                // It has none: a React Native project that uses packages of Expo.
                Err(error) if error.kind == Kind::Usage => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        Ok(Self { project, expo, options })
    }

    /// The project in a folder, read without running any of its code; `None` if that is not possible, or nothing is installed.
    pub(crate) fn of_files(folder: &Path) -> Option<Self> {
        let project = Project::find(Some(folder)).ok()?;
        let expo = if autolinking::uses_expo(&project) { expo::of_files(&project).ok()? } else { None };
        Some(Self { project, expo, options: NativeOptions::default() })
    }

    /// The same from what a build has already read. Without a configuration of Expo, it is read if the project has one.
    pub(super) async fn of_build(project: &Project, expo: Option<&expo::Config>, options: &NativeOptions, is_quiet: bool) -> Self {
        let expo = match expo {
            Some(config) => Some(config.clone()),
            // The build does not need it, so it does not fail either.
            None if autolinking::uses_expo(project) => expo::read(project, is_quiet).await.ok(),
            None => None,
        };
        Self { project: project.clone(), expo, options: options.clone() }
    }

    /// The folder with the project's `package.json`.
    pub(crate) fn root(&self) -> &Path {
        &self.project.root
    }

    /// Whether its `package.json` names a package.
    pub(crate) fn names(&self, package: &str) -> bool {
        let lists = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
        lists.iter().any(|list| self.project.manifest.get(list).is_some_and(|list| list.get(package).is_some()))
    }

    /// Whether a package is installed, named or not.
    fn has(&self, package: &str) -> bool {
        self.project.package(package).is_some()
    }

    /// Whether a package is an SDK that its `package.json` does not name, and that is installed. As everywhere, it counts as part of the project: in a
    /// monorepo, another package can name it.
    pub(crate) fn keeps_sdk(&self, package: &str) -> bool {
        sdk::is_sdk(package) && !self.names(package) && self.has(package)
    }

    /// The packages with native code, with an SDK that the project keeps.
    fn modules(&self, platform: Platform) -> BTreeMap<String, String> {
        let mut modules = autolinking::modules(&self.project, platform);
        for name in sdk::installed(&self.project.root).into_iter().filter(|name| self.keeps_sdk(name)) {
            if let Some(version) = autolinking::version_with_native_code(&self.project, &name, platform) {
                modules.entry(name).or_insert(version);
            }
        }
        modules
    }

    /// The platforms that the project has.
    pub(crate) fn platforms(&self) -> Vec<Platform> {
        let of_expo = self.expo.as_ref().map(|config| config.value.get("platforms").and_then(serde_json::Value::as_array));
        let has = |platform: Platform| {
            let is_given = match platform {
                Platform::Android => self.options.gradle_file.is_some(),
                Platform::Ios => self.options.plist_file.is_some() || self.options.xcode_project.is_some(),
            };
            let is_of_expo = match of_expo {
                None => false,
                // Expo creates the native projects when it builds.
                Some(None) => true,
                Some(Some(names)) => names.iter().any(|name| name == platform.name()),
            };
            is_given || is_of_expo || self.project.root.join(platform.name()).is_dir()
        };
        [Platform::Ios, Platform::Android].into_iter().filter(|platform| has(*platform)).collect()
    }

    /// The app version that the project builds. Errors: why it cannot be determined.
    pub(crate) fn version(&self, platform: Platform) -> Result<TargetVersion, String> {
        target_version::of_project(&self.project, self.expo.as_ref(), platform, &self.options)
    }

    /// The public key with which its builds verify releases, if it has one.
    pub(crate) fn public_key(&self, platform: Platform) -> Option<PublicKey> {
        public_key::of_project(&self.project, self.expo.as_ref(), platform, &self.options)
    }

    /// The native code of a binary that is built from what is installed.
    pub(crate) fn fingerprint(&self, platform: Platform) -> Fingerprint {
        let expo = self.expo.as_ref().map(|config| &config.value);
        let engine = engine::find(&self.project.root, platform, self.project.react_native_version(), expo, &self.options);
        Fingerprint {
            engine: if engine.is_hermes { Engine::Hermes } else { Engine::Jsc },
            modules: self.modules(platform),
            react_native: self.project.react_native.version().unwrap_or(NO_VERSION).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
