//! Health of the service.

use std::net::TcpListener;

use serde_json::json;
use tests::{Options, TestApp};

use crate::v1::members;

fn ok(edge: &str) -> serde_json::Value {
    json!({ "status": "ok", "version": "0.1.0", "checks": { "database": "ok", "storage": "ok", "edge": edge } })
}

/// With an edge whose KV is unreachable.
fn unreachable_edge() -> Options {
    // A port that was free a moment ago; no server listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    Options::default().with("KV_API", format!("http://127.0.0.1:{port}")).with("KV_NAMESPACE", "snapshots").with("KV_TOKEN", "token")
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_public() {
    let app = TestApp::spawn().await;
    let client = app.anonymous();
    let answer = client.get("/v1/health").await;
    assert_eq!(answer.assert(200), ok("off"));
    assert_eq!(answer.header("cache-control"), "no-store");
    for live in ["/v1/health?live", "/v1/health?live=1", "/v1/health/?live"] {
        let answer = client.get(live).await.assert(200);
        assert_eq!((&answer["status"], members(&answer)), (&json!("ok"), vec!["status", "version"]));
    }
    let old = client.get("/health").await;
    old.assert_status(200);
    assert_eq!(old.text(), "Healthy");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lagging_edge_is_degraded_but_never_503() {
    let app = TestApp::spawn_with(unreachable_edge()).await;
    let client = app.anonymous();
    assert_eq!(client.get("/v1/health").await.assert(200), ok("ok"), "nothing is queued");
    let ada = app.sign_up("ada").await;
    ada.post("/v1/apps", json!({ "name": "demo" })).await.assert(201);
    app.clock.advance(60_000);
    assert_eq!(client.get("/v1/health").await.assert(200), ok("ok"), "a minute is not a lag yet");
    app.clock.advance(5_001);
    assert_eq!(client.get("/v1/health").await.assert(200), ok("degraded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_health_response_is_cached_for_five_seconds() {
    let app = TestApp::spawn().await;
    let client = app.anonymous();
    client.get("/v1/health").await.assert(200);
    let blobs = app.folder().join("blobs");
    std::fs::rename(&blobs, app.folder().join("elsewhere")).unwrap();
    app.clock.advance(4_999);
    assert_eq!(client.get("/v1/health").await.assert(200), ok("off"));
    app.clock.advance(1);
    let failed = client.get("/v1/health").await;
    let body = failed.assert(503);
    assert_eq!((&body["checks"]["storage"] == "ok", &body["checks"]["database"]), (false, &json!("ok")));
    assert_ne!(body["status"], "ok");
    assert!(failed.header("retry-after").parse::<u32>().unwrap() > 0);
    client.get("/v1/health?live").await.assert(200);
    // A failure is cached for the same time, then the service is healthy again.
    std::fs::rename(app.folder().join("elsewhere"), &blobs).unwrap();
    app.clock.advance(4_999);
    client.get("/v1/health").await.assert(503);
    app.clock.advance(1);
    assert_eq!(client.get("/v1/health").await.assert(200), ok("off"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_storage_an_upload_is_503_and_leaves_no_rows() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let before = app.leftovers().await.rows;
    std::fs::rename(app.folder().join("blobs"), app.folder().join("elsewhere")).unwrap();
    let answer = ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await;
    answer.refused(503);
    assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0);
    assert_eq!(app.leftovers().await.rows, before);
    std::fs::rename(app.folder().join("elsewhere"), app.folder().join("blobs")).unwrap();
    assert_eq!(ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201)["package"]["label"], "v1");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_database_everything_but_liveness_is_503() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    app.db().close().await;
    let health = app.anonymous().get("/v1/health").await;
    let body = health.assert(503);
    assert_eq!((&body["checks"]["database"] == "ok", &body["checks"]["storage"]), (false, &json!("ok")));
    for path in ["/v1/apps".to_owned(), "/v1/apps/demo".to_owned(), format!("/updateCheck?deploymentKey={key}&appVersion=1.0.0")] {
        let answer = ada.get(&path).await;
        let refusal = answer.refused(503);
        assert!(!refusal.to_lowercase().contains("pool"), "the cause is only logged: {refusal}");
        assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0);
    }
    app.anonymous().get("/v1/health?live").await.assert(200);
    app.anonymous().get("/health").await.assert_status(200);
}
