//! Permissions of an API key: those of its account, restricted to its scopes.

use reqwest::Method;
use serde_json::json;
use tests::{Answer, Client, TestApp};

const DEPLOYMENTS: &str = "/v1/apps/demo/deployments";

async fn release(client: &Client, version: &str) -> Answer {
    client.upload("demo", "Staging", version.as_bytes(), json!({ "appVersion": version })).await
}

#[track_caller]
fn judged(answer: &Answer, is_allowed: bool, permission: &str) {
    if is_allowed {
        assert!(answer.status.is_success(), "{}: {}", answer.asked, answer.text());
    } else {
        answer.refused_with(403, None);
        assert!(answer.text().contains(permission), "{}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_scope_allows_what_the_table_says() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    for (number, (scopes, deploys, manages)) in [
        (vec!["read"], false, false),
        (vec!["deploy"], true, false),
        (vec!["apps"], false, true),
        (vec!["deploy", "apps"], true, true),
        (vec!["deploy", "read", "apps"], true, true),
    ]
    .into_iter()
    .enumerate()
    {
        let client = app.api_key("ada", &scopes).await;
        for path in
            ["/v1/apps", "/v1/apps/demo", DEPLOYMENTS, &format!("{DEPLOYMENTS}/Staging/history"), &format!("{DEPLOYMENTS}/Staging/metrics")]
        {
            client.get(path).await.assert(200);
        }
        let shown = if deploys || manages { key.as_str() } else { "(hidden)" };
        assert_eq!(client.deployment_key("demo", "Staging").await, shown, "{scopes:?}");
        assert_eq!(client.get(DEPLOYMENTS).await.text().contains(&key), deploys || manages, "{scopes:?}");
        judged(&release(&client, &format!("{number}.0.0")).await, deploys, "releases.manage");
        judged(&client.post(DEPLOYMENTS, json!({ "name": format!("d{number}") })).await, manages, "deployments.manage");
        judged(&client.post("/v1/apps", json!({ "name": format!("app{number}") })).await, manages, "apps");
        judged(&client.get("/v1/apps/demo/audit").await, manages, "apps.manage");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM releases").await, 3);
    assert_eq!(app.number("SELECT COUNT(*) FROM apps").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_never_grant_more_than_the_role() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    app.sign_up("eve").await;
    let all = ["deploy", "read", "apps"];
    let eve = app.api_key("eve", &all).await;
    eve.get("/v1/apps/demo").await.refused(404);
    app.share("ada", "demo", "eve", "Viewer", app.clock.now().0 + 1).await;
    eve.get("/v1/apps/demo").await.assert(200);
    judged(&release(&eve, "1.0.0").await, false, "releases.manage");
    judged(&eve.post(DEPLOYMENTS, json!({ "name": "x" })).await, false, "deployments.manage");
    assert!(!eve.get(DEPLOYMENTS).await.text().contains(&key));
    // Without the scope, unknown and inaccessible apps get the same response.
    let narrow = app.api_key("eve", &["read"]).await;
    narrow.post("/v1/apps/absent/deployments", json!({ "name": "x" })).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn narrowing_a_key_takes_effect_immediately() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let client = app.api_key("ada", &["deploy", "apps"]).await;
    release(&client, "1.0.0").await.assert(201);
    let session = app.open_session("ada", tests::SessionOrigin::Dashboard).await;
    let id = session.get("/v1/api-keys").await.assert(200)["apiKeys"][0]["id"].as_str().unwrap().to_owned();
    session.patch(&format!("/v1/api-keys/{id}"), json!({ "scopes": ["apps"] })).await.assert(200);
    judged(&release(&client, "2.0.0").await, false, "releases.manage");
    session.patch(&format!("/v1/api-keys/{id}"), json!({ "scopes": ["deploy"] })).await.assert(200);
    release(&client, "2.0.0").await.assert(201);
    judged(&client.post("/v1/apps", json!({ "name": "x" })).await, false, "apps");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_key_cannot_access_accounts_sessions_or_keys() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let client = app.api_key("ada", &["deploy", "read", "apps"]).await;
    assert_eq!(client.get("/v1/account").await.assert(200)["account"]["email"], "ada@example.com");
    client.get("/v1/authenticated").await.assert(200);
    for (method, path) in [
        (Method::PATCH, "/v1/account"),
        (Method::DELETE, "/v1/account"),
        (Method::GET, "/v1/account/sessions"),
        (Method::DELETE, "/v1/account/sessions"),
        (Method::DELETE, "/v1/account/sessions/current"),
        (Method::DELETE, "/v1/sessions/127.0.0.1"),
        (Method::GET, "/v1/access-keys"),
        (Method::POST, "/v1/access-keys"),
        (Method::GET, "/v1/access-keys/test"),
        (Method::PATCH, "/v1/access-keys/test"),
        (Method::DELETE, "/v1/access-keys/test"),
        (Method::GET, "/v1/api-keys"),
        (Method::PATCH, "/v1/api-keys/x"),
        (Method::DELETE, "/v1/api-keys/x"),
    ] {
        client.send(client.request(method, path).json(&json!({}))).await.refused_with(403, None);
    }
    client.get("/v1/authenticated").await.assert(200);
}
