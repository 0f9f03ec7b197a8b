//! The history and the counts of a deployment without reports.

use serde_json::json;
use tests::{Bundle, TestApp};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_deployment_has_no_history_and_no_counts() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    assert_eq!(ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200), json!({ "history": [] }));
    let metrics = ada.get("/v1/apps/demo/deployments/Staging/metrics").await.assert(200);
    assert_eq!(metrics, json!({ "metrics": {}, "estimatedBytesSaved": { "total": 0, "labels": {} } }));
    for below in ["history", "metrics"] {
        let refusal = ada.get(&format!("/v1/apps/demo/deployments/Absent/{below}")).await.refused(404);
        assert!(refusal.contains("deployment"), "{refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_lists_every_release_oldest_first_as_returned() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let mut answered = Vec::new();
    for index in 1..=12 {
        let bundle = Bundle::script(&format!("release {index}"));
        let info = json!({ "appVersion": "^1.0.0", "description": format!("number {index}"), "isMandatory": index % 2 == 0, "isDisabled": index % 3 == 0 });
        answered.push(ada.upload("demo", "Staging", &bundle.0, info).await.assert(201)["package"].clone());
        app.clock.advance(1_000);
    }
    // v10 comes after v9: labels are sorted as numbers. The clock stays within one hour, so the URLs are the same.
    let history = ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200);
    let labels: Vec<_> =
        history["history"].as_array().unwrap().iter().map(|release| release["label"].as_str().unwrap().to_owned()).collect();
    assert_eq!(labels, (1..=12).map(|number| format!("v{number}")).collect::<Vec<_>>());
    for (release, answered) in history["history"].as_array().unwrap().iter().zip(&mut answered) {
        let mut release = release.clone();
        for url in ["blobUrl", "manifestBlobUrl"] {
            // At the start of an hour the URL is signed again.
            let path = |value: &serde_json::Value| value[url].as_str().unwrap().split_once('?').unwrap().0.to_owned();
            assert_eq!(path(&release), path(answered));
            release[url] = answered[url].clone();
        }
        assert_eq!(release, *answered);
    }
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200), json!({ "history": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_sent_in_parts_and_complete() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for content in ["one", "two"] {
        ada.upload("demo", "Staging", content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    let expected: Vec<_> = (1..=230).map(|number| format!("v{number}")).collect();
    for number in 0..230 {
        let label = if number % 2 == 0 { "v1" } else { "v2" };
        ada.post("/v1/apps/demo/deployments/Staging/promotions", json!({ "destination": "Production", "label": label })).await.assert(201);
        // Also where a part ends exactly with the history.
        if [99, 199, 229].contains(&number) {
            for path in ["/v1/apps/demo/deployments/Production/history", "/apps/demo/deployments/Production/history"] {
                let answer = ada.get(path).await;
                assert_eq!(answer.header("content-type"), "application/json");
                let history = answer.assert(200)["history"].take();
                let labels: Vec<_> =
                    history.as_array().unwrap().iter().map(|release| release["label"].as_str().unwrap().to_owned()).collect();
                assert_eq!(labels, expected[..=number], "{path}");
            }
        }
    }
}
