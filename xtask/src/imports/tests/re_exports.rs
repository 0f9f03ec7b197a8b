//! Re-exports: paths are followed to the file with the definition.

use super::{arrows, find, violations};

#[test]
fn re_exports_are_followed_to_the_definition() {
    let files = [
        ("lib.rs", "mod a; pub mod b; pub use b::Thing as Top;"),
        ("a.rs", "use crate::b::{Thing, act}; use crate::Top; fn f() { crate::b::Renamed::new() }"),
        ("b/mod.rs", "mod c; mod d; pub use c::Thing; pub(crate) use c::deep::{act, Other as Renamed};"),
        ("b/c/mod.rs", "pub mod deep; pub struct Thing;"),
        ("b/c/deep.rs", "pub fn act() {} pub struct Other;"),
        ("b/d.rs", "use super::Thing;"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> b/c/deep.rs", "a.rs -> b/c/mod.rs", "b/d.rs -> b/c/mod.rs"]);
}

#[test]
fn a_mod_rs_with_only_re_exports_causes_no_cycle() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod one; mod two; mod three; pub use one::One; pub use two::Two; pub use three::Three;"),
        ("a/one.rs", "pub struct One;"),
        ("a/two.rs", "use super::One; pub struct Two(One);"),
        ("a/three.rs", "use crate::a::{One, Two}; pub struct Three(One, Two);"),
        ("b.rs", "use crate::a; fn f(_: a::Three) {}"),
    ];
    assert_eq!(arrows(&files), ["a/three.rs -> a/one.rs", "a/three.rs -> a/two.rs", "a/two.rs -> a/one.rs", "b.rs -> a/three.rs"]);
    assert_eq!(find(&files, "").unwrap().cycles, [0; 0]);
}

#[test]
fn a_re_export_that_is_also_used_is_a_dependency() {
    let files = [("lib.rs", "mod a;"), ("a/mod.rs", "mod one; pub use one::One; pub struct Two(One);"), ("a/one.rs", "pub struct One;")];
    assert_eq!(arrows(&files), ["a/mod.rs -> a/one.rs"]);
    let files = [("lib.rs", "mod a;"), ("a/mod.rs", "mod one; pub use one::make; fn f() { x.make } "), ("a/one.rs", "pub fn make() {}")];
    assert_eq!(arrows(&files), [""; 0]);
}

#[test]
fn a_glob_counts_only_for_names_that_are_used() {
    let (one, two) = (("b/one.rs", "pub struct One; pub fn act() {}"), ("b/two.rs", "pub struct Two;"));
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::*; fn f(_: One) {}"),
        ("b/mod.rs", "mod one; mod two; pub use {one::*, two::Two};"),
        one,
        two,
    ];
    assert_eq!(arrows(&files), ["a.rs -> b/one.rs"]);
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::Two; use crate::b::act;"),
        ("b/mod.rs", "mod one; mod two; pub use one::*; pub use two::*;"),
        one,
        two,
    ];
    assert_eq!(arrows(&files), ["a.rs -> b/one.rs", "a.rs -> b/two.rs"]);
}

#[test]
fn a_glob_may_import_the_variants_of_an_enum() {
    let files = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::Kind::*; fn f() { New }"), ("b.rs", "pub enum Kind { New }")];
    // The glob alone is a dependency on the enum, whichever variants are used.
    assert_eq!(arrows(&files), ["a.rs -> b.rs"]);
}

#[test]
fn private_imports_of_a_parent_are_followed() {
    let files =
        [("lib.rs", "mod a; mod b;"), ("a/mod.rs", "mod c; use crate::b::B;"), ("a/c.rs", "use super::B;"), ("b.rs", "pub struct B;")];
    assert_eq!(arrows(&files), ["a/c.rs -> b.rs", "a/mod.rs -> b.rs"]);
}

#[test]
fn cyclic_imports_terminate() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub use crate::b::X; pub use crate::b::*;"),
        ("b.rs", "pub use crate::a::X; pub use crate::a::*; fn f() { Y }"),
    ];
    assert_eq!(arrows(&files), [""; 0]);
}

#[test]
fn rules_apply_to_re_exports_and_definitions() {
    let files = [
        ("lib.rs", "pub mod low; pub mod middle; pub mod high;"),
        ("low.rs", "pub struct Low;"),
        ("middle.rs", "pub use crate::low::Low; pub use axum::Router;"),
        ("high.rs", "use crate::middle::{Low, Router};"),
    ];
    let rules = "[banned]\nhigh = ['axum']\n[floors]\nlib = []\nlow = []\nmiddle = ['low']\nhigh = ['low']";
    assert_eq!(violations(&files, rules, "floors"), ["floors: high.rs names crate::middle (middle.rs)"]);
    assert_eq!(violations(&files, rules, "banned"), ["banned: high.rs names axum"]);
}
