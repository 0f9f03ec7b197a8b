//! The project's own bundler: that of React Native, or that of Expo.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::project::{Package, Project};
use super::run::{self, Output};
use super::{BuildOptions, Framework, Platform, expo, node};
use crate::error::{Error, Result};

/// What the bundler reads and writes.
#[derive(Debug)]
pub(super) struct Job<'j> {
    /// The platform.
    pub(super) platform: Platform,
    /// Where the app's code begins.
    pub(super) entry_file: &'j Path,
    /// The bundle to write.
    pub(super) bundle: &'j Path,
    /// The source map to write.
    pub(super) source_map: &'j Path,
    /// The folder for the assets.
    pub(super) assets: &'j Path,
    /// Whether Hermes compiles the bundle. Then it is not minified, which would only hide names from stack traces.
    pub(super) is_for_hermes: bool,
}

/// The program that bundles, and its command. Errors: failed (1) if it is missing.
pub(super) fn program(project: &Project, framework: Framework) -> Result<(PathBuf, &'static str)> {
    if framework == Framework::Expo {
        return expo::program(project).map(|program| (program, "export:embed"));
    }
    let folder = &project.react_native.folder;
    let program = ["cli.js", "local-cli/cli.js"].map(|place| folder.join(place)).into_iter().find(|file| file.is_file());
    // Its own dependency up to 0.72; since then, one of the project.
    let cli = project.package("@react-native-community/cli").or_else(|| Package::resolve(folder, "@react-native-community/cli"));
    match (program, cli) {
        (Some(program), Some(_)) => Ok((program, "bundle")),
        _ if project.package("expo").is_some() => {
            Err(Error::failed("react-native has no bundler, but expo is installed", "Run `updraft release expo` instead."))
        }
        _ => {
            let what = "react-native has no bundler: @react-native-community/cli is not installed";
            Err(Error::failed(what, "Run `npm install --save-dev @react-native-community/cli` in the project."))
        }
    }
}

/// Runs the bundler. Errors: failed (1) with its exit code and the line that tells why.
pub(super) async fn run(project: &Project, framework: Framework, options: &BuildOptions, job: &Job<'_>, is_quiet: bool) -> Result<()> {
    let (program, name) = program(project, framework)?;
    let mut command = Command::new(node::PROGRAM);
    command.arg(program).arg(name).current_dir(&project.root);
    command.args(["--platform", job.platform.name(), "--dev", if options.development { "true" } else { "false" }]);
    command.arg("--entry-file").arg(job.entry_file).arg("--bundle-output").arg(job.bundle);
    command.arg("--assets-dest").arg(job.assets).arg("--sourcemap-output").arg(job.source_map);
    if job.is_for_hermes {
        command.args(["--minify", "false"]);
    }
    // As builds for the stores do. A stale cache would release what the sources no longer have.
    command.arg("--reset-cache");
    if let Some(config) = &options.bundler_config {
        command.arg("--config").arg(config);
    }
    command.args(&options.extra_bundler_option);
    let finished = run::run(&mut command, "the bundler", Output::Shown, is_quiet).await?;
    finished.check("the bundler", &run::with_output("Correct what it names, then run the command again.", is_quiet))?;
    if fs::metadata(job.bundle).is_ok_and(|bundle| bundle.len() > 0) {
        return Ok(());
    }
    Err(Error::failed(
        "the bundler wrote no bundle",
        "Check --extra-bundler-option: the options must not change where the bundle is written.",
    ))
}

/// The file in which the app's code begins: the given one, or the one that builds of the app take. Errors: usage (2) if there is none.
pub(super) async fn entry_file(
    project: &Project,
    framework: Framework,
    platform: Platform,
    given: Option<&Path>,
    is_quiet: bool,
) -> Result<PathBuf> {
    let next = "Give the file that registers the app's root component with --entry-file.";
    if let Some(given) = given {
        let is_file = project.root.join(given).is_file();
        let what = || format!("there is no entry file {} in {}", given.display(), project.root.display());
        return if is_file { Ok(given.to_owned()) } else { Err(Error::usage(what(), next)) };
    }
    if framework == Framework::Expo
        && let Some(found) = of_expo(project, platform, is_quiet).await?
    {
        return Ok(found);
    }
    usual(project, platform).ok_or_else(|| {
        let what = format!(
            "{} has no index.{}.js and no index.js, and its package.json names no main file",
            project.root.display(),
            platform.name()
        );
        Error::usage(what, next)
    })
}

