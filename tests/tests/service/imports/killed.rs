//! An import that is killed at many points ends like one that was never killed.

use std::process::Stdio;

use serde_json::{Value, json};
use tests::program::program;
use tests::random::Random;
use tests::wait::patience;
use tests::{Client, TestApp};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use super::{apps, deployments, history, imported, key_file, target};

/// Starts an import, and kills it after this many lines of progress. Returns whether it was still running.
async fn kill_after(app: &TestApp, from: &str, key: &str, lines: usize) -> bool {
    let mut command = Command::new(program());
    command.args(["import", "codepush", "--from", from, "--owner", "ada@example.com", "--key-file"]).arg(key_file(app, key));
    command.env_clear().envs(app.settings()).kill_on_drop(true).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..lines {
        if timeout(patience(), printed.next_line()).await.expect("it says how far it is").unwrap().is_none() {
            break;
        }
    }
    child.start_kill().unwrap();
    timeout(patience(), child.wait()).await.unwrap().unwrap().code().is_none()
}

/// Everything that an account has.
async fn all(client: &Client) -> Vec<(String, Vec<(String, String)>, Vec<Vec<Value>>)> {
    let mut found = Vec::new();
    for app in apps(client).await {
        let deployments = deployments(client, &app).await;
        let mut histories = Vec::new();
        for (name, _) in &deployments {
            histories.push(history(client, &app, name).await);
        }
        found.push((app, deployments, histories));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_import_continues() {
    let source = TestApp::spawn().await;
    let grace = source.sign_up("grace").await;
    let mut random = Random::new(25);
    for app in ["One", "Two"] {
        grace.create_app(app).await;
        for number in 0..12_u32 {
            let deployment = *random.one_of(&["Production", "Staging"]);
            let content = tests::Bundle::script(&format!("{app} {}", number % 5)).0;
            let info = json!({ "appVersion": "1.0.0", "description": format!("number {number}") });
            let answer = grace.upload(app, deployment, &content, info).await;
            assert!([201, 409].contains(&answer.status.as_u16()), "{}", answer.text());
        }
    }
    let (app, ada) = target().await;
    let mut killed = 0;
    // Each line of progress is a point: 2 apps, the packages, 4 histories.
    for lines in [1, 2, 4, 5, 6, 7, 8, 9] {
        killed += u32::from(kill_after(&app, &source.base, grace.token(), lines).await);
    }
    assert!(killed >= 4, "{killed}");
    imported(&app, &source.base, grace.token(), &[]).await;
    assert_eq!(all(&ada).await, all(&grace).await);
    app.verify_audit().await.unwrap();
}
