//! The project, and the packages that are installed in it, found as Node.js finds them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result};

/// The lock files, and the command that installs exactly what they have.
const LOCKS: [(&str, &str); 6] = [
    ("package-lock.json", "npm ci"),
    ("npm-shrinkwrap.json", "npm ci"),
    ("yarn.lock", "yarn install"),
    ("pnpm-lock.yaml", "pnpm install"),
    ("bun.lock", "bun install"),
    ("bun.lockb", "bun install"),
];

/// What to do if a package is missing: the command of the package manager whose lock file is in the project, or above it in a monorepo.
pub(crate) fn install(root: &Path) -> String {
    let found = root.ancestors().find_map(|folder| LOCKS.iter().find(|(file, _)| folder.join(file).is_file()));
    let command = found.map_or("npm install", |(_, command)| command);
    format!("Run `{command}` in the project.")
}

/// A React Native project.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    /// The folder with its `package.json`.
    pub(crate) root: PathBuf,
    /// Its `package.json`.
    pub(super) manifest: Value,
    /// The React Native that is installed.
    pub(super) react_native: Package,
}

/// An installed package.
#[derive(Clone, Debug)]
pub(super) struct Package {
    /// Its folder, without symbolic links: what it depends on is found from there.
    pub(super) folder: PathBuf,
    /// Its `package.json`.
    pub(super) manifest: Value,
}

impl Project {
    /// The project in a folder; without one, in the working directory or above. Errors: usage (2) if there is none.
    pub(crate) fn find(given: Option<&Path>) -> Result<Self> {
        let here = match given {
            Some(given) => given.to_owned(),
            None => std::env::current_dir()
                .map_err(|error| Error::failed(format!("cannot find the working directory: {error}"), "Change to a folder that exists."))?,
        };
        let place = here.display();
        let root = fs::canonicalize(&here).map_err(|_| {
            Error::usage(format!("there is no folder {place}"), "Correct --project-dir: the folder with the app's package.json.")
        })?;
        let found = if given.is_some() { manifest(&root).map(|found| (root.clone(), found)) } else { nearest(&root) };
        let Some((root, manifest)) = found else {
            let what = format!("{place} is not in a React Native project: it has no package.json");
            return Err(Error::usage(what, "Run the command in the project, or give its folder with --project-dir."));
        };
        if !depends(&manifest, "react-native") && !depends(&manifest, "expo") {
            let what = format!("{} does not depend on react-native", root.join("package.json").display());
            return Err(Error::usage(what, "In a monorepo, run the command in the app's folder, or give it with --project-dir."));
        }
        let Some(react_native) = Package::resolve(&root, "react-native") else {
            let plug_and_play = root.ancestors().any(|folder| folder.join(".pnp.cjs").exists());
            let next = if plug_and_play {
                "React Native needs `nodeLinker: node-modules` in .yarnrc.yml, then `yarn install`.".to_owned()
            } else {
                install(&root)
            };
            return Err(Error::failed(format!("react-native is not installed in {}", root.display()), next));
        };
        Ok(Self { root, manifest, react_native })
    }

    /// The name in its `package.json`, without the scope.
    pub(crate) fn name(&self) -> Option<&str> {
        self.manifest.get("name")?.as_str()?.rsplit('/').next()
    }

    /// The entry file that its `package.json` names.
    pub(super) fn main(&self) -> Option<&str> {
        self.manifest.get("main")?.as_str()
    }

    /// A package that the project can use.
    pub(super) fn package(&self, name: &str) -> Option<Package> {
        Package::resolve(&self.root, name)
    }

    /// Major and minor version of React Native; `None` for a build of one's own, such as a nightly.
    pub(super) fn react_native_version(&self) -> Option<(u64, u64)> {
        let mut numbers = self.react_native.version()?.split('.').map(str::parse);
        let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        // Nightly builds are 0.0.0.
        (version != (0, 0)).then_some(version)
    }

