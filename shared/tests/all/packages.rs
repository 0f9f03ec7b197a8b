//! Manifests and package hashes match those that clients compute.

use proptest::prelude::*;
use shared::Invalid;
use shared::hash::Sha256Hex;
use shared::package::{Manifest, normalize_name};

fn manifest(files: &[(&str, &str)]) -> Manifest {
    let mut manifest = Manifest::new();
    for (name, contents) in files {
        manifest.insert(name, Sha256Hex::of(contents.as_bytes()));
    }
    manifest
}

const V1: (&str, &str) = ("CodePush/main.jsbundle", "console.log(\"v1\");\n");
const V2: (&str, &str) = ("CodePush/main.jsbundle", "console.log(\"v2\");\n");
const IMAGE: (&str, &str) = ("CodePush/assets/a.png", "PNGDATA");
const SIGNATURE: (&str, &str) = ("CodePush/.codepushrelease", "header.claims.signature");
const V2_HASH: &str = "c30e7b33d7e96775f8fa19604daac949e03e5134d5287f21571f6ba178931893";

#[test]
fn hashes_equal_the_published_ones() {
    let cases: [(&[(&str, &str)], &str); 8] = [
        (&[V1, IMAGE], "e969abcffffbdb76a4136e96f7eec3d7051ee65f86d8d762bfb6caf044247cd5"),
        (&[V2, IMAGE], V2_HASH),
        (&[V2, IMAGE, SIGNATURE, ("CodePush/.DS_Store", "x"), (".DS_Store", "x"), ("__MACOSX/CodePush/x", "x")], V2_HASH),
        (&[V1, IMAGE, ("CodePush/assets/gone.png", "OLD")], "6f6a1a81e5d6dcfb0517bb67e75a05502db3af884eb114b23ee8fe2ecd9cd032"),
        (&[V2, IMAGE, ("CodePush/assets/new.png", "NEW")], "9c9506dab906c8a4d79749e81cb479d29e7aab1723154ceb0f62408fddc18df2"),
        (&[("CodePush/main.jsbundle", "A\n")], "a3c3d6949602b2e600dd10ef44e3b042ff095bfd5b589b2cc221180abd215a6d"),
        (&[("CodePush/main.jsbundle", "A\n"), ("CodePush/", "")], "a3c3d6949602b2e600dd10ef44e3b042ff095bfd5b589b2cc221180abd215a6d"),
        (&[("CodePush/assets/ü 图.png", "X"), ("CodePush/a\"b", "Y")], "9bc6462b9734ede878056c647ca3d41750e803ef5e3dcc6d92a80723916a16af"),
    ];
    for (files, expected) in cases {
        assert_eq!(manifest(files).package_hash().as_str(), expected, "{files:?}");
    }
}

#[test]
fn single_files_and_package_files_hash_by_their_bytes() {
    assert_eq!(Sha256Hex::of(b"v4\n").as_str(), "e37ea1753db1b5df392e1cd344303873a97bc863d7371ad5f388e01ec5071e6a");
    let manifest = manifest(&[V2, IMAGE]);
    let hash = |name| manifest.get(name).unwrap().as_str();
    assert_eq!(hash("CodePush/main.jsbundle"), "ab65ef1c25170af99edb6e1654132bd16df929092866a9ea17a77d9d3e3706cf");
    assert_eq!(hash("CodePush/assets/a.png"), "2d4566582844690f8634a8b2534ea5221560038c6c0650c99140759bad603ae2");
}

/// The expected hash, from hand-sorted lines.
fn hash_of_lines(lines: &[&str], contents: &str) -> Sha256Hex {
    let hash = Sha256Hex::of(contents.as_bytes());
    let lines: Vec<String> = lines.iter().map(|line| format!("\"{line}:{hash}\"")).collect();
    Sha256Hex::of(format!("[{}]", lines.join(",")).as_bytes())
}

#[test]
fn whole_lines_are_sorted_by_utf16_code_units() {
    let names = ["CodePush/a/b", "CodePush/a.js", "CodePush/a.js.map", "CodePush/_", "CodePush/A"];
    let sorted = ["CodePush/A", "CodePush/_", "CodePush/a.js.map", "CodePush/a.js", "CodePush/a/b"];
    let files: Vec<_> = names.iter().map(|name| (*name, "same")).collect();
    assert_eq!(manifest(&files).package_hash(), hash_of_lines(&sorted, "same"));
    // U+FF5E comes after U+1F600 in UTF-16, where the latter starts with D83D, but before it in UTF-8.
    let files = [("\u{ff5e}", "same"), ("\u{1f600}", "same")];
    assert_eq!(manifest(&files).package_hash(), hash_of_lines(&["\u{1f600}", "\u{ff5e}"], "same"));
}

#[test]
fn names_are_escaped_as_javascript_does() {
    let cases = [
        ("\u{8}\u{9}\u{a}\u{c}\u{d}", r"\b\t\n\f\r"),
        ("\u{0}\u{1}\u{b}\u{1f}", r"\u0000\u0001\u000b\u001f"),
        ("\u{7f}\u{2028}\u{2029}", "\u{7f}\u{2028}\u{2029}"),
        ("a\"b/c", r#"a\"b/c"#),
        ("é\u{1f600}", "é\u{1f600}"),
    ];
    for (name, escaped) in cases {
        assert_eq!(manifest(&[(name, "x")]).package_hash(), hash_of_lines(&[escaped], "x"), "{name:?}");
    }
}

#[test]
fn the_manifest_excludes_files_that_clients_never_see() {
    let mut manifest = Manifest::new();
    let hash = Sha256Hex::of(b"");
    for ignored in ["CodePush/", "a\\", "__MACOSX/a", "__MACOSX\\a", ".DS_Store", "a/.DS_Store", "a\\.DS_Store"] {
        assert!(!manifest.insert(ignored, hash.clone()), "{ignored}");
    }
    assert!(manifest.is_empty());
    for kept in ["a\\b", "a.DS_Store", ".DS_Store2", "a/__MACOSX/b", "CodePush/.codepushrelease"] {
        assert!(manifest.insert(kept, hash.clone()), "{kept}");
    }
    assert_eq!(manifest.len(), 5);
    assert!(manifest.get("a/b").is_some());
    assert_eq!(normalize_name("a\\b\\c"), "a/b/c");
}

#[test]
fn the_stored_form_is_an_object_from_name_to_hash() -> Result<(), Invalid> {
    let manifest = manifest(&[("b", "2"), ("a", "1"), SIGNATURE]);
    let hash = |text: &str| Sha256Hex::of(text.as_bytes());
    let expected =
        format!(r#"{{"CodePush/.codepushrelease":"{}","a":"{}","b":"{}"}}"#, hash("header.claims.signature"), hash("1"), hash("2"));
    assert_eq!(manifest.to_json(), expected);
    assert_eq!(Manifest::from_json(expected.as_bytes())?, manifest);
    for wrong in ["", "[]", r#"{"a":1}"#, r#"{"a":"ABC"}"#] {
        assert!(Manifest::from_json(wrong.as_bytes()).is_err(), "{wrong}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_manifest_survives_a_round_trip(files: Vec<(String, Vec<u8>)>) {
        let mut manifest = Manifest::new();
        for (name, contents) in &files {
            manifest.insert(name, Sha256Hex::of(contents));
        }
        let read = Manifest::from_json(manifest.to_json().as_bytes()).unwrap();
        prop_assert_eq!(read.package_hash(), manifest.package_hash());
        prop_assert_eq!(read, manifest);
    }
}
