//! What `basebundle` is for: bytecode that is compiled against the bundle that devices have differs from it in less.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::path::Path;

use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;
use tests::{Bundle, TestApp};
use tokio::process::Command;
use xtask::paths;

/// A script: two modules from npm with one of the app's between them.
pub(crate) fn script(version: &str, greeting: &str) -> String {
    let module = |name: &str| {
        let file = paths::root().join("node_modules").join(format!("react-dom-{version}")).join("umd").join(name);
        format!("(function () {{ var exports = {{}}, module = {{ exports }};\n{}\n}})();\n", std::fs::read_to_string(file).unwrap())
    };
    let own = format!("(function () {{ globalThis.greet = function (name) {{ return {greeting}; }}; }})();\n");
    format!("{}{own}{}", module("react-dom-server.browser.production.min.js"), module("react-dom-test-utils.production.min.js"))
}

/// Compiles a script to bytecode, against a base if there is one.
async fn compile(folder: &Path, script: &str, base: Option<&[u8]>) -> Vec<u8> {
    let (source, bytecode, against) = (folder.join("index.js"), folder.join("index.hbc"), folder.join("base.hbc"));
    std::fs::write(&source, script).unwrap();
    let mut command = Command::new(paths::root().join("node_modules/hermes-compiler/hermesc/linux64-bin/hermesc"));
    command.args(["-emit-binary", "-O", "-w", "-out"]).arg(&bytecode).arg(&source);
    if let Some(base) = base {
        std::fs::write(&against, base).unwrap();
        command.arg("-base-bytecode").arg(&against);
    }
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(&bytecode).unwrap()
}

/// The size of a simple binary patch: copies of at least 24 bytes from the base at 8 bytes each, and all other bytes as they are.
pub(crate) fn patch_size(base: &[u8], new: &[u8]) -> usize {
    const BLOCK: usize = 24;
    let blocks: HashMap<&[u8], usize> = base.windows(BLOCK).enumerate().map(|(place, block)| (block, place)).collect();
    let (mut place, mut size) = (0, 0);
    while place < new.len() {
        if let Some(start) = new.get(place..place + BLOCK).and_then(|block| blocks.get(block)) {
            place += base[*start..].iter().zip(&new[place..]).take_while(|(one, other)| one == other).count();
            size += 8;
        } else {
            place += 1;
            size += 1;
        }
    }
    size
}

#[tokio::test]
async fn bytecode_compiled_against_the_base_bundle_needs_a_smaller_patch() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let folder = TempDir::new().unwrap();
    let first = compile(folder.path(), &script("v1", "'Hello, ' + name"), None).await;
    let package = Bundle::of(&[("CodePush/index.android.bundle", &first)]);
    ada.upload("demo", "Staging", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);

    // As a client of CodePush does it: ask, download, unpack, compile.
    let asked = ada.request(Method::GET, "/apps/demo/deployments/Staging/basebundle").query(&[("appVersion", "1.0.0")]);
    let found = ada.send(asked).await.assert(200)["basebundle"].take();
    let address = found["bundleBlobUrl"].as_str().unwrap().strip_prefix(app.base.as_str()).unwrap().to_owned();
    let downloaded = app.anonymous().get(&address).await;
    downloaded.assert_status(200);
    let mut base = Vec::new();
    let mut archive = zip::ZipArchive::new(Cursor::new(downloaded.body)).unwrap();
    archive.by_name("CodePush/index.android.bundle").unwrap().read_to_end(&mut base).unwrap();
    assert_eq!(base, first);

    let next = script("v2", "'Good morning, ' + name + '!'");
    let (alone, against) = (compile(folder.path(), &next, None).await, compile(folder.path(), &next, Some(&base)).await);
    let (alone, against) = (patch_size(&base, &alone), patch_size(&base, &against));
    assert!(against * 2 < alone, "compiled against the base: {against} bytes, alone: {alone} bytes");
}
