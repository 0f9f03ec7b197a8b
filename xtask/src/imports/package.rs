//! A package on disk: its source files as text, and the names in its manifest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde::Deserialize;

use crate::session::Failure;

/// The sources of a package.
#[derive(Debug)]
pub(super) struct Package {
    /// The name under which the program imports the library.
    pub(super) library: String,
    /// The crates that it depends on, as named in code, without test-only dependencies.
    pub(super) dependencies: BTreeSet<String>,
    /// The text of each Rust file, by path in `src`.
    pub(super) files: BTreeMap<String, String>,
    /// Files and directories directly in `src`.
    pub(super) entries: BTreeSet<String>,
    /// The text of each Rust file outside that can use the library, by path in the workspace: in packages that depend on it, and in its tests.
    pub(super) outside: BTreeMap<String, String>,
}

impl Package {
    /// Reads the package in this directory.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let Manifest { package, lib, dependencies, target, .. } = Manifest::read(folder)?;
        let package = package.map(|package| package.name).unwrap_or_default();
        let library = lib.and_then(|lib| lib.name).unwrap_or(package.clone());
        let names = dependencies.into_keys().chain(target.into_values().flat_map(|target| target.dependencies.into_keys()));
        let mut read = Self {
            library: in_code(&library),
            dependencies: names.map(|name| in_code(&name)).collect(),
            files: BTreeMap::new(),
            entries: BTreeSet::new(),
            outside: BTreeMap::new(),
        };
        let source = folder.join("src");
        for entry in entries(&source)? {
            read.entries.insert(entry?.file_name().to_string_lossy().into_owned());
        }
        add(&mut read.files, &source, "")?;
        let workspace = folder.parent().unwrap_or(folder);
        for member in Manifest::read(workspace)?.workspace.map(|workspace| workspace.members).unwrap_or_default() {
            let (path, within) = (workspace.join(&member), format!("{member}/"));
            if path == folder {
                for tests in ["tests", "benches", "examples"].into_iter().filter(|tests| path.join(tests).exists()) {
                    add(&mut read.outside, &path.join(tests), &format!("{within}{tests}/"))?;
                }
            } else if Manifest::read(&path)?.depends_on(&package) {
                add(&mut read.outside, &path, &within)?;
            }
        }
        Ok(read)
    }
}

/// Adds the Rust files in a directory; `within` is its path with a trailing slash.
fn add(files: &mut BTreeMap<String, String>, folder: &Path, within: &str) -> Result<(), Failure> {
    for entry in entries(folder)? {
        let entry = entry?;
        let path = format!("{within}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            add(files, &entry.path(), &format!("{path}/"))?;
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            files.insert(path, text(&entry.path())?);
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<fs::ReadDir, Failure> {
    fs::read_dir(folder).map_err(|error| Failure::Message(format!("{}: {error}", folder.display())))
}

/// The parts of `Cargo.toml` with names.
#[derive(Deserialize)]
struct Manifest {
    package: Option<Named>,
    lib: Option<Library>,
    workspace: Option<Workspace>,
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
    #[serde(default, rename = "dev-dependencies")]
    of_tests: BTreeMap<String, toml::Value>,
    #[serde(default)]
    target: BTreeMap<String, Target>,
}

impl Manifest {
    fn read(folder: &Path) -> Result<Self, Failure> {
        let manifest = folder.join("Cargo.toml");
        toml::from_str(&text(&manifest)?).map_err(|error| Failure::Message(format!("{}: {error}", manifest.display())))
    }

    fn depends_on(&self, package: &str) -> bool {
        self.dependencies.contains_key(package) || self.of_tests.contains_key(package)
    }
}

#[derive(Deserialize)]
struct Workspace {
    members: Vec<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Library {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
}

/// A package's name as written in code.
fn in_code(name: &str) -> String {
    name.replace('-', "_")
}

/// Reads a file; the error names the file.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Message(format!("{}: {error}", path.display())))
}
