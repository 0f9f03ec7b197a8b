//! Resolves paths through modules, imports and re-exports to their definitions.
//!
//! If a name has several meanings, such as a module and a function, all of them are found. Start reading at [`Tree::resolve`].

use std::collections::BTreeSet;

use super::{
    path::ItemPath,
    syntax::Import,
    tree::{Module, Tree},
};

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A module of this package.
    Module(ItemPath),
    /// An item in a module of this package.
    Item {
        /// The module that defines it.
        module: ItemPath,
        /// The path, which may continue into the item, such as to a variant or a method.
        path: ItemPath,
    },
    /// Something in another crate: the path, starting with the crate.
    External(Vec<String>),
}

/// The target of a path, and the way to it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The target.
    pub(super) target: Target,
    /// Each path on the way, from the one in the code to the one of the definition.
    pub(super) hops: Vec<ItemPath>,
}

/// The names that are being looked up, so that cyclic imports terminate.
type Pending = BTreeSet<(ItemPath, String)>;

impl Tree {
    /// Resolves a path in the module `from`.
    pub(super) fn resolve(&self, from: &ItemPath, segments: &[String]) -> Vec<Found> {
        self.follow(from, segments, &mut Pending::new())
    }

    fn follow(&self, from: &ItemPath, segments: &[String], pending: &mut Pending) -> Vec<Found> {
        let Some((first, rest)) = segments.split_first() else { return Vec::new() };
        match first.as_str() {
            "" => self.external(rest),
            "crate" => self.walk(from.root(), rest, pending),
            "self" => self.walk(from.clone(), rest, pending),
            "super" => {
                let mut module = from.parent();
                let mut rest = rest;
                while let (Some(inner), Some(("super", outer))) =
                    (&module, rest.split_first().map(|(first, outer)| (first.as_str(), outer)))
                {
                    module = inner.parent();
                    rest = outer;
                }
                module.map_or_else(Vec::new, |module| self.walk(module, rest, pending))
            }
            name if self.lookup(from, name, pending).is_empty() => {
                if name == self.library && !from.is_in_library() {
                    self.walk(ItemPath::library(), rest, pending)
                } else {
                    self.external(segments)
                }
            }
            _ => self.walk(from.clone(), segments, pending),
        }
    }

    /// Follows these names from a module.
    fn walk(&self, module: ItemPath, segments: &[String], pending: &mut Pending) -> Vec<Found> {
        let mut found = vec![Found { target: Target::Module(module.clone()), hops: vec![module] }];
        for (at, segment) in segments.iter().enumerate() {
            found = found.into_iter().flat_map(|found| self.step(found, segment, pending)).collect();
            // If a module and a function have the same name, only the module can contain the next name.
            if at + 1 < segments.len() && found.iter().any(|found| matches!(found.target, Target::Module(_))) {
                found.retain(|found| !matches!(found.target, Target::Item { .. }));
            }
        }
        found
    }

    /// Follows one more name.
    fn step(&self, found: Found, segment: &str, pending: &mut Pending) -> Vec<Found> {
        let mut hops: Vec<ItemPath> = found.hops.iter().map(|hop| hop.child(segment)).collect();
        match found.target {
            Target::External(mut path) => {
                path.push(segment.to_owned());
                vec![Found { target: Target::External(path), hops }]
            }
            Target::Item { module, path } => vec![Found { target: Target::Item { module, path: path.child(segment) }, hops }],
            Target::Module(module) => {
                let next = self.lookup(&module, segment, pending);
                if next.is_empty() {
                    // For example, an item that a macro defines: it is in this module in any case.
                    let path = module.child(segment);
                    return vec![Found { target: Target::Item { module, path }, hops }];
                }
                // An exported macro is at the crate's root by the rules of the language, not by a re-export.
                if module == module.root() && self.macros.contains_key(segment) {
                    hops.clear();
                }
                next.into_iter()
                    .map(|Found { target, hops: further }| Found { target, hops: hops.iter().cloned().chain(further).collect() })
                    .collect()
            }
        }
    }

    /// Looks up a name in a module.
    fn lookup(&self, path: &ItemPath, name: &str, pending: &mut Pending) -> Vec<Found> {
        let Some(module) = self.modules.get(path) else { return Vec::new() };
        if !pending.insert((path.clone(), name.to_owned())) {
            return Vec::new();
        }
        let found = self.look_into(path, module, name, pending);
        pending.remove(&(path.clone(), name.to_owned()));
        found
    }

    fn look_into(&self, path: &ItemPath, module: &Module, name: &str, pending: &mut Pending) -> Vec<Found> {
        let mut found = Vec::new();
        let own = path.child(name);
        if self.modules.contains_key(&own) {
            found.push(Found { target: Target::Module(own.clone()), hops: Vec::new() });
        }
        if module.scope.items.contains(name) {
            found.push(Found { target: Target::Item { module: path.clone(), path: own }, hops: Vec::new() });
        }
        for import in module.scope.imports.iter().filter(|import| import.name.as_deref() == Some(name)) {
            found.extend(self.follow(path, &import.segments, pending));
        }
        if found.is_empty() {
            found = module
                .scope
                .imports
                .iter()
                .filter(|import| import.is_glob)
                .flat_map(|glob| self.look_through(path, glob, name, pending))
                .collect();
        }
        if found.is_empty()
            && *path == ItemPath::library()
            && let Some(module) = self.macros.get(name)
        {
            let path = module.child(name);
            found.push(Found { target: Target::Item { module: module.clone(), path: path.clone() }, hops: vec![path] });
        }
        found
    }

    /// Looks up a name in the module of a glob import. Does not find enum variants.
    fn look_through(&self, from: &ItemPath, glob: &Import, name: &str, pending: &mut Pending) -> Vec<Found> {
        let mut found = Vec::new();
        for Found { target, hops } in self.follow(from, &glob.segments, pending) {
            if let Target::Module(module) = target {
                for Found { target, hops: further } in self.lookup(&module, name, pending) {
                    let hops = hops.iter().map(|hop| hop.child(name)).chain(further).collect();
                    found.push(Found { target, hops });
                }
            }
        }
        found
    }

    fn external(&self, path: &[String]) -> Vec<Found> {
        match path.first() {
            Some(name) if self.externals.contains(name) => vec![Found { target: Target::External(path.to_vec()), hops: Vec::new() }],
            _ => Vec::new(),
        }
    }
}
