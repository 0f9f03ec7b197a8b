//! Bearer authentication.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde_json::json;
use shared::hash::Sha256Hex;
use tests::{Answer, Client, TestApp};

#[track_caller]
fn unauthenticated(answer: &Answer) {
    answer.refused(401);
    assert_eq!(answer.header("www-authenticate"), "Bearer", "{}", answer.asked);
    assert_eq!(answer.json().get("code"), None);
}

/// Sends a request with exactly this header.
async fn ask(client: &Client, header: &[u8]) -> Answer {
    let value = HeaderValue::from_bytes(header).unwrap();
    client.send(client.request(Method::GET, "/v1/apps").header(AUTHORIZATION, value)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_management_route_checks_the_credential_first() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let anonymous = app.anonymous();
    for (method, path) in [
        (Method::GET, "/v1/authenticated"),
        (Method::GET, "/v1/account"),
        (Method::PATCH, "/v1/account"),
        (Method::DELETE, "/v1/account"),
        (Method::GET, "/v1/account/sessions"),
        (Method::DELETE, "/v1/account/sessions"),
        (Method::DELETE, "/v1/account/sessions/current"),
        (Method::DELETE, "/v1/sessions/127.0.0.1"),
        (Method::GET, "/v1/apps"),
        (Method::POST, "/v1/apps"),
        (Method::GET, "/v1/apps/demo"),
        (Method::GET, "/v1/apps/absent"),
        (Method::GET, "/v1/apps/demo/deployments"),
        (Method::POST, "/v1/apps/demo/deployments"),
        (Method::GET, "/v1/apps/demo/deployments/Staging"),
        (Method::GET, "/v1/apps/demo/deployments/Staging/history"),
        (Method::GET, "/v1/apps/demo/deployments/Staging/metrics"),
        (Method::POST, "/v1/apps/demo/deployments/Staging/releases"),
        (Method::GET, "/v1/apps/%FF"),
    ] {
        unauthenticated(&anonymous.send(anonymous.request(method.clone(), path)).await);
        if [Method::POST, Method::PATCH].contains(&method) {
            // Neither content type nor body of an unauthenticated request is validated.
            let request = anonymous.request(method.clone(), path).header("content-type", "text/plain").body("{");
            unauthenticated(&anonymous.send(request).await);
        }
    }
    // Public routes.
    for (path, status) in [("/", 303), ("/health", 200), ("/v1/health", 200), ("/v1/health?live", 200)] {
        anonymous.get(path).await.assert_status(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_complete_key_after_the_scheme_is_accepted() {
    let app = TestApp::spawn().await;
    let key = app.access_key("ada", 60_000).await;
    let client = app.anonymous();
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        ask(&client, format!("{scheme} {key}").as_bytes()).await.assert(200);
    }
    let stored = app.texts("SELECT token_hash FROM access_keys", &[]).await.remove(0);
    assert_eq!(stored, Sha256Hex::of(key.as_bytes()).to_string(), "only the hash is stored");
    let (without_prefix, shorter) = (&key["svc_ak_".len()..], &key[..key.len() - 1]);
    for wrong in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        key.clone(),
        format!("Basic {key}"),
        format!("Bearer{key}"),
        format!("Bearer:{key}"),
        format!("Token {key}"),
        format!("Bearer {shorter}"),
        format!("Bearer {key}x"),
        format!("Bearer {key} {key}"),
        format!("Bearer {without_prefix}"),
        format!("Bearer {}", key.to_uppercase()),
        format!("Bearer {stored}"),
        format!("Bearer \"{key}\""),
        "Bearer svc_ak_".to_owned() + &"A".repeat(43),
        "Bearer %".to_owned() + &"%00".repeat(9),
        format!("Bearer {}", "x".repeat(8_000)),
        "Bearer schlüssel".to_owned(),
    ] {
        unauthenticated(&ask(&client, wrong.as_bytes()).await);
    }
    unauthenticated(&ask(&client, b"Bearer \xff\xfe").await);
    unauthenticated(&ask(&client, b"\xff").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_a_cookie_query_or_other_header_is_ignored() {
    let app = TestApp::spawn().await;
    let key = app.access_key("ada", 60_000).await;
    let client = app.anonymous();
    for (name, value) in [
        ("cookie", format!("updraft={key}")),
        ("cookie", format!("__Host-updraft={key}; Authorization=Bearer {key}")),
        ("x-api-token", key.clone()),
        ("proxy-authorization", format!("Bearer {key}")),
        ("x-authorization", format!("Bearer {key}")),
    ] {
        unauthenticated(&client.send(client.request(Method::GET, "/v1/apps").header(name, value)).await);
    }
    for query in
        [format!("access_token={key}"), format!("accessKey={key}"), format!("authorization=Bearer%20{key}"), format!("token={key}")]
    {
        unauthenticated(&client.get(&format!("/v1/apps?{query}")).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_expires_on_time() {
    let app = TestApp::spawn().await;
    let ttl = 60_000;
    let ada = app.anonymous().with_token(Some(app.access_key("ada", ttl).await));
    app.clock.advance(ttl - 1);
    ada.get("/v1/apps").await.assert(200);
    app.clock.advance(1);
    unauthenticated(&ada.get("/v1/apps").await);
    unauthenticated(&ada.post("/v1/apps", json!({ "name": "demo" })).await);
    app.clock.advance(365 * 86_400_000);
    unauthenticated(&ada.get("/v1/apps").await);
    // An expired key and an unknown one get the same response.
    let unknown = app.anonymous().with_token(Some("svc_ak_unknown".to_owned()));
    assert_eq!(ada.get("/v1/apps").await.refused(401), unknown.get("/v1/apps").await.refused(401));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_key_stops_working_immediately() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.get("/v1/apps").await.assert(200);
    assert_eq!(app.change("DELETE FROM access_keys", &[]).await, 1);
    unauthenticated(&ada.get("/v1/apps").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_use_is_written_at_most_every_five_minutes() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let start = app.clock.now().0;
    let used = async || app.number("SELECT COALESCE(MAX(last_used_time), -1) FROM access_keys").await;
    assert_eq!(used().await, -1, "a new key was never used");
    ada.get("/v1/apps").await.assert(200);
    assert_eq!(used().await, start);
    app.clock.advance(5 * 60_000 - 1);
    ada.get("/v1/apps").await.assert(200);
    assert_eq!(used().await, start);
    app.clock.advance(1);
    // A refused request is also a use.
    ada.get("/v1/apps/absent").await.refused(404);
    assert_eq!(used().await, start + 5 * 60_000);
    app.clock.advance(60_000);
    ada.get("/v1/apps").await.assert(200);
    assert_eq!(used().await, start + 5 * 60_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_use_of_an_expired_key_is_not_recorded() {
    let app = TestApp::spawn().await;
    let ada = app.anonymous().with_token(Some(app.access_key("ada", 1_000).await));
    app.clock.advance(1_000);
    unauthenticated(&ada.get("/v1/apps").await);
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE last_used_time IS NOT NULL").await, 0);
}
