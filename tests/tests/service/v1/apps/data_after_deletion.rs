//! Data of deleted apps and deployments is deleted later, in the background.

use tests::TestApp;
use tests::wait::until;

use crate::v1::apps::{release, report};

/// More than one transaction deletes.
const DEVICES: i64 = 1_200;

/// Adds devices to the app of the only device that has reported.
async fn multiply(app: &TestApp) {
    let one = app.texts("SELECT app_id FROM report_clients", &[]).await.remove(0);
    let state = app.state();
    let mut tx = state.db.write().await.unwrap();
    for number in 1..DEVICES {
        let sql = "INSERT INTO report_clients (app_id, client, deployment_id, epoch, place, place_time, place_report, flags) \
            SELECT app_id, $2, deployment_id, epoch, place, place_time, place_report, flags FROM report_clients WHERE app_id = $1 LIMIT 1";
        let client = u128::try_from(number).unwrap().to_be_bytes();
        tests::on_write!(tx, |conn| sqlx::query(sql).bind(&one).bind(client.as_slice()).execute(conn).await).unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(app.number("SELECT COUNT(*) FROM report_clients").await, DEVICES);
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_and_counts_of_a_deleted_app_are_deleted_later_and_others_stay() {
    let mut app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (_, of_ada) = ada.create_app("demo").await;
    release(&ada, "demo", "Staging", "v1").await.assert(201);
    report(&app, &of_ada, "device", "v1").await.assert(200);
    multiply(&app).await;
    let (_, of_bob) = bob.create_app("demo").await;
    release(&bob, "demo", "Staging", "v1").await.assert(201);
    report(&app, &of_bob, "device", "v1").await.assert(200);

    ada.delete("/v1/apps/demo").await.assert(204);
    assert_eq!(app.number("SELECT COUNT(*) FROM report_clients").await, DEVICES + 1, "the request does not wait for their deletion");
    // Startup begins with a round of the job.
    app.stop().await;
    app.start().await;
    until("the devices of the deleted app are deleted", async || {
        (app.number("SELECT COUNT(*) FROM report_clients").await == 1).then_some(())
    })
    .await;
    until("its counts are deleted", async || (app.number("SELECT COUNT(*) FROM metric_counters").await == 1).then_some(())).await;
    let bob = bob.at(&app.base);
    assert_eq!(bob.metrics("demo", "Staging").await["v1"]["active"], 1);
    // The other app's device is still known: its repeated report is not counted.
    report(&app, &of_bob, "device", "v1").await.assert(200);
    assert_eq!(bob.metrics("demo", "Staging").await["v1"]["installed"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_deleted_deployments_and_cleared_histories_are_deleted_and_others_stay() {
    let mut app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    let beta = "key-of-the-deployment-beta";
    ada.post("/v1/apps/demo/deployments", serde_json::json!({ "name": "Beta", "key": beta })).await.assert(201);
    for (deployment, key) in [("Production", production.as_str()), ("Staging", &staging), ("Beta", beta)] {
        release(&ada, "demo", deployment, "v1").await.assert(201);
        report(&app, key, &format!("device of {deployment}"), "v1").await.assert(200);
    }
    ada.delete("/v1/apps/demo/deployments/Staging").await.assert(204);
    ada.delete("/v1/apps/demo/deployments/Beta/history").await.assert(204);
    release(&ada, "demo", "Beta", "v2").await.assert(201);
    report(&app, beta, "another device", "v2").await.assert(200);
    assert_eq!(app.number("SELECT COUNT(*) FROM metric_counters").await, 4);
    app.stop().await;
    app.start().await;
    until("outdated counts are deleted", async || (app.number("SELECT COUNT(*) FROM metric_counters").await == 2).then_some(())).await;
    let ada = ada.at(&app.base);
    assert_eq!(ada.metrics("demo", "Production").await["v1"]["active"], 1);
    assert_eq!(ada.metrics("demo", "Beta").await["v2"]["active"], 1);
    // A device row is kept as long as its app.
    assert_eq!(app.number("SELECT COUNT(*) FROM report_clients").await, 4);
}
