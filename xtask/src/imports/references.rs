//! Every reference to another module or crate.

use std::collections::BTreeSet;

use super::{
    path::ItemPath,
    resolve::{Found, Target},
    tree::{Module, Tree},
};

/// Keywords that name modules.
const KEYWORDS: &[&str] = &["crate", "self", "super"];

/// A reference to something.
#[derive(Debug)]
pub(super) struct Reference {
    /// The module that contains the reference.
    pub(super) from: ItemPath,
    /// The line of that module's file.
    pub(super) line: usize,
    /// What it refers to, and through which paths.
    pub(super) found: Found,
    /// Whether it makes this file depend on the other. A re-export or an import of a whole module does not; using it does.
    pub(super) is_arrow: bool,
}

/// All references in a package, in the order of its modules.
pub(super) fn all(tree: &Tree) -> Vec<Reference> {
    let mut references = Vec::new();
    for (path, module) in &tree.modules {
        let mut add = |found: Vec<Found>, line: usize, may_be_arrow: bool| {
            for found in found {
                let is_arrow = may_be_arrow && matches!(&found.target, Target::Item { module, .. } if module != path);
                references.push(Reference { from: path.clone(), line, found, is_arrow });
            }
        };
        for import in &module.scope.imports {
            add(tree.resolve(path, &import.segments), import.line, !import.is_re_export);
        }
        for mention in &module.scope.tokens.paths {
            add(tree.resolve(path, &mention.segments), mention.line, true);
        }
        for (name, line) in names_from_elsewhere(module) {
            let mut found = tree.resolve(path, &[name.to_owned()]);
            // This may be a variable with the name of a crate.
            found.retain(|found| !matches!(&found.target, Target::External(path) if path.len() == 1));
            add(found, line, true);
        }
    }
    references
}

/// The single-segment names in a module's code that may come from a re-export or a glob. Names from other imports count where they are imported.
fn names_from_elsewhere(module: &Module) -> impl Iterator<Item = (&str, usize)> {
    let scope = &module.scope;
    let has_glob = scope.imports.iter().any(|import| import.is_glob);
    let imported: BTreeSet<&str> = scope.imports.iter().filter_map(|import| import.name.as_deref()).collect();
    let re_exported: BTreeSet<&str> =
        scope.imports.iter().filter(|import| import.is_re_export).filter_map(|import| import.name.as_deref()).collect();
    let is_from_elsewhere = move |name: &str| {
        re_exported.contains(name) || (has_glob && !imported.contains(name) && !scope.items.contains(name) && !KEYWORDS.contains(&name))
    };
    scope.tokens.names.iter().filter(move |(name, _)| is_from_elsewhere(name)).map(|(name, line)| (name.as_str(), *line))
}

impl Reference {
    /// The other crate that this refers to.
    pub(super) fn external(&self) -> Option<&str> {
        match &self.found.target {
            Target::External(path) => path.first().map(String::as_str),
            Target::Module(_) | Target::Item { .. } => None,
        }
    }

    /// The module with the definition; `None` if it is in another crate.
    pub(super) fn module(&self) -> Option<&ItemPath> {
        match &self.found.target {
            Target::Module(module) | Target::Item { module, .. } => Some(module),
            Target::External(_) => None,
        }
    }

    /// Describes the reference for people.
    pub(super) fn described(&self) -> String {
        let named = match &self.found.target {
            Target::Module(path) | Target::Item { path, .. } => path.to_string(),
            Target::External(path) => path.join("::"),
        };
        format!("line {}: {named}", self.line)
    }
}
