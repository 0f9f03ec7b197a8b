//! The README's "Five minutes with curl", run verbatim by bash against the Worker.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tests::edge::EdgeApp;
use tests::output::Output;
use tests::wait::eventually;
use xtask::leash::{self, Leashed, StopBy};
use xtask::paths;

/// Printed before each block and after the last one. A block's output may lack a final newline.
const MARK: &str = "=== walk ===";

/// The URL of `cargo xtask dev`, which the test's edge cannot use.
const ADDRESS: &str = "EDGE=http://localhost:8787";

/// A stand-in for cargo, which would build into (and lock) the target folder of the tests.
const CARGO: &str = r#"#!/bin/sh
[ "$1 $2 $3 $4 $5" = "run -q --bin updraft-control --" ] || { echo "the walk runs cargo $*" >&2; exit 97; }
shift 5
exec "$UPDRAFT_CONTROL" "$@"
"#;

/// The program next to the test binary.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("updraft-control");
    assert!(program.is_file(), "{} is missing: run `cargo build --package control`", program.display());
    program
}

/// The `sh` blocks of the README section, in order.
fn blocks() -> Vec<String> {
    let readme = fs::read_to_string(paths::root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("\n## Five minutes with curl\n").unwrap();
    let section = rest.split("\n## ").next().unwrap();
    section.split("\n```sh\n").skip(1).map(|block| block.split_once("\n```\n").unwrap().0.to_owned()).collect()
}

/// The initial working folder: with the data folder of the test's server as `data`, and the stand-in for cargo in `bin`.
fn place(data: &Path) -> TempDir {
    let folder = TempDir::new().unwrap();
    symlink(data, folder.path().join("data")).unwrap();
    let cargo = folder.path().join("bin/cargo");
    fs::create_dir(folder.path().join("bin")).unwrap();
    fs::write(&cargo, CARGO).unwrap();
    fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_curl_walkthrough_works_verbatim() {
    let blocks = blocks();
    let app = EdgeApp::spawn().await;
    let folder = place(app.control.folder());
    let mark = format!("\necho '{MARK}'\n");
    let script = format!("{mark}{}{mark}", blocks.join(&mark));
    assert_eq!(script.matches(ADDRESS).count(), 1, "the section has the edge's address once");
    let script = script.replace(ADDRESS, &format!("EDGE={}", app.edge.base));

    let mut command = leash::command("bash", StopBy::Terminate);
    // Bash ignores errors by default.
    command.args(["-euo", "pipefail", "-c", &script]).current_dir(folder.path()).env_clear();
    command.envs(app.control.settings()).env_remove("UPDRAFT_DATA_DIR").env("UPDRAFT_CONTROL", program());
    let path = std::env::var_os("PATH").unwrap();
    let first = std::iter::once(folder.path().join("bin"));
    command.env("PATH", std::env::join_paths(first.chain(std::env::split_paths(&path))).unwrap());
    let output = Output::default();
    let lines = output.clone();
    let mut walk = Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap();

    let printed = eventually("the end of the section", async || {
        let printed = output.lines().join("\n");
        // The status comes first: after it, only buffered output can follow.
        match walk.status() {
            Some(status) if !status.success() => panic!("bash exited with {status}: {printed}"),
            _ if printed.matches(MARK).count() > blocks.len() => Ok(printed),
            _ => Err(printed),
        }
    })
    .await;

    let steps: Vec<&str> = printed.split(MARK).skip(1).collect();
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
    assert_eq!(blocks.len(), expected.len(), "every block of the section is checked here");
    for ((step, block), texts) in steps.iter().zip(&blocks).zip(expected) {
        for text in texts {
            assert!(step.contains(text), "{text} is missing after\n{block}\nwhose output was\n{step}\nof all of\n{printed}");
        }
    }
}
