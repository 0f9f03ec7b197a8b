//! Devices without a client ID.

use serde_json::json;
use tests::reports::counts;

use crate::devices::counting::{DEPLOY, DOWNLOAD, World, stamped};

#[tokio::test(flavor = "multi_thread")]
async fn a_report_without_a_client_id_counts_once_and_activates_no_device() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 2).await;
    let reports = [
        stamped(1, 10, &staging, None, "downloaded", "v1"),
        stamped(2, 10, &staging, None, "downloaded", "v1"),
        stamped(3, 20, &staging, None, "installed", "v1"),
        stamped(4, 30, &staging, None, "failed", "v2"),
        stamped(5, 30, &production, None, "installed", "v2"),
        stamped(6, 40, &staging, None, "binary", "1.0.0"),
        stamped(7, 50, &staging, None, "installed", "v9"),
    ];
    let expected = counts([("v1", [0, 2, 1, 0]), ("v2", [0, 0, 0, 1])]);
    for _ in 0..3 {
        world.app.deliver(&reports).await;
        world.app.deliver(&reports[2..4]).await;
        assert_eq!(world.ada.counts("demo", "Staging").await, expected);
        assert_eq!(world.ada.counts("demo", "Production").await, counts([("v2", [0, 0, 1, 0])]));
    }
    // In one batch with reports of devices with IDs.
    world
        .app
        .deliver(&[
            stamped(10, 60, &staging, Some("a"), "installed", "v1"),
            stamped(11, 60, &staging, None, "installed", "v1"),
            stamped(3, 20, &staging, None, "installed", "v1"),
        ])
        .await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [1, 2, 3, 0]), ("v2", [0, 0, 0, 1])]));
    assert_eq!(world.app.number("SELECT COUNT(*) FROM report_clients").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_both_dialects_an_empty_client_id_is_none() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    for (key, version, id) in [("deployment_key", "app_version", "client_unique_id"), ("deploymentKey", "appVersion", "clientUniqueId")] {
        for value in [json!(""), json!(null)] {
            world.send(DEPLOY, json!({ key: staging, version: "1.0.0", id: value, "label": "v1", "status": "DeploymentSucceeded" })).await;
            world.send(DEPLOY, json!({ key: staging, version: "1.0.0", id: value, "label": "v1", "status": "DeploymentFailed" })).await;
            world.send(DEPLOY, json!({ key: staging, version: "1.0.0", id: value })).await;
            world.send(DOWNLOAD, json!({ key: staging, id: value, "label": "v1" })).await;
        }
    }
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [0, 4, 4, 4])]));
    assert_eq!(world.app.number("SELECT COUNT(*) FROM report_clients").await, 0);
}
