//! Tests with small packages in memory.

mod exceptions;
mod paths;
mod re_exports;
mod rules;
mod syntax;

use std::collections::BTreeSet;

use super::{Findings, package::Package, rules::Rules};
use crate::session::Failure;

/// A package with these files, by path in `src`; paths of files in other packages start with `../`.
fn package(files: &[(&str, &str)]) -> Package {
    let first = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
    let owned = |files: &[&(&str, &str)]| files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let (outside, files): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| path.starts_with("../"));
    Package {
        library: "control".into(),
        dependencies: ["axum", "serde", "serde_json", "tower"].map(str::to_owned).into(),
        files: owned(&files),
        outside: owned(&outside),
        entries: files.iter().map(|(path, _)| first(path)).collect::<BTreeSet<_>>(),
    }
}

fn find(files: &[(&str, &str)], rules: &str) -> Result<Findings, Failure> {
    let floors = if rules.contains("[floors]") { "" } else { "[floors]" };
    let rules: Rules = toml::from_str(&format!("largest_circle = 2\nroot_entries = 9\n{rules}\n{floors}")).unwrap();
    Findings::new(&package(files), &rules)
}

/// Which file depends on which, such as `a.rs -> b.rs`.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let arrows = find(files, "").unwrap().arrows;
    arrows.iter().map(|arrow| arrow.split(" (").next().unwrap().to_owned()).collect()
}

/// The lines of the violations of one rule.
fn violations(files: &[(&str, &str)], rules: &str, rule: &str) -> Vec<String> {
    let violations = find(files, rules).unwrap().violations;
    violations.into_iter().filter(|violation| violation.rule == rule).map(|violation| violation.line).collect()
}
