//! Limits for adding collaborators and transferring apps within an hour.

use serde_json::json;
use tests::{Options, TestApp};

use crate::v1::apps::{add, transfer};

#[tokio::test(flavor = "multi_thread")]
async fn thirty_attempts_an_hour_are_allowed_including_failures() {
    let mut app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    app.sign_up("carol").await;
    ada.create_app("demo").await;
    bob.create_app("bobs").await;
    // Invalid requests do not count.
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Owner" })).await.refused(400);
    add(&ada, "demo", "bob", "Developer").await;
    for _ in 0..5 {
        bob.post("/v1/apps/demo/collaborators/carol@example.com", json!({})).await.refused(403);
    }
    for _ in 0..14 {
        ada.post("/v1/apps/demo/collaborators/nobody@example.com", json!({})).await.refused(404);
        transfer(&ada, "demo", "nobody").await.refused(404);
    }
    app.clock.advance(1_800_000);
    transfer(&ada, "demo", "ada").await.refused(409);
    let refused = ada.post("/v1/apps/demo/collaborators/carol@example.com", json!({})).await;
    refused.refused_with(429, None);
    assert_eq!(refused.header("retry-after"), "1800");
    assert_eq!(refused.json().get("retryAfterSeconds"), None);
    transfer(&ada, "demo", "bob").await.refused(429);
    // The limit applies to this account only, and to no other requests.
    add(&bob, "bobs", "carol", "Viewer").await;
    ada.patch("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(200);
    // The count is stored in the database, and expires.
    app.stop().await;
    app.start().await;
    ada.post("/v1/apps/demo/collaborators/carol@example.com", json!({})).await.refused(429);
    app.clock.advance(1_800_000);
    add(&ada, "demo", "carol", "Viewer").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_is_a_setting() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_COLLABORATORS", "1/10m")).await;
    let ada = app.sign_up("ada").await;
    app.sign_up("bob").await;
    ada.create_app("demo").await;
    add(&ada, "demo", "bob", "Viewer").await;
    let refused = transfer(&ada, "demo", "bob").await;
    refused.refused(429);
    assert_eq!(refused.header("retry-after"), "600");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_attempts_do_not_exceed_the_limit() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_COLLABORATORS", "5/1h")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let attempts: Vec<_> = (0..20)
        .map(|number| {
            let ada = ada.clone();
            let path = format!("/v1/apps/demo/collaborators/nobody-{number}@example.com");
            tokio::spawn(async move { ada.post(&path, json!({})).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [[404; 5].as_slice(), &[429; 15]].concat());
}
