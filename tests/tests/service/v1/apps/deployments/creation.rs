//! Deployments: create, list, read, and their keys.

use serde_json::{Value, json};
use tests::TestApp;

use crate::v1::members;

#[tokio::test(flavor = "multi_thread")]
async fn a_new_deployment_has_its_own_key_and_no_releases() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let made = ada.post("/v1/apps/demo/deployments", json!({ "name": "Beta", "key": null, "more": 1 })).await;
    let body = made.assert(201);
    assert_eq!(made.header("location"), "/v1/apps/demo/deployments/Beta");
    assert_eq!(members(&body), ["deployment"]);
    let deployment = &body["deployment"];
    assert_eq!(members(deployment), ["createdTime", "id", "key", "name", "package"]);
    assert_eq!((&deployment["name"], &deployment["package"]), (&json!("Beta"), &Value::Null));
    assert_eq!(deployment["createdTime"], app.clock.now().0);
    uuid::Uuid::parse_str(deployment["id"].as_str().unwrap()).unwrap();
    let key = deployment["key"].as_str().unwrap();
    assert_eq!(key.len(), 43, "32 bytes in base64url");
    assert!(!key.starts_with('-') && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{key}");
    assert_eq!(ada.get("/v1/apps/demo/deployments/Beta").await.assert(200), body);

    let listed = ada.get("/v1/apps/demo/deployments").await.assert(200);
    let names: Vec<_> = listed["deployments"].as_array().unwrap().iter().map(|deployment| deployment["name"].clone()).collect();
    assert_eq!(names, ["Beta", "Production", "Staging"]);
    assert_eq!(listed["deployments"][0], *deployment);
    assert_eq!(ada.get("/v1/apps/demo").await.assert(200)["app"]["deployments"], json!(["Beta", "Production", "Staging"]));
    ada.get("/v1/apps/demo/deployments/beta").await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_shows_its_newest_release() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for content in ["one", "two"] {
        let package =
            ada.upload("demo", "Staging", content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
        assert_eq!(ada.get("/v1/apps/demo/deployments/Staging").await.assert(200)["deployment"]["package"], package);
        assert_eq!(ada.get("/v1/apps/demo/deployments").await.assert(200)["deployments"][1]["package"], package);
    }
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production").await.assert(200)["deployment"]["package"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn deployment_names_are_unique_per_app() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.create_app("other").await;
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Beta" })).await.assert(201);
    let keys = app.number("SELECT COUNT(*) FROM deployment_keys").await;
    let refusal = ada.post("/v1/apps/demo/deployments", json!({ "name": "Beta", "key": "key-of-a-refused-deployment" })).await.refused(409);
    assert!(refusal.contains("Beta"), "{refusal}");
    assert_eq!(app.number("SELECT COUNT(*) FROM deployment_keys").await, keys, "the refused deployment's key is not stored");
    ada.post("/v1/apps/demo/deployments", json!({ "name": "beta", "key": "key-of-a-refused-deployment" })).await.assert(201);
    ada.post("/v1/apps/other/deployments", json!({ "name": "Beta" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_valid_custom_key_is_kept() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let (shortest, longest) = ("-_aZ09-_aZ", "k".repeat(100));
    for (name, key) in [("shortest", shortest), ("longest", longest.as_str()), ("digits", "0123456789")] {
        let made = ada.post("/v1/apps/demo/deployments", json!({ "name": name, "key": key })).await.assert(201);
        assert_eq!(made["deployment"]["key"], key);
        assert_eq!(ada.deployment_key("demo", name).await, key);
        ada.get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await.assert(200);
    }
    let too_long = "k".repeat(101);
    for key in [
        "",
        "123456789",
        too_long.as_str(),
        "with space in it",
        "slash/slash",
        "umlaut-ü-umlaut",
        "dot.dot.dot.",
        " 0123456789",
        "0123456789\n",
        "a+b+c+d+e+f",
    ] {
        let refusal = ada.post("/v1/apps/demo/deployments", json!({ "name": "bad", "key": key })).await.refused(400);
        assert!(refusal.starts_with("key: "), "{key:?}: {refusal}");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments").await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_of_a_new_deployment_is_named_at_once() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for (body, named) in [
        (json!({ "name": "a/b", "key": "short" }), &["name", "key"][..]),
        (json!({ "key": "short" }), &["name", "key"]),
        (json!({ "name": 5, "key": 6 }), &["name", "key"]),
        (json!({ "name": "fine", "key": ["0123456789"] }), &["key"]),
        (json!({ "name": null }), &["name"]),
        (json!({}), &["name"]),
    ] {
        let refusal = ada.post("/v1/apps/demo/deployments", body.clone()).await.refused(400);
        for name in named {
            assert!(refusal.contains(&format!("{name}: ")), "{body}: {refusal}");
        }
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_belongs_to_one_deployment_and_never_moves_to_another_account() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    bob.create_app("bobs").await;
    let key = "key-that-customers-have";
    ada.post("/v1/apps/demo/deployments", json!({ "name": "First", "key": key })).await.assert(201);

    // In use: taken for every account.
    for (client, path) in [(&ada, "/v1/apps/demo/deployments"), (&bob, "/v1/apps/bobs/deployments")] {
        let refusal = client.post(path, json!({ "name": "Second", "key": key })).await.refused(409);
        assert!(!refusal.contains("ada") && !refusal.contains("First"), "the owner is not revealed: {refusal}");
    }
    // Retained: available to its own account only.
    app.free_key(key).await;
    bob.post("/v1/apps/bobs/deployments", json!({ "name": "Second", "key": key })).await.refused(409);
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Second", "key": key })).await.assert(201);
    assert_eq!(ada.deployment_key("demo", "Second").await, key);
    // Keys are case-sensitive.
    bob.post("/v1/apps/bobs/deployments", json!({ "name": "Second", "key": key.to_uppercase() })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_attempts_with_one_key_or_name_one_succeeds() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    bob.create_app("demo").await;
    let at_once = async |bodies: Vec<(&tests::Client, Value)>| {
        let sending: Vec<_> = bodies
            .into_iter()
            .map(|(client, body)| {
                let client = client.clone();
                tokio::spawn(async move { client.post("/v1/apps/demo/deployments", body).await.status.as_u16() })
            })
            .collect();
        let mut statuses = Vec::new();
        for sent in sending {
            statuses.push(sent.await.unwrap());
        }
        statuses.sort_unstable();
        statuses
    };
    let key = "key-that-everybody-wants";
    let wishes =
        (0..6).map(|index| (if index % 2 == 0 { &ada } else { &bob }, json!({ "name": format!("n{index}"), "key": key }))).collect();
    assert_eq!(at_once(wishes).await, [201, 409, 409, 409, 409, 409]);
    let wishes = (0..6).map(|index| (&ada, json!({ "name": "Same", "key": format!("key-of-attempt-{index}") }))).collect();
    assert_eq!(at_once(wishes).await, [201, 409, 409, 409, 409, 409]);
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments").await, 6);
    assert_eq!(app.number("SELECT COUNT(*) FROM deployment_keys").await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_key_gets_a_higher_snapshot_version() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let key = "key-that-comes-back";
    let version = async || {
        let versions = app.texts("SELECT CAST(snapshot_version AS TEXT) FROM deployment_keys WHERE deployment_key = $1", &[key]).await;
        versions[0].parse::<i64>().unwrap()
    };
    ada.post("/v1/apps/demo/deployments", json!({ "name": "First", "key": key })).await.assert(201);
    let first = version().await;
    assert_eq!(first, app.clock.now().0, "a version is the time, or the last version plus one");
    let check = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0");
    ada.upload("demo", "First", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(version().await, first + 1, "the clock stands still");
    assert_eq!(ada.get(&check).await.assert(200)["update_info"]["label"], "v1");
    app.free_key(key).await;
    app.clock.advance(-60_000);
    ada.post("/v1/apps/demo/deployments", json!({ "name": "First", "key": key })).await.assert(201);
    assert_eq!(version().await, first + 2, "setting the clock back does not lower it");
    assert_eq!(ada.get(&check).await.assert(200)["update_info"]["is_available"], false, "the new deployment starts empty");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_deployment_queues_its_snapshot() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    let open = async || app.texts("SELECT key FROM outbox WHERE kind = 'snapshot' ORDER BY key", &[]).await;
    let mut keys = vec![production, staging];
    keys.sort_unstable();
    assert_eq!(open().await, keys);
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Beta" })).await.assert(201);
    keys.push(ada.deployment_key("demo", "Beta").await);
    keys.sort_unstable();
    assert_eq!(open().await, keys);
    // A further change of a pending snapshot adds no row.
    ada.upload("demo", "Beta", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(open().await, keys);
}
