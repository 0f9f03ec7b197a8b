//! Checks of React Native and Expo projects: Node.js, the bundler and the Hermes compiler. What is missing is a warning: the CLI releases what was bundled
//! elsewhere as well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::report::Report;
use crate::bundle::install;

const NODE: &str = "node";
const BUNDLER: &str = "bundler";
const HERMES: &str = "hermes";

/// A project that is bundled with Metro.
struct ReactNative {
    folder: PathBuf,
    is_expo: bool,
}

/// Checks the tools, if the working directory is in a project that needs them.
pub(super) async fn check(report: &mut Report<'_>) {
    let Some(project) = find() else {
        for check in [NODE, BUNDLER, HERMES] {
            report.skipped(check, "this is not a React Native or Expo project");
        }
        return;
    };
    node(report).await;
    let Some(react_native) = installed(&project, "react-native") else {
        const MISSING: &str = "the project's packages are not installed";
        let next = install(&project.folder);
        report.warning(BUNDLER, format!("{MISSING}: react-native is not in node_modules"), next.clone());
        report.skipped(HERMES, MISSING);
        return report.obstacle("The project's packages are not installed", &format!("{next} Then run `updraft doctor` again."));
    };
    bundler(&project, &react_native, report);
    hermes(&project, report);
}

/// The nearest package upwards that depends on React Native or Expo.
fn find() -> Option<ReactNative> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find_map(|folder| {
        let package: Value = serde_json::from_slice(&fs::read(folder.join("package.json")).ok()?).ok()?;
        let has =
            |name: &str| ["dependencies", "devDependencies"].iter().any(|kind| package.get(kind).and_then(|all| all.get(name)).is_some());
        let is_expo = has("expo");
        (is_expo || has("react-native")).then(|| ReactNative { folder: folder.to_owned(), is_expo })
    })
}

/// An installed package: in the project, or above it in a monorepo.
fn installed(project: &ReactNative, name: &str) -> Option<PathBuf> {
    project.folder.ancestors().map(|folder| folder.join("node_modules").join(name)).find(|folder| folder.is_dir())
}

fn version(package: &Path) -> String {
    let json = fs::read(package.join("package.json")).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    json.as_ref().and_then(|json| json.get("version")?.as_str()).unwrap_or("of an unknown version").to_owned()
}

async fn node(report: &mut Report<'_>) {
    let run = tokio::process::Command::new("node").arg("--version").stdin(Stdio::null()).output().await;
    match run {
        Ok(output) if output.status.success() => report.ok(NODE, format!("Node.js {}", String::from_utf8_lossy(&output.stdout).trim())),
        _ => report.warning(NODE, "Node.js does not run, and the bundler needs it", "Install Node.js, and add it to PATH."),
    }
}

fn bundler(project: &ReactNative, react_native: &Path, report: &mut Report<'_>) {
    // Expo has its own; otherwise React Native's is a package of the community since 0.76.
    let name = if project.is_expo { "expo" } else { "@react-native-community/cli" };
    match installed(project, name) {
        Some(package) => {
            report.ok(BUNDLER, format!("{name} {}, react-native {}", version(&package), version(react_native)));
        }
        None if project.is_expo => report.warning(BUNDLER, "expo is not installed", install(&project.folder)),
        None if react_native.join("cli.js").is_file() && installed(project, "metro").is_some() => {
            report.ok(BUNDLER, format!("react-native {}", version(react_native)));
        }
        None => {
            let next = "Run `npm install --save-dev @react-native-community/cli` in the project.";
            report.warning(BUNDLER, "react-native has no bundler: @react-native-community/cli is not installed", next);
        }
    }
}

/// The compiler's place below a package, for this system.
fn compiler() -> &'static str {
    match std::env::consts::OS {
        "macos" => "osx-bin/hermesc",
        "windows" => "win64-bin/hermesc.exe",
        _ => "linux64-bin/hermesc",
    }
}

fn hermes(project: &ReactNative, report: &mut Report<'_>) {
    // React Native has the compiler itself, newer versions in a package of its own.
    let places = [("react-native", "sdks/hermesc"), ("hermes-compiler", "hermesc"), ("hermes-engine", "")];
    // pnpm puts a package's own packages beside it, behind a link.
    let beside = installed(project, "react-native").and_then(|package| fs::canonicalize(package).ok()?.parent().map(Path::to_owned));
    let found = places
        .iter()
        .flat_map(|(package, folder)| {
            let beside = beside.as_ref().map(|folder| folder.join(package));
            installed(project, package).into_iter().chain(beside).map(move |package| package.join(folder).join(compiler()))
        })
        .find(|compiler| compiler.is_file());
    if let Some(compiler) = found {
        report.ok(HERMES, compiler.display().to_string());
    } else {
        let next = "Install the project's packages again. Without Hermes, release bundles as plain JavaScript.";
        report.warning(HERMES, "the Hermes compiler (hermesc) was not found", next);
    }
}
