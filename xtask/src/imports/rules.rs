//! The rules, as `imports.toml` has them. Paths are written without `crate::`; `main` is the program, `lib` the library's root.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::path::ItemPath;

/// All rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    /// The most files that may depend on each other in a circle.
    pub(super) largest_circle: usize,
    /// The most files and folders directly in `src`.
    pub(super) root_entries: usize,
    /// Where no public function has `serde_json::Value` in its signature.
    #[serde(default)]
    pub(super) no_json_values: Vec<String>,
    /// Each module at the root, with the others that it may name.
    pub(super) floors: BTreeMap<String, Vec<String>>,
    /// Modules that never name each other.
    #[serde(default)]
    pub(super) apart: Vec<Vec<String>>,
    /// Modules that name only what is before them.
    #[serde(default)]
    pub(super) ordered: Vec<Ordered>,
    /// Modules, with the other crates that they never name.
    #[serde(default)]
    pub(super) banned: BTreeMap<String, Vec<String>>,
    /// Items that only some modules may name.
    #[serde(default)]
    pub(super) only: Vec<Only>,
    /// What other packages may name, and the package's own tests: modules at the root.
    #[serde(default)]
    pub(super) outside: Vec<String>,
}

/// Modules of one parent in an order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ordered {
    /// The module that all of them are in.
    pub(super) parent: String,
    /// The modules, by name. Each may name those before it.
    pub(super) modules: Vec<String>,
    /// What a module may name besides: paths in the parent, in which `*` is any module.
    #[serde(default)]
    pub(super) besides: BTreeMap<String, Vec<String>>,
}

/// An item that only some modules may name, besides those of the module that it is in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Only {
    /// The item's path. It need not exist yet.
    pub(super) item: String,
    /// The modules.
    pub(super) modules: Vec<String>,
}

impl Rules {
    /// The crates that some module must not name.
    pub(super) fn banned_crates(&self) -> impl Iterator<Item = &str> {
        self.banned.values().flatten().map(String::as_str)
    }
}

impl Ordered {
    /// Whether the module called `from` may name this path of the parent, although it is not before it.
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
