//! POST …/rollbacks.

use reqwest::Method;
use serde_json::{Value, json};

use crate::v1::apps::deployments::{below, history, labels, noted, patch, prepared, promote, refused, release, roll_back, unsigned};

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_releases_the_previous_release_again() {
    let (app, ada) = prepared().await;
    let bob = app.sign_up("bob").await;
    app.share("ada", "demo", "bob", "Developer", app.clock.now().0 + 1).await;
    let first = release(&ada, "Staging", "one", json!({ "description": "first", "isMandatory": true })).await;
    let second = release(&ada, "Staging", "two", json!({ "rollout": 50 })).await;
    let blobs = app.leftovers().await.rows[1];
    app.clock.advance(1_000);
    let answer = bob.post(&below("Staging", "rollbacks"), json!({})).await;
    let package = answer.assert(201)["package"].take();
    assert_eq!(answer.header("location"), "/v1/apps/demo/deployments/Staging/releases/v3");
    let mut expected = first.clone();
    for (member, value) in [
        ("label", json!("v3")),
        ("releaseMethod", json!("Rollback")),
        ("originalLabel", json!("v1")),
        ("releasedBy", json!("bob@example.com")),
        ("uploadTime", json!(app.clock.now().0)),
    ] {
        expected[member] = value;
    }
    assert_eq!(unsigned(package.clone()), unsigned(expected));
    assert_eq!(package.get("originalDeployment"), None, "only promotions have this member");
    assert_eq!(app.leftovers().await.rows[1], blobs, "the bytes are shared");
    let download = app.anonymous().get(package["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap()).await;
    assert_eq!(download.body, b"one");
    // The release before the rollback is kept with its rollout.
    let after = history(&ada, "Staging").await;
    assert_eq!((labels(&after), &after[1]["rollout"]), (vec!["v1", "v2", "v3"], &second["rollout"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_is_audited() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    release(&ada, "Staging", "two", json!({})).await;
    let (action, details, _) = noted(&app, 201, roll_back(&ada, "Staging", json!("v1"))).await;
    assert_eq!(action, "release.rollback");
    assert_eq!(details, json!({ "deployment": "Staging", "label": "v3", "originalLabel": "v1" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_or_partially_rolled_out_target_is_restored_for_all_devices() {
    let (_app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "rollout": 10, "isDisabled": true, "description": "first" })).await;
    release(&ada, "Staging", "two", json!({})).await;
    release(&ada, "Staging", "three", json!({})).await;
    let package = roll_back(&ada, "Staging", json!("v1")).await.assert(201)["package"].take();
    assert_eq!((&package["isDisabled"], &package["rollout"]), (&json!(false), &Value::Null));
    assert_eq!((&package["originalLabel"], &package["description"]), (&json!("v1"), &json!("first")));
    // The target itself is unchanged.
    let first = history(&ada, "Staging").await[0].clone();
    assert_eq!((&first["isDisabled"], &first["rollout"]), (&json!(true), &json!(10)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_ends_an_unfinished_rollout() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    release(&ada, "Staging", "two", json!({ "rollout": 10 })).await;
    refused(&app, 409, ada.upload("demo", "Staging", b"three", json!({ "appVersion": "1.0.0" }))).await;
    roll_back(&ada, "Staging", Value::Null).await.assert(201);
    release(&ada, "Staging", "three", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_without_an_earlier_release_is_refused() {
    let (app, ada) = prepared().await;
    for target in [Value::Null, json!("v1")] {
        refused(&app, 404, roll_back(&ada, "Staging", target)).await;
    }
    release(&ada, "Staging", "one", json!({})).await;
    let text = refused(&app, 404, roll_back(&ada, "Staging", Value::Null)).await;
    assert!(text.contains("earlier release"), "{text}");
    refused(&app, 404, roll_back(&ada, "Staging", json!("v2"))).await;
    refused(&app, 404, roll_back(&ada, "Absent", Value::Null)).await;
    // Releases of another deployment do not count.
    release(&ada, "Production", "one", json!({})).await;
    release(&ada, "Production", "two", json!({})).await;
    refused(&app, 404, roll_back(&ada, "Staging", json!("v2"))).await;
    // Cleared releases do not count either, and their labels are not reused.
    ada.delete(&below("Production", "history")).await.assert_status(204);
    release(&ada, "Production", "three", json!({})).await;
    refused(&app, 404, roll_back(&ada, "Production", Value::Null)).await;
    refused(&app, 404, roll_back(&ada, "Production", json!("v2"))).await;
    assert_eq!(labels(&history(&ada, "Production").await), ["v3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_to_the_current_release_is_refused() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    for expected in ["v1", "v2", "v3"] {
        let text = refused(&app, 409, roll_back(&ada, "Staging", json!(expected))).await;
        assert!(text.contains(expected), "{text}");
        release(&ada, "Staging", &format!("after {expected}"), json!({})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_across_a_change_of_binary_versions_is_refused() {
    let (app, ada) = prepared().await;
    for (content, range) in [("one", "^1.2.0"), ("two", "1.2.0"), ("three", "^1.2")] {
        ada.upload("demo", "Staging", content.as_bytes(), json!({ "appVersion": range })).await.assert(201);
    }
    // The default is the previous release, regardless of its range.
    let text = refused(&app, 409, roll_back(&ada, "Staging", Value::Null)).await;
    assert!(text.contains("appVersion"), "{text}");
    refused(&app, 409, roll_back(&ada, "Staging", json!("v2"))).await;
    // An equivalent range is the same.
    let package = roll_back(&ada, "Staging", json!("v1")).await.assert(201)["package"].take();
    assert_eq!((&package["label"], &package["appVersion"]), (&json!("v4"), &json!("^1.2.0")));
    // The current version range counts.
    patch(&ada, "Staging", json!({ "appVersion": "2.0.0" })).await.assert(200);
    refused(&app, 409, roll_back(&ada, "Staging", json!("v3"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_can_be_rolled_back_and_promoted() {
    let (_app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    release(&ada, "Staging", "two", json!({})).await;
    for (target, original) in [(Value::Null, "v1"), (Value::Null, "v2"), (json!("v3"), "v3"), (json!("v1"), "v1")] {
        let package = roll_back(&ada, "Staging", target).await.assert(201)["package"].take();
        assert_eq!(package["originalLabel"], original);
    }
    let after = history(&ada, "Staging").await;
    let hashes: Vec<_> = after.iter().map(|release| &release["packageHash"]).collect();
    assert_eq!(hashes, [hashes[0], hashes[1], hashes[0], hashes[1], hashes[0], hashes[0]]);
    let promoted = promote(&ada, json!({})).await.assert(201)["package"].take();
    assert_eq!((&promoted["releaseMethod"], &promoted["originalLabel"]), (&json!("Promote"), &json!("v6")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_is_optional_but_must_be_valid() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    release(&ada, "Staging", "two", json!({})).await;
    let request = |kind: Option<&'static str>, body: &'static str| {
        let request = ada.request(Method::POST, &below("Staging", "rollbacks"));
        let request = kind.into_iter().fold(request, |request, kind| request.header("content-type", kind));
        ada.send(request.body(body))
    };
    for (kind, body) in [
        (None, ""),
        (Some("text/plain"), ""),
        (Some("application/json"), "{}"),
        (Some("application/json"), "null"),
        (None, r#"{"targetRelease":null}"#),
    ] {
        request(kind, body).await.assert(201);
    }
    for target in [json!(""), json!("2"), json!("v0"), json!(2), json!(["v1"])] {
        let text = refused(&app, 400, roll_back(&ada, "Staging", target)).await;
        assert!(text.starts_with("targetRelease: "), "{text}");
    }
    for body in [" ", "[]", "{", r#"{"targetRelease":"v1","targetRelease":"v2"}"#] {
        refused(&app, 400, request(Some("application/json"), body)).await;
    }
    refused(&app, 415, request(Some("text/plain"), "{}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_rollout_still_applies_to_an_older_release() {
    let (app, ada) = prepared().await;
    let key = ada.deployment_key("demo", "Staging").await;
    // The bucket of device-1 is 31 for v2: outside of 31 percent, inside of 32.
    let offered = async || {
        let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0&client_unique_id=device-1");
        app.anonymous().get(&path).await.assert(200)["update_info"]["label"].as_str().unwrap().to_owned()
    };
    release(&ada, "Staging", "one", json!({})).await;
    release(&ada, "Staging", "two", json!({ "rollout": 31 })).await;
    assert_eq!(offered().await, "v1");
    patch(&ada, "Staging", json!({ "rollout": 32 })).await.assert(200);
    assert_eq!(offered().await, "v2");
    roll_back(&ada, "Staging", Value::Null).await.assert(201);
    assert_eq!(offered().await, "v3");
    // Without the rollback's release, v2 applies again to the selected devices.
    patch(&ada, "Staging", json!({ "isDisabled": true })).await.assert(200);
    assert_eq!(offered().await, "v2");
    assert_eq!(history(&ada, "Staging").await[1]["rollout"], 32);
}
