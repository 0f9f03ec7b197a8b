//! Plants wrong phrases in copies of real files, and wrong rules. The prose check skips this file.

use std::{fs, path::Path};

use serde_json::Value;
use xtask::paths;

use super::command;

/// Checks a folder with these rules: whether it passes, and the printed lines without the count.
fn lint(folder: &Path, rules: Option<&Path>) -> (bool, Vec<String>) {
    let output = command(&paths::root()).unwrap().arg(folder).args(rules).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<_> = printed.lines().map(str::to_owned).collect();
    assert!(lines.pop().is_some(), "nothing printed: {}", String::from_utf8_lossy(&output.stderr));
    (output.status.success(), lines)
}

/// Copies a file of the repository and appends a text. Returns the number of the first appended line.
fn plant(folder: &Path, file: &str, text: &str) -> usize {
    let original = fs::read_to_string(paths::root().join(file)).unwrap();
    let copy = folder.join(file);
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::write(copy, format!("{original}{text}\n")).unwrap();
    original.lines().count() + 1
}

#[test]
fn a_planted_phrase_fails_with_its_file_line_and_replacement() {
    let folder = tempfile::tempdir().unwrap();
    // One of each kind of text: a script, comments, strings, a page, an email, documentation, refusals, and the snapshots of emails, `--help` and the
    // API reference. Each has one wrong phrase; code, code spans and literals of one word have none.
    let planted = [
        ("control/assets/dashboard/decide.js", "// The button, by itself."),
        ("control/src/domain/deployments/mod.rs", "// The key counts\n// for nothing. See `entropy`.\nlet entropy = \"entropy\";"),
        (
            "control/src/domain/keys/api_keys.rs",
            "/* 'a' */ fn a<'a>() -> (&'a str, char) { (r#\"The \"old\" code is worth nothing.\"#, '\"') }",
        ),
        ("control/templates/dashboard/keys.html", "<p title=\"An e-mail\">{{ key }} <code>entropy</code></p>"),
        ("control/templates/mail/content.txt", "Older links are void."),
        ("docs/contributing.md", "\nWhoever `reads` this.\n\n```\nwhoever\n```"),
        ("tests/refusals.txt", "400 {\"error\":\"the link is valid until tomorrow\"}"),
        ("tests/tests/service/mail/snapshots/service__mail__words__mails.snap", "This link is too old."),
        ("tests/tests/service/snapshots/service__program__help.snap", "  --key <KEY>  The key\n               to paste"),
        ("tests/tests/service/v1/snapshots/service__v1__docs__openapi.snap", "\"description\": \"What strangers can do.\""),
    ];
    let lines: Vec<_> = planted.iter().map(|(file, text)| plant(folder.path(), file, text)).collect();
    // The line of the phrase within what was appended, and the finding.
    let expected = [
        (0, "\"by itself\": say \"on its own\", or \"expires\" (rule by-itself)"),
        (0, "\"counts for nothing\": say \"is not counted\", \"no longer works\" (rule for-nothing)"),
        (0, "\"is worth nothing\": say \"no longer works\" (rule worth-nothing)"),
        (0, "\"e-mail\": say \"email\" (rule e-mail)"),
        (0, "\"links are void\": say \"no longer works\" (rule void)"),
        (1, "\"Whoever\": say \"anyone who\", or name the person (rule whoever)"),
        (0, "\"valid until\": say \"expires on\" (rule valid-until)"),
        (0, "\"link is too old\": say \"expired\" (rule link-too-old)"),
        (0, "\"key to paste\": say \"access key for older CLIs\" (rule key-to-paste)"),
        (0, "\"strangers\": say \"unauthenticated requests\", \"other people\" (rule strangers)"),
    ];
    let place = planted.iter().zip(lines);
    let expected: Vec<_> =
        place.zip(expected).map(|(((file, _), line), (offset, finding))| format!("{file}:{}: {finding}", line + offset)).collect();
    let (passes, found) = lint(folder.path(), None);
    assert!(!passes);
    assert_eq!(found, expected);
}

#[test]
fn a_folder_without_wrong_phrases_passes_and_one_without_files_does_not() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!lint(folder.path(), None).0);
    plant(folder.path(), "README.md", "");
    assert_eq!(lint(folder.path(), None), (true, Vec::new()));
}

#[test]
fn a_rule_that_misses_its_example_or_finds_its_counter_example_fails() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), "README.md", "");
    let text = fs::read_to_string(paths::root().join("xtask/prose/rules.json")).unwrap();
    let mut rules: Value = serde_json::from_str(&text).unwrap();
    let rule = &mut rules["rules"][0];
    let (found, allowed) = (rule["found"].take(), rule["allowed"].take());
    (rule["found"], rule["allowed"]) = (allowed, found);
    let file = folder.path().join("rules.json");
    fs::write(&file, rules.to_string()).unwrap();
    let (passes, lines) = lint(folder.path(), Some(&file));
    assert!(!passes);
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("rule whoever: does not find its example"), "{}", lines[0]);
    assert!(lines[1].starts_with("rule whoever: its counter-example"), "{}", lines[1]);
}
