//! Names that a device could not unpack, or only to another place.

use crate::writer::{Entry, deflated, directory, extra_field, zip};
use crate::{inspect_bytes, refusal};

/// What to do about an archive that was created from outside its folder.
const REMEDY: &str = "create the archive again beside the folder, with relative paths: zip -r bundle.zip FOLDER";

#[track_caller]
fn assert_refused(name: &str, why: &str) {
    for entry in [deflated(name, b"x"), directory(&format!("{name}/"))] {
        let shown = String::from_utf8(entry.central.name.clone()).unwrap();
        let message = refusal(&zip([deflated("CodePush/main.jsbundle", b"A"), entry]));
        assert_eq!(message, format!("entry {shown:?}: {why}"));
    }
}

#[test]
fn path_traversal_is_refused() {
    for name in ["../x", "..", "CodePush/../x", "CodePush/..", "CodePush\\..\\x", "a/..\\x", "..\\x"] {
        assert_refused(name, &format!("the path leaves the archive; {REMEDY}"));
    }
    assert!(inspect_bytes(&zip([deflated("a/..b/...", b"x")])).is_ok());
}

#[test]
fn an_absolute_path_is_refused() {
    for name in ["/etc/passwd", "\\windows", "\\\\server\\share", "//x"] {
        assert_refused(name, &format!("the path is absolute; {REMEDY}"));
    }
}

#[test]
fn a_drive_letter_is_refused() {
    for name in ["C:/x", "c:x", "C:\\x", "z:"] {
        assert_refused(name, &format!("the path names a drive; {REMEDY}"));
    }
    assert!(inspect_bytes(&zip([deflated("CodePush/c:x", b"x")])).is_ok());
}

#[test]
fn a_nul_character_is_refused() {
    assert_refused("CodePush/a\0.png", "the name contains a NUL character; rename the file");
}

#[test]
fn empty_segments_and_dots_are_refused() {
    for name in ["a//b", "./a", "a/./b", "a/.", "a\\\\b", "a\\.\\b", "."] {
        assert_refused(name, &format!("the path has an empty segment or \".\"; {REMEDY}"));
    }
    let message = refusal(&zip([deflated("a//", b"")]));
    assert_eq!(message, format!("entry \"a//\": the path has an empty segment or \".\"; {REMEDY}"));
}

#[test]
fn an_empty_name_is_refused() {
    assert_eq!(
        refusal(&zip([deflated("", b"x")])),
        "entry \"\": the name is empty; create the archive again, for example with: zip -r bundle.zip FOLDER"
    );
}

#[test]
fn a_backslash_at_the_end_is_refused() {
    // Some readers treat it as a directory, others as a file.
    let why = "the path ends with a backslash; create the archive with a tool that writes forward slashes, such as zip -r or 7z a";
    assert_eq!(refusal(&zip([deflated("a\\", b"")])), format!("entry \"a\\\\\": {why}"));
}

#[test]
fn too_long_paths_are_refused() {
    assert_refused(&"a/b".repeat(65), "the path is more than 64 folders deep; move its files up");
    // The message truncates the name.
    for (name, why) in [
        (vec!["a".repeat(200); 6].join("/"), "the path is longer than 1,024 bytes; shorten its folders' names"),
        ("a".repeat(256), "a name in the path is longer than 255 bytes; shorten it"),
    ] {
        assert_eq!(refusal(&zip([deflated(&name, b"x")])), format!("entry \"{}…\": {why}", &name[..200]));
    }
    let longest = vec!["a".repeat(255); 4].join("/");
    assert!(inspect_bytes(&zip([deflated(&longest, b"x")])).is_ok());
}

#[test]
fn the_marker_of_a_diff_is_refused() {
    assert_refused("hotcodepush.json", "devices would take the archive for a diff; rename this file");
    assert!(inspect_bytes(&zip([deflated("CodePush/hotcodepush.json", b"{}")])).is_ok());
}

