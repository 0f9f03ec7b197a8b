//! Files that depend on each other in a circle.

use std::collections::BTreeMap;

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};

use super::{references::Reference, tree::Tree};

/// Which file needs which, each pair with what makes it so.
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

/// The circles, largest first: sets of files in which each needs each, if only through others.
pub(super) fn all<'a>(arrows: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Vec<&'a str>> {
    let graph: DiGraphMap<&str, ()> = arrows.collect();
    let mut circles = tarjan_scc(&graph);
    circles.retain(|files| files.len() > 1);
    for files in &mut circles {
        files.sort_unstable();
    }
    circles.sort_by(|one, next| next.len().cmp(&one.len()).then_with(|| one.cmp(next)));
    circles
}

/// A circle, for people.
pub(super) fn described(circle: &[&str]) -> String {
    format!("circle of {} files: {}", circle.len(), circle.join(", "))
}
