//! The history after a rename, a transfer, clearing, and deletion.

use serde_json::json;
use tests::wait::until;

use crate::v1::apps::deployments::metrics::{day, days_later, history, install, prepared, release, round, stored, today, values, whole};

#[tokio::test(flavor = "multi_thread")]
async fn renames_and_a_transfer_keep_the_history() {
    let (app, ada, staging) = prepared(1).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    let second = days_later(&app, 1);
    install(&app, &staging, "b", "v1").await;
    ada.patch("/v1/apps/demo", json!({ "name": "shop" })).await.assert(200);
    ada.patch("/v1/apps/shop/deployments/Staging", json!({ "name": "Beta" })).await.assert(200);
    let bob = app.sign_up("bob").await;
    ada.send(ada.request(reqwest::Method::POST, "/v1/apps/shop/transfer/bob@example.com")).await.assert(201);
    bob.post("/v1/apps/ada@example.com:shop/collaborators/me/accept", json!({})).await.assert(200);
    round(&app).await;
    let third = days_later(&app, 1);
    round(&app).await;
    let expected = json!({
        "from": first.to_string(), "to": third.to_string(), "historyStartsAt": first.to_string(),
        "days": [
            day(first, [("v1", values([1, 0, 1, 0], None))]),
            day(second, [("v1", values([2, 0, 2, 0], Some([0, 1, 0])))]),
            day(third, [("v1", values([2, 0, 2, 0], Some([0, 0, 0])))]),
        ],
    });
    assert_eq!(history(&bob, "shop", "Beta", "").await, expected);
    assert_eq!(history(&ada, "bob@example.com:shop", "Beta", "").await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_history_starts_over() {
    let (mut app, ada, staging) = prepared(1).await;
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    days_later(&app, 1);
    install(&app, &staging, "b", "v1").await;
    round(&app).await;
    let before = stored(&app).await;
    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    let nothing = whole(&ada).await;
    assert_eq!((&nothing["historyStartsAt"], &nothing["days"]), (&json!(null), &json!([])), "{nothing}");
    round(&app).await;
    assert_eq!(stored(&app).await, before, "a deployment without releases gets no new day, and no old day is closed");
    // On the same day, whose earlier row no longer counts.
    assert_eq!(release(&ada, "demo", "two").await, "v2");
    install(&app, &staging, "a", "v2").await;
    round(&app).await;
    let second = today(&app);
    let expected = json!({
        "from": second.to_string(), "to": second.to_string(), "historyStartsAt": second.to_string(),
        "days": [day(second, [("v2", values([1, 0, 1, 0], None))])],
    });
    assert_eq!(whole(&ada).await, expected);
    // The rows of the old history are deleted, for example in the first round after startup.
    assert_eq!(stored(&app).await.len(), 3);
    app.stop().await;
    app.start().await;
    until("the days from before are deleted", async || (stored(&app).await.len() == 1).then_some(())).await;
    assert_eq!(whole(&ada.at(&app.base)).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_of_a_deleted_deployment_is_inaccessible() {
    let (mut app, ada, staging) = prepared(1).await;
    ada.upload("demo", "Production", b"stays", json!({ "appVersion": "1.0.0" })).await.assert(201);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    let kept = history(&ada, "demo", "Production", "").await;
    ada.delete("/v1/apps/demo/deployments/Staging").await.assert(204);
    ada.get("/v1/apps/demo/deployments/Staging/metrics/history").await.refused(404);
    // A new deployment with the same name and key is a different one.
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Staging", "key": staging })).await.assert(201);
    assert_eq!(whole(&ada).await["historyStartsAt"], json!(null));
    release(&ada, "demo", "new").await;
    assert_eq!(whole(&ada).await["days"], json!([]));
    assert_eq!(stored(&app).await.len(), 2);
    app.stop().await;
    app.start().await;
    // Its row is deleted, and the round at startup creates one for the new deployment.
    let sql = "SELECT COUNT(*) FROM metric_days m LEFT JOIN deployments d ON d.id = m.deployment_id WHERE d.id IS NULL";
    until("the days of the deleted deployment are deleted", async || (app.number(sql).await == 0).then_some(())).await;
    let ada = ada.at(&app.base);
    until("the round at startup has processed the new deployment", async || (stored(&app).await.len() == 2).then_some(())).await;
    assert_eq!(whole(&ada).await["days"], json!([day(today(&app), [])]));
    assert_eq!(history(&ada, "demo", "Production", "").await, kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_runs_at_startup_and_closes_missed_days_with_their_final_values() {
    let (mut app, ada, staging) = prepared(1).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    install(&app, &staging, "b", "v1").await;
    app.stop().await;
    let back = days_later(&app, 3);
    app.start().await;
    let ada = ada.at(&app.base);
    let expected = [day(first, [("v1", values([2, 0, 2, 0], None))]), day(back, [("v1", values([2, 0, 2, 0], None))])];
    until("the round at startup has run", async || (whole(&ada).await["days"] == json!(expected)).then_some(())).await;
}
