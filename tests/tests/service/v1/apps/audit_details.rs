//! The details of audit rows.

use serde_json::{Value, json};
use tests::SessionOrigin::Dashboard;
use tests::TestApp;

const DAY: i64 = 86_400_000;

/// The action, the object and the details of the newest row.
async fn newest(app: &TestApp) -> (String, String, Value) {
    let row = app.audit_trail().await.pop().unwrap();
    (row.action, row.object_id, serde_json::from_str(&row.details).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_updated_key_is_audited_with_old_and_new_values() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let now = app.clock.now().0;
    session.post("/v1/access-keys", json!({ "friendlyName": "mine", "ttl": DAY })).await.assert(201);
    session.patch("/v1/access-keys/mine", json!({ "friendlyName": "ours", "ttl": 2 * DAY })).await.assert(200);
    let (action, _, details) = newest(&app).await;
    assert_eq!(action, "access_key.update");
    let expected = json!({ "friendlyName": "ours", "expires": now + 2 * DAY, "before": { "friendlyName": "mine", "expires": now + DAY } });
    assert_eq!(details, expected);

    let made = session.post("/v1/api-keys", json!({ "name": "robot", "scopes": ["deploy", "read"] })).await.assert(201);
    let path = format!("/v1/api-keys/{}", made["id"].as_str().unwrap());
    session.patch(&path, json!({ "name": "droid", "scopes": ["apps"], "expires_at": "2999-01-01T00:00:00Z" })).await.assert(200);
    let (action, _, details) = newest(&app).await;
    assert_eq!(action, "api_key.update");
    let before = json!({ "name": "robot", "scopes": ["deploy", "read"], "expires": null });
    assert_eq!(details, json!({ "name": "droid", "scopes": ["apps"], "expires": 32_472_144_000_000_i64, "before": before }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_revoked_by_name_is_audited_as_a_revoked_session() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    app.open_session("ada", Dashboard).await;
    let listed = session.get("/v1/account/sessions").await.assert(200);
    let other = listed["sessions"].as_array().unwrap().iter().find(|found| found["isCurrent"] == false).unwrap()["id"].clone();
    let name = format!("Login-{}", other.as_str().unwrap());
    session.delete(&format!("/v1/access-keys/{name}")).await.assert(204);
    assert_eq!(newest(&app).await, ("session.end".to_owned(), other.as_str().unwrap().to_owned(), json!({ "friendlyName": name })));
    session.delete("/v1/access-keys/test").await.assert(204);
    assert_eq!(newest(&app).await.0, "access_key.delete");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_revokes_the_oldest_session_is_audited_with_it() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    for _ in 0..99 {
        app.open_session("ada", Dashboard).await;
    }
    let oldest = app.texts("SELECT id FROM access_keys WHERE credential_origin IS NOT NULL ORDER BY created_time, id", &[]).await;
    app.clock.advance(1);
    app.log_in("ada").await;
    assert_eq!(newest(&app).await.2, json!({}));
    app.log_in("ada").await;
    let (action, _, details) = newest(&app).await;
    assert_eq!((action.as_str(), details), ("session.create", json!({ "ended": [oldest[0]] })));
}
