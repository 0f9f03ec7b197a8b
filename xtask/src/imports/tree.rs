//! The module tree of a package: the library from `lib.rs`, and the program from `main.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    package::Package,
    path::ItemPath,
    syntax::{Declared, Scope},
};
use crate::session::Failure;

/// The file of the library's root.
const LIBRARY: &str = "lib.rs";
/// The file of the program's root.
const PROGRAM: &str = "main.rs";

/// A module.
#[derive(Debug)]
pub(super) struct Module {
    /// The path of its file in `src`.
    pub(super) file: String,
    /// Its contents.
    pub(super) scope: Scope,
}

/// All modules.
#[derive(Debug)]
pub(super) struct Tree {
    /// The modules, by path.
    pub(super) modules: BTreeMap<ItemPath, Module>,
    /// Exported macros, with the module that defines each.
    pub(super) macros: BTreeMap<String, ItemPath>,
    /// The name under which the program imports the library.
    pub(super) library: String,
    /// The names of other crates.
    pub(super) externals: BTreeSet<String>,
}

impl Tree {
    /// Parses every file that is reachable through `mod` from the two roots. `externals` are crates in addition to the manifest's.
    pub(super) fn read<'a>(package: &Package, externals: impl IntoIterator<Item = &'a str>) -> Result<Self, Failure> {
        let mut tree = Self {
            modules: BTreeMap::new(),
            macros: BTreeMap::new(),
            library: package.library.clone(),
            externals: package.dependencies.iter().cloned().chain(externals.into_iter().map(str::to_owned)).collect(),
        };
        for (root, file) in [(ItemPath::library(), LIBRARY), (ItemPath::program(), PROGRAM)] {
            if let Some(text) = package.files.get(file) {
                tree.add(package, root, file, "", parse(file, text)?)?;
            }
        }
        if tree.modules.is_empty() {
            return Err(Failure::Message(format!("neither {LIBRARY} nor {PROGRAM} exists")));
        }
        Ok(tree)
    }

    /// The innermost module that contains a path, or the path itself if it is a module.
    pub(super) fn module_of(&self, path: &ItemPath) -> ItemPath {
        let mut module = path.clone();
        while !self.modules.contains_key(&module) {
            match module.parent() {
                Some(parent) => module = parent,
                None => break,
            }
        }
        module
    }

    /// The file of a module.
    pub(super) fn file(&self, module: &ItemPath) -> &str {
        self.modules.get(module).map_or("", |module| &module.file)
    }

    /// The files that belong to a module, without test-only files.
    pub(super) fn files(&self) -> BTreeSet<&str> {
        self.modules.values().map(|module| module.file.as_str()).collect()
    }

    /// The names of the modules directly in this one.
    pub(super) fn children(&self, parent: &ItemPath) -> BTreeSet<&str> {
        self.modules
            .keys()
            .filter_map(|path| match path.after(parent)? {
                [name] => Some(name.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Adds a module and its submodules. `folder` is the directory of the submodules' files: empty, or with a trailing slash.
    fn add(&mut self, package: &Package, path: ItemPath, file: &str, folder: &str, mut scope: Scope) -> Result<(), Failure> {
        for (name, inline) in std::mem::take(&mut scope.inline) {
            self.add(package, path.child(&name), file, &format!("{folder}{name}/"), inline)?;
        }
        for declared in std::mem::take(&mut scope.declared) {
            let (file, folder) = locate(package, &declared, file, folder)
                .ok_or_else(|| Failure::Message(format!("{file}: could not find the file of `mod {};` in {folder}", declared.name)))?;
            let text = package.files.get(&file).map_or("", String::as_str);
            self.add(package, path.child(&declared.name), &file, &folder, parse(&file, text)?)?;
        }
        self.macros.extend(scope.exported_macros.iter().map(|name| (name.clone(), path.clone())));
        match self.modules.get_mut(&path) {
            Some(module) => module.scope.merge(scope),
            None => drop(self.modules.insert(path, Module { file: file.to_owned(), scope })),
        }
        Ok(())
    }
}

/// The file of a declared module, and the directory of its submodules.
fn locate(package: &Package, declared: &Declared, parent: &str, folder: &str) -> Option<(String, String)> {
    let name = &declared.name;
    let candidates = match &declared.path {
        Some(path) => {
            let beside = parent.rsplit_once('/').map_or_else(String::new, |(folder, _)| format!("{folder}/"));
            let file = format!("{beside}{path}");
            let folder = file.rsplit_once('/').map_or_else(String::new, |(folder, _)| format!("{folder}/"));
            vec![(file, folder)]
        }
        None => {
            vec![(format!("{folder}{name}.rs"), format!("{folder}{name}/")), (format!("{folder}{name}/mod.rs"), format!("{folder}{name}/"))]
        }
    };
    candidates.into_iter().find(|(file, _)| package.files.contains_key(file))
}

fn parse(file: &str, text: &str) -> Result<Scope, Failure> {
    Scope::parse(text).map_err(|error| Failure::Message(format!("{file}:{}: {error}", error.span().start().line)))
}
