//! The rules in `imports.toml`. Paths are written without `crate::`; `main` is the program, `lib` the library's root.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::path::ItemPath;

/// All rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    /// The maximum number of files in a cycle.
    pub(super) largest_circle: usize,
    /// The maximum number of files and directories directly in `src`.
    pub(super) root_entries: usize,
    /// Modules whose public functions must not have `serde_json::Value` in their signatures.
    #[serde(default)]
    pub(super) no_json_values: Vec<String>,
    /// For each module at the root, the others that it may name.
    pub(super) floors: BTreeMap<String, Vec<String>>,
    /// Groups of modules that must not name each other.
    #[serde(default)]
    pub(super) apart: Vec<Vec<String>>,
    /// Lists of modules that may name only those before them.
    #[serde(default)]
    pub(super) ordered: Vec<Ordered>,
    /// For each module, the crates that it must not name.
    #[serde(default)]
    pub(super) banned: BTreeMap<String, Vec<String>>,
    /// Items that only some modules may name.
    #[serde(default)]
    pub(super) only: Vec<Only>,
    /// Calls restricted to some files.
    #[serde(default)]
    pub(super) calls: Vec<Calls>,
    /// The modules at the root that other packages and the package's own tests may name.
    #[serde(default)]
    pub(super) outside: Vec<String>,
}

/// An order of modules with the same parent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ordered {
    /// The parent of all of them.
    pub(super) parent: String,
    /// The modules, by name. Each may name those before it.
    pub(super) modules: Vec<String>,
    /// What a module may name in addition: paths in the parent, where `*` matches any module.
    #[serde(default)]
    pub(super) besides: BTreeMap<String, Vec<String>>,
}

/// An item that only some modules may name, in addition to its own module.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Only {
    /// The item's path.
    pub(super) item: String,
    /// The modules.
    pub(super) modules: Vec<String>,
}

/// A call restricted to some files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Calls {
    /// The call, as written in the code.
    pub(super) call: String,
    /// The files that contain it, by path in `src`.
    pub(super) files: BTreeSet<String>,
}

impl Rules {
    /// The crates that at least one module must not name.
    pub(super) fn banned_crates(&self) -> impl Iterator<Item = &str> {
        self.banned.values().flatten().map(String::as_str)
    }
}

impl Ordered {
    /// Whether the module `from` may name this path in the parent, although it is not before it.
    pub(super) fn allows(&self, from: &str, segments: &[String]) -> bool {
        self.besides.get(from).into_iter().flatten().any(|pattern| {
            let pattern: Vec<&str> = pattern.split("::").collect();
            pattern.len() <= segments.len() && pattern.iter().zip(segments).all(|(pattern, segment)| *pattern == "*" || pattern == segment)
        })
    }
}

impl Only {
    /// Whether this module may name the item.
    pub(super) fn allows(&self, from: &ItemPath) -> bool {
        let home = ItemPath::from_rule(&self.item).parent();
        home.is_some_and(|home| from.is_within(&home)) || self.modules.iter().any(|module| is_within(from, module))
    }
}

/// Whether a path is in a module that a rule names.
pub(super) fn is_within(path: &ItemPath, module: &str) -> bool {
    let module_path = ItemPath::from_rule(module);
    if module == "lib" { *path == module_path } else { path.is_within(&module_path) }
}
