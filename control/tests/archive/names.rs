//! Names that a client could not unpack, or only to somewhere else.

use crate::writer::{Entry, deflated, directory, extra_field, zip};
use crate::{inspect_bytes, refusal};

#[track_caller]
fn assert_refused(name: &str, why: &str) {
    for entry in [deflated(name, b"x"), directory(&format!("{name}/"))] {
        let shown = String::from_utf8(entry.central.name.clone()).unwrap();
        let message = refusal(&zip([deflated("CodePush/main.jsbundle", b"A"), entry]));
        assert_eq!(message, format!("entry {shown:?}: {why}"));
    }
}

#[test]
fn a_path_out_of_the_archive_is_refused() {
    for name in ["../x", "..", "CodePush/../x", "CodePush/..", "CodePush\\..\\x", "a/..\\x", "..\\x"] {
        assert_refused(name, "the path leaves the archive");
    }
    assert!(inspect_bytes(&zip([deflated("a/..b/...", b"x")])).is_ok());
}

#[test]
fn an_absolute_path_is_refused() {
    for name in ["/etc/passwd", "\\windows", "\\\\server\\share", "//x"] {
        assert_refused(name, "the path is absolute");
    }
}

#[test]
fn a_drive_is_refused() {
    for name in ["C:/x", "c:x", "C:\\x", "z:"] {
        assert_refused(name, "the path names a drive");
    }
    assert!(inspect_bytes(&zip([deflated("CodePush/c:x", b"x")])).is_ok());
}

#[test]
fn a_nul_character_is_refused() {
    assert_refused("CodePush/a\0.png", "the name contains a NUL character");
}

#[test]
fn empty_segments_and_dots_are_refused() {
    for name in ["a//b", "./a", "a/./b", "a/.", "a\\\\b", "a\\.\\b", "."] {
        assert_refused(name, "the path has an empty segment or \".\"");
    }
    assert_eq!(refusal(&zip([deflated("a//", b"")])), "entry \"a//\": the path has an empty segment or \".\"");
}

#[test]
fn an_empty_name_is_refused() {
    assert_eq!(refusal(&zip([deflated("", b"x")])), "entry \"\": the name is empty");
}

#[test]
fn a_backslash_at_the_end_is_refused() {
    // A directory for some readers, a file for others.
    assert_eq!(refusal(&zip([deflated("a\\", b"")])), "entry \"a\\\\\": the path ends with a backslash");
}

#[test]
fn too_long_paths_are_refused() {
    assert_refused(&"a/b".repeat(65), "the path is more than 64 segments deep");
    // The message does not repeat the whole of it.
    for (name, why) in [
        (vec!["a".repeat(200); 6].join("/"), "the path is longer than 1,024 bytes"),
        ("a".repeat(256), "a segment of the path is longer than 255 bytes"),
    ] {
        assert_eq!(refusal(&zip([deflated(&name, b"x")])), format!("entry \"{}…\": {why}", &name[..200]));
    }
    let longest = vec!["a".repeat(255); 4].join("/");
    assert!(inspect_bytes(&zip([deflated(&longest, b"x")])).is_ok());
}

#[test]
fn the_marker_of_a_diff_is_refused() {
    assert_refused("hotcodepush.json", "clients would take the archive for a diff");
    assert!(inspect_bytes(&zip([deflated("CodePush/hotcodepush.json", b"{}")])).is_ok());
}

#[test]
fn names_that_are_not_text_are_refused() {
    let with_flag = deflated("", b"x").with(|header| (header.name, header.flags) = (b"a\xff".to_vec(), 0x800));
    assert_eq!(refusal(&zip([with_flag])), "entry \"a\u{fffd}\": the name is not UTF-8");
    let without_flag = deflated("", b"x").with(|header| header.name = b"a\xff".to_vec());
    assert_eq!(refusal(&zip([without_flag])), "entry \"a\u{fffd}\": the name is not UTF-8");
}

#[test]
fn names_whose_encoding_is_not_said_are_refused() {
    let message = refusal(&zip([deflated("ü", b"x").with(|header| header.flags = 0)]));
    assert_eq!(message, "entry \"ü\": the name is not ASCII and not marked as UTF-8, so that clients would read it differently");
}

#[test]
fn a_second_name_in_an_extra_field_is_refused() {
    let other = extra_field(0x7075, b"\x01\0\0\0\0other");
    for other in [other, extra_field(0x7075, b"\x01")] {
        let (mut in_directory, in_both) = (deflated("a", b"x"), deflated("a", b"x").with(|header| header.extra = other.clone()));
        in_directory.central.extra = other.clone();
        let in_local = deflated("a", b"x").local(|header| header.extra = other.clone());
        for entry in [in_directory, in_both, in_local] {
            assert_eq!(refusal(&zip([entry])), "entry \"a\": it has a second, different name in its extra field");
        }
    }
}

#[track_caller]
fn assert_clash(first: Entry, second: Entry) {
    for pair in [[first.clone(), second.clone()], [second, first]] {
        let message = refusal(&zip(pair));
        assert!(message.contains("some clients cannot tell its name from that of entry "), "{message}");
    }
}

#[test]
fn names_that_some_client_would_take_for_one_are_refused() {
    for (first, second) in [
        ("a/b", "a/b"),
        ("a/b", "a\\b"),
        ("CodePush/A.png", "codepush/a.PNG"),
        ("a/\u{fc}", "a/u\u{308}"),
        ("\u{dc}", "u\u{308}"),
        ("stra\u{df}e", "STRASSE"),
        ("\u{3a3}", "\u{3c2}"),
        ("\u{212b}", "\u{e5}"),
    ] {
        assert_clash(deflated(first, b"x"), deflated(second, b"x"));
    }
    assert_clash(deflated("a", b"x"), directory("a/"));
    assert_clash(directory("a/"), directory("A/"));
}

#[test]
fn a_file_inside_of_a_file_is_refused() {
    // What sorts between `a` and `a/b` must not hide it.
    let [file, between, inside] = ["a/b", "a/b-c", "A\\B/c/d"].map(|name| deflated(name, b"x"));
    let message = refusal(&zip([inside, between.clone(), file.clone()]));
    assert_eq!(message, "entry \"A\\\\B/c/d\": it is inside of entry \"a/b\", which is a file");
    let message = refusal(&zip([file, between, directory("a/b/c/")]));
    assert_eq!(message, "entry \"a/b/c/\": it is inside of entry \"a/b\", which is a file");
}

#[test]
fn names_that_only_begin_alike_are_good() {
    let names = ["a", "a.b", "a-", "ab/c", "ab/cd", "ab/c d"].map(|name| deflated(name, b"x"));
    assert!(inspect_bytes(&zip(names)).is_ok());
}
