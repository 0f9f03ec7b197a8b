//! How soon changes are seen.

use std::future::pending;
use std::time::Duration;

use tests::edge::{EdgeApp, EdgeOptions};
use tests::wait::eventually;
use tests::{Bundle, Client};
use tokio::time::timeout;

const APP_VERSION: &str = r#"{"appVersion":"1.0.0"}"#;

/// Two seconds without any request to the Worker. Here the passing of time is what is tested: the age of a cached snapshot.
async fn two_seconds_of_silence() {
    timeout(Duration::from_secs(2), pending::<()>()).await.unwrap_err();
}

async fn upload(owner: &Client, content: &str) {
    let info = serde_json::from_str(APP_VERSION).unwrap();
    owner.upload("app", "Production", &Bundle::script(content).0, info).await.assert(201);
}

/// The label offered to a new device now, in one request.
async fn offered(app: &EdgeApp, key: &str) -> String {
    let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0");
    app.anonymous().get(&path).await.assert(200)["update_info"]["label"].as_str().unwrap().to_owned()
}

/// Uploads a second release, and sends nothing to the Worker for two seconds, or until the push is done.
async fn second_release_and_silence(app: &EdgeApp, owner: &Client, key: &str) {
    let before = app.edge.kv_value(key).await.unwrap();
    upload(owner, "second").await;
    let pushed =
        eventually(
            "the push",
            async || {
                if app.edge.kv_value(key).await.unwrap() == before { Err("the old value".to_owned()) } else { Ok(()) }
            },
        );
    tokio::join!(two_seconds_of_silence(), pushed);
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_sees_a_published_change_within_thirty_seconds() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    upload(&owner, "first").await;
    app.until_offered(&key, "v1").await;

    upload(&owner, "second").await;
    let seen = timeout(Duration::from_secs(30), app.until_offered(&key, "v2")).await;
    assert!(seen.is_ok(), "v2 was not seen within 30 s of the upload's response");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_short_ttls_the_first_check_after_a_pause_sees_the_change() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().with("SNAPSHOT_FRESH_MS", "200").with("SNAPSHOT_STALE_MS", "1000")).await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    upload(&owner, "first").await;
    app.until_offered(&key, "v1").await;

    second_release_and_silence(&app, &owner, &key).await;
    assert_eq!(offered(&app, &key).await, "v2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_snapshot_is_served_once_while_it_is_refreshed() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().with("SNAPSHOT_FRESH_MS", "200").with("SNAPSHOT_STALE_MS", "600000")).await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    upload(&owner, "first").await;
    app.until_offered(&key, "v1").await;

    second_release_and_silence(&app, &owner, &key).await;
    assert_eq!(offered(&app, &key).await, "v1", "no check waits for the refresh of a stale snapshot");
    app.until_offered(&key, "v2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_version_never_replaces_a_higher_one() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    app.until_pushed(&key).await;
    let empty = app.edge.kv_text(&key).await.unwrap();
    upload(&owner, "first").await;
    app.until_offered(&key, "v1").await;

    // KV is eventually consistent: this is a stale read.
    app.edge.put_kv(&key, &empty).await;
    assert_eq!(app.edge.kv_text(&key).await.unwrap(), empty);
    for _ in 0..5 {
        assert_eq!(offered(&app, &key).await, "v1");
    }
}
