//! Apps: create, list, read, and resolve names.

use serde_json::{Value, json};
use tests::{Client, TestApp};

use crate::v1::members;

async fn names(client: &Client) -> Vec<String> {
    let apps = client.get("/v1/apps").await.assert(200);
    apps["apps"].as_array().unwrap().iter().map(|app| app["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_app_has_two_deployments_and_its_owner() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let created = ada.post("/v1/apps", json!({ "name": "demo" })).await;
    let body = created.assert(201);
    assert_eq!(created.header("location"), "/v1/apps/demo");
    let expected = json!({ "app": {
        "name": "demo",
        "createdTime": app.clock.now().0,
        "deployments": ["Production", "Staging"],
        "collaborators": { "ada@example.com": { "permission": "Owner", "isCurrentAccount": true } },
    } });
    assert_eq!(body, expected);
    assert_eq!(ada.get("/v1/apps/demo").await.assert(200), expected);
    assert_eq!(ada.get("/v1/apps").await.assert(200), json!({ "apps": [expected["app"]] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn default_deployments_are_skipped_only_on_request() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for (name, wish, deployments) in [
        ("manual", json!(true), json!([])),
        ("automatic", json!(false), json!(["Production", "Staging"])),
        ("unset", Value::Null, json!(["Production", "Staging"])),
    ] {
        let body = json!({ "name": name, "manuallyProvisionDeployments": wish, "os": "ios", "platform": { "is": "ignored" } });
        assert_eq!(ada.post("/v1/apps", body).await.assert(201)["app"]["deployments"], deployments, "{name}");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_are_listed_by_name_only_to_their_collaborators() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    assert_eq!(ada.get("/v1/apps").await.assert(200), json!({ "apps": [] }));
    for name in ["zulu", "alpha", "mike"] {
        ada.create_app(name).await;
    }
    bob.create_app("bobs").await;
    assert_eq!(names(&ada).await, ["alpha", "mike", "zulu"]);
    assert_eq!(names(&bob).await, ["bobs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn app_names_are_unique_per_owner() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    let refusal = ada.post("/v1/apps", json!({ "name": "demo" })).await.refused(409);
    assert!(refusal.contains("demo"), "{refusal}");
    // Names are compared exactly and are unique per account.
    ada.create_app("Demo").await;
    bob.create_app("demo").await;
    assert_eq!(names(&ada).await, ["Demo", "demo"]);
    assert_eq!(app.number("SELECT COUNT(*) FROM apps").await, 3);
    assert_eq!(app.number("SELECT COUNT(*) FROM deployment_keys").await, 6, "a refused app leaves no keys");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_attempts_with_one_name_one_succeeds() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let attempts: Vec<_> = (0..8)
        .map(|_| {
            let ada = ada.clone();
            tokio::spawn(async move { ada.post("/v1/apps", json!({ "name": "demo" })).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_name_resolves_to_the_app_with_the_oldest_access() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let carol = app.sign_up("carol").await;
    ada.post("/v1/apps", json!({ "name": "demo" })).await.assert(201);
    bob.post("/v1/apps", json!({ "name": "demo", "manuallyProvisionDeployments": true })).await.assert(201);
    let now = app.clock.now().0;

    // A later share does not take the name from Ada's own app.
    app.share("bob", "demo", "ada", "Admin", now + 1).await;
    assert_eq!(ada.get("/v1/apps/demo").await.assert(200)["app"]["deployments"], json!(["Production", "Staging"]));
    assert_eq!(names(&ada).await, ["demo", "bob@example.com:demo"]);
    for path in ["/v1/apps/bob@example.com:demo", "/v1/apps/bob%40example.com%3Ademo", "/v1/apps/BOB@Example.com:demo"] {
        let found = ada.get(path).await.assert(200);
        assert_eq!(found["app"]["deployments"], json!([]), "{path}");
        assert_eq!(found["app"]["name"], "bob@example.com:demo", "the name is one that works for the caller");
        let collaborators = json!({
            "ada@example.com": { "permission": "Admin", "isCurrentAccount": true },
            "bob@example.com": { "permission": "Owner" },
        });
        assert_eq!(found["app"]["collaborators"], collaborators);
    }
    assert_eq!(ada.get("/v1/apps/ada@example.com:demo").await.assert(200)["app"]["deployments"], json!(["Production", "Staging"]));
    // The qualified name requires access, too.
    bob.get("/v1/apps/ada@example.com:demo").await.refused(404);
    ada.get("/v1/apps/carol@example.com:demo").await.refused(404);
    ada.get("/v1/apps/:demo").await.refused(404);
    ada.get("/v1/apps/bob@example.com:").await.refused(404);

    // Of two shared apps the one shared first keeps the name, regardless of their age.
    app.share("bob", "demo", "carol", "Viewer", now + 5).await;
    app.share("ada", "demo", "carol", "Viewer", now + 6).await;
    assert_eq!(carol.get("/v1/apps/demo").await.assert(200)["app"]["deployments"], json!([]));
    assert_eq!(names(&carol).await, ["demo", "ada@example.com:demo"]);

    // Shared apps do not block an own app, which takes the name from then on.
    carol.post("/v1/apps", json!({ "name": "demo" })).await.assert(201);
    assert_eq!(carol.get("/v1/apps/demo").await.assert(200)["app"]["deployments"], json!(["Production", "Staging"]));
    assert_eq!(names(&carol).await, ["demo", "bob@example.com:demo", "ada@example.com:demo"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_qualified_name_works_on_every_path_of_an_app() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    bob.create_app("demo").await;
    app.share("bob", "demo", "ada", "Admin", app.clock.now().0 + 1).await;
    let long = "bob@example.com:demo";
    let made = ada.post(&format!("/v1/apps/{long}/deployments"), json!({ "name": "Extra" })).await;
    made.assert(201);
    let location = made.header("location");
    assert_eq!(ada.get(&location).await.assert(200)["deployment"]["name"], "Extra", "{location} leads to the created resource");
    let uploaded = ada.upload(long, "Extra", b"script", json!({ "appVersion": "1.0.0" })).await;
    uploaded.assert(201);
    assert_eq!(uploaded.header("location").strip_suffix("/releases/v1").unwrap(), location);
    assert_eq!(ada.get(&format!("/v1/apps/{long}/deployments/Extra/history")).await.assert(200)["history"].as_array().unwrap().len(), 1);
    ada.get("/v1/apps/demo/deployments/Extra").await.refused(404);
    bob.get("/v1/apps/demo/deployments/Extra").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_app_with_invalid_members_is_refused_naming_each() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for (body, named) in [
        (json!({}), &["name"][..]),
        (json!({ "name": null }), &["name"]),
        (json!({ "name": 5 }), &["name"]),
        (json!({ "name": ["demo"], "manuallyProvisionDeployments": "confidential" }), &["name", "manuallyProvisionDeployments"]),
        (json!({ "name": "", "manuallyProvisionDeployments": 1 }), &["name", "manuallyProvisionDeployments"]),
        (json!({ "name": "demo", "manuallyProvisionDeployments": "true" }), &["manuallyProvisionDeployments"]),
    ] {
        let refusal = ada.post("/v1/apps", body.clone()).await.refused(400);
        for name in named {
            assert!(refusal.contains(&format!("{name}: ")), "{body}: {refusal}");
        }
        assert!(!refusal.contains("confidential"), "a refusal does not echo values: {refusal}");
    }
    for body in [json!([]), json!(["demo"]), json!(["demo", true]), json!("demo"), json!(5), Value::Null] {
        ada.post("/v1/apps", body).await.refused(400);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM apps").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_response_has_only_the_documented_members() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let made = ada.post("/v1/apps", json!({ "name": "demo" })).await.assert(201);
    assert_eq!(members(&made), ["app"]);
    assert_eq!(members(&made["app"]), ["collaborators", "createdTime", "deployments", "name"]);
}
