//! The page that leads to a first release notices what devices do through the Worker.

use reqwest::Method;
use serde_json::{Value, json};
use tests::SessionOrigin;
use tests::edge::EdgeApp;
use tests::wait::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_download_and_install_are_noticed_through_the_worker() {
    let app = EdgeApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("demo").await;
    let session = app.control.open_session("ada", SessionOrigin::Dashboard).await;
    let browser = session.with_token(None);
    let shows = async |text: &str| {
        eventually(text, async || {
            let request = browser.request(Method::GET, "/dashboard/apps/demo/deployments/Production/first-steps");
            let html = browser.send(request.header("cookie", format!("updraft={}", session.token()))).await.text();
            if html.contains(text) { Ok(()) } else { Err(html) }
        })
        .await;
    };
    let device = app.anonymous();
    let report = async |path: &str, more: Value| {
        let mut report = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "phone" });
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        device.post(&format!("/v1/public/svc/report_status/{path}"), report).await.assert(200);
    };
    shows("Waiting</span> <bdi>The app&#39;s first start").await;
    report("deploy", json!({})).await;
    shows("The app started: version 1.0.0").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.until_offered(&key, "v1").await;
    shows("v1 is published").await;
    report("download", json!({ "label": "v1" })).await;
    shows("A device downloaded the update").await;
    report("deploy", json!({ "label": "v1", "status": "DeploymentSucceeded" })).await;
    shows("Your first update works.").await;
}
