//! Reports that are refused.

use reqwest::Method;
use serde_json::{Value, json};
use shared::wire::path::{self, Job};
use tests::{Answer, Client, TestApp};

async fn prepared() -> (TestApp, Client, String) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    (app, ada, key)
}

async fn send(app: &TestApp, path: &str, body: impl Into<reqwest::Body>) -> Answer {
    let client = app.anonymous();
    client.send(client.request(Method::POST, path).header("content-type", "application/json").body(body)).await
}

/// A deploy report with these changes; null removes a member.
fn deploy(key: &str, changes: &Value) -> String {
    let mut body =
        json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "a", "label": "v1", "status": "DeploymentSucceeded" });
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    body.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_is_named_and_nothing_is_counted() {
    let (app, ada, key) = prepared().await;
    for (changes, named) in [
        (json!({ "deployment_key": null }), &["deployment_key"][..]),
        (json!({ "deployment_key": "short" }), &["deployment_key"]),
        (json!({ "deployment_key": "has space within" }), &["deployment_key"]),
        (json!({ "deployment_key": "k".repeat(101) }), &["deployment_key"]),
        (json!({ "deployment_key": 1_234_567_890 }), &["deployment_key"]),
        (json!({ "app_version": null }), &["app_version"]),
        (json!({ "app_version": "" }), &["app_version"]),
        (json!({ "app_version": "x".repeat(101) }), &["app_version"]),
        (json!({ "app_version": "1.0\u{0}" }), &["app_version"]),
        (json!({ "app_version": 1 }), &["app_version"]),
        (json!({ "app_version": null, "label": null }), &["app_version"]),
        (json!({ "client_unique_id": "x".repeat(129) }), &["client_unique_id"]),
        (json!({ "client_unique_id": "a\nb" }), &["client_unique_id"]),
        (json!({ "client_unique_id": ["a"] }), &["client_unique_id"]),
        (json!({ "label": "1" }), &["label"]),
        (json!({ "label": "v0" }), &["label"]),
        (json!({ "label": "v01" }), &["label"]),
        (json!({ "label": "V1" }), &["label"]),
        (json!({ "label": "v1 " }), &["label"]),
        (json!({ "label": "v1000000000" }), &["label"]),
        (json!({ "label": 1 }), &["label"]),
        (json!({ "status": "Downloaded" }), &["status"]),
        (json!({ "status": "deploymentsucceeded" }), &["status"]),
        (json!({ "status": 0 }), &["status"]),
        (json!({ "status": "DeploymentFailed", "label": null }), &["label"]),
        (
            json!({ "deployment_key": "short", "app_version": 5, "client_unique_id": "\u{7}", "label": "latest", "status": "Fine" }),
            &["deployment_key", "app_version", "client_unique_id", "label", "status"],
        ),
    ] {
        for path in ["/v1/public/svc/report_status/deploy", "/reportStatus/deploy"] {
            let refusal = send(&app, path, deploy(&key, &changes)).await.refused(400);
            for name in named {
                assert!(refusal.contains(&format!("{name}: ")), "{changes}: {refusal}");
            }
        }
    }
    for (changes, named) in [
        (json!({ "label": null }), &["label"][..]),
        (json!({ "label": "" }), &["label"]),
        (json!({ "deployment_key": "", "label": "x", "client_unique_id": 1 }), &["deployment_key", "label", "client_unique_id"]),
    ] {
        let refusal = send(&app, "/v1/public/svc/report_status/download", deploy(&key, &changes)).await.refused(400);
        for name in named {
            assert!(refusal.contains(&format!("{name}: ")), "{changes}: {refusal}");
        }
    }
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));
    // The maximum lengths.
    let longest = json!({ "app_version": "ü".repeat(100), "client_unique_id": "ü".repeat(128), "label": "v999999999", "status": null });
    send(&app, "/reportStatus/deploy", deploy(&key, &longest)).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_deployments_are_404_on_every_path() {
    let (app, _, key) = prepared().await;
    for (path, endpoint) in path::all() {
        if endpoint.job == Job::Check {
            continue;
        }
        for unknown in ["0123456789", &format!("{key}x")] {
            for client in [json!("a"), Value::Null] {
                let answer = send(&app, &path, deploy(unknown, &json!({ "client_unique_id": client }))).await;
                answer.refused(404);
                assert_eq!(answer.header("access-control-allow-origin"), "*");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_a_deleted_deployment_are_accepted_and_dropped() {
    // SDKs keep a refused report and retry it at every start.
    let (app, ada, key) = prepared().await;
    ada.delete("/v1/apps/demo/deployments/Staging").await.assert(204);
    for (path, endpoint) in path::all() {
        if endpoint.job == Job::Check {
            app.anonymous().get(&format!("{path}?deploymentKey={key}&appVersion=1.0.0")).await.refused(404);
        } else {
            let answer = send(&app, &path, deploy(&key, &json!({ "client_unique_id": "a" }))).await;
            assert_eq!(answer.assert(200), json!({ "status": "ok" }));
            assert_eq!(answer.header("access-control-allow-origin"), "*");
        }
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM report_clients").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_not_json_objects_are_refused() {
    let (app, ada, key) = prepared().await;
    let deep = "[".repeat(9_000);
    for (path, endpoint) in path::all() {
        if endpoint.job == Job::Check {
            continue;
        }
        for body in [
            &b""[..],
            b"{",
            b"[]",
            b"null",
            b"\"x\"",
            b"deployment_key=x",
            b"\xff\xfe",
            b"{\"deployment_key\":\"\\ud800\"}",
            deep.as_bytes(),
        ] {
            let answer = send(&app, &path, body.to_vec()).await;
            answer.refused(400);
            assert_eq!(answer.header("access-control-allow-origin"), "*");
        }
        let client = app.anonymous();
        let form = client
            .request(Method::POST, &path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("deployment_key={key}"));
        client.send(form).await.refused(415);
    }
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_holds_up_to_10_240_bytes() {
    let (app, ada, key) = prepared().await;
    let sized = |size: usize| {
        let text = deploy(&key, &json!({}));
        let fill = " ".repeat(size - text.len());
        text + &fill
    };
    for (path, endpoint) in path::all() {
        if endpoint.job == Job::Check {
            continue;
        }
        send(&app, &path, sized(10_240)).await.assert(200);
        let answer = send(&app, &path, sized(10_241)).await;
        let refusal = answer.refused(413);
        assert!(refusal.contains("10240"), "{refusal}");
        assert_eq!(answer.header("access-control-allow-origin"), "*");
    }
    let chunked = |size: usize| {
        let chunks: Vec<_> = sized(size).into_bytes().chunks(1_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
        reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))
    };
    send(&app, "/reportStatus/deploy", chunked(10_240)).await.assert(200);
    send(&app, "/reportStatus/deploy", chunked(10_241)).await.refused(413);
    assert_eq!(ada.metrics("demo", "Staging").await["v1"], json!({ "active": 1, "downloaded": 1, "installed": 1, "failed": 0 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_cannot_be_stored_is_never_answered_200() {
    let (app, _, key) = prepared().await;
    app.db().close().await;
    for (path, endpoint) in path::all() {
        if endpoint.job == Job::Check {
            continue;
        }
        let answer = send(&app, &path, deploy(&key, &json!({}))).await;
        answer.refused(503);
        assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0);
    }
}
