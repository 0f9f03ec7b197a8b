//! `release react-native` and `release expo`: real projects with their own bundlers and Hermes compilers, and projects in which something is missing.

mod base;
mod errors;
mod interrupts;
mod keys;
mod limits;
mod reference;
mod releases;

use std::path::PathBuf;

use serde_json::Value;
use tests::{Cli, Client, TestApp};
use xtask::paths;

/// The first bytes of Hermes bytecode.
const MAGIC: [u8; 8] = [0xc6, 0x1f, 0xbc, 0x03, 0xc1, 0x03, 0x19, 0x1f];

/// A project of the tests, with its packages.
fn project(name: &str) -> PathBuf {
    let project = paths::project(&paths::root(), name).unwrap();
    assert!(project.join(paths::PROJECT_STAMP).is_file(), "{name} is not installed: run `cargo xtask test NAME` once");
    project
}

/// A user of the CLI with the Node.js of the tests. Bundlers write to its home folder only, and have no network to ask.
fn with_tools(cli: Cli) -> Cli {
    let node = paths::node(&paths::root()).unwrap();
    let path = paths::path_with(&node).unwrap().into_string().unwrap();
    let temporary = cli.home().join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let cli = cli.with("PATH", &path).with("TMPDIR", temporary.to_str().unwrap());
    cli.with("CI", "1").with("EXPO_NO_TELEMETRY", "1").with("EXPO_OFFLINE", "1")
}

/// A user with a credential of this client.
fn user(app: &TestApp, client: &Client) -> Cli {
    with_tools(Cli::with_token(&app.base, client.token()).with("UPDRAFT_DEPLOYMENT", "Production"))
}

/// The files of a release's package, by name, as a device downloads it.
async fn files(app: &TestApp, release: &Value) -> Vec<(String, Vec<u8>)> {
    let url = release["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap().to_owned();
    let bytes = app.anonymous().get(&url).await.body;
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut content).unwrap();
        files.push((file.name().unwrap().into_owned(), content));
    }
    files.sort_unstable();
    files
}
