//! The list of violations that are still allowed, which may only shrink.

use std::collections::BTreeSet;

use super::violations::{CYCLE, ROOT, Violation};

/// The first line of the list.
const HEADER: &str =
    "# Violations of imports.toml that are not fixed yet. `cargo xtask imports` reports fixed ones; delete their lines then.";

/// Formats the list of these violations.
pub(super) fn render(violations: &[Violation]) -> String {
    violations.iter().fold(format!("{HEADER}\n"), |text, violation| text + &violation.line + "\n")
}

/// The lines of a list.
pub(super) fn lines(list: &str) -> Vec<&str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// The problems: violations that are not in the list, and listed lines that are no longer violations.
pub(super) fn compare(violations: &[Violation], list: &str) -> Vec<String> {
    let listed = lines(list);
    let mut problems = Vec::new();
    if !listed.is_sorted() {
        problems.push("the list of exceptions is not sorted".to_owned());
    }
    let found: BTreeSet<&str> = violations.iter().map(|violation| violation.line.as_str()).collect();
    let is_new = |violation: &&Violation| number(&violation.line).is_none() && !listed.contains(&violation.line.as_str());
    problems.extend(violations.iter().filter(is_new).map(|violation| described(&violation.line, &violation.detail)));
    let is_fixed = |line: &&&str| number(line).is_none() && !found.contains(**line);
    problems.extend(listed.iter().filter(is_fixed).map(|line| format!("{line}: fixed: delete this line")));
    for rule in [CYCLE, ROOT] {
        problems.extend(compare_numbers(rule, violations, &listed));
    }
    problems
}

/// Compares the lines of a rule with numbers, largest first.
fn compare_numbers(rule: &str, violations: &[Violation], listed: &[&str]) -> Vec<String> {
    let is_of_rule = |line: &str| line.strip_prefix(rule).is_some_and(|rest| rest.starts_with(':'));
    let mut found: Vec<(usize, &Violation)> = violations
        .iter()
        .filter(|violation| violation.rule == rule)
        .filter_map(|violation| Some((number(&violation.line)?, violation)))
        .collect();
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let mut listed: Vec<(usize, &str)> =
        listed.iter().filter(|line| is_of_rule(line)).filter_map(|line| Some((number(line)?, *line))).collect();
    listed.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let mut problems = Vec::new();
    for at in 0..found.len().max(listed.len()) {
        match (found.get(at), listed.get(at)) {
            (Some((now, violation)), Some((most, line))) if now > most => {
                problems.push(format!("{} ({}); the list has `{line}`", violation.line, violation.detail));
            }
            (Some((now, violation)), Some((most, line))) if now < most => {
                problems.push(format!("{line}: now smaller: change this line to `{}`", violation.line));
            }
            (Some((_, violation)), None) => problems.push(described(&violation.line, &violation.detail)),
            (None, Some((_, line))) => problems.push(format!("{line}: fixed: delete this line")),
            _ => {}
        }
    }
    problems
}

/// The number in a line of a rule with numbers.
fn number(line: &str) -> Option<usize> {
    let (rule, rest) = line.split_once(": ")?;
    let number = rest.split(' ').next()?;
    if [CYCLE, ROOT].contains(&rule) { number.parse().ok() } else { None }
}

fn described(line: &str, detail: &str) -> String {
    if detail.is_empty() { line.to_owned() } else { format!("{line}; {detail}") }
}
