//! `cargo xtask imports`, also a stage of `cargo xtask check`: checks imports between modules of the control plane against `control/imports.toml`.
//!
//! It parses each file (`syntax`, `tokens`), resolves each path to the file with the definition (`tree`, `resolve`, `references`), and checks the
//! result (`violations`, `cycles`) and the paths that other packages use (`outside`). Exceptions would be in `control/imports-exceptions.txt`, which
//! is empty (`exceptions`). Dependencies between crates are not checked here. Start reading at [`Findings::new`].

mod cycles;
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

/// The package's directory in the repository.
const PACKAGE: &str = "control";
/// The rules, in that directory.
const RULES_FILE: &str = "imports.toml";
/// The violations that are still allowed, in that directory. Without this file, none are.
const EXCEPTIONS_FILE: &str = "imports-exceptions.txt";

/// The stage of `cargo xtask check`: prints problems, and the counts in one line.
pub(crate) fn check(session: &Session) -> Result<(), Failure> {
    let findings = Findings::read()?;
    session.print(&findings.counted());
    findings.compare(session)
}

/// `cargo xtask imports`: prints problems and a summary.
pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    let findings = Findings::read()?;
    print(session, &findings.summary());
    findings.compare(session)
}

/// `cargo xtask imports --write`: replaces the list of exceptions with all violations.
pub(crate) fn write(session: &Session) -> Result<(), Failure> {
    let findings = Findings::read()?;
    print(session, &findings.summary());
    fs::write(folder().join(EXCEPTIONS_FILE), exceptions::render(&findings.violations))?;
    session.print(&format!("wrote {} lines to {PACKAGE}/{EXCEPTIONS_FILE}", findings.violations.len()));
    Ok(())
}

/// `cargo xtask imports --arrows`: lists which file depends on which, to help break a cycle.
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

/// The list of exceptions; empty if there is no file.
fn list() -> Result<String, Failure> {
    let file = folder().join(EXCEPTIONS_FILE);
    if file.exists() { package::text(&file) } else { Ok(String::new()) }
}

/// The findings in a package.
#[derive(Debug)]
struct Findings {
    /// The number of files that belong to a module.
    files: usize,
    /// Files that belong to no module, including test-only files.
    others: Vec<String>,
    /// Dependencies of one file on another.
    arrows: Vec<String>,
    /// The sizes of the cycles in files, largest first.
    cycles: Vec<usize>,
    /// The files of the largest cycle.
    largest: Option<String>,
    /// The violations, sorted.
    violations: Vec<Violation>,
}

impl Findings {
    fn read() -> Result<Self, Failure> {
        let file = folder().join(RULES_FILE);
        let rules = toml::from_str(&package::text(&file)?).map_err(|error| Failure::Message(format!("{}: {error}", file.display())))?;
        Self::new(&Package::read(&folder())?, &rules)
    }

    /// Checks a package against these rules.
    fn new(package: &Package, rules: &Rules) -> Result<Self, Failure> {
        let tree = Tree::read(package, rules.banned_crates())?;
        let references = references::all(&tree);
        let arrows = cycles::arrows(&tree, &references);
        let cycles = cycles::all(arrows.keys().copied());
        let violations = violations::all(&Code { package, tree: &tree, references: &references, rules }, &cycles);
        let files = tree.files();
        Ok(Self {
            files: files.len(),
            others: package.files.keys().filter(|file| !files.contains(file.as_str())).cloned().collect(),
            arrows: arrows.iter().map(|((from, to), named)| format!("{from} -> {to} ({named})")).collect(),
            cycles: cycles.iter().map(Vec::len).collect(),
            largest: cycles.first().map(|cycle| cycles::described(cycle)),
            violations,
        })
    }

    /// Fails if the violations differ from the list of exceptions.
    fn compare(&self, session: &Session) -> Result<(), Failure> {
        let problems = exceptions::compare(&self.violations, &list()?);
        print(session, &problems);
        match problems.len() {
            0 => Ok(()),
            1 => Err(Failure::Message(format!("1 problem; the rules are in {PACKAGE}/{RULES_FILE}"))),
            count => Err(Failure::Message(format!("{count} problems; the rules are in {PACKAGE}/{RULES_FILE}"))),
        }
    }

    fn counted(&self) -> String {
        let largest = self.cycles.first().unwrap_or(&1);
        let (arrows, violations) = (self.arrows.len(), self.violations.len());
        format!("{} files, {arrows} dependencies between them, largest cycle: {largest}, {violations} violations", self.files)
    }

    fn summary(&self) -> Vec<String> {
        let mut lines = vec![self.counted()];
        for rule in RULES {
            let count = self.violations.iter().filter(|violation| violation.rule == *rule).count();
            lines.push(format!("{rule:<14}{count:>5}"));
        }
        let sizes = self.cycles.iter().map(ToString::to_string).collect::<Vec<_>>();
        lines.push(format!("files in each cycle: {}", if sizes.is_empty() { "there are no cycles".into() } else { sizes.join(", ") }));
        lines.extend(self.largest.clone());
        if !self.others.is_empty() {
            lines.push(format!("not in a module, or only in tests: {}", self.others.join(", ")));
        }
        lines
    }
}
