//! The documents: every link, command, request, setting, path and test that they name exists.
//!
//! Each part of this module checks one kind of them, and has a bad document that it must report. What the commands do is not here: `edge::readme` and
//! `edge::self_hosted` run them. Start reading at [`every_document_is_right`].

mod commands;
mod files;
mod help;
mod links;
mod markdown;
mod names;
mod requests;
mod settings;
mod shell;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use control::testing::server;
use toml::Table;
use xtask::paths;

use self::commands::Known;
use self::files::Tree;
use self::help::Help;
use self::markdown::Page;
use self::requests::ServicePaths;

/// The reviewed `--help` of the programs.
const CONTROL: &str = "tests/tests/service/snapshots/service__program__help.snap";
const CLI: &str = "tests/tests/service/cli/snapshots/service__cli__help__help.snap";
const XTASK: &str = "xtask/src/snapshots/xtask__tests__help.snap";

fn read(name: &str) -> String {
    fs::read_to_string(paths::root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn table(name: &str) -> Table {
    read(name).parse().unwrap()
}

/// A snapshot without what insta writes above it.
fn snapshot(name: &str) -> String {
    read(name).splitn(3, "---\n").nth(2).unwrap().to_owned()
}

/// The workspace's packages with their features, and its programs.
fn workspace(tree: &Tree) -> (BTreeMap<String, BTreeSet<String>>, BTreeSet<String>) {
    let (mut packages, mut programs) = (BTreeMap::new(), BTreeSet::new());
    for member in table("Cargo.toml")["workspace"]["members"].as_array().unwrap() {
        let folder = member.as_str().unwrap();
        let manifest = table(&format!("{folder}/Cargo.toml"));
        let name = manifest["package"]["name"].as_str().unwrap();
        let features = manifest.get("features").and_then(toml::Value::as_table);
        packages.insert(name.to_owned(), features.into_iter().flat_map(Table::keys).cloned().collect());
        let named: Vec<&toml::Value> = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten().collect();
        programs.extend(named.iter().map(|program| program["name"].as_str().unwrap().to_owned()));
        if named.is_empty() && tree.has(&format!("{folder}/src/main.rs")) {
            programs.insert(name.to_owned());
        }
    }
    (packages, programs)
}

/// The Worker's variables with their values for development, and its secrets.
fn variables(wrangler: &Table) -> BTreeMap<String, String> {
    let values = wrangler["vars"].as_table().unwrap().iter();
    let secrets = wrangler["secrets"]["required"].as_array().unwrap().iter();
    let value = |value: &toml::Value| value.as_str().unwrap().to_owned();
    values.map(|(name, text)| (name.clone(), value(text))).chain(secrets.map(|name| (value(name), String::new()))).collect()
}

/// The sources of this binary's tests.
fn modules() -> names::Modules {
    let (mut modules, mut folders) = (BTreeMap::new(), vec![paths::root().join("tests/tests/service")]);
    let root = folders[0].clone();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().with_extension("").to_str().unwrap().replace('/', "::");
                let name = name.strip_suffix("::mod").unwrap_or(&name).to_owned();
                modules.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    modules
}

#[test]
fn every_document_is_right() {
    let tree = Tree::read(&paths::root());
    let pages: BTreeMap<String, Page> = tree.documents().map(|name| (name.to_owned(), Page::parse(name, &read(name)))).collect();
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/api.md", "docs/adr/0001-thin-javascript-entry.md"]
    {
        assert!(pages.contains_key(name), "{name} is a document");
    }
    let (packages, programs) = workspace(&tree);
    let known = Known {
        control: Help::parse("updraft-control", &snapshot(CONTROL)),
        cli: Help::parse("updraft", &snapshot(CLI)),
        xtask: Help::parse("cargo xtask", &snapshot(XTASK)),
        packages,
        programs,
        wrangler: table("wrangler.toml"),
        workerd: read("edge/workerd.capnp"),
        tree,
        service_paths: ServicePaths::new(server::document("https://updates.example.com"), &server::pages().paths),
    };
    let (modules, variables) = (modules(), variables(&known.wrangler));
    let mut faults = [links::check(&pages, &known.tree), settings::check_lists(&pages)].concat();
    for page in pages.values() {
        faults.extend(known.check(page));
        faults.extend(files::check(page, &known.tree));
        faults.extend(settings::check(page, &known.control.defaults));
        faults.extend(settings::check_worker(page, &variables));
        faults.extend(names::check(page, &modules));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