    /// A path for people: below the project if it is.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

impl Package {
    /// Finds a package from a folder: in `node_modules` there and in all folders above.
    pub(super) fn resolve(from: &Path, name: &str) -> Option<Self> {
        let from = fs::canonicalize(from).ok()?;
        from.ancestors().filter(|folder| folder.file_name().is_none_or(|name| name != "node_modules")).find_map(|folder| {
            let folder = folder.join("node_modules").join(name);
            let manifest = manifest(&folder)?;
            // pnpm links to the package, and what it depends on is next to the target.
            Some(Self { folder: fs::canonicalize(folder).ok()?, manifest })
        })
    }

    /// Its version.
    pub(super) fn version(&self) -> Option<&str> {
        self.manifest.get("version")?.as_str()
    }

    /// The versions of Node.js that it needs, as a range.
    pub(super) fn node(&self) -> Option<&str> {
        self.manifest.get("engines")?.get("node")?.as_str()
    }
}

/// The nearest folder upwards with a `package.json`, preferring one that depends on React Native.
fn nearest(from: &Path) -> Option<(PathBuf, Value)> {
    let all: Vec<_> = from.ancestors().filter_map(|folder| Some((folder.to_owned(), manifest(folder)?))).collect();
    let app = all.iter().position(|(_, manifest)| depends(manifest, "react-native") || depends(manifest, "expo"));
    all.into_iter().nth(app.unwrap_or(0))
}

fn manifest(folder: &Path) -> Option<Value> {
    let text = fs::read_to_string(folder.join("package.json")).ok()?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

fn depends(manifest: &Value, name: &str) -> bool {
    let lists = ["dependencies", "devDependencies", "peerDependencies"];
    lists.iter().any(|list| manifest.get(list).is_some_and(|list| list.get(name).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    const APP: &str = "{ \"name\": \"@x/app\", \"dependencies\": { \"react-native\": \"0.80.0\" } }";
    const REACT_NATIVE: &str = "{ \"name\": \"react-native\", \"version\": \"0.80.1-rc.1\", \"engines\": { \"node\": \">=18\" } }";

    #[test]
    fn hoisted_packages_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "apps/mobile/package.json", APP);
        write(root, "node_modules/react-native/package.json", REACT_NATIVE);
        write(root, "package.json", "{}");
        let project = Project::find(Some(&root.join("apps/mobile"))).unwrap();
        assert_eq!(project.name(), Some("app"));
        assert_eq!(project.react_native_version(), Some((0, 80)));
        assert_eq!(project.react_native.node(), Some(">=18"));
        assert_eq!(project.react_native.folder, fs::canonicalize(root).unwrap().join("node_modules/react-native"));
        assert!(project.package("react").is_none());
        // What is nearer wins.
        write(root, "apps/mobile/node_modules/react-native/package.json", "{ \"version\": \"0.81.0\" }");
        assert_eq!(Project::find(Some(&root.join("apps/mobile"))).unwrap().react_native_version(), Some((0, 81)));
    }

    #[cfg(unix)]
    #[test]
    fn linked_packages_are_found_with_what_is_next_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "package.json", APP);
        write(root, "node_modules/.pnpm/react-native@0.83.0/node_modules/react-native/package.json", REACT_NATIVE);
        write(root, "node_modules/.pnpm/react-native@0.83.0/node_modules/hermes-compiler/package.json", "{}");
        let target = root.join("node_modules/.pnpm/react-native@0.83.0/node_modules/react-native");
        std::os::unix::fs::symlink(target, root.join("node_modules/react-native")).unwrap();
        let project = Project::find(Some(root)).unwrap();
        assert!(project.package("hermes-compiler").is_none());
        assert!(Package::resolve(&project.react_native.folder, "hermes-compiler").is_some());
    }

    #[test]
    fn what_is_no_project_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let what = |folder: &Path| Project::find(Some(folder)).unwrap_err().what;
        assert!(what(&root.join("nowhere")).contains("there is no folder"));
        assert!(what(root).contains("no package.json"));
        write(root, "package.json", "{ \"workspaces\": [\"apps/*\"] }");
        assert!(what(root).contains("does not depend on react-native"));
        write(root, "package.json", APP);
        assert!(what(root).contains("react-native is not installed"));
        write(root, ".pnp.cjs", "");
        assert!(Project::find(Some(root)).unwrap_err().next.contains("nodeLinker"));
    }
}
