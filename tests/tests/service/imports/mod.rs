//! `updraft-control import`: apps from another server, and the comparison with it, through the real program, beside a running control plane.

mod api;
mod bounded;
mod by_owner;
mod compare;
mod first_time;
mod going_back;
mod killed;
mod reference;
mod refused;
mod repeated;
mod second_updraft;

use std::io::{Cursor, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use tests::old_server::OldServer;
use tests::program::{self, Ended};
use tests::soak::import::history;
use tests::{Client, TestApp};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A control plane to import into, with the account ada@example.com, and the program's arguments for an import of a server with this key.
async fn target() -> (TestApp, Client) {
    let app = TestApp::spawn_with(tests::Options { has_machine_clock: true, ..tests::Options::default() }).await;
    let ada = app.sign_up("ada").await;
    (app, ada)
}

/// Writes a key to a file of the control plane's folder.
fn key_file(app: &TestApp, key: &str) -> PathBuf {
    let path = app.folder().join("key-of-the-old-server");
    std::fs::write(&path, format!("{key}\n")).unwrap();
    path
}

/// Runs an import.
async fn import(app: &TestApp, from: &str, key: &str, more: &[&str]) -> Ended {
    let file = key_file(app, key);
    let mut arguments = vec!["import", "codepush", "--from", from, "--key-file", file.to_str().unwrap(), "--owner", "ada@example.com"];
    arguments.extend(more);
    program::run(&app.settings(), &arguments).await
}

/// Runs an import that must succeed, and returns its report.
async fn imported(app: &TestApp, from: &str, key: &str, more: &[&str]) -> String {
    let ended = import(app, from, key, more).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.out
}

/// The names and keys of an app's deployments.
async fn deployments(client: &Client, app: &str) -> Vec<(String, String)> {
    let answer = client.get(&format!("/v1/apps/{app}/deployments")).await.assert(200);
    let of = |one: &Value| (one["name"].as_str().unwrap().to_owned(), one["key"].as_str().unwrap().to_owned());
    answer["deployments"].as_array().unwrap().iter().map(of).collect()
}

/// The names of an account's apps.
async fn apps(client: &Client) -> Vec<String> {
    let answer = client.get("/v1/apps").await.assert(200);
    answer["apps"].as_array().unwrap().iter().map(|app| app["name"].as_str().unwrap().to_owned()).collect()
}

/// Puts the package of a release on an old server, and returns its entry in the history.
fn entry(old: &OldServer, label: &str, content: &str) -> Value {
    let path = format!("/blobs/{label}");
    old.put(&path, content);
    json!({
        "appVersion": "1.0.0",
        "blobUrl": format!("{}{path}?sig=secret", old.base),
        "isDisabled": false,
        "isMandatory": false,
        "label": label,
        "packageHash": Sha256Hex::of(content.as_bytes()).to_string(),
        "releaseMethod": "Upload",
        "releasedBy": "grace@example.com",
        "rollout": null,
        "size": content.len(),
        "uploadTime": 1_700_000_000_000_i64,
    })
}

/// An archive with an entry for its folder, as some tools write it.
fn with_directory() -> Vec<u8> {
    let (mut writer, options) = (ZipWriter::new(Cursor::new(Vec::new())), SimpleFileOptions::default());
    writer.add_directory("CodePush/", options).unwrap();
    writer.start_file("CodePush/main.jsbundle", options).unwrap();
    writer.write_all(b"A\n").unwrap();
    writer.finish().unwrap().into_inner()
}