#[test]
fn files_that_devices_do_not_verify_are_refused() {
    let macos = "devices do not verify files in __MACOSX; remove it from the archive, for example with: zip -d bundle.zip '__MACOSX/*'";
    for name in
        ["__MACOSX/main.jsbundle", "__MACOSX\\main.jsbundle", "__MACOSX/CodePush/._a/main.jsbundle", "__macosx/x", "__MACO\u{17f}X/x"]
    {
        let message = refusal(&zip([deflated("CodePush/main.jsbundle", b"A"), deflated(name, b"x")]));
        assert_eq!(message, format!("entry {name:?}: {macos}"));
    }
    for folder in [".DS_Store", ".codepushrelease"] {
        let why = format!("devices do not verify files in a folder {folder}; remove the folder or rename it");
        for name in [
            format!("{folder}/a"),
            format!("CodePush\\{folder}\\a"),
            format!("a/{}/b/a", folder.to_uppercase()),
            format!("__MACOSX/{folder}/._a"),
        ] {
            let message = refusal(&zip([deflated("CodePush/main.jsbundle", b"A"), deflated(&name, b"x")]));
            assert_eq!(message, format!("entry {name:?}: {why}"));
        }
    }
    // What macOS writes, folders without files, and names that devices verify.
    let names = [
        "__MACOSX/._CodePush",
        "__MACOSX/CodePush/._main.jsbundle",
        "__MACOSX/.DS_Store",
        "CodePush/.DS_Store",
        "a/__MACOSX/b",
        "__MACOSX2/a",
    ];
    let others = names.map(|name| deflated(name, b"x")).into_iter().chain([directory("__MACOSX/a/"), directory("a/.DS_Store/")]);
    for other in others {
        assert!(inspect_bytes(&zip([deflated("CodePush/main.jsbundle", b"A"), other])).is_ok());
    }
}

#[test]
fn names_that_are_not_text_are_refused() {
    const NOT_UTF8: &str = "entry \"a\u{fffd}\": the name is not UTF-8; create the archive with a tool that writes UTF-8 names, \
        such as zip -r or 7z a -mcu=on";
    let with_flag = deflated("", b"x").with(|header| (header.name, header.flags) = (b"a\xff".to_vec(), 0x800));
    assert_eq!(refusal(&zip([with_flag])), NOT_UTF8);
    let without_flag = deflated("", b"x").with(|header| header.name = b"a\xff".to_vec());
    assert_eq!(refusal(&zip([without_flag])), NOT_UTF8);
}

#[test]
fn names_with_an_undeclared_encoding_are_refused() {
    let message = refusal(&zip([deflated("ü", b"x").with(|header| header.flags = 0)]));
    let why = "the name is not ASCII and not marked as UTF-8, so devices would read it differently; create the archive with a tool that \
        marks UTF-8 names, such as zip -r or 7z a -mcu=on";
    assert_eq!(message, format!("entry \"ü\": {why}"));
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
        assert!(message.contains("some devices cannot tell its name from that of entry "), "{message}");
    }
}

#[test]
fn names_that_some_clients_treat_as_equal_are_refused() {
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
fn a_file_inside_a_file_is_refused() {
    // A name that sorts between `a` and `a/b` must not hide the conflict.
    let [file, between, inside] = ["a/b", "a/b-c", "A\\B/c/d"].map(|name| deflated(name, b"x"));
    let message = refusal(&zip([inside, between.clone(), file.clone()]));
    assert_eq!(message, "entry \"A\\\\B/c/d\": it is inside entry \"a/b\", which is a file; rename one of them");
    let message = refusal(&zip([file, between, directory("a/b/c/")]));
    assert_eq!(message, "entry \"a/b/c/\": it is inside entry \"a/b\", which is a file; rename one of them");
}

#[test]
fn names_with_a_common_prefix_are_accepted() {
    let names = ["a", "a.b", "a-", "ab/c", "ab/cd", "ab/c d"].map(|name| deflated(name, b"x"));
    assert!(inspect_bytes(&zip(names)).is_ok());
}