/// What Expo's own builds take, which can be in a package: `expo-router/entry`.
async fn of_expo(project: &Project, platform: Platform, is_quiet: bool) -> Result<Option<PathBuf>> {
    let Some(script) = project.package("expo").map(|expo| expo.folder.join("scripts/resolveAppEntry.js")).filter(|file| file.is_file())
    else {
        return Ok(None);
    };
    let mut command = Command::new(node::PROGRAM);
    // The script reads its arguments from where they are without a file.
    command.args(["-e", "require(process.env.UPDRAFT_SCRIPT)"]).env("UPDRAFT_SCRIPT", script).arg(&project.root);
    command.args([platform.name(), "absolute"]).current_dir(&project.root);
    let finished = run::run(&mut command, "the search for the entry file", Output::Returned, is_quiet).await?;
    finished.check("Expo's search for the entry file", "Correct `main` in package.json, or give the file with --entry-file.")?;
    let found = finished.output.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(PathBuf::from);
    Ok(found.filter(|file| file.is_file()))
}

/// The usual files, then the one that `package.json` names.
fn usual(project: &Project, platform: Platform) -> Option<PathBuf> {
    let endings = ["js", "jsx", "ts", "tsx"];
    let stems = [format!("index.{}", platform.name()), "index".to_owned()];
    let mut names = stems.iter().flat_map(|stem| endings.map(|ending| format!("{stem}.{ending}")));
    if let Some(found) = names.find(|name| project.root.join(name).is_file()) {
        return Some(PathBuf::from(found));
    }
    let main = project.main()?;
    let mut places = std::iter::once(main.to_owned()).chain(endings.map(|ending| format!("{main}.{ending}")));
    places.find(|place| project.root.join(place).is_file()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_entry_files_are_found_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("node_modules/react-native")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("node_modules/react-native/package.json"), "{}").unwrap();
        fs::write(root.join("package.json"), "{ \"main\": \"./src/main\", \"dependencies\": { \"react-native\": \"1\" } }").unwrap();
        let project = Project::find(Some(root)).unwrap();
        let found = || usual(&project, Platform::Ios).map(|file| file.display().to_string());
        assert_eq!(found(), None);
        for (name, expected) in
            [("src/main.tsx", "./src/main.tsx"), ("index.tsx", "index.tsx"), ("index.js", "index.js"), ("index.ios.js", "index.ios.js")]
        {
            fs::write(root.join(name), "").unwrap();
            assert_eq!(found().as_deref(), Some(expected));
        }
        assert_eq!(usual(&project, Platform::Android), Some("index.js".into()));
    }

    #[test]
    fn a_missing_bundler_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let install = |name: &str, file: &str| {
            fs::create_dir_all(root.join("node_modules").join(name)).unwrap();
            fs::write(root.join("node_modules").join(name).join("package.json"), "{}").unwrap();
            fs::write(root.join("node_modules").join(name).join(file), "").unwrap();
        };
        fs::write(root.join("package.json"), "{ \"dependencies\": { \"react-native\": \"1\" } }").unwrap();
        install("react-native", "cli.js");
        let project = Project::find(Some(root)).unwrap();
        assert!(program(&project, Framework::ReactNative).unwrap_err().next.contains("npm install --save-dev @react-native-community/cli"));
        assert!(program(&project, Framework::Expo).unwrap_err().what.contains("expo is not installed"));
        install("@react-native-community/cli", "index.js");
        assert_eq!(program(&project, Framework::ReactNative).unwrap().1, "bundle");
    }
}
