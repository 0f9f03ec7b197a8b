//! What a path means: it is followed through modules, imports and re-exports to what it names.
//!
//! A name may be several things, such as a module and a function: then all of them are found. Start reading at [`Tree::resolve`].

use std::collections::BTreeSet;

use super::{
    path::ItemPath,
    syntax::Import,
    tree::{Module, Tree},
};

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A module of this package.
    Module(ItemPath),
    /// Something in a module of this package.
    Item {
        /// The module that defines it.
        module: ItemPath,
        /// Its path, which goes on in the item: to a variant, to a method.
        path: ItemPath,
    },
    /// Something of another crate: its path, that crate first.
    External(Vec<String>),
}

/// What a path leads to, and how.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The end.
    pub(super) target: Target,
    /// Each path that names it on the way, from the one that was written to the one of its definition.
    pub(super) hops: Vec<ItemPath>,
}

/// The names that are being looked up, so that imports in a circle end.
type Pending = BTreeSet<(ItemPath, String)>;

impl Tree {
    /// What a path leads to that is written in the module `from`.
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

    /// Goes from a module along these names.
    fn walk(&self, module: ItemPath, segments: &[String], pending: &mut Pending) -> Vec<Found> {
        let mut found = vec![Found { target: Target::Module(module.clone()), hops: vec![module] }];
        for (at, segment) in segments.iter().enumerate() {
            found = found.into_iter().flat_map(|found| self.step(found, segment, pending)).collect();
            // Only a module has more names in it, where a function is called the same.
            if at + 1 < segments.len() && found.iter().any(|found| matches!(found.target, Target::Module(_))) {
                found.retain(|found| !matches!(found.target, Target::Item { .. }));
            }
        }
        found
    }

    /// One name further.
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
                    // What a macro defines, for example: it is of this module in any case.
                    let path = module.child(segment);
                    return vec![Found { target: Target::Item { module, path }, hops }];
                }
                // An exported macro is at the crate's root by the language's rule, not because somebody put it there.
                if module == module.root() && self.macros.contains_key(segment) {
                    hops.clear();
                }
                next.into_iter()
                    .map(|Found { target, hops: further }| Found { target, hops: hops.iter().cloned().chain(further).collect() })
                    .collect()
            }
        }
    }

    /// What a name is in a module.
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

    /// What a name is in the module that a glob names. The variants of an enum are not looked for.
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
