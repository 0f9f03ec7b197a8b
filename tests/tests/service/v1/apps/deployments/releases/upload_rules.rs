//! Uploads refused by business rules, and labels.

use serde_json::{Value, json};
use tests::{Bundle, Client, TestApp};

async fn try_upload(client: &Client, content: &str, info: Value) -> u16 {
    client.upload("demo", "Staging", content.as_bytes(), info).await.status.as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_rollout_blocks_new_releases() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"a", json!({ "appVersion": "1.0.0", "rollout": 99 })).await.assert(201);
    let before = app.leftovers().await;
    for info in [
        json!({ "appVersion": "1.0.0" }),
        json!({ "appVersion": "9.0.0" }),
        json!({ "appVersion": "1.0.0", "rollout": 5, "isDisabled": true }),
    ] {
        let refused = ada.upload("demo", "Staging", &Bundle::script("b").0, info).await;
        let text = refused.refused(409);
        assert!(text.contains("v1") && text.contains("rollout"), "{text}");
        assert_eq!(refused.json().get("code"), None);
        assert_eq!(app.leftovers().await, before);
    }
    // The other deployment is unaffected, and disabling unblocks.
    ada.upload("demo", "Production", b"b", json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(app.change("UPDATE releases SET is_disabled = TRUE WHERE rollout = 99", &[]).await, 1);
    ada.upload("demo", "Staging", b"b", json!({ "appVersion": "1.0.0" })).await.assert(201);
    // An unfinished rollout of an older release does not block, enabled or not.
    assert_eq!(app.change("UPDATE releases SET is_disabled = FALSE WHERE rollout = 99", &[]).await, 1);
    assert_eq!(ada.upload("demo", "Staging", b"c", json!({ "appVersion": "1.0.0" })).await.assert(201)["package"]["label"], "v3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_starts_disabled_blocks_nothing() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"a", json!({ "appVersion": "1.0.0", "rollout": 10, "isDisabled": true })).await.assert(201);
    ada.upload("demo", "Staging", b"b", json!({ "appVersion": "1.0.0", "rollout": 10 })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_contents_for_the_same_versions_are_refused() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    assert_eq!(try_upload(&ada, "a", json!({ "appVersion": "^1.2.0" })).await, 201);
    let before = app.leftovers().await;
    // Equivalent ranges.
    for range in ["^1.2.0", "^1.2", " ^1.2.0 ", ">=1.2.0 <2.0.0-0", "^1.2.x"] {
        let refused = ada.upload("demo", "Staging", b"a", json!({ "appVersion": range })).await;
        let text = refused.refused(409);
        assert!(text.contains("identical"), "{range}: {text}");
        assert_eq!(app.leftovers().await, before, "{range}");
    }
    // An exact version within the range.
    for version in ["1.2.0", "1.9.9"] {
        assert_eq!(try_upload(&ada, "a", json!({ "appVersion": version })).await, 409, "{version}");
    }
    assert_eq!(app.leftovers().await, before);
    // A different range, though it overlaps; the first range again, since devices on 1.3 now get the other; an exact version outside; different
    // contents.
    for (label, content, range) in
        [("v2", "a", "^1.3.0"), ("v3", "a", "^1.2.0"), ("v4", "a", "2.0.0"), ("v5", "b", "^1.2.0"), ("v6", "a", "^1.2.0")]
    {
        let answer = ada.upload("demo", "Staging", content.as_bytes(), json!({ "appVersion": range })).await;
        assert_eq!(answer.assert(201)["package"]["label"], label, "{content} for {range}");
    }
    // The exact version is compared with the newest range that contains it: v6 for 1.2.5 and also for 1.3.5.
    assert_eq!(try_upload(&ada, "a", json!({ "appVersion": "1.2.5" })).await, 409);
    assert_eq!(try_upload(&ada, "b", json!({ "appVersion": "1.2.5" })).await, 201);
    assert_eq!(try_upload(&ada, "b", json!({ "appVersion": "1.2.5" })).await, 409);
    assert_eq!(try_upload(&ada, "b", json!({ "appVersion": "1.2.6" })).await, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_are_detected_by_contents_not_by_archive() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let info = json!({ "appVersion": "1.0.0" });
    ada.upload("demo", "Staging", &Bundle::of(&[("a", b"1"), ("b", b"2")]).0, info.clone()).await.assert(201);
    let before = app.leftovers().await;
    // The same files in another order, and with a signature.
    ada.upload("demo", "Staging", &Bundle::of(&[("b", b"2"), ("a", b"1")]).0, info.clone()).await.refused(409);
    ada.upload("demo", "Staging", &Bundle::of(&[("a", b"1"), ("b", b"2"), (".codepushrelease", b"x")]).0, info.clone()).await.refused(409);
    assert_eq!(app.leftovers().await, before);
    // In another deployment it is a first release.
    ada.upload("demo", "Production", &Bundle::of(&[("b", b"2"), ("a", b"1")]).0, info).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_continue_and_are_never_reused() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let label = async |content: &str| {
        let answer = ada.upload("demo", "Staging", content.as_bytes(), json!({ "appVersion": "1.0.0" })).await;
        answer.assert(201)["package"]["label"].as_str().unwrap().to_owned()
    };
    assert_eq!(label("a").await, "v1");
    assert_eq!(label("b").await, "v2");
    // A refused upload uses no label.
    assert_eq!(try_upload(&ada, "b", json!({ "appVersion": "1.0.0" })).await, 409);
    assert_eq!(try_upload(&ada, "c", json!({ "appVersion": "not a range" })).await, 400);
    assert_eq!(label("c").await, "v3");
    // A cleared history does not free labels either.
    assert_eq!(app.change("DELETE FROM releases", &[]).await, 3);
    assert_eq!(label("a").await, "v4");
    // Each deployment has its own labels.
    ada.upload("demo", "Production", b"a", json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production").await.assert(200)["deployment"]["package"]["label"], "v1");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_requires_its_deployment() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let before = app.leftovers().await;
    for deployment in ["Absent", "staging", "v1"] {
        ada.upload("demo", deployment, b"a", json!({ "appVersion": "1.0.0" })).await.refused(404);
    }
    assert_eq!(app.leftovers().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_accepted_releases_increase_the_snapshot_version() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let version = async || {
        app.texts("SELECT CAST(snapshot_version AS TEXT) FROM deployment_keys WHERE deployment_key = $1", &[&key]).await[0]
            .parse::<i64>()
            .unwrap()
    };
    let first = version().await;
    app.clock.advance(10_000);
    assert_eq!(try_upload(&ada, "a", json!({ "appVersion": "1.0.0" })).await, 201);
    assert_eq!(version().await, first + 10_000);
    app.clock.advance(10_000);
    assert_eq!(try_upload(&ada, "a", json!({ "appVersion": "1.0.0" })).await, 409);
    assert_eq!(version().await, first + 10_000);
}
