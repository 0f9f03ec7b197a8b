//! Where the rules are broken.

use std::collections::BTreeMap;

use super::{
    circles, outside,
    package::Package,
    path::ItemPath,
    references::Reference,
    resolve::Target,
    rules::{Ordered, Rules, is_within},
    tokens::Mention,
    tree::{Module, Tree},
};

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The rule's name, with which the line begins.
    pub(super) rule: &'static str,
    /// The line that says it; in the list of exceptions too.
    pub(super) line: String,
    /// What helps to find it.
    pub(super) detail: String,
}

/// Each rule's name, in the order of the summary.
pub(super) const RULES: &[&str] = &[FLOORS, APART, ORDERED, BANNED, ONLY, OUTSIDE, JSON, CIRCLE, ROOT];

const FLOORS: &str = "floors";
const APART: &str = "apart";
const ORDERED: &str = "ordered";
const BANNED: &str = "banned";
const ONLY: &str = "only";
const OUTSIDE: &str = "outside";
const JSON: &str = "json";
/// Its line ends with a number of files.
pub(super) const CIRCLE: &str = "circle";
/// Its line ends with a number.
pub(super) const ROOT: &str = "root entries";

/// What the rules are about.
pub(super) struct Code<'a> {
    pub(super) package: &'a Package,
    pub(super) tree: &'a Tree,
    pub(super) references: &'a [Reference],
    pub(super) rules: &'a Rules,
}

/// All violations, each line once, sorted; but as many lines as circles.
pub(super) fn all(code: &Code<'_>, circles: &[Vec<&str>]) -> Vec<Violation> {
    let found =
        [floors(code), apart(code), ordered(code), banned(code), only(code), outside(code), json(code), root(code)].into_iter().flatten();
    let mut lines: BTreeMap<String, Violation> = BTreeMap::new();
    for violation in found {
        lines.entry(violation.line.clone()).or_insert(violation);
    }
    let large = circles.iter().filter(|circle| circle.len() > code.rules.largest_circle);
    let circles = large.map(|circle| Violation {
        rule: CIRCLE,
        line: format!("{CIRCLE}: {} files", circle.len()),
        detail: circles::described(circle),
    });
    let mut all: Vec<Violation> = lines.into_values().chain(circles).collect();
    all.sort_by(|one, next| one.line.cmp(&next.line));
    all
}

impl Code<'_> {
    /// The violation of a rule by a reference: it names the module that `hop` is in.
    fn named(&self, rule: &'static str, reference: &Reference, hop: &ItemPath) -> Violation {
        let module = self.tree.module_of(hop);
        let line = format!("{rule}: {} names {module} ({})", self.tree.file(&reference.from), self.tree.file(&module));
        Violation { rule, line, detail: reference.described() }
    }

    /// One violation for each reference in which `is_broken` holds for a path that it names something by; of several, the one nearest to the definition.
    fn find(&self, rule: &'static str, is_broken: impl Fn(&Reference, &ItemPath) -> bool) -> Vec<Violation> {
        let broken = |reference: &&Reference| reference.found.hops.iter().rev().find(|hop| is_broken(reference, hop)).cloned();
        self.references.iter().filter_map(|reference| broken(&reference).map(|hop| self.named(rule, reference, &hop))).collect()
    }
}

/// The name of a module's floor.
fn floor(module: &ItemPath) -> &str {
    match module.segments() {
        [root, ..] if root == "main" => root,
        [_, floor, ..] => floor,
        _ => "lib",
    }
}

fn floors(code: &Code<'_>) -> Vec<Violation> {
    let mut violations = code.find(FLOORS, |reference, hop| {
        let module = code.tree.module_of(hop);
        let (from, to) = (floor(&reference.from), floor(&module));
        from != to && code.rules.floors.get(from).is_some_and(|allowed| !allowed.iter().any(|allowed| allowed == to))
    });
    for (path, Module { file, .. }) in &code.tree.modules {
        let is_floor = path.parent().is_none_or(|parent| parent == ItemPath::library());
        if is_floor && !code.rules.floors.contains_key(floor(path)) {
            violations.push(Violation {
                rule: FLOORS,
                line: format!("{FLOORS}: {path} is not in [floors] ({file})"),
                detail: String::new(),
            });
        }
    }
    violations
}

fn apart(code: &Code<'_>) -> Vec<Violation> {
    let member = |group: &[String], path: &ItemPath| group.iter().position(|module| is_within(path, module));
    let groups = code.rules.apart.iter();
    let one = |group: &Vec<String>| {
        code.find(APART, |reference, hop| match (member(group, &reference.from), member(group, &code.tree.module_of(hop))) {
            (Some(from), Some(to)) => from != to,
            _ => false,
        })
    };
    groups.flat_map(one).collect()
}

