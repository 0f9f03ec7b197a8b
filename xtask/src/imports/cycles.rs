//! Cycles of files that depend on each other.

use std::collections::BTreeMap;

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};

use super::{references::Reference, tree::Tree};

/// Which file depends on which, each pair with the reference that causes it.
pub(super) fn arrows<'a>(tree: &'a Tree, references: &[Reference]) -> BTreeMap<(&'a str, &'a str), String> {
    let mut arrows = BTreeMap::new();
    for reference in references.iter().filter(|reference| reference.is_arrow) {
        let Some(module) = reference.module() else { continue };
        let (from, to) = (tree.file(&reference.from), tree.file(module));
        if from != to {
            arrows.entry((from, to)).or_insert_with(|| reference.described());
        }
    }
    arrows
}

/// The cycles, largest first: sets of files that all depend on each other, directly or indirectly.
pub(super) fn all<'a>(arrows: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Vec<&'a str>> {
    let graph: DiGraphMap<&str, ()> = arrows.collect();
    let mut cycles = tarjan_scc(&graph);
    cycles.retain(|files| files.len() > 1);
    for files in &mut cycles {
        files.sort_unstable();
    }
    cycles.sort_by(|one, next| next.len().cmp(&one.len()).then_with(|| one.cmp(next)));
    cycles
}

/// Describes a cycle for people.
pub(super) fn described(cycle: &[&str]) -> String {
    format!("cycle of {} files: {}", cycle.len(), cycle.join(", "))
}
