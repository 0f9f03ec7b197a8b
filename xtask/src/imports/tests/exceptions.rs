//! The list of exceptions, which only gets shorter.

use super::super::{
    exceptions::{compare, render},
    violations::Violation,
};

fn violation(rule: &'static str, line: &str) -> Violation {
    Violation { rule, line: line.into(), detail: "detail".into() }
}

fn found() -> Vec<Violation> {
    vec![violation("circle", "circle: 17 files"), violation("floors", "floors: a names b"), violation("root entries", "root entries: 12")]
}

#[test]
fn what_is_written_is_accepted() {
    assert_eq!(compare(&found(), &render(&found())), [""; 0]);
    assert_eq!(compare(&[], ""), [""; 0]);
    assert_eq!(compare(&[], &render(&[])), [""; 0]);
}

#[test]
fn a_new_violation_is_a_problem() {
    assert_eq!(compare(&found(), "circle: 17 files\nroot entries: 12"), ["floors: a names b; detail"]);
    assert_eq!(compare(&found(), "floors: a names b"), ["circle: 17 files; detail", "root entries: 12; detail"]);
}

#[test]
fn a_line_that_is_fixed_is_a_problem() {
    let list = "circle: 17 files\nfloors: a names b\nfloors: c names d\nroot entries: 12";
    assert_eq!(compare(&found(), list), ["floors: c names d: this is fixed: delete the line"]);
    assert_eq!(compare(&[], "circle: 5 files"), ["circle: 5 files: this is fixed: delete the line"]);
}

#[test]
fn numbers_only_get_smaller() {
    let compared = |list: &str| compare(&found(), list);
    assert_eq!(
        compared("circle: 16 files\nfloors: a names b\nroot entries: 12"),
        ["circle: 17 files (detail); the list has `circle: 16 files`"]
    );
    assert_eq!(
        compared("circle: 18 files\nfloors: a names b\nroot entries: 12"),
        ["circle: 18 files: it got smaller: write `circle: 17 files`"]
    );
    assert_eq!(
        compared("circle: 17 files\nfloors: a names b\nroot entries: 13"),
        ["root entries: 13: it got smaller: write `root entries: 12`"]
    );
}

#[test]
fn each_circle_is_counted() {
    let found = [violation("circle", "circle: 5 files"), violation("circle", "circle: 5 files"), violation("circle", "circle: 17 files")];
    assert_eq!(compare(&found, "circle: 17 files\ncircle: 5 files\ncircle: 5 files"), [""; 0]);
    assert_eq!(compare(&found, "circle: 17 files\ncircle: 5 files"), ["circle: 5 files; detail"]);
}

#[test]
fn the_list_is_sorted() {
    let list = "floors: a names b\ncircle: 17 files\nroot entries: 12";
    assert_eq!(compare(&found(), list), ["the list of exceptions is not sorted"]);
}
