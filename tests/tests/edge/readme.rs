//! The walks of the documents, run verbatim by bash against the Worker: "Five minutes with the CLI" of the README, and the same with curl.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;
use tests::cli::Browser;
use tests::edge::EdgeApp;
use tests::output::Output;
use tests::wait::eventually;
use xtask::leash::{self, Leashed, StopBy};
use xtask::paths;

/// Printed before each block and after the last one. A block's output may lack a final newline.
const MARK: &str = "=== walk ===";

/// The URL of `cargo xtask dev`, which the test's edge cannot use.
const ADDRESS: &str = "http://localhost:8787";

/// The account that both walks create.
const EMAIL: &str = "you@example.com";
const PASSWORD: &str = "correct horse battery staple";

/// A stand-in for cargo, which would build into (and lock) the target folder of the tests.
const CARGO: &str = r#"#!/bin/sh
[ "$1 $2 $3 $4 $5" = "run -q --bin updraft-control --" ] || { echo "the walk runs cargo $*" >&2; exit 97; }
shift 5
exec "$(dirname "$0")/../target/debug/updraft-control" "$@"
"#;

/// The `sh` blocks of a section, in order.
fn blocks(file: &str, heading: &str) -> Vec<String> {
    let text = fs::read_to_string(paths::root().join(file)).unwrap();
    let (_, rest) = text.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("{file} has no section {heading}"));
    let section = rest.split("\n## ").next().unwrap();
    section.split("\n```sh\n").skip(1).map(|block| block.split_once("\n```\n").unwrap().0.to_owned()).collect()
}

/// The initial working folder: with the data folder of the test's server as `data`, both programs in `target/debug`, and the stand-ins in `bin`.
fn place(data: &Path) -> TempDir {
    let folder = TempDir::new().unwrap();
    symlink(data, folder.path().join("data")).unwrap();
    fs::create_dir_all(folder.path().join("target/debug")).unwrap();
    for (name, program) in [("updraft", tests::cli::program()), ("updraft-control", tests::program::program())] {
        symlink(program, folder.path().join("target/debug").join(name)).unwrap();
    }
    fs::create_dir(folder.path().join("bin")).unwrap();
    let cargo = folder.path().join("bin/cargo");
    fs::write(&cargo, CARGO).unwrap();
    fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Runs a section; returns its blocks, each with its output.
async fn walk(file: &str, heading: &str) -> Vec<(String, String)> {
    let blocks = blocks(file, heading);
    let app = EdgeApp::spawn().await;
    let folder = place(app.control.folder());
    let mark = format!("\necho '{MARK}'\n");
    let script = format!("{mark}{}{mark}", blocks.join(&mark));
    assert_eq!(script.matches(ADDRESS).count(), 1, "the section has the edge's address once");
    let script = script.replace(ADDRESS, &app.edge.base);

    let mut command = leash::command("bash", StopBy::Terminate);
    // Bash ignores errors by default.
    command.args(["-euo", "pipefail", "-c", &script]).current_dir(folder.path()).env_clear();
    command.envs(app.control.settings()).env_remove("UPDRAFT_DATA_DIR").env("HOME", folder.path());
    let browser = Browser::within(folder.path());
    command.env("UPDRAFT_BROWSER", &browser.program).env("UPDRAFT_CREDENTIAL_STORE", "file");
    let path = std::env::var_os("PATH").unwrap();
    let first = std::iter::once(folder.path().join("bin"));
    command.env("PATH", std::env::join_paths(first.chain(std::env::split_paths(&path))).unwrap());
    let output = Output::default();
    let lines = output.clone();
    let mut walk = Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap();

    let (signs_in, mut is_approved) = (script.contains("updraft login"), false);
    let printed = eventually("the end of the section", async || {
        if signs_in && !is_approved {
            browser.approve(&app.anonymous(), EMAIL, PASSWORD).await;
            is_approved = true;
        }
        let printed = output.lines().join("\n");
        // The status comes first: after it, only buffered output can follow.
        match walk.status() {
            Some(status) if !status.success() => panic!("bash exited with {status}: {printed}"),
            _ if printed.matches(MARK).count() > blocks.len() => Ok(printed),
            _ => Err(printed),
        }
    })
    .await;
    let steps = printed.split(MARK).skip(1).map(str::to_owned);
    blocks.into_iter().zip(steps).collect()
}

fn assert_prints(steps: &[(String, String)], expected: &[&[&str]]) {
    assert_eq!(steps.len(), expected.len(), "every block of the section is checked here");
    for ((block, printed), texts) in steps.iter().zip(expected) {
        for text in *texts {
            assert!(printed.contains(text), "{text} is missing after\n{block}\nwhose output was\n{printed}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_walk_of_the_readme_works_verbatim() {
    let steps = walk("README.md", "Five minutes with the CLI").await;
    assert_prints(&steps, &[&[], &["Signed in", EMAIL], &["Created the app demo."], &["v1"], &["v1"], &["v3", "Rollback", "v2", "v1"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_walk_with_curl_works_verbatim() {
    let steps = walk("docs/api.md", "Five minutes with curl").await;
    let expected: [&[&str]; 8] = [
        &[],
        &[r#""name":"demo""#],
        &[r#""label":"v1""#, r#""appVersion":"^1.0.0""#, r#""description":"first""#],
        &[r#""is_available":true"#, r#""label":"v1""#],
        &[r#"console.log("hello from v1");"#, r#"{"status":"ok"}"#],
        &[r#""installed":1"#],
        &[r#""rollout":10"#, r#""rollout":null"#, r#""is_available":true"#, r#""label":"v2""#],
        &[r#""releaseMethod":"Rollback""#, r#""originalLabel":"v1""#, r#""is_available":true"#, r#""label":"v3""#],
    ];
    assert_prints(&steps, &expected);
}
