//! Permissions of collaborators, and what other users learn.

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tests::{Answer, Client, TestApp};

/// A response without values that differ between requests.
fn essence(answer: &Answer) -> (u16, Value, HeaderMap) {
    let mut body = if answer.body.is_empty() { Value::Null } else { answer.json() };
    if let Some(members) = body.as_object_mut() {
        assert!(members.remove("requestId").is_some());
    }
    let mut headers = answer.headers.clone();
    headers.remove("x-request-id");
    headers.remove("date");
    (answer.status.as_u16(), body, headers)
}

#[tokio::test(flavor = "multi_thread")]
async fn for_non_collaborators_an_app_does_not_exist() {
    let app = TestApp::spawn().await;
    let (ada, eve) = (app.sign_up("ada").await, app.sign_up("eve").await);
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    for (method, below) in [
        (Method::GET, ""),
        (Method::GET, "/deployments"),
        (Method::POST, "/deployments"),
        (Method::GET, "/deployments/Staging"),
        (Method::GET, "/deployments/Absent"),
        (Method::GET, "/deployments/Staging/history"),
        (Method::GET, "/deployments/Staging/metrics"),
        (Method::POST, "/deployments/Staging/releases"),
        (Method::HEAD, "/deployments/Staging"),
    ] {
        let ask = async |app: &str| {
            let mut request = eve.request(method.clone(), &format!("/v1/apps/{app}{below}"));
            if method == Method::POST {
                request = request.json(&json!({ "name": "Mine" }));
            }
            eve.send(request).await
        };
        let (known, absent) = (ask("demo").await, ask("none").await);
        assert_eq!(essence(&known), essence(&absent), "{method} {below}");
        assert_eq!(known.status.as_u16(), 404, "{method} {below}");
        assert_eq!(essence(&ask("ada@example.com:demo").await), essence(&absent), "{method} {below}");
        assert_eq!(essence(&ask("nobody@example.com:demo").await), essence(&absent), "{method} {below}");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments").await, 2);
}

async fn collaborator(app: &TestApp, role: &str) -> Client {
    let name = role.to_lowercase();
    let client = app.sign_up(&name).await;
    app.share("ada", "demo", &name, role, app.clock.now().0 + 1).await;
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_has_the_permissions_in_the_table() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    // Role: reads keys, releases, creates deployments.
    for (role, keys, releases, deployments) in
        [("Owner", true, true, true), ("Admin", true, true, true), ("Developer", true, true, false), ("Viewer", false, false, false)]
    {
        let client = if role == "Owner" { ada.clone() } else { collaborator(&app, role).await };
        for path in ["/v1/apps/demo", "/v1/apps/demo/deployments/Staging/history", "/v1/apps/demo/deployments/Staging/metrics"] {
            client.get(path).await.assert(200);
        }
        let shown = if keys { key.as_str() } else { "(hidden)" };
        assert_eq!(client.deployment_key("demo", "Staging").await, shown, "{role}");
        let listed = client.get("/v1/apps/demo/deployments").await;
        let keys_shown =
            listed.assert(200)["deployments"].as_array().unwrap().iter().filter(|deployment| deployment["key"] == shown).count();
        assert_eq!(keys_shown == 1, keys, "{role}: either it has this key, or all keys are hidden");
        assert_eq!(listed.text().contains(&key), keys, "{role}");

        let released = client.upload("demo", "Staging", role.as_bytes(), json!({ "appVersion": "1.0.0" })).await;
        let made = client.post("/v1/apps/demo/deployments", json!({ "name": role })).await;
        for (answer, allowed, permission) in [(released, releases, "releases.manage"), (made, deployments, "deployments.manage")] {
            if allowed {
                answer.assert(201);
            } else {
                let refusal = answer.refused(403);
                assert!(refusal.contains(permission), "{role}: {refusal}");
                assert_eq!(answer.json().get("code"), None, "{role}: a plain refusal");
            }
        }
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM releases").await, 3);
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments").await, 4);
    let history = ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200);
    let by: Vec<_> =
        history["history"].as_array().unwrap().iter().map(|release| release["releasedBy"].as_str().unwrap().to_owned()).collect();
    assert_eq!(by, ["ada@example.com", "admin@example.com", "developer@example.com"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_collaborator_loses_access_immediately() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let developer = collaborator(&app, "Developer").await;
    developer.get("/v1/apps/demo").await.assert(200);
    app.change("DELETE FROM collaborators WHERE permission = $1", &["Developer"]).await;
    developer.get("/v1/apps/demo").await.refused(404);
    developer.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.refused(404);
    assert_eq!(developer.get("/v1/apps").await.assert(200), json!({ "apps": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_use_the_owners_limit() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let developer = collaborator(&app, "Developer").await;
    app.change("UPDATE accounts SET max_upload_bytes = 10 WHERE email = $1", &["ada@example.com"]).await;
    developer.upload("demo", "Staging", b"0123456789a", json!({ "appVersion": "1.0.0" })).await.refused(413);
    app.change("UPDATE accounts SET max_upload_bytes = 11 WHERE email = $1", &["ada@example.com"]).await;
    app.change("UPDATE accounts SET max_upload_bytes = 5 WHERE email = $1", &["developer@example.com"]).await;
    developer.upload("demo", "Staging", b"0123456789a", json!({ "appVersion": "1.0.0" })).await.assert(201);
}
