//! Paths in all positions.

use super::{arrows, find};

const LIB: (&str, &str) = ("lib.rs", "pub mod a; pub mod b; pub mod c; pub mod d;");
const B: (&str, &str) = ("b.rs", "pub struct B; pub fn make() {} pub trait Make {}");
const C: (&str, &str) = ("c/mod.rs", "pub mod inner; pub struct C;");
const INNER: (&str, &str) = ("c/inner.rs", "pub fn act() {} pub struct Inner;");
const D: (&str, &str) = ("d.rs", "pub const D: u8 = 1;");

/// The files that `a.rs` depends on, given its text.
fn needs(text: &str) -> Vec<String> {
    let arrows = arrows(&[LIB, ("a.rs", text), B, C, INNER, D]);
    arrows.iter().filter_map(|arrow| arrow.strip_prefix("a.rs -> ")).map(str::to_owned).collect()
}

#[test]
fn module_declarations_are_not_dependencies() {
    assert_eq!(arrows(&[LIB, ("a.rs", ""), B, C, INNER, D]), [""; 0]);
}

#[test]
fn groups_are_expanded_and_renames_do_not_matter() {
    assert_eq!(needs("use crate::{b::{self, B as Other}, c::{inner::{Inner as _, act}, C}};"), ["b.rs", "c/inner.rs", "c/mod.rs"]);
    assert_eq!(needs("use super::{b::B, d::D as E};"), ["b.rs", "d.rs"]);
}

#[test]
fn a_path_through_an_imported_module_is_followed() {
    // No dependency on the module itself: `c/mod.rs` does not define `act`.
    assert_eq!(needs("use crate::c; fn f() { c::inner::act(); }"), ["c/inner.rs"]);
    assert_eq!(needs("use crate::c as other; fn f() { other::inner::act(); }"), ["c/inner.rs"]);
    assert_eq!(needs("use crate::c;"), [""; 0]);
}

#[test]
fn paths_in_code_are_found() {
    assert_eq!(needs("pub fn f(_: &crate::b::B) -> Vec<super::c::inner::Inner> { vec![] }"), ["b.rs", "c/inner.rs"]);
    assert_eq!(needs("fn f() { <crate::b::B as crate::d::D>::g() }"), ["b.rs", "d.rs"]);
    assert_eq!(needs("fn f() { Vec::<crate::b::B>::new() }"), ["b.rs"]);
    assert_eq!(needs("fn f() { crate::c::C::<crate::b::B>::new::<u8>() }"), ["b.rs", "c/mod.rs"]);
    assert_eq!(needs("pub(in crate::a) fn f<'b>(d: &'b u8) -> u8 { d.b + self::g() } fn g() {}"), [""; 0]);
}

#[test]
fn imports_in_functions_are_found() {
    assert_eq!(needs("fn f() { use crate::{b::B, d}; d::D }"), ["b.rs", "d.rs"]);
}

#[test]
fn macros_and_attributes_are_searched() {
    assert_eq!(needs("fn f() { println!(\"{}\", crate::d::D) }"), ["d.rs"]);
    assert_eq!(needs("thing! { use crate::{b::B, c::inner::{self, act}}; field: super::d::D }"), ["b.rs", "c/inner.rs", "d.rs"]);
    assert_eq!(needs("#[thing(path = crate::b::make)] struct A;"), ["b.rs"]);
    assert_eq!(needs("struct A { #[serde(default = \"crate::b::make\", skip_serializing_if = \"Option::is_none\")] field: u8 }"), ["b.rs"]);
    assert_eq!(needs("macro_rules! m { ($x:ident) => { $crate::c::inner::$x() + $crate::d::D } }"), ["d.rs"]);
}

#[test]
fn comments_and_strings_are_not_searched() {
    assert_eq!(needs("//! [`crate::b::B`]\n/// crate::c::C\nfn f() { \"crate::d::D\" } // crate::b::B"), [""; 0]);
}

