//! Collaborators of an imported app who have no account yet.

use reqwest::Method;
use serde_json::{Value, json};
use tests::{Cli, Client, TestApp};

const DAY: i64 = 86_400_000;

/// Ada's imported app Weather: Bob is a Developer, Eve and Grace have no account.
async fn weather() -> (TestApp, Client, Client) {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    import(&ada).await;
    (app, ada, bob)
}

/// Imports the app, and returns what became of its collaborators.
async fn import(ada: &Client) -> Value {
    let people = ["bob@example.com", "grace@example.com", "Eve@example.com"];
    let planned = json!({ "sourceName": "Weather", "name": "Weather", "collaborators": people, "deployments": [] });
    let body = json!({ "source": "https://old.example", "app": planned });
    ada.post("/v1/imports/apps", body).await.assert(200)["app"]["collaborators"].take()
}

async fn listed(client: &Client, app: &str) -> Value {
    client.get(&format!("/v1/apps/{app}/collaborators")).await.assert(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_managers_see_who_is_awaited() {
    let (app, ada, bob) = weather().await;
    let expires = app.clock.now().0 + 90 * DAY;
    let one = |email: &str| json!({ "email": email, "permission": "Developer", "expires": expires });
    let all = json!([one("eve@example.com"), one("grace@example.com")]);
    assert_eq!(listed(&ada, "Weather").await["awaited"], all);
    let long = "ada@example.com:Weather";
    assert!(!listed(&bob, long).await.to_string().contains("eve@"), "a Developer");
    let key = app.api_key("ada", &["read", "deploy", "apps"]).await;
    assert!(!listed(&key, "Weather").await.to_string().contains("eve@"), "an API key");
    let dialect = ada.request(Method::GET, "/apps/Weather/collaborators").header("accept", "application/vnd.code-push.v2+json");
    let dialect = ada.send(dialect).await.assert(200);
    assert!(dialect["collaborators"].is_object() && dialect["awaited"].is_null(), "{dialect}");
    bob.delete(&format!("/v1/apps/{long}/collaborators/eve@example.com")).await.refused(403);
    app.sign_up("carol").await.delete(&format!("/v1/apps/{long}/collaborators/eve@example.com")).await.refused(404);
    ada.patch("/v1/apps/Weather/collaborators/bob@example.com", json!({ "permission": "Admin" })).await.assert(200);
    assert_eq!(listed(&bob, long).await["awaited"], all);
    app.change("UPDATE awaited_collaborators SET expires = 1", &[]).await;
    assert_eq!(listed(&ada, "Weather").await["awaited"], Value::Null);
    ada.delete("/v1/apps/Weather/collaborators/eve@example.com").await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_address_gets_no_access() {
    let (app, ada, _) = weather().await;
    let before = app.audit_rows().await;
    ada.delete("/v1/apps/Weather/collaborators/EVE@example.com").await.assert_status(204);
    ada.delete("/v1/apps/Weather/collaborators/eve@example.com").await.refused(404);
    let rows = app.audit_since(before).await;
    assert_eq!((rows.len(), rows[0].action.as_str(), rows[0].app_id.is_some()), (1, "collaborator.forget", true));
    assert!(!app.audit_text().await.contains('@'));
    assert_eq!(ada.get("/v1/apps/Weather/audit").await.assert(200)["events"][0]["action"], "collaborator.forget");
    // Importing again does not bring her back.
    let states: Vec<_> = import(&ada).await.as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, ["added", "awaited", "notAdded"]);
    app.register("eve").await;
    app.register("grace").await;
    let people = listed(&ada, "Weather").await;
    assert!(people["collaborators"]["eve@example.com"].is_null() && people["collaborators"]["grace@example.com"].is_object(), "{people}");
    assert_eq!(people["awaited"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_lists_and_removes_them() {
    let (app, ada, _) = weather().await;
    let cli = Cli::with_token(&app.base, ada.token());
    let until = app.clock.now().plus_millis(90 * DAY).utc_date();
    let list = cli.expect(0, &["collaborator", "list", "-a", "Weather"]).await.out;
    assert!(list.contains(&format!("eve@example.com\tDeveloper\tawaited until {until}")), "{list}");
    let ended = cli.expect(0, &["collaborator", "remove", "eve@example.com", "-a", "Weather", "--yes"]).await;
    assert!(ended.err.contains("eve@example.com has no more access to Weather"), "{ended:?}");
    let list = cli.expect(0, &["collaborator", "list", "-a", "Weather"]).await.out;
    assert!(!list.contains("eve@") && list.contains("grace@"), "{list}");
}
