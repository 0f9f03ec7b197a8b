//! The list of exceptions, which may only shrink.

use super::super::{
    exceptions::{compare, render},
    violations::Violation,
};

fn violation(rule: &'static str, line: &str) -> Violation {
    Violation { rule, line: line.into(), detail: "detail".into() }
}

fn found() -> Vec<Violation> {
    vec![violation("cycle", "cycle: 17 files"), violation("floors", "floors: a names b"), violation("root entries", "root entries: 12")]
}

#[test]
fn a_written_list_is_accepted() {
    assert_eq!(compare(&found(), &render(&found())), [""; 0]);
    assert_eq!(compare(&[], ""), [""; 0]);
    assert_eq!(compare(&[], &render(&[])), [""; 0]);
}

#[test]
fn a_new_violation_is_a_problem() {
    assert_eq!(compare(&found(), "cycle: 17 files\nroot entries: 12"), ["floors: a names b; detail"]);
    assert_eq!(compare(&found(), "floors: a names b"), ["cycle: 17 files; detail", "root entries: 12; detail"]);
}

#[test]
fn a_fixed_line_is_a_problem() {
    let list = "cycle: 17 files\nfloors: a names b\nfloors: c names d\nroot entries: 12";
    assert_eq!(compare(&found(), list), ["floors: c names d: fixed: delete this line"]);
    assert_eq!(compare(&[], "cycle: 5 files"), ["cycle: 5 files: fixed: delete this line"]);
}

#[test]
fn numbers_may_only_shrink() {
    let compared = |list: &str| compare(&found(), list);
    assert_eq!(
        compared("cycle: 16 files\nfloors: a names b\nroot entries: 12"),
        ["cycle: 17 files (detail); the list has `cycle: 16 files`"]
    );
    assert_eq!(
        compared("cycle: 18 files\nfloors: a names b\nroot entries: 12"),
        ["cycle: 18 files: now smaller: change this line to `cycle: 17 files`"]
    );
    assert_eq!(
        compared("cycle: 17 files\nfloors: a names b\nroot entries: 13"),
        ["root entries: 13: now smaller: change this line to `root entries: 12`"]
    );
}

#[test]
fn each_cycle_is_counted() {
    let found = [violation("cycle", "cycle: 5 files"), violation("cycle", "cycle: 5 files"), violation("cycle", "cycle: 17 files")];
    assert_eq!(compare(&found, "cycle: 17 files\ncycle: 5 files\ncycle: 5 files"), [""; 0]);
    assert_eq!(compare(&found, "cycle: 17 files\ncycle: 5 files"), ["cycle: 5 files; detail"]);
}

#[test]
fn the_list_is_sorted() {
    let list = "floors: a names b\ncycle: 17 files\nroot entries: 12";
    assert_eq!(compare(&found(), list), ["the list of exceptions is not sorted"]);
}
