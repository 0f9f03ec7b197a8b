//! The metrics page: charts of what devices reported, and a view that changes without a reload.

use control::testing::jobs;
use serde_json::json;
use tests::{InputMethod, TestApp, Visit};

const PAGE: &str = "/dashboard/apps/demo/deployments/Production/metrics";

/// Waits until the chart in this place shows this curve: some pixels have its color.
async fn is_painted(visit: &Visit, place: &str, curve: u8) {
    let script = "(() => {
        const canvas = document.querySelector('PLACE canvas');
        if (!canvas) {
            return false;
        }
        const probe = document.createElement('span');
        probe.style.color = 'var(--curve-CURVE)';
        document.body.append(probe);
        const [red, green, blue] = getComputedStyle(probe).color.match(/[0-9]+/g).map(Number);
        probe.remove();
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let place = 0; place < data.length; place += 4) {
            count += Math.abs(data[place] - red) + Math.abs(data[place + 1] - green) + Math.abs(data[place + 2] - blue) < 12 && data[place + 3] > 200;
        }
        return count > 20;
    })()";
    visit.until(&script.replace("PLACE", place).replace("CURVE", &curve.to_string())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_appear_in_charts_and_tables_without_a_reload() {
    let app = TestApp::spawn_for_browsers().await;
    let ada = app.sign_up("ada").await;
    let (production, _) = ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    visit.open(PAGE).await;
    visit.type_password("ada").await;
    visit.is_at("Metrics of Production").await;
    visit.sees("Nothing has been reported yet.").await;
    visit.browser.run("window.isSamePage = true;", &[]).await;

    let report = json!({
        "deployment_key": production, "app_version": "1.0.0", "client_unique_id": "phone", "label": "v1", "status": "DeploymentSucceeded",
    });
    let downloaded = json!({ "deployment_key": production, "app_version": "1.0.0", "client_unique_id": "phone", "label": "v1" });
    app.anonymous().post("/v1/public/svc/report_status/download", downloaded).await.assert(200);
    app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);
    visit.until("[...document.querySelectorAll('#live-table td')].filter((cell) => cell.dataset.number === '1').length === 2").await;
    visit.until("[...document.querySelectorAll('#live th a')].some((link) => link.textContent === 'v1')").await;
    assert_eq!(visit.browser.run("return window.isSamePage;", &[]).await, json!(true));
    // Drawn over the downloads, which are as many.
    is_painted(&visit, "#live", 2).await;

    // A paused page stays as it is.
    visit.press("Pause live view").await;
    visit.until("document.querySelector('[data-pauses]').textContent === 'Resume live view'").await;

    let binary = json!({ "deployment_key": production, "app_version": "1.0.0", "client_unique_id": "tablet" });
    app.anonymous().post("/v1/public/svc/report_status/deploy", binary).await.assert(200);
    assert_eq!(jobs::history_round(&app.state()).await, 0);
    visit.open(PAGE).await;
    visit.is_at("Metrics of Production").await;
    visit.until("document.querySelector('#adoption-table td').dataset.number === '1'").await;
    is_painted(&visit, "[data-of=adoption-table]", 1).await;
    visit.until("document.querySelector('#binaries-table td').dataset.number === '1'").await;
    is_painted(&visit, "[data-of=binaries-table]", 1).await;

    visit.open("/dashboard/apps/demo/deployments/Production/releases/v1").await;
    visit.is_at("v1").await;
    visit.sees("50% of the deployment's devices").await;
    // Installed devices, drawn over the active and the downloaded ones, which are as many.
    is_painted(&visit, "[data-of=first-days-table]", 4).await;
    assert_eq!(visit.complaints().await, Vec::<String>::new());
}
