//! Which code is ignored, and which files are read.

use super::{arrows, find};

const B: (&str, &str) = ("b.rs", "pub struct B; pub fn make() {}");

fn needs_b(text: &str) -> bool {
    !arrows(&[("lib.rs", "mod a; mod b;"), ("a.rs", text), B]).is_empty()
}

#[test]
fn test_only_code_is_ignored() {
    assert!(!needs_b("#[cfg(test)] mod tests { use crate::b::B; }"));
    assert!(!needs_b("#[cfg(test)] use crate::b::B;"));
    assert!(!needs_b("#[cfg(all(unix, test))] fn f() { crate::b::make() }"));
    assert!(!needs_b("impl A { #[cfg(test)] fn f() { crate::b::make() } }"));
    assert!(!needs_b("trait A { #[cfg(test)] fn f() { crate::b::make() } }"));
    assert!(!needs_b("struct A { #[cfg(test)] field: crate::b::B }"));
    assert!(!needs_b("fn f() { #[cfg(test)] let x = crate::b::make(); #[cfg(test)] { crate::b::make(); } }"));
    assert!(!needs_b("#![cfg(test)] use crate::b::B;"));
    let files = [("lib.rs", "mod a; mod b;"), ("a/mod.rs", "#[cfg(test)] mod tests;"), ("a/tests.rs", "use crate::b::B;"), B];
    assert_eq!(arrows(&files), [""; 0]);
    assert_eq!(find(&files, "").unwrap().others, ["a/tests.rs"]);
}

#[test]
fn code_that_is_not_test_only_is_included() {
    assert!(needs_b("#[cfg(not(test))] use crate::b::B;"));
    assert!(needs_b("#[cfg(any(test, unix))] use crate::b::B;"));
    assert!(needs_b("#[cfg(feature = \"test\")] use crate::b::B;"));
    assert!(needs_b("impl A { #[cfg(unix)] fn f() { crate::b::make() } }"));
    assert!(needs_b("#[cfg(test)] mod tests {} fn f() { crate::b::make() }"));
}

#[test]
fn a_module_may_have_two_variants() {
    let files =
        [("lib.rs", "#[cfg(unix)] mod a { use crate::b::B; } #[cfg(not(unix))] mod a { use crate::c::C; } mod b; mod c;"), B, ("c.rs", "")];
    assert_eq!(arrows(&files), ["lib.rs -> b.rs", "lib.rs -> c.rs"]);
}

#[test]
fn a_module_may_set_the_path_of_its_file() {
    let files = [("lib.rs", "mod b; #[path = \"x/other.rs\"] mod a;"), ("x/other.rs", "mod c;"), ("x/c.rs", "use crate::b::B;"), B];
    assert_eq!(arrows(&files), ["x/c.rs -> b.rs"]);
}

#[test]
fn a_raw_identifier_equals_its_plain_name() {
    let files = [
        ("lib.rs", "mod a; mod r#type;"),
        ("a.rs", "use crate::r#type::T; fn f() { crate::r#type::r#fn() }"),
        ("type.rs", "pub struct T;"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> type.rs"]);
}

#[test]
fn a_missing_or_invalid_file_is_reported() {
    let failure = find(&[("lib.rs", "mod a;"), ("a/mod.rs", "mod missing;")], "").unwrap_err().to_string();
    assert!(failure.contains("a/mod.rs") && failure.contains("missing"), "{failure}");
    let failure = find(&[("lib.rs", "mod a;"), ("a.rs", "\nfn {")], "").unwrap_err().to_string();
    assert!(failure.starts_with("a.rs:2: "), "{failure}");
}
