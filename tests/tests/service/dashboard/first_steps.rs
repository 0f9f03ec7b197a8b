//! The page that leads to a first release notices what happens.

use serde_json::json;
use tests::TestApp;
use tests::wait::until;

const PRODUCTION: &str = "/dashboard/apps/demo/deployments/Production";

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_download_and_install_are_noticed() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (key, _) = ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    reader.open("/dashboard/apps/demo").await.shows("First steps to your first release");
    let steps = format!("{PRODUCTION}/first-steps");
    reader.open(PRODUCTION).await.shows("updraft init --app demo --deployment Production").shows("Waiting for the app");
    let device = app.anonymous();
    let report = async |path: &str, more: serde_json::Value| {
        let mut report = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "phone" });
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        device.post(&format!("/v1/public/svc/report_status/{path}"), report).await.assert(200);
    };
    report("deploy", json!({})).await;
    reader.open(&steps).await.shows("The app started: version 1.0.0").shows("Waiting for the first release");
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    reader.open(&steps).await.shows("v1 is published").shows("Waiting for the first download");
    report("download", json!({ "label": "v1" })).await;
    reader.open(&steps).await.shows("A device downloaded the update").shows("Waiting for the first install");
    report("deploy", json!({ "label": "v1", "status": "DeploymentSucceeded" })).await;
    let done = reader.open(&steps).await.shows("Your first update works.").html();
    assert!(!done.contains("every 3s"), "nothing is left to wait for: {done}");
    let page = reader.open(PRODUCTION).await.html();
    assert!(!page.contains("First steps"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_this_server_answers_shows_that_the_app_started() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    let (key, staging) = ada.create_app("demo").await;
    let check = async |key: &str| {
        app.anonymous().get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await.assert(200);
    };
    // Nobody waits for it: it writes nothing.
    check(&key).await;
    let mut reader = app.signed_in_reader("ada").await;
    let steps = format!("{PRODUCTION}/first-steps");
    reader.open(&steps).await.shows("Waiting for the app");
    check(&staging).await;
    check(&key).await;
    until("the check is noticed", async || reader.clone().open(&steps).await.html().contains("The app started").then_some(())).await;
    assert_eq!(app.texts("SELECT name FROM deployments WHERE first_check_time IS NOT NULL", &[]).await, ["Production"]);
    // Who may not see the key cannot set up an app, and sees no steps.
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let mut bob = app.signed_in_reader("bob").await;
    let page = bob.open(&PRODUCTION.replace("demo", "ada@example.com:demo")).await.html();
    assert!(!page.contains("First steps"), "{page}");
    bob.open(&steps.replace("demo", "ada@example.com:demo")).await.is_at("/dashboard/apps/ada%40example.com%3Ademo/deployments/Production");
}
