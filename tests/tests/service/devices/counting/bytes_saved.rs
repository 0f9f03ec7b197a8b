//! What diffs have saved: an estimate, beside counts that it does not change.

use reqwest::Method;
use serde_json::{Value, json};
use tests::TestApp;
use tests::reports::counts;

use crate::devices::counting::{World, stamped};

/// The size of every release.
const FULL: i64 = 5_000_000;

/// What it is before any diff has saved anything.
fn nothing() -> Value {
    json!({ "total": 0, "labels": {} })
}

/// A server with releases of [`FULL`] bytes in both deployments of `demo`, and the keys of Production and Staging.
async fn prepared(releases: u32) -> (World, String, String) {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", releases).await;
    world.app.change("UPDATE releases SET size = CAST($1 AS BIGINT)", &[&FULL.to_string()]).await;
    (world, production, staging)
}

impl World {
    /// The estimate for Staging.
    async fn saved(&self) -> Value {
        self.ada.get("/v1/apps/demo/deployments/Staging/metrics").await.assert(200)["estimatedBytesSaved"].clone()
    }
}

/// The diff from v1 to v2.
async fn first_diff(app: &TestApp, key: &str, size: i64) {
    app.add_diff(key, ("v1", "v2"), size).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_from_a_release_with_a_diff_saves_the_rest() {
    let (world, production, staging) = prepared(2).await;
    first_diff(&world.app, &staging, 1_000_000).await;
    world.installed(&staging, "a", "v1").await;
    assert_eq!(world.saved().await, nothing());
    world.downloaded(&staging, "a", "v2").await;
    let one = json!({ "total": 4_000_000, "labels": { "v2": 4_000_000 } });
    assert_eq!(world.saved().await, one);
    // Only the first report of a device counts, also once it runs the release.
    world.downloaded(&staging, "a", "v2").await;
    world.installed(&staging, "a", "v2").await;
    world.downloaded(&staging, "a", "v2").await;
    world.installed(&staging, "a", "v1").await;
    world.downloaded(&staging, "a", "v2").await;
    assert_eq!(world.saved().await, one);
    world.installed(&staging, "b", "v1").await;
    world.downloaded(&staging, "b", "v2").await;
    assert_eq!(world.saved().await, json!({ "total": 8_000_000, "labels": { "v2": 8_000_000 } }));
    // The counts are what they are without diffs.
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [2, 0, 2, 0]), ("v2", [0, 2, 1, 0])]));
    // Another deployment with the same labels has no diff.
    world.installed(&production, "c", "v1").await;
    world.downloaded(&production, "c", "v2").await;
    assert_eq!(world.ada.get("/v1/apps/demo/deployments/Production/metrics").await.assert(200)["estimatedBytesSaved"], nothing());
    // The CodePush dialect has the counts alone.
    let request = world.ada.request(Method::GET, "/apps/demo/deployments/Staging/metrics");
    let dialect = world.ada.send(request.header("accept", "application/vnd.code-push.v2+json")).await.assert(200);
    assert_eq!(dialect.as_object().unwrap().keys().collect::<Vec<_>>(), ["metrics"], "{dialect}");
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_without_a_smaller_diff_save_nothing() {
    let (world, production, staging) = prepared(3).await;
    first_diff(&world.app, &staging, 1_000_000).await;
    // It is larger than the release.
    world.app.add_diff(&staging, ("v1", "v3"), FULL + 1).await;
    world.downloaded(&staging, "without a place", "v2").await;
    world.binary(&staging, "app store build", "1.0.0").await;
    world.downloaded(&staging, "app store build", "v2").await;
    world.installed(&staging, "no diff", "v3").await;
    world.downloaded(&staging, "no diff", "v2").await;
    world.installed(&production, "elsewhere", "v1").await;
    world.downloaded(&staging, "elsewhere", "v2").await;
    world.installed(&staging, "large diff", "v1").await;
    world.downloaded(&staging, "large diff", "v3").await;
    world.installed(&staging, "same release", "v2").await;
    world.downloaded(&staging, "same release", "v2").await;
    world.app.deliver(&[stamped(1, 10, &staging, None, "downloaded", "v2")]).await;
    assert_eq!(world.saved().await, nothing());
    // A diff that comes later changes nothing.
    world.app.add_diff(&staging, ("v3", "v2"), 1).await;
    world.downloaded(&staging, "no diff", "v2").await;
    assert_eq!(world.saved().await, nothing());
    // All of them are counted.
    assert_eq!(world.ada.counts("demo", "Staging").await["v2"], [1, 6, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn within_a_batch_the_order_does_not_matter() {
    let (world, _, staging) = prepared(2).await;
    first_diff(&world.app, &staging, 1_000_000).await;
    for client in ["a", "b", "c"] {
        world.installed(&staging, client, "v1").await;
    }
    let now = world.app.clock.now().0;
    let updated = |client: &str, number: u32| {
        let download = stamped(number, now + 1, &staging, Some(client), "downloaded", "v2");
        [stamped(number + 1, now + 2, &staging, Some(client), "installed", "v2"), download]
    };
    let (early, [install, download]) = (updated("a", 1), updated("b", 3));
    let batch = [&early[..], &[download.clone(), install.clone(), download, install]].concat();
    let expected = json!({ "total": 8_000_000, "labels": { "v2": 8_000_000 } });
    world.app.deliver(&batch).await;
    assert_eq!(world.saved().await, expected);
    world.app.deliver(&batch).await;
    assert_eq!(world.saved().await, expected, "a repeated batch");
    // If the install is counted in an earlier batch, the device no longer runs what it was updated from: the estimate is too low.
    for report in updated("c", 5) {
        world.app.deliver(&[report]).await;
    }
    assert_eq!(world.saved().await, expected);
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [0, 0, 3, 0]), ("v2", [3, 3, 3, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_deployment_starts_over() {
    let (world, _, staging) = prepared(2).await;
    first_diff(&world.app, &staging, 1_000_000).await;
    for client in ["a", "b"] {
        world.installed(&staging, client, "v1").await;
    }
    world.downloaded(&staging, "a", "v2").await;
    assert_eq!(world.saved().await["total"], 4_000_000);
    world.ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    assert_eq!(world.saved().await, nothing());
    for content in ["three", "four"] {
        world.ada.upload("demo", "Staging", content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    world.app.change("UPDATE releases SET size = CAST($1 AS BIGINT)", &[&FULL.to_string()]).await;
    world.app.add_diff(&staging, ("v3", "v4"), 3_000_000).await;
    // Where a device was before counts as nowhere.
    world.downloaded(&staging, "b", "v4").await;
    assert_eq!(world.saved().await, nothing());
    world.installed(&staging, "a", "v3").await;
    world.downloaded(&staging, "a", "v4").await;
    assert_eq!(world.saved().await, json!({ "total": 2_000_000, "labels": { "v4": 2_000_000 } }));
}
