//! Finds violations of the rules.

use std::collections::BTreeMap;

use super::{
    cycles, outside,
    package::Package,
    path::ItemPath,
    references::Reference,
    resolve::Target,
    rules::{Ordered, Rules, is_within},
    tokens::Mention,
    tree::{Module, Tree},
};

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The rule's name, which starts the line.
    pub(super) rule: &'static str,
    /// The line, as printed and as in the list of exceptions.
    pub(super) line: String,
    /// Details that help to find it.
    pub(super) detail: String,
}

/// The names of the rules, in the order of the summary.
pub(super) const RULES: &[&str] = &[FLOORS, APART, ORDERED, BANNED, ONLY, CALLS, OUTSIDE, JSON, CYCLE, ROOT, MISSING];

const FLOORS: &str = "floors";
const APART: &str = "apart";
const ORDERED: &str = "ordered";
const BANNED: &str = "banned";
const ONLY: &str = "only";
const CALLS: &str = "calls";
const OUTSIDE: &str = "outside";
/// A rule that names nothing checks nothing.
const MISSING: &str = "missing";
const JSON: &str = "json";
/// The line ends with a number of files.
pub(super) const CYCLE: &str = "cycle";
/// The line ends with a number.
pub(super) const ROOT: &str = "root entries";

/// The input of the checks.
pub(super) struct Code<'a> {
    pub(super) package: &'a Package,
    pub(super) tree: &'a Tree,
    pub(super) references: &'a [Reference],
    pub(super) rules: &'a Rules,
}

/// All violations, sorted and without duplicate lines, except that each cycle has its own line.
pub(super) fn all(code: &Code<'_>, cycles: &[Vec<&str>]) -> Vec<Violation> {
    let found = [
        floors(code),
        apart(code),
        ordered(code),
        banned(code),
        only(code),
        calls(code),
        outside(code),
        json(code),
        root(code),
        missing(code),
    ];
    let mut lines: BTreeMap<String, Violation> = BTreeMap::new();
    for violation in found.into_iter().flatten() {
        lines.entry(violation.line.clone()).or_insert(violation);
    }
    let large = cycles.iter().filter(|cycle| cycle.len() > code.rules.largest_circle);
    let cycles =
        large.map(|cycle| Violation { rule: CYCLE, line: format!("{CYCLE}: {} files", cycle.len()), detail: cycles::described(cycle) });
    let mut all: Vec<Violation> = lines.into_values().chain(cycles).collect();
    all.sort_by(|one, next| one.line.cmp(&next.line));
    all
}

impl Code<'_> {
    /// The violation of a rule by a reference, with the module that contains `hop`.
    fn named(&self, rule: &'static str, reference: &Reference, hop: &ItemPath) -> Violation {
        let module = self.tree.module_of(hop);
        let line = format!("{rule}: {} names {module} ({})", self.tree.file(&reference.from), self.tree.file(&module));
        Violation { rule, line, detail: reference.described() }
    }

    /// One violation for each reference with a path for which `is_broken` is true; if there are several, the one closest to the definition.
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
        // Modules that are not in the list are reported below.
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
        // Includes its re-exports.
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

fn calls(code: &Code<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for rule in &code.rules.calls {
        let has_call = |line: &str| !line.trim_start().starts_with("//") && line.contains(&rule.call);
        for (file, text) in &code.package.files {
            let found = text.lines().position(has_call);
            let problem = match (found, rule.files.contains(file)) {
                (Some(_), false) => "calls",
                (None, true) => "is listed but does not call",
                _ => continue,
            };
            let detail = found.map(|line| format!("line {}", line + 1)).unwrap_or_default();
            violations.push(Violation { rule: CALLS, line: format!("{CALLS}: {file} {problem} {}", rule.call), detail });
        }
    }
    violations
}

/// Modules and items that a rule names and that do not exist.
fn missing(code: &Code<'_>) -> Vec<Violation> {
    let rules = code.rules;
    let modules =
        rules.only.iter().flat_map(|only| &only.modules).chain(rules.apart.iter().flatten()).map(|module| ItemPath::from_rule(module));
    let areas = rules.ordered.iter().flat_map(|order| {
        let parent = ItemPath::from_rule(&order.parent);
        order.modules.iter().map(move |module| parent.child(module))
    });
    let is_module = |path: &ItemPath| code.tree.modules.contains_key(path);
    let is_item = |path: &ItemPath| {
        let is_in = |module: &ItemPath| path.after(module).is_some_and(|names| matches!(names, [name] if declares(code, module, name)));
        is_module(path) || path.parent().is_some_and(|module| is_in(&module))
    };
    let items = rules.only.iter().map(|only| ItemPath::from_rule(&only.item)).filter(|item| !is_item(item));
    let paths = modules.chain(areas).filter(|path| !is_module(path)).chain(items);
    paths.map(|path| Violation { rule: MISSING, line: format!("{MISSING}: {path} does not exist"), detail: String::new() }).collect()
}

/// Whether a module defines or re-exports this name.
fn declares(code: &Code<'_>, module: &ItemPath, name: &str) -> bool {
    let scope = code.tree.modules.get(module).map(|module| &module.scope);
    scope.is_some_and(|scope| scope.items.contains(name) || scope.imports.iter().any(|import| import.name.as_deref() == Some(name)))
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
