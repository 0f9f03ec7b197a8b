//! Invalid values in KV, and missing KV.

use serde_json::json;
use shared::snapshot::Snapshot;
use tests::Bundle;
use tests::edge::{EdgeApp, EdgeOptions};
use tests::signed::header;

fn check(key: &str) -> String {
    format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_kv_value_falls_back_to_the_control_plane_then_to_the_cache() {
    let mut app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let owner = app.sign_up("ada").await;
    let (key, other) = owner.create_app("app").await;
    owner.upload("app", "Production", &Bundle::script("first").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.until_offered(&key, "v1").await;
    app.until_pushed(&other).await;
    for value in ["", "{}", "[1", "null", "{\"f\":999999}", &"x".repeat(100_000)] {
        app.edge.put_kv(&key, value).await;
        let body = app.anonymous().get(&check(&key)).await.assert(200);
        assert_eq!(body["update_info"]["label"], "v1", "{value:.20}");
    }
    app.edge.put_kv(&other, "no snapshot").await;

    app.control.stop().await;
    let body = app.anonymous().get(&check(&key)).await.assert(200);
    assert_eq!(body["update_info"]["label"], "v1", "the cached one is used regardless of its age");
    app.anonymous().get(&check(&other)).await.refused(503);
    let report = json!({ "deployment_key": other, "app_version": "1.0.0", "client_unique_id": "a" });
    app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.refused(503);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_means_the_deployment_was_deleted() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let key = "deleted-deployment-0123456789";
    app.edge.put_snapshot(key, &Snapshot::publish(&header(1), &[]).unwrap()).await;
    app.anonymous().get(&check(key)).await.assert(200);
    app.edge.put_snapshot(key, &Snapshot::publish_tombstone(&header(2))).await;
    app.anonymous().get(&check(key)).await.refused(404);
    let report = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "a" });
    // Accepted and dropped: SDKs keep a refused report and retry it at every start.
    assert_eq!(app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200), json!({ "status": "ok" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_kv_the_control_plane_is_used_and_without_both_checks_fail() {
    let mut app = EdgeApp::spawn_with(EdgeOptions::default().without("SNAPSHOTS").without_memory()).await;
    let owner = app.sign_up("ada").await;
    let (key, other) = owner.create_app("app").await;
    owner.upload("app", "Production", &Bundle::script("first").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(app.anonymous().get(&check(&key)).await.assert(200)["update_info"]["label"], "v1");

    app.control.stop().await;
    assert_eq!(app.anonymous().get(&check(&key)).await.assert(200)["update_info"]["label"], "v1", "the cached one");
    let unknown = app.anonymous().get(&check(&other)).await;
    unknown.refused(503);
    unknown.header("retry-after").parse::<u32>().unwrap();
    for path in ["/v1/public/svc/report_status/deploy", "/reportStatus/deploy"] {
        let report = json!({ "deployment_key": other, "app_version": "1.0.0", "client_unique_id": "a" });
        app.anonymous().post(path, report).await.refused(503);
    }
}
