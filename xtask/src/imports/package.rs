//! A package as it is on disk: its source files as text, and what its manifest says about names.

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
    /// The crates it depends on, as the code names them; those of tests alone are left out.
    pub(super) dependencies: BTreeSet<String>,
    /// The text of each Rust file, by its path in `src`.
    pub(super) files: BTreeMap<String, String>,
    /// Files and folders directly in `src`.
    pub(super) entries: BTreeSet<String>,
}

impl Package {
    /// Reads the package in this folder.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let manifest = folder.join("Cargo.toml");
        let Manifest { package, lib, dependencies, target } =
            toml::from_str(&text(&manifest)?).map_err(|error| Failure::Said(format!("{}: {error}", manifest.display())))?;
        let library = lib.and_then(|lib| lib.name).unwrap_or(package.name);
        let names = dependencies.into_keys().chain(target.into_values().flat_map(|target| target.dependencies.into_keys()));
        let mut read = Self {
            library: in_code(&library),
            dependencies: names.map(|name| in_code(&name)).collect(),
            files: BTreeMap::new(),
            entries: BTreeSet::new(),
        };
        read.add(&folder.join("src"), "")?;
        Ok(read)
    }

    /// Adds what is in a folder of `src`; `within` is its path, with a slash at the end.
    fn add(&mut self, folder: &Path, within: &str) -> Result<(), Failure> {
        let entries = fs::read_dir(folder).map_err(|error| Failure::Said(format!("{}: {error}", folder.display())))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{within}{name}");
            if within.is_empty() {
                self.entries.insert(name);
            }
            if entry.file_type()?.is_dir() {
                self.add(&entry.path(), &format!("{path}/"))?;
            } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
                self.files.insert(path, text(&entry.path())?);
            }
        }
        Ok(())
    }
}

/// The parts of `Cargo.toml` that name something.
#[derive(Deserialize)]
struct Manifest {
    package: Named,
    lib: Option<Library>,
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
    #[serde(default)]
    target: BTreeMap<String, Target>,
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

/// A package's name as the code writes it.
fn in_code(name: &str) -> String {
    name.replace('-', "_")
}

/// The text of a file; a failure names the file.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Said(format!("{}: {error}", path.display())))
}
