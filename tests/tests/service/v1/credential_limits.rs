//! Rate limits per credential.

use serde_json::json;
use tests::SessionOrigin::Dashboard;
use tests::{Options, TestApp};

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_limited_per_credential() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MANAGEMENT_API", "5/1m")).await;
    let key = app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    // Refusals count, too; each request counts once, however often its credential is checked.
    for path in ["/v1/authenticated", "/v1/apps/absent", "/v1/apps/absent/deployments/x", "/v1/account/sessions", "/v1/apps"] {
        assert_ne!(key.get(path).await.status.as_u16(), 429, "{path}");
    }
    app.clock.advance(20_000);
    let answer = key.get("/v1/authenticated").await;
    answer.refused_with(429, None);
    assert_eq!((answer.header("retry-after").as_str(), answer.json().get("retryAfterSeconds")), ("40", None));
    key.post("/v1/apps", json!({ "name": "x" })).await.refused(429);
    // Another credential of the same account has its own limit, and unauthenticated requests are not counted.
    session.get("/v1/authenticated").await.assert(200);
    let wrong = key.with_token(Some(format!("{}x", key.token())));
    for _ in 0..7 {
        wrong.get("/v1/authenticated").await.refused(401);
        key.get("/v1/absent").await.refused(404);
        app.anonymous().get("/v1/health").await.assert(200);
    }
    app.clock.advance(40_000);
    key.get("/v1/authenticated").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_key_has_the_same_limit() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MANAGEMENT_API", "2/1m")).await;
    app.sign_up("ada").await;
    let (one, other) = (app.api_key("ada", &["read"]).await, app.api_key("ada", &["read"]).await);
    one.get("/v1/apps").await.assert(200);
    one.get("/v1/account/sessions").await.refused(403);
    assert_eq!(one.get("/v1/apps").await.header("retry-after"), "60");
    other.get("/v1/apps").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_is_twelve_hundred_requests_a_minute() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    for _ in 0..1_200 {
        key.get("/v1/authenticated").await.assert_status(200);
    }
    assert_eq!(key.get("/v1/authenticated").await.header("retry-after"), "60");
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_limited_per_credential() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS", "2/15m")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let other = app.named_key("ada", "other").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    // A refusal for lack of access does not count; refusals for other reasons do.
    ada.upload("absent", "Staging", b"two", json!({ "appVersion": "1.0.0" })).await.refused(404);
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.refused(409);
    app.clock.advance(60_000);
    let answer = ada.upload("demo", "Staging", b"three", json!({ "appVersion": "1.0.0" })).await;
    answer.refused_with(429, None);
    assert_eq!(answer.header("retry-after"), "840");
    ada.get("/v1/apps").await.assert(200);
    other.upload("demo", "Staging", b"three", json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.clock.advance(840_000);
    ada.upload("demo", "Staging", b"four", json!({ "appVersion": "1.0.0" })).await.assert(201);
}
