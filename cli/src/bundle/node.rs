//! Node.js, which runs the bundlers.

use std::process::Stdio;

use shared::version::{AppVersion, Range};
use tokio::process::Command;

use super::project::Project;
use crate::error::{Error, Result};

/// The program, as it is found on `PATH`.
pub(super) const PROGRAM: &str = "node";

/// Checks that Node.js runs, and that the installed React Native supports it. Returns a warning if it may not work. Errors: failed (1).
pub(super) async fn check(project: &Project) -> Result<Option<String>> {
    let run = Command::new(PROGRAM).arg("--version").current_dir(&project.root).stdin(Stdio::null()).output().await;
    let next = "Install Node.js, and add it to PATH.";
    let output = run.map_err(|error| Error::failed(format!("Node.js does not run, and the bundler needs it: {error}"), next))?;
    if !output.status.success() {
        return Err(Error::failed(format!("Node.js does not run, and the bundler needs it: {}", output.status), next));
    }
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let Some(range) = project.react_native.node() else { return Ok(None) };
    let name = format!("react-native {}", project.react_native.version().unwrap_or_default());
    match fits(&version, range) {
        Fit::Supported => Ok(None),
        Fit::TooOld => {
            let what = format!("Node.js {version} is too old: {} needs {range}", name.trim_end());
            Err(Error::failed(what, "Install a version in this range, and put it first on PATH."))
        }
        Fit::Untested => Ok(Some(format!("{} supports Node.js {range}, not {version}", name.trim_end()))),
    }
}

/// Whether a version of Node.js can run something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// It is in the range, or nothing is known.
    Supported,
    /// It is older than all that are.
    TooOld,
    /// It is between or above them: mostly, it works.
    Untested,
}

fn fits(version: &str, range: &str) -> Fit {
    let (Ok(version), Ok(range)) = (AppVersion::parse(version), Range::parse(range)) else { return Fit::Supported };
    let version = version.version();
    let numbers = (version.major, version.minor, version.patch);
    if range.satisfies(version) {
        Fit::Supported
    } else if range.spans().first().is_some_and(|oldest| numbers < oldest.from) {
        Fit::TooOld
    } else {
        Fit::Untested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_with_ranges() {
        let range = "^20.19.4 || ^22.13.0 || ^24.3.0 || >= 25.0.0";
        for (version, expected) in [
            ("v20.19.4", Fit::Supported),
            ("v22.23.3", Fit::Supported),
            ("v26.0.0", Fit::Supported),
            ("v18.20.0", Fit::TooOld),
            ("v20.19.3", Fit::TooOld),
            ("v21.1.0", Fit::Untested),
            ("v22.12.0", Fit::Untested),
            ("unknown", Fit::Supported),
        ] {
            assert_eq!(fits(version, range), expected, "{version}");
        }
        assert_eq!(fits("v10.0.0", ">= 20.19.4"), Fit::TooOld);
        assert_eq!(fits("v10.0.0", "lts"), Fit::Supported);
    }
}
