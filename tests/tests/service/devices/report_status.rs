//! Reports sent directly by clients, and the resulting counters.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared::wire::path::{self, Case, Job};
use tests::{Answer, Client, Options, TestApp};

/// A server with an app whose deployments have this many releases, and the keys of Production and Staging.
async fn prepared(options: Options, releases: u32) -> (TestApp, Client, String, String) {
    let app = TestApp::spawn_with(options).await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    for deployment in ["Production", "Staging"] {
        for number in 1..=releases {
            ada.upload("demo", deployment, number.to_string().as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
        }
    }
    (app, ada, production, staging)
}

/// Sends a report and advances the clock by a millisecond, since reports are ordered by time.
async fn report(app: &TestApp, what: &str, body: Value) {
    let answer = app.anonymous().post(&format!("/v1/public/svc/report_status/{what}"), body).await;
    assert_eq!(answer.assert(200), json!({ "status": "ok" }));
    app.clock.advance(1);
}

/// Active, downloaded, installed and failed by label or version.
async fn counts(client: &Client, deployment: &str) -> BTreeMap<String, [i64; 4]> {
    let metrics = client.metrics("demo", deployment).await;
    let count = |counts: &Value, name: &str| counts[name].as_i64().unwrap();
    metrics
        .as_object()
        .unwrap()
        .iter()
        .map(|(place, counts)| {
            assert_eq!(counts.as_object().unwrap().len(), 4, "{counts}");
            (place.clone(), ["active", "downloaded", "installed", "failed"].map(|name| count(counts, name)))
        })
        .collect()
}

fn expected<const N: usize>(counts: [(&str, [i64; 4]); N]) -> BTreeMap<String, [i64; 4]> {
    counts.into_iter().map(|(place, counts)| (place.to_owned(), counts)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_golden_sequence_gives_the_expected_counts() {
    let (app, ada, production, staging) = prepared(Options::default(), 7).await;
    let client = "8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d";
    let deploy = |key: &str, more: Value| {
        let mut body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": client });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    // 1. A binary report makes the device run 1.0.0: active +1. It is not a label, so nothing is installed.
    report(&app, "deploy", deploy(&staging, json!({}))).await;
    assert_eq!(counts(&ada, "Staging").await, expected([("1.0.0", [1, 0, 0, 0])]));
    // 2. A download sets the label's flag and does not move the device.
    report(&app, "download", json!({ "deployment_key": staging, "client_unique_id": client, "label": "v1" })).await;
    assert_eq!(counts(&ada, "Staging").await, expected([("1.0.0", [1, 0, 0, 0]), ("v1", [0, 1, 0, 0])]));
    // 3. Success moves the device: 1.0.0 −1, v1 +1, and sets the flag "installed".
    let v1 = deploy(&staging, json!({ "label": "v1", "status": "DeploymentSucceeded", "previous_label_or_app_version": "1.0.0" }));
    report(&app, "deploy", v1.clone()).await;
    let after_3 = expected([("1.0.0", [0, 0, 0, 0]), ("v1", [1, 1, 1, 0])]);
    assert_eq!(counts(&ada, "Staging").await, after_3);
    // 3b. The same again: no change, the flag is set once. The reference counts 2 here.
    report(&app, "deploy", v1).await;
    assert_eq!(counts(&ada, "Staging").await, after_3);
    // 4. v1 −1, v2 +1.
    let v2 = json!({ "label": "v2", "status": "DeploymentSucceeded", "previous_label_or_app_version": "v1" });
    report(&app, "deploy", deploy(&staging, v2)).await;
    assert_eq!(counts(&ada, "Staging").await, expected([("1.0.0", [0, 0, 0, 0]), ("v1", [0, 1, 1, 0]), ("v2", [1, 0, 1, 0])]));
    // 5. A failure sets its flag; the device does not move.
    report(&app, "deploy", deploy(&staging, json!({ "label": "v3", "status": "DeploymentFailed", "previous_deployment_key": staging })))
        .await;
    let after_5 = expected([("1.0.0", [0, 0, 0, 0]), ("v1", [0, 1, 1, 0]), ("v2", [1, 0, 1, 0]), ("v3", [0, 0, 0, 1])]);
    assert_eq!(counts(&ada, "Staging").await, after_5);
    // 6. Success on the app's other deployment: Staging's v2 −1, Production's v7 +1.
    let v7 = json!({ "label": "v7", "status": "DeploymentSucceeded", "previous_label_or_app_version": "v2", "previous_deployment_key": staging });
    report(&app, "deploy", deploy(&production, v7)).await;
    let after_6 = expected([("1.0.0", [0, 0, 0, 0]), ("v1", [0, 1, 1, 0]), ("v2", [0, 0, 1, 0]), ("v3", [0, 0, 0, 1])]);
    assert_eq!(counts(&ada, "Staging").await, after_6);
    assert_eq!(counts(&ada, "Production").await, expected([("v7", [1, 0, 1, 0])]));
    // 7. A new binary back on Staging: Production's v7 −1, Staging's 2.0.0 +1.
    let body = json!({ "deployment_key": staging, "app_version": "2.0.0", "client_unique_id": client, "previous_label_or_app_version": "v7",
        "previous_deployment_key": production });
    report(&app, "deploy", body).await;
    let mut after_7 = after_6;
    after_7.insert("2.0.0".to_owned(), [1, 0, 0, 0]);
    assert_eq!(counts(&ada, "Staging").await, after_7);
    assert_eq!(counts(&ada, "Production").await, expected([("v7", [0, 0, 1, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_accepts_snake_case_and_camel_case_reports() {
    let (app, ada, _, staging) = prepared(Options::default(), 1).await;
    let (mut deploys, mut downloads) = (0, 0);
    for (index, (path, endpoint)) in path::all().into_iter().filter(|(_, endpoint)| endpoint.job != Job::Check).enumerate() {
        for case in [Case::Snake, Case::Camel] {
            let client = format!("client-{index}-{case:?}");
            let body = match case {
                Case::Snake => {
                    json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": client, "label": "v1", "status": "" })
                }
                Case::Camel => {
                    json!({ "deploymentKey": staging, "appVersion": "1.0.0", "clientUniqueId": client, "label": "v1", "status": null,
                    "previousDeploymentKey": 5, "more": {} })
                }
            };
            let slash = if case == Case::Snake { "" } else { "/" };
            let answer = app.anonymous().post(&format!("{path}{slash}"), body).await;
            assert_eq!(answer.assert(200), json!({ "status": "ok" }), "{path}");
            match endpoint.job {
                Job::DeployReport => deploys += 1,
                _ => downloads += 1,
            }
        }
    }
    assert_eq!((deploys, downloads), (24, 24));
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [24, 24, 24, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_without_a_client_id_each_count_and_activate_no_device() {
    let (app, ada, _, staging) = prepared(Options::default(), 1).await;
    for id in [json!(null), json!("")] {
        report(&app, "download", json!({ "deployment_key": staging, "client_unique_id": id, "label": "v1" })).await;
        report(&app, "deploy", json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": id, "label": "v1" })).await;
        let failed = json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": id, "label": "v1", "status": "DeploymentFailed" });
        report(&app, "deploy", failed).await;
        // A binary report without a client ID is not counted.
        report(&app, "deploy", json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": id })).await;
    }
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [0, 2, 2, 2])]));
    assert_eq!(app.number("SELECT COUNT(*) FROM report_clients").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_for_an_unknown_release_is_accepted_but_not_counted() {
    let (app, ada, _, staging) = prepared(Options::default(), 1).await;
    for label in ["v2", "v999999999"] {
        report(&app, "download", json!({ "deployment_key": staging, "client_unique_id": "a", "label": label })).await;
        report(&app, "deploy", json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": "a", "label": label })).await;
        report(&app, "download", json!({ "deployment_key": staging, "label": label })).await;
    }
    assert_eq!(counts(&ada, "Staging").await, expected([]));
    // Not even later, when the release exists.
    ada.upload("demo", "Staging", b"two", json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(counts(&ada, "Staging").await, expected([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_and_a_later_success_each_count_once() {
    let (app, ada, _, staging) = prepared(Options::default(), 2).await;
    let send = async |label: &str, status: &str| {
        let body = json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": "a", "label": label, "status": status });
        report(&app, "deploy", body).await;
    };
    send("v1", "DeploymentFailed").await;
    send("v1", "DeploymentFailed").await;
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [0, 0, 0, 1])]));
    send("v1", "DeploymentSucceeded").await;
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [1, 0, 1, 1])]));
    send("v2", "DeploymentFailed").await;
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [1, 0, 1, 1]), ("v2", [0, 0, 0, 1])]));
    // Going back and forth moves the one device; its flags stay.
    send("v2", "DeploymentSucceeded").await;
    send("v1", "DeploymentSucceeded").await;
    send("v2", "DeploymentSucceeded").await;
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [0, 0, 1, 1]), ("v2", [1, 0, 1, 1])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_id_is_one_device_per_app() {
    let (app, ada, _, staging) = prepared(Options::default(), 1).await;
    let (_, other) = ada.create_app("other").await;
    ada.upload("other", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    for key in [&staging, &other] {
        report(&app, "deploy", json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "same", "label": "v1" })).await;
    }
    for name in ["demo", "other"] {
        assert_eq!(ada.metrics(name, "Staging").await["v1"]["active"], 1, "{name}");
    }
    // IDs differ by case and inner whitespace; 128 characters is the maximum.
    for id in ["Same", "sa me", &"ü".repeat(128), "😀", " same", "0"] {
        report(&app, "deploy", json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": id, "label": "v1" })).await;
    }
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [7, 0, 7, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_reports_are_all_counted() {
    let (app, ada, _, staging) = prepared(Options::default(), 1).await;
    let sending: Vec<_> = (0..120)
        .map(|index| {
            let client = app.anonymous();
            // Each of 60 devices reports twice.
            let body = json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": format!("device-{}", index % 60), "label": "v1" });
            tokio::spawn(async move { client.post("/reportStatus/deploy", body).await })
        })
        .collect();
    for answer in sending {
        let answer: Answer = answer.await.unwrap();
        answer.assert(200);
    }
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [60, 0, 60, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn binary_versions_beyond_the_limit_are_counted_as_other() {
    let (app, ada, _, staging) = prepared(Options::default().with("LIMIT_BINARY_VERSIONS", "2"), 1).await;
    let run = async |client: &str, version: &str| {
        report(&app, "deploy", json!({ "deployment_key": staging, "app_version": version, "client_unique_id": client })).await;
    };
    run("a", "1.0").await;
    run("b", "2.0").await;
    run("c", "3.0").await;
    run("d", "1.0").await;
    // A version that looks like a label is not counted as the release, and "other" is not a version of its own.
    run("e", "v1").await;
    run("f", "other").await;
    assert_eq!(counts(&ada, "Staging").await, expected([("1.0", [2, 0, 0, 0]), ("2.0", [1, 0, 0, 0]), ("other", [3, 0, 0, 0])]));
    // From one version beyond the limit to another: the device stays in `other`.
    run("c", "4.0").await;
    run("a", "4.0").await;
    assert_eq!(counts(&ada, "Staging").await, expected([("1.0", [1, 0, 0, 0]), ("2.0", [1, 0, 0, 0]), ("other", [4, 0, 0, 0])]));
    report(&app, "deploy", json!({ "deployment_key": staging, "app_version": "9", "client_unique_id": "c", "label": "v1" })).await;
    assert_eq!(counts(&ada, "Staging").await["other"], [3, 0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_history_starts_counting_at_zero() {
    let (app, ada, production, staging) = prepared(Options::default(), 1).await;
    let run = async |client: &str, key: &str| {
        report(&app, "deploy", json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": client, "label": "v1" })).await;
    };
    run("a", &staging).await;
    run("b", &staging).await;
    // The effect of clearing the history on counters.
    app.change("UPDATE deployments SET counting_epoch = counting_epoch + 1 WHERE deployment_key = $1", &[&staging]).await;
    assert_eq!(counts(&ada, "Staging").await, expected([]));
    // Nothing is subtracted from deleted counters, neither in place nor when the device moves on.
    run("a", &staging).await;
    run("b", &production).await;
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [1, 0, 1, 0])]));
    assert_eq!(counts(&ada, "Production").await, expected([("v1", [1, 0, 1, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_survive_a_restart() {
    let (mut app, ada, _, staging) = prepared(Options::default(), 1).await;
    let body = json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": "a", "label": "v1" });
    report(&app, "deploy", body.clone()).await;
    app.stop().await;
    app.start().await;
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [1, 0, 1, 0])]));
    report(&app, "deploy", body).await;
    assert_eq!(counts(&ada, "Staging").await, expected([("v1", [1, 0, 1, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_from_one_address_for_one_deployment_are_limited_per_minute() {
    let options = Options::default().with("LIMIT_REPORTS", "3/1m").with("TRUSTED_PROXIES", "127.0.0.1");
    let (app, _, production, staging) = prepared(options, 1).await;
    let send = async |address: &str, key: &str| {
        let body = json!({ "deployment_key": key, "label": "v1", "client_unique_id": "one" });
        let request = app.anonymous().request(reqwest::Method::POST, "/v1/public/svc/report_status/download").json(&body);
        app.anonymous().send(request.header("x-forwarded-for", address)).await
    };
    for _ in 0..3 {
        send("192.0.2.7", &production).await.assert(200);
        send("2001:db8:1:2::7", &production).await.assert(200);
    }
    let refused = send("192.0.2.7", &production).await;
    refused.refused(429);
    assert_eq!(refused.header("retry-after"), "60");
    send("2001:db8:1:2:ffff::8", &production).await.refused(429);
    send("2001:db8:1:3::7", &production).await.assert(200);
    send("192.0.2.8", &production).await.assert(200);
    send("192.0.2.7", &staging).await.assert(200);
    app.clock.advance(59_999);
    assert_eq!(send("192.0.2.7", &production).await.header("retry-after"), "1");
    app.clock.advance(1);
    send("192.0.2.7", &production).await.assert(200);
}
