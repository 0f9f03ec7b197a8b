//! A device runs one release or binary of an app at a time.

use serde_json::{Value, json};
use tests::reports::{batch, counts};

use crate::devices::counting::{DEPLOY, World, stamped};

#[tokio::test(flavor = "multi_thread")]
async fn a_device_runs_one_release_of_an_app_at_a_time() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 2).await;
    // From release to release, to a binary, to another deployment's binary, to its release, and back.
    world.installed(&staging, "a", "v1").await;
    world.installed(&staging, "a", "v2").await;
    world.binary(&staging, "a", "1.0.0").await;
    world.binary(&production, "a", "1.0.0").await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("1.0.0", [0, 0, 0, 0]), ("v1", [0, 0, 1, 0]), ("v2", [0, 0, 1, 0])]));
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("1.0.0", [1, 0, 0, 0])]));
    world.installed(&production, "a", "v2").await;
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("1.0.0", [0, 0, 0, 0]), ("v2", [1, 0, 1, 0])]));
    // Reports counted once are not counted again when the device comes back.
    world.installed(&staging, "a", "v1").await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("1.0.0", [0, 0, 0, 0]), ("v1", [1, 0, 1, 0]), ("v2", [0, 0, 1, 0])]));
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("1.0.0", [0, 0, 0, 0]), ("v2", [0, 0, 1, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_client_id_in_another_app_is_another_device() {
    let world = World::new().await;
    let (_, here) = world.app_with("here", 1).await;
    let (_, there) = world.app_with("there", 1).await;
    world.installed(&here, "a", "v1").await;
    // The SDK names a previous release; in another app no device left it.
    let moved = json!({ "deployment_key": there, "app_version": "1.0.0", "client_unique_id": "a", "label": "v1", "status": "DeploymentSucceeded",
        "previous_deployment_key": here, "previous_label_or_app_version": "v1" });
    world.send(DEPLOY, moved).await;
    for app in ["here", "there"] {
        assert_eq!(world.ada.counts(app, "Staging").await, counts([("v1", [1, 0, 1, 0])]), "{app}");
    }
    world.binary(&there, "a", "2.0.0").await;
    assert_eq!(world.ada.counts("here", "Staging").await, counts([("v1", [1, 0, 1, 0])]));
    assert_eq!(world.ada.counts("there", "Staging").await, counts([("2.0.0", [1, 0, 0, 0]), ("v1", [0, 0, 1, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_and_failures_do_not_move_a_device() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 2).await;
    // Neither a device without a release …
    world.downloaded(&staging, "new", "v1").await;
    world.failed(&staging, "new", "v1").await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [0, 1, 0, 1])]));
    // … nor one with a release, in its own deployment or another.
    world.installed(&staging, "a", "v1").await;
    for key in [&staging, &production] {
        world.downloaded(key, "a", "v2").await;
        world.failed(key, "a", "v2").await;
    }
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [1, 1, 1, 1]), ("v2", [0, 1, 0, 1])]));
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("v2", [0, 1, 0, 1])]));
    // Each event of each label counts once per device, also for its current release.
    for _ in 0..3 {
        world.downloaded(&staging, "a", "v1").await;
        world.failed(&staging, "a", "v1").await;
        world.installed(&staging, "a", "v1").await;
    }
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [1, 2, 1, 2]), ("v2", [0, 1, 0, 1])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_previous_release_in_a_report_is_ignored() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 2).await;
    let (_, other) = world.app_with("other", 2).await;
    for key in [&staging, &production, &other] {
        world.installed(key, "bystander", "v1").await;
    }
    let report = |client: &str, previous_key: Value, previous: Value| {
        json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": client, "label": "v2", "status": "DeploymentSucceeded",
            "previous_deployment_key": previous_key, "previous_label_or_app_version": previous })
    };
    let mut clients = 0;
    for previous_key in
        [json!(staging), json!(production), json!(other), json!("nobody-has-this-key"), json!("?"), json!(""), json!(null), json!(7)]
    {
        for previous in [json!("v1"), json!("v2"), json!("1.0.0"), json!("v999"), json!("-"), json!(null), json!([])] {
            clients += 1;
            world.send(DEPLOY, report(&format!("client {clients}"), previous_key.clone(), previous)).await;
        }
    }
    // The unrelated device moved to Production by its own report; no other device moved.
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [0, 0, 1, 0]), ("v2", [clients, 0, clients, 0])]));
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("v1", [1, 0, 1, 0])]));
    assert_eq!(world.ada.counts("other", "Staging").await, counts([("v1", [1, 0, 1, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_for_an_unknown_release_moves_no_device() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 1).await;
    world.installed(&staging, "a", "v1").await;
    for key in [&staging, &production] {
        world.installed(key, "a", "v2").await;
        world.failed(key, "a", "v2").await;
        world.downloaded(key, "a", "v2").await;
    }
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [1, 0, 1, 0])]), "it has not moved");
    assert_eq!(world.ada.counts("demo", "Production").await, counts([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_key_does_not_inherit_reports_of_the_deleted_deployment() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let upload = async || {
        let answer = world.ada.upload("demo", "Staging", b"the first", json!({ "appVersion": "1.0.0" })).await;
        assert_eq!(answer.assert(201)["package"]["label"], "v1");
    };
    let now = || world.app.clock.now().0;
    let old = now();
    let reports = |first: u32, received: i64| {
        [
            stamped(first, received, &staging, Some("a"), "installed", "v1"),
            stamped(first + 1, received, &staging, Some("b"), "binary", "1.0.0"),
            stamped(first + 2, received, &staging, None, "downloaded", "v1"),
        ]
    };
    world.app.clock.advance(60_000);
    world.ada.delete("/v1/apps/demo/deployments/Staging").await.assert_status(204);
    world.ada.post("/v1/apps/demo/deployments", json!({ "name": "Staging", "key": staging })).await.assert(201);
    upload().await;
    // Reports of the first deployment arrive late.
    let client = world.app.anonymous();
    let late = client.send(batch(&client, world.app.clock.now(), &reports(1, old))).await.assert(200);
    assert_eq!(late["dropped"].as_array().unwrap().len(), 3, "{late}");
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([]));
    world.app.deliver(&reports(4, now())).await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [1, 1, 1, 0]), ("1.0.0", [1, 0, 0, 0])]));
}
