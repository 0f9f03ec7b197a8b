//! Renaming and deleting deployments; their keys are never freed.

use serde_json::{Value, json};
use tests::{Options, TestApp};

use crate::v1::apps::{add, check, release, report};

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_deployment_keeps_its_key_and_its_releases() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    release(&ada, "demo", "Staging", "v1").await.assert(201);
    let before = ada.get("/v1/apps/demo/deployments/Staging").await.assert(200);
    let renamed = ada.patch("/v1/apps/demo/deployments/Staging", json!({ "name": "Beta 1", "key": "key-that-stays-as-it-is" })).await;
    let mut renamed = renamed.assert(200);
    assert_eq!(renamed, ada.get("/v1/apps/demo/deployments/Beta%201").await.assert(200));
    assert_eq!((&renamed["deployment"]["name"], &renamed["deployment"]["key"]), (&json!("Beta 1"), &json!(staging)));
    renamed["deployment"]["name"] = json!("Staging");
    assert_eq!(renamed, before);
    ada.get("/v1/apps/demo/deployments/Staging").await.refused(404);
    assert_eq!(check(&app, &staging).await.assert(200)["update_info"]["label"], "v1");
    assert_eq!(release(&ada, "demo", "Beta%201", "v2").await.assert(201)["package"]["label"], "v2");
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Staging" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_must_be_valid_and_unused_within_the_app() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.create_app("other").await;
    ada.post("/v1/apps/other/deployments", json!({ "name": "Beta" })).await.assert(201);
    let path = "/v1/apps/demo/deployments/Staging";
    for name in [Value::Null, json!(""), json!("a/b"), json!("a:b"), json!(" a"), json!("."), json!("x".repeat(256)), json!(false)] {
        let refusal = ada.patch(path, json!({ "name": name })).await.refused(400);
        assert!(refusal.starts_with("name: "), "{name}: {refusal}");
    }
    assert!(ada.patch(path, json!({ "name": "Production" })).await.refused(409).contains("Production"));
    ada.patch(path, json!({ "name": "Staging" })).await.assert(200);
    ada.patch(path, json!({ "name": "Beta" })).await.assert(200);
    ada.patch(path, json!({ "name": "Gamma" })).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_deployments_key_serves_a_tombstone_until_its_owner_reuses_it() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (production, staging) = ada.create_app("demo").await;
    bob.create_app("bobs").await;
    for content in ["v1", "v2"] {
        release(&ada, "demo", "Staging", content).await.assert(201);
    }
    release(&ada, "demo", "Production", "v1").await.assert(201);
    report(&app, &staging, "device", "v2").await.assert(200);
    assert_eq!(check(&app, &staging).await.assert(200)["update_info"]["label"], "v2");
    let blobs = app.number("SELECT COUNT(*) FROM blobs").await;
    app.clock.advance(60_000);

    ada.delete("/v1/apps/demo/deployments/Staging").await.assert(204);
    for path in ["", "/history", "/metrics"] {
        ada.get(&format!("/v1/apps/demo/deployments/Staging{path}")).await.refused(404);
    }
    ada.delete("/v1/apps/demo/deployments/Staging").await.refused(404);
    release(&ada, "demo", "Staging", "v3").await.refused(404);
    assert_eq!(ada.get("/v1/apps/demo").await.assert(200)["app"]["deployments"], json!(["Production"]));
    check(&app, &staging).await.refused(404);
    report(&app, &staging, "device", "v2").await.assert(200);
    assert_eq!(check(&app, &production).await.assert(200)["update_info"]["label"], "v1", "other deployments still work");
    assert_eq!(app.number("SELECT COUNT(*) FROM releases").await, 1);
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs").await, blobs, "blobs are kept for the cleanup");
    // They were in use until now. The cleanup has to notice that Production has one of them, too.
    let now = app.clock.now().0;
    let ages = app.texts("SELECT CAST(last_used_time AS TEXT) FROM blobs", &[]).await;
    assert_eq!(ages.iter().filter(|age| age.parse::<i64>().unwrap() >= now).count(), 2);

    // Never freed: another account is refused, the owner's admin can reuse it.
    bob.post("/v1/apps/bobs/deployments", json!({ "name": "Mine", "key": staging })).await.refused(409);
    add(&ada, "demo", "bob", "Admin").await;
    let made = bob.post("/v1/apps/demo/deployments", json!({ "name": "Staging", "key": staging })).await;
    assert_eq!(made.assert(201)["deployment"]["key"], json!(staging));
    assert_eq!(check(&app, &staging).await.assert(200)["update_info"]["is_available"], false);
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}), "earlier counts do not belong to this deployment");
    assert_eq!(release(&ada, "demo", "Staging", "v4").await.assert(201)["package"]["label"], "v1");
    assert_eq!(check(&app, &staging).await.assert(200)["update_info"]["label"], "v1");
    report(&app, &staging, "device", "v1").await.assert(200);
    assert_eq!(ada.metrics("demo", "Staging").await["v1"]["active"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collaborator_of_one_app_cannot_take_the_deleted_keys_of_another() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (_, secret) = ada.create_app("secret").await;
    ada.create_app("open").await;
    add(&ada, "open", "bob", "Admin").await;
    ada.delete("/v1/apps/secret/deployments/Staging").await.assert(204);
    let take = json!({ "name": "Mine", "key": secret });
    bob.post("/v1/apps/open/deployments", take.clone()).await.refused(409);
    app.api_key("bob", &["apps"]).await.post("/v1/apps/open/deployments", take.clone()).await.refused(409);
    // Nor after deleting the app. The owner can use it in any app.
    ada.delete("/v1/apps/secret").await.assert(204);
    bob.post("/v1/apps/open/deployments", take.clone()).await.refused(409);
    ada.post("/v1/apps/open/deployments", take).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_has_a_higher_version_than_the_deleted_snapshot() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let version = async || {
        let versions = app.texts("SELECT CAST(snapshot_version AS TEXT) FROM deployment_keys WHERE deployment_key = $1", &[&staging]).await;
        versions[0].parse::<i64>().unwrap()
    };
    let mut last = version().await;
    app.clock.advance(-60_000);
    for step in 0..3 {
        ada.delete("/v1/apps/demo/deployments/Staging").await.assert(204);
        assert!(version().await > last, "{step}");
        last = version().await;
        ada.post("/v1/apps/demo/deployments", json!({ "name": "Staging", "key": staging })).await.assert(201);
        assert!(version().await > last, "{step}");
        last = version().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_can_be_deleted_while_in_use() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "20")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for number in 0..6 {
        ada.post("/v1/apps/demo/deployments", json!({ "name": format!("d{number}") })).await.assert(201);
    }
    let tasks: Vec<_> = (0..24)
        .map(|number| {
            let ada = ada.clone();
            tokio::spawn(async move {
                let path = format!("/v1/apps/demo/deployments/d{}", number % 6);
                match number / 6 {
                    0 => ada.delete(&path).await.status.as_u16(),
                    1 => release(&ada, "demo", &format!("d{}", number % 6), "the same everywhere").await.status.as_u16(),
                    2 => ada.delete(&format!("{path}/history")).await.status.as_u16(),
                    _ => ada.patch(&path, json!({ "name": format!("e{number}") })).await.status.as_u16(),
                }
            })
        })
        .collect();
    for task in tasks {
        let status = task.await.unwrap();
        assert!([200, 201, 204, 404].contains(&status), "{status}");
    }
    let left = ada.get("/v1/apps/demo/deployments").await.assert(200);
    let count = left["deployments"].as_array().unwrap().len();
    assert_eq!(app.number("SELECT COUNT(*) FROM deployment_keys WHERE deployment_id IS NOT NULL").await, i64::try_from(count).unwrap());
    app.verify_audit().await.unwrap();
}