#[test]
fn the_line_is_reported() {
    let files = [LIB, ("a.rs", "\n\nuse std::fmt;\nuse crate::b::{\n    B,\n};"), B, C, INNER, D];
    assert_eq!(find(&files, "").unwrap().arrows, ["a.rs -> b.rs (line 5: crate::b::B)"]);
}

#[test]
fn super_is_relative_to_its_module() {
    let deep = "use super::super::b::B; mod inline { use super::super::super::d::D; mod more { fn f() { super::super::super::C } } }";
    let files = [LIB, ("a.rs", ""), B, ("c/mod.rs", "pub mod inner; pub struct C;"), ("c/inner.rs", deep), D];
    assert_eq!(arrows(&files), ["c/inner.rs -> b.rs", "c/inner.rs -> c/mod.rs", "c/inner.rs -> d.rs"]);
}

#[test]
fn inline_modules_may_have_submodules_in_files() {
    let files = [
        ("lib.rs", "mod a { pub mod b; pub fn f() { b::g() } } mod c { use crate::a::b::g; }"),
        ("a/b.rs", "pub mod d; pub fn g() { d::h() }"),
        ("a/b/d.rs", "pub fn h() {}"),
    ];
    assert_eq!(arrows(&files), ["a/b.rs -> a/b/d.rs", "lib.rs -> a/b.rs"]);
}

#[test]
fn a_path_may_start_with_a_submodule() {
    let files = [("lib.rs", "mod c;"), ("c/mod.rs", "mod inner; fn f() { inner::act() } "), INNER];
    assert_eq!(arrows(&files), ["c/mod.rs -> c/inner.rs"]);
    let files = [("lib.rs", "mod c;"), ("c/mod.rs", "mod inner; use inner::act;"), INNER];
    assert_eq!(arrows(&files), ["c/mod.rs -> c/inner.rs"]);
}

#[test]
fn the_program_may_name_the_library() {
    let program =
        "mod own; use control::b::{self, B}; use control::{c, d::D}; fn main() { c::inner::act(); crate::own::start(); control::c::C }";
    let files = [LIB, ("a.rs", ""), B, C, INNER, D, ("main.rs", program), ("own.rs", "pub fn start() { super::main() }")];
    let expected = ["b.rs", "c/inner.rs", "c/mod.rs", "d.rs", "own.rs"].map(|to| format!("main.rs -> {to}"));
    assert_eq!(arrows(&files), expected.into_iter().chain(["own.rs -> main.rs".into()]).collect::<Vec<_>>());
}

#[test]
fn an_exported_macro_belongs_to_the_file_that_defines_it() {
    let files = [
        ("lib.rs", "mod a; mod db;"),
        ("a.rs", "fn f() { crate::on!(1); }"),
        ("db/mod.rs", "mod sql;"),
        ("db/sql.rs", "#[macro_export] macro_rules! on { ($x:expr) => { 1 } }"),
        ("main.rs", "use control::on;"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> db/sql.rs", "main.rs -> db/sql.rs"]);
}

#[test]
fn a_function_and_a_module_may_have_the_same_name() {
    let files = [
        ("lib.rs", "mod a; mod c;"),
        ("a.rs", "use crate::c::change; fn f() { change(); change::Kind::New }"),
        ("c/mod.rs", "pub mod change; mod service; pub use service::change;"),
        ("c/change.rs", "pub enum Kind { New }"),
        ("c/service.rs", "pub fn change() {}"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> c/change.rs", "a.rs -> c/service.rs"]);
}

#[test]
fn an_item_defined_by_a_macro_belongs_to_the_module_in_the_path() {
    let files = [LIB, ("a.rs", "use crate::b::Generated;"), ("b.rs", "generate! { Generated }"), C, INNER, D];
    assert_eq!(arrows(&files), ["a.rs -> b.rs"]);
}
