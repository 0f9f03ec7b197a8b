//! Clearing a deployment's history deletes releases and counts, and continues the labels.

use serde_json::json;
use tests::TestApp;

use crate::v1::apps::{check, release, report};

#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_deployment_is_empty_and_continues_its_labels() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let path = "/v1/apps/demo/deployments/Staging";
    for content in ["v1", "v2"] {
        release(&ada, "demo", "Staging", content).await.assert(201);
    }
    for device in ["one", "two"] {
        report(&app, &staging, device, "v2").await.assert(200);
        app.clock.advance(1);
    }
    assert_eq!(ada.metrics("demo", "Staging").await["v2"]["active"], 2);
    ada.delete(&format!("{path}/history")).await.assert(204);

    assert_eq!(ada.get(&format!("{path}/history")).await.assert(200), json!({ "history": [] }));
    let deployment = ada.get(path).await.assert(200);
    assert_eq!((&deployment["deployment"]["package"], &deployment["deployment"]["key"]), (&json!(null), &json!(staging)));
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));
    assert_eq!(check(&app, &staging).await.assert(200)["update_info"]["is_available"], false);
    // Devices still report what they run, but it is not counted.
    report(&app, &staging, "one", "v2").await.assert(200);
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));

    // The same contents are no longer a duplicate.
    app.clock.advance(1);
    assert_eq!(release(&ada, "demo", "Staging", "v2").await.assert(201)["package"]["label"], "v3");
    assert_eq!(check(&app, &staging).await.assert(200)["update_info"]["label"], "v3");
    report(&app, &staging, "one", "v3").await.assert(200);
    let counted = json!({ "v3": { "active": 1, "downloaded": 0, "installed": 1, "failed": 0 } });
    assert_eq!(ada.metrics("demo", "Staging").await, counted, "devices from before do not lower the counters");
}

#[tokio::test(flavor = "multi_thread")]
async fn clearing_requires_only_a_deployment() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.delete("/v1/apps/demo/deployments/Absent/history").await.refused(404);
    for _ in 0..2 {
        ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    }
    release(&ada, "demo", "Staging", "a rollout").await.assert(201);
    let unfinished = json!({ "appVersion": "1.0.0", "rollout": 10 });
    ada.upload("demo", "Staging", b"unfinished", unfinished).await.assert(201);
    release(&ada, "demo", "Staging", "next").await.refused(409);
    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    assert_eq!(release(&ada, "demo", "Staging", "next").await.assert(201)["package"]["label"], "v3");
}

#[tokio::test(flavor = "multi_thread")]
async fn clearing_concurrently_with_reports_leaves_no_negative_count() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    release(&ada, "demo", "Staging", "v1").await.assert(201);
    let reports: Vec<_> = (0..40)
        .map(|number| {
            let (client, staging) = (app.anonymous(), staging.clone());
            let (version, device) = (["1.0.0", "2.0.0"][number % 2], format!("d{}", number % 10));
            let body = json!({ "deployment_key": staging, "app_version": version, "client_unique_id": device });
            tokio::spawn(async move { client.post("/v1/public/svc/report_status/deploy", body).await.status.as_u16() })
        })
        .collect();
    for _ in 0..5 {
        ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    }
    for report in reports {
        assert_eq!(report.await.unwrap(), 200);
    }
    // Each current counter matches the device rows; outdated counters are treated as absent.
    let counted = "SELECT m.place || ' ' || CAST(m.active AS TEXT) FROM metric_counters m \
        JOIN deployments d ON d.id = m.deployment_id AND d.counting_epoch = m.epoch WHERE m.active <> 0 ORDER BY 1";
    let there = "SELECT m.place || ' ' || CAST(COUNT(*) AS TEXT) FROM report_clients m \
        JOIN deployments d ON d.id = m.deployment_id AND d.counting_epoch = m.epoch GROUP BY m.place ORDER BY 1";
    assert_eq!(app.texts(counted, &[]).await, app.texts(there, &[]).await);
    assert_eq!(app.number("SELECT COUNT(*) FROM metric_counters WHERE active < 0").await, 0);
    // Later reports are counted, each device once.
    for number in 0..10 {
        let body = json!({ "deployment_key": staging, "app_version": "3.0.0", "client_unique_id": format!("d{number}") });
        app.clock.advance(1);
        app.anonymous().post("/v1/public/svc/report_status/deploy", body).await.assert(200);
    }
    let shown = ada.metrics("demo", "Staging").await;
    for (place, counts) in shown.as_object().unwrap() {
        assert_eq!(counts["active"], if place == "3.0.0" { 10 } else { 0 }, "{shown}");
    }
}
