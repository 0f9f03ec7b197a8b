//! Builds of React Native and Expo projects, made with the project's own tools: the bundler, the Hermes compiler, the composer of source maps.
//!
//! One file per tool; `project` finds what is installed, `target_version` the app version, `keep` has the results that stay. Deliberately not here:
//! the release of what was built. Start at [`Builder`].

mod base;
mod bundler;
mod bytecode;
mod deployment_key;
mod engine;
mod expo;
pub(crate) mod fingerprint;
mod hermes;
mod keep;
mod node;
mod options;
mod project;
mod public_key;
mod run;
pub(crate) mod sdk;
mod settings;
mod source_map;
pub(crate) mod target_version;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub(crate) use self::deployment_key::{NativeAddress, NativeKey, dead_server, is_inserted, is_placeholder};
pub(crate) use self::hermes::{is_bytecode, is_zip};
pub(crate) use self::options::{BaseOption, BuildOptions};
pub(crate) use self::project::install;
pub(crate) use self::public_key::PublicKey;
pub(crate) use self::run::hide;
pub(crate) use self::settings::of_android as android_settings;

use self::engine::Engine;
use self::fingerprint::NativeProject;
use self::keep::Places;
use self::project::Project;
use self::target_version::TargetVersion;
use crate::error::{Error, Result};
use crate::temporary;

/// The package's folder: SDKs look for the bundle and the signature in it.
const FOLDER: &str = "CodePush";

/// The operating system of the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    /// iOS.
    Ios,
    /// Android.
    Android,
}

impl Platform {
    /// Its name for the tools.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ios => "ios",
            Self::Android => "android",
        }
    }

    /// Its name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Ios => "iOS",
            Self::Android => "Android",
        }
    }

    /// The other one.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Ios => Self::Android,
            Self::Android => Self::Ios,
        }
    }

    /// The name under which the SDKs look for the bundle first.
    const fn bundle_name(self) -> &'static str {
        match self {
            Self::Ios => "main.jsbundle",
            Self::Android => "index.android.bundle",
        }
    }
}

/// Whose bundler it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framework {
    /// React Native's.
    ReactNative,
    /// Expo's.
    Expo,
}

/// Builds a project.
#[derive(Debug)]
pub(crate) struct Builder {
    project: Project,
    framework: Framework,
    options: BuildOptions,
    /// The configuration of Expo, if it is an Expo project.
    expo: Option<expo::Config>,
    is_quiet: bool,
}

/// What was built.
#[derive(Debug)]
pub(crate) struct Built {
    /// The folder with bundle and assets. It is named `CodePush`.
    pub(crate) folder: PathBuf,
    /// The source map, if it is kept.
    pub(crate) source_map: Option<PathBuf>,
    /// What speaks against releasing it.
    pub(crate) warning: Option<String>,
    /// With a base: whether it is compiled against it, or why not.
    pub(crate) base: Option<std::result::Result<(), String>>,
    /// Holds the folder, unless it is kept.
    _work: TempDir,
}

impl Builder {
    /// Finds the project and checks its tools, without running the bundler. Returns a warning, if there is something to warn of. Errors: usage (2),
    /// failed (1).
    pub(crate) async fn new(framework: Framework, options: BuildOptions, is_quiet: bool) -> Result<(Self, Option<String>)> {
        let project = Project::find(options.project_dir.as_deref())?;
        bundler::program(&project, framework)?;
        let warning = node::check(&project).await?;
        let expo = if framework == Framework::Expo { Some(expo::read(&project, is_quiet).await?) } else { None };
        Ok((Self { project, framework, options, expo, is_quiet }, warning))
    }

    /// The app version that the project builds. Errors: usage (2) if it cannot be determined.
    pub(crate) fn target_version(&self, platform: Platform) -> Result<TargetVersion> {
        let uncertain = |why: String| {
            Error::usage(format!("cannot determine the target version for {}: {why}", platform.title()), target_version::NEXT)
        };
        target_version::of_project(&self.project, self.expo.as_ref(), platform, &self.options.native).map_err(uncertain)
    }

    /// The project as its native builds see it.
    pub(crate) async fn native_project(&self) -> NativeProject {
        NativeProject::of_build(&self.project, self.expo.as_ref(), &self.options.native, self.is_quiet).await
    }

    /// Whether the project has native projects for both platforms.
    pub(crate) fn has_both_platforms(&self) -> bool {
        [Platform::Ios, Platform::Android].iter().all(|platform| self.project.root.join(platform.name()).is_dir())
    }

    /// The public key with which the app's builds verify releases, if the project has one.
    pub(crate) fn public_key(&self, platform: Platform) -> Option<PublicKey> {
        public_key::of_project(&self.project, self.expo.as_ref(), platform, &self.options.native)
    }

    /// The deployment keys with which the app's builds ask for updates, as far as the project says that for certain.
    pub(crate) fn deployment_keys(&self, platform: Platform) -> Vec<NativeKey> {
        deployment_key::of_project(&self.project, self.expo.as_ref(), platform, &self.options.native)
    }

    /// The addresses of the servers that the app's builds ask for updates, as far as the project says that for certain.
    pub(crate) fn servers(&self, platform: Platform) -> Vec<NativeAddress> {
        deployment_key::servers(&self.project, self.expo.as_ref(), platform, &self.options.native)
    }

