//! Renaming and deleting apps.

use serde_json::{Value, json};
use tests::{Options, TestApp};

use crate::v1::apps::{accept, add, check, meaning, names, release, report};

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_app_is_found_by_its_new_name_and_devices_are_unaffected() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (_, staging) = ada.create_app("demo").await;
    release(&ada, "demo", "Staging", "v1").await.assert(201);
    add(&ada, "demo", "bob", "Admin").await;
    accept(&bob, "demo", json!({})).await.assert(200);
    let (id, served) = (meaning(&ada, "demo").await, check(&app, &staging).await.assert(200));
    let renamed = bob.patch("/v1/apps/ada@example.com:demo", json!({ "name": "new name" })).await.assert(200);
    assert_eq!(renamed["app"]["name"], "new name");
    assert_eq!(renamed, bob.get("/v1/apps/new%20name").await.assert(200));
    for client in [&ada, &bob] {
        assert_eq!(meaning(client, "new%20name").await, id);
        assert_eq!(meaning(client, "ada@example.com:new%20name").await, id);
        client.get("/v1/apps/demo").await.refused(404);
    }
    let mut still = check(&app, &staging).await.assert(200);
    let mut served = served;
    // The URL is signed again every hour.
    still["update_info"]["download_url"] = Value::Null;
    served["update_info"]["download_url"] = Value::Null;
    assert_eq!(still, served);
    // The old name is free.
    ada.create_app("demo").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_must_be_valid_and_may_be_the_same() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.create_app("other").await;
    for name in [json!(null), json!(""), json!("a/b"), json!("a:b"), json!(" a"), json!(".."), json!("x".repeat(256)), json!(5)] {
        let refusal = ada.patch("/v1/apps/demo", json!({ "name": name })).await.refused(400);
        assert!(refusal.starts_with("name: "), "{name}: {refusal}");
    }
    ada.patch("/v1/apps/demo", json!({})).await.refused(400);
    let refusal = ada.patch("/v1/apps/demo", json!({ "name": "other" })).await.refused(409);
    assert!(refusal.contains("other"), "{refusal}");
    assert_eq!(ada.patch("/v1/apps/demo", json!({ "name": "demo" })).await.assert(200)["app"]["name"], "demo");
    ada.patch("/v1/apps/none", json!({ "name": "x" })).await.refused(404);
    assert_eq!(names(&ada).await, ["demo", "other"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_attempts_with_one_name_one_succeeds() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for number in 0..6 {
        ada.create_app(&format!("app{number}")).await;
    }
    let attempts: Vec<_> = (0..8)
        .map(|number| {
            let ada = ada.clone();
            tokio::spawn(async move {
                match number {
                    0..6 => ada.patch(&format!("/v1/apps/app{number}"), json!({ "name": "wanted" })).await.status.as_u16(),
                    _ => ada.post("/v1/apps", json!({ "name": "wanted" })).await.status.as_u16(),
                }
            })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap());
    }
    statuses.sort_unstable();
    assert!(statuses[0] < 300 && statuses[1..].iter().all(|status| *status == 409), "{statuses:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_app_deletes_everything_in_it() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (production, staging) = ada.create_app("demo").await;
    release(&ada, "demo", "Staging", "v1").await.assert(201);
    report(&app, &staging, "device", "v1").await.assert(200);
    add(&ada, "demo", "bob", "Admin").await;
    let blobs = app.number("SELECT COUNT(*) FROM blobs").await;
    app.clock.advance(60_000);
    bob.delete("/v1/apps/demo").await.refused(403);
    app.api_key("ada", &["apps", "deploy", "read"]).await.delete("/v1/apps/demo").await.refused(403);
    let deleted = ada.delete("/v1/apps/demo").await;
    deleted.assert(204);
    for client in [&ada, &bob] {
        client.get("/v1/apps/demo").await.refused(404);
        client.get("/v1/apps/demo/deployments/Staging/history").await.refused(404);
        assert_eq!(names(client).await, Vec::<String>::new());
    }
    ada.delete("/v1/apps/demo").await.refused(404);
    for table in ["SELECT COUNT(*) FROM deployments", "SELECT COUNT(*) FROM releases", "SELECT COUNT(*) FROM collaborators"] {
        assert_eq!(app.number(table).await, 0, "{table}");
    }
    // Devices get tombstones, and so does the edge, immediately for both keys.
    for key in [&production, &staging] {
        check(&app, key).await.refused(404);
        report(&app, key, "device", "v1").await.assert(200);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'snapshot'").await, 2);
    // Blobs are deleted later, based on the time since they were last needed.
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs").await, blobs);
    assert!(app.number("SELECT MIN(last_used_time) FROM blobs").await >= app.clock.now().0);

    // The keys stay Ada's.
    bob.create_app("bobs").await;
    bob.post("/v1/apps/bobs/deployments", json!({ "name": "New", "key": staging })).await.refused(409);
    ada.create_app("demo").await;
    ada.post("/v1/apps/demo/deployments", json!({ "name": "New", "key": staging })).await.assert(201);
    assert_eq!(check(&app, &staging).await.assert(200)["update_info"]["is_available"], false);
    release(&ada, "demo", "New", "again").await.assert(201);
    assert_eq!(check(&app, &staging).await.assert(200)["update_info"]["label"], "v1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_concurrent_with_releases_is_atomic() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "20")).await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let uploads: Vec<_> = (0..10)
        .map(|number| {
            let ada = ada.clone();
            tokio::spawn(
                async move { release(&ada, "demo", ["Staging", "Production"][number % 2], &number.to_string()).await.status.as_u16() },
            )
        })
        .collect();
    let deleting = ada.clone();
    let deleted = tokio::spawn(async move { deleting.delete("/v1/apps/demo").await.status.as_u16() });
    for upload in uploads {
        let status = upload.await.unwrap();
        assert!([201, 404].contains(&status), "{status}");
    }
    assert_eq!(deleted.await.unwrap(), 204);
    assert_eq!(app.number("SELECT COUNT(*) FROM releases").await, 0);
    check(&app, &staging).await.refused(404);
}