fn ordered(code: &Code<'_>) -> Vec<Violation> {
    code.rules.ordered.iter().flat_map(|order| in_order(code, order)).collect()
}

fn in_order(code: &Code<'_>, order: &Ordered) -> Vec<Violation> {
    let parent = ItemPath::from_rule(&order.parent);
    let place = |name: &str| order.modules.iter().position(|module| module == name);
    let mut violations = code.find(ORDERED, |reference, hop| {
        let module = code.tree.module_of(hop);
        let names = (reference.from.after(&parent).and_then(<[String]>::first), module.after(&parent).and_then(<[String]>::first));
        let (Some(from), Some(to)) = names else { return false };
        // What is not in the list is reported as such.
        let is_later = matches!((place(from), place(to)), (Some(from), Some(to)) if from < to);
        let end = reference.found.hops.last().and_then(|end| end.after(&parent)).unwrap_or_default();
        is_later && !order.allows(from, end)
    });
    for name in code.tree.children(&parent) {
        if place(name).is_none() {
            let module = parent.child(name);
            let line = format!("{ORDERED}: {module} is not in [[ordered]] ({})", code.tree.file(&module));
            violations.push(Violation { rule: ORDERED, line, detail: String::new() });
        }
    }
    violations
}

fn banned(code: &Code<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (module, crates) in &code.rules.banned {
        for reference in code.references.iter().filter(|reference| is_within(&reference.from, module)) {
            if let Some(name) = reference.external().filter(|name| crates.iter().any(|banned| banned == name)) {
                let line = format!("{BANNED}: {} names {name}", code.tree.file(&reference.from));
                violations.push(Violation { rule: BANNED, line, detail: reference.described() });
            }
        }
    }
    violations
}

fn only(code: &Code<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for only in &code.rules.only {
        let item = ItemPath::from_rule(&only.item);
        // Where it is re-exported from, too.
        let names: Vec<ItemPath> =
            code.tree.resolve(&item.root(), item.segments()).into_iter().flat_map(|found| found.hops).chain([item.clone()]).collect();
        for reference in code.references.iter().filter(|reference| !only.allows(&reference.from)) {
            if reference.found.hops.iter().any(|hop| names.iter().any(|name| hop.is_within(name))) {
                let line = format!("{ONLY}: {} names {item}", code.tree.file(&reference.from));
                violations.push(Violation { rule: ONLY, line, detail: reference.described() });
            }
        }
    }
    violations
}

fn outside(code: &Code<'_>) -> Vec<Violation> {
    let is_allowed = |mention: &Mention| mention.segments.get(1).is_some_and(|module| code.rules.outside.contains(module));
    let mut violations = Vec::new();
    for (file, text) in &code.package.outside {
        for mention in outside::mentions(text, &code.package.library).into_iter().filter(|mention| !is_allowed(mention)) {
            let line = format!("{OUTSIDE}: {file} names {}", mention.segments.join("::"));
            violations.push(Violation { rule: OUTSIDE, line, detail: format!("line {}", mention.line) });
        }
    }
    violations
}

fn json(code: &Code<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let is_ruled = |path: &ItemPath| code.rules.no_json_values.iter().any(|module| is_within(path, module));
    for (path, module) in code.tree.modules.iter().filter(|(path, _)| is_ruled(path)) {
        for signature in &module.scope.signatures {
            let tokens = &signature.tokens;
            let mut named =
                tokens.paths.iter().map(|mention| mention.segments.clone()).chain(tokens.names.keys().map(|name| vec![name.clone()]));
            let is_value = |segments: Vec<String>| {
                let found = code.tree.resolve(path, &segments);
                found.iter().any(
                    |found| matches!(&found.target, Target::External(path) if path.starts_with(&["serde_json".into(), "Value".into()])),
                )
            };
            if named.any(is_value) {
                let line = format!("{JSON}: {}: `{}` takes or returns serde_json::Value", module.file, signature.name);
                violations.push(Violation { rule: JSON, line, detail: format!("line {}", signature.line) });
            }
        }
    }
    violations
}

fn root(code: &Code<'_>) -> Vec<Violation> {
    let entries = &code.package.entries;
    let violation = (entries.len() > code.rules.root_entries).then(|| Violation {
        rule: ROOT,
        line: format!("{ROOT}: {}", entries.len()),
        detail: entries.iter().cloned().collect::<Vec<_>>().join(", "),
    });
    violation.into_iter().collect()
}