    /// Why builds of a platform ask for no updates, as far as the native project says that for certain.
    pub(crate) fn setup_faults(&self, platform: Platform) -> Vec<String> {
        deployment_key::faults(&self.project, self.expo.as_ref(), platform, &self.options.native)
    }

    /// Whether the project names a CodePush SDK, or has one installed.
    pub(crate) fn has_sdk(&self) -> bool {
        sdk::is_in_manifest(&self.project.manifest) || sdk::is_installed(&self.project.root)
    }

    /// The folder with the project's `package.json`.
    pub(crate) fn root(&self) -> &Path {
        &self.project.root
    }

    /// The earlier bundle that bytecode is to resemble, if there is one.
    pub(crate) fn base(&self) -> Option<&BaseOption> {
        self.options.base.as_ref()
    }

    /// The bundle's name in the package.
    pub(crate) fn bundle_name(&self, platform: Platform) -> &str {
        self.options.bundle_name.as_deref().unwrap_or(platform.bundle_name())
    }

    /// Builds for a platform. `is_only` says whether it is the only one that is built, `base` is an earlier bundle that bytecode is to resemble. Errors: usage
    /// (2), failed (1).
    pub(crate) async fn build(&self, platform: Platform, is_only: bool, base: Option<&Path>) -> Result<Built> {
        let (project, options) = (&self.project, &self.options);
        let name = self.bundle_name(platform);
        let places = Places::new(options, platform, is_only, name)?;
        let engine = self.engine(platform);
        let is_for_hermes = options.hermes().unwrap_or(engine.is_hermes);
        // Before the bundler, which takes minutes.
        let compiler = if is_for_hermes { Some(hermes::compiler(project, platform)?) } else { None };
        let entry_file = bundler::entry_file(project, self.framework, platform, options.entry_file.as_deref(), self.is_quiet).await?;

        let work = temporary::folder().map_err(|error| unwritable(&error))?;
        let folder = |name: &str| -> Result<PathBuf> {
            let folder = work.path().join(name);
            fs::create_dir(&folder).map_err(|error| unwritable(&error))?;
            Ok(folder)
        };
        let (package, javascript, bytecode) = (folder(FOLDER)?, folder("javascript")?, folder("bytecode")?);
        // The map's name is in the bundle.
        let (bundle, map) = (javascript.join(name), javascript.join(format!("{name}.map")));
        let job = bundler::Job { platform, entry_file: &entry_file, bundle: &bundle, source_map: &map, assets: &package, is_for_hermes };
        bundler::run(project, self.framework, options, &job, self.is_quiet).await?;

        let (mut finished, mut finished_map) = (bundle.clone(), map.clone());
        let mut against = base.map(|_| Err("the bundle is not compiled to Hermes bytecode here".to_owned()));
        if let Some(compiler) = compiler.filter(|_| !hermes::is_bytecode(&bundle)) {
            finished = bytecode.join(name);
            hermes::compile(&compiler, project, options, &bundle, &finished, None, self.is_quiet).await?;
            if let Some(base) = base {
                let other = folder("against")?.join(name);
                let job = base::Job { compiler: &compiler, project, options, bundle: &bundle, plain: &finished };
                let outcome = base::compile(job, base, &other).await;
                if outcome.is_ok() {
                    finished = other;
                }
                against = Some(outcome);
            }
            if places.has_source_map() {
                finished_map = work.path().join("composed.map");
                let of_hermes = finished.with_file_name(format!("{name}.map"));
                source_map::compose(project, &map, &of_hermes, &finished_map, self.is_quiet).await?;
            }
        }
        let warning = warning(hermes::is_bytecode(&finished), &engine);
        fs::rename(&finished, package.join(name)).map_err(|error| unwritable(&error))?;
        let (folder, source_map) = places.keep(&package, &finished_map)?;
        Ok(Built { folder, source_map, warning, base: against, _work: work })
    }

    /// A path for people: below the project if it is.
    pub(crate) fn shown(&self, path: &Path) -> String {
        self.project.shown(path)
    }

    fn engine(&self, platform: Platform) -> Engine {
        let expo = self.expo.as_ref().map(|config| &config.value);
        engine::find(&self.project.root, platform, self.project.react_native_version(), expo, &self.options.native)
    }
}

/// A warning if the bundle is not what the app's builds run best, or at all.
fn warning(is_bytecode: bool, engine: &Engine) -> Option<String> {
    match (is_bytecode, engine.is_hermes) {
        (false, true) => Some(format!(
            "the bundle is plain JavaScript, but the app's builds use Hermes ({}): devices compile it at each start, which is slow. Release without --no-hermes",
            engine.source
        )),
        (true, false) => Some(format!(
            "the bundle is Hermes bytecode, but the app's builds do not use Hermes ({}): they cannot run it. Release without --hermes",
            engine.source
        )),
        _ => None,
    }
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::failed(
        format!("cannot write to the folder for temporary files: {error}"),
        "Free some space there, or set TMPDIR to another folder.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_that_does_not_fit_the_engine_is_warned_about() {
        let engine = |is_hermes: bool| Engine { is_hermes, source: "x".to_owned() };
        assert_eq!(warning(true, &engine(true)), None);
        assert_eq!(warning(false, &engine(false)), None);
        assert!(warning(false, &engine(true)).is_some_and(|text| text.contains("plain JavaScript")));
        assert!(warning(true, &engine(false)).is_some_and(|text| text.contains("cannot run it")));
    }
}
