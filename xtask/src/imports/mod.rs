//! `cargo xtask imports`, and a stage of `cargo xtask check`: which module of the control plane imports which, held against `control/imports.toml`.
//!
//! Each file is parsed (`syntax`, `tokens`), each path followed to the file that defines what it names (`tree`, `resolve`, `references`), and judged
//! (`violations`, `circles`), as is what other packages name (`outside`); exceptions would be in `control/imports-exceptions.txt`, which is empty (`exceptions`). Not here:
//! dependencies between crates, which are cargo's. Start reading at [`Findings::new`].

mod circles;
mod exceptions;
mod outside;
mod package;
mod path;
mod references;
mod resolve;
mod rules;
mod syntax;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;
mod violations;

use std::{fs, path::PathBuf};

use xtask::paths;

use self::{
    package::Package,
    rules::Rules,
    tree::Tree,
    violations::{Code, RULES, Violation},
};
use crate::session::{Failure, Session};

/// The folder of the package, in the repository.
const PACKAGE: &str = "control";
/// The rules, in that folder.
const RULES_FILE: &str = "imports.toml";
/// The violations that are still allowed, in that folder. None are, where there is no such file.
const EXCEPTIONS_FILE: &str = "imports-exceptions.txt";

/// The stage of `cargo xtask check`: says what is wrong, and in one line how much was looked at.
pub(crate) fn check(session: &Session) -> Result<(), Failure> {
    let findings = Findings::read()?;
    session.print(&findings.counted());
    findings.judge(session)
}

/// `cargo xtask imports`: the same with a summary.
pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    let findings = Findings::read()?;
    print(session, &findings.summary());
    findings.judge(session)
}

/// `cargo xtask imports --write`: replaces the list of exceptions by all violations.
pub(crate) fn write(session: &Session) -> Result<(), Failure> {
    let findings = Findings::read()?;
    print(session, &findings.summary());
    fs::write(folder().join(EXCEPTIONS_FILE), exceptions::render(&findings.violations))?;
    session.print(&format!("wrote {} lines to {PACKAGE}/{EXCEPTIONS_FILE}", findings.violations.len()));
    Ok(())
}

/// `cargo xtask imports --arrows`: which file needs which, for those who mend a circle.
pub(crate) fn print_arrows(session: &Session) -> Result<(), Failure> {
    print(session, &Findings::read()?.arrows);
    Ok(())
}

fn print(session: &Session, lines: &[String]) {
    for line in lines {
        session.print(line);
    }
}

fn folder() -> PathBuf {
    paths::root().join(PACKAGE)
}

/// The list of exceptions; empty where there is no file.
fn list() -> Result<String, Failure> {
    let file = folder().join(EXCEPTIONS_FILE);
    if file.exists() { package::text(&file) } else { Ok(String::new()) }
}

/// What a package turned out to be like.
#[derive(Debug)]
struct Findings {
    /// How many files belong to a module.
    files: usize,
    /// Files that belong to none. Those that only tests compile are among them.
    others: Vec<String>,
    /// Each time that one file needs another.
    arrows: Vec<String>,
    /// How many files each circle has; the largest first.
    circles: Vec<usize>,
    /// The files of the largest circle.
    largest: Option<String>,
    /// The broken rules, sorted.
    violations: Vec<Violation>,
}

impl Findings {
    fn read() -> Result<Self, Failure> {
        let file = folder().join(RULES_FILE);
        let rules = toml::from_str(&package::text(&file)?).map_err(|error| Failure::Said(format!("{}: {error}", file.display())))?;
        Self::new(&Package::read(&folder())?, &rules)
    }

    /// Judges a package by these rules.
    fn new(package: &Package, rules: &Rules) -> Result<Self, Failure> {
        let tree = Tree::read(package, rules.banned_crates())?;
        let references = references::all(&tree);
        let arrows = circles::arrows(&tree, &references);
        let circles = circles::all(arrows.keys().copied());
        let violations = violations::all(&Code { package, tree: &tree, references: &references, rules }, &circles);
        let files = tree.files();
        Ok(Self {
            files: files.len(),
            others: package.files.keys().filter(|file| !files.contains(file.as_str())).cloned().collect(),
            arrows: arrows.iter().map(|((from, to), named)| format!("{from} -> {to} ({named})")).collect(),
            circles: circles.iter().map(Vec::len).collect(),
            largest: circles.first().map(|circle| circles::described(circle)),
            violations,
        })
    }

    /// Fails when these are not the violations that the list allows.
    fn judge(&self, session: &Session) -> Result<(), Failure> {
        let problems = exceptions::compare(&self.violations, &list()?);
        print(session, &problems);
        match problems.len() {
            0 => Ok(()),
            1 => Err(Failure::Said(format!("1 problem; the rules are in {PACKAGE}/{RULES_FILE}"))),
            count => Err(Failure::Said(format!("{count} problems; the rules are in {PACKAGE}/{RULES_FILE}"))),
        }
    }

    fn counted(&self) -> String {
        let largest = self.circles.first().unwrap_or(&1);
        let (arrows, violations) = (self.arrows.len(), self.violations.len());
        format!("{} files, {arrows} arrows between them, largest circle of {largest}, {violations} violations", self.files)
    }

    fn summary(&self) -> Vec<String> {
        let mut lines = vec![self.counted()];
        for rule in RULES {
            let count = self.violations.iter().filter(|violation| violation.rule == *rule).count();
            lines.push(format!("{rule:<14}{count:>5}"));
        }
        let sizes = self.circles.iter().map(ToString::to_string).collect::<Vec<_>>();
        lines.push(format!("files in each circle: {}", if sizes.is_empty() { "there is no circle".into() } else { sizes.join(", ") }));
        lines.extend(self.largest.clone());
        if !self.others.is_empty() {
            lines.push(format!("in no module, or only in tests: {}", self.others.join(", ")));
        }
        lines
    }
}
