//! Reports at the edge: which are refused, which are stored, and that none is acknowledged without being stored.

use reqwest::Method;
use serde_json::{Value, json};
use shared::snapshot::Snapshot;
use tests::edge::{EdgeApp, EdgeOptions, until_counted};
use tests::signed::header;
use tests::{Answer, Client};

const DEPLOY: &str = "/v1/public/svc/report_status/deploy";
const DOWNLOAD: &str = "/v1/public/svc/report_status/download";

async fn post(client: &Client, path: &str, kind: Option<&str>, body: impl Into<reqwest::Body>) -> Answer {
    let request = client.request(Method::POST, path).body(body);
    let request = match kind {
        Some(kind) => request.header("content-type", kind),
        None => request,
    };
    client.send(request).await
}

/// A valid report of exactly this many bytes.
fn report_of(length: usize, key: &str, client: &str) -> String {
    let text = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": client, "padding": "" }).to_string();
    let padding = "x".repeat(length - text.len());
    text.replace("\"padding\":\"\"", &format!("\"padding\":\"{padding}\""))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_report_is_refused_with_its_fields_and_not_counted() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    let anonymous = app.anonymous();
    let sound = json!({ "deployment_key": key, "app_version": "1.0.0", "label": "v1", "client_unique_id": "bad" });
    let with = |name: &str, value: Value| {
        let mut changed = sound.clone();
        changed[name] = value;
        changed
    };
    for (path, body, named) in [
        (DEPLOY, json!({}), vec!["deployment_key", "app_version"]),
        (DEPLOY, json!([]), vec!["body"]),
        (DEPLOY, json!(null), vec!["body"]),
        (DEPLOY, json!("text"), vec!["body"]),
        (DEPLOY, with("deployment_key", json!("short")), vec!["deployment_key"]),
        (DEPLOY, with("deployment_key", json!(7)), vec!["deployment_key"]),
        (DEPLOY, with("app_version", json!("")), vec!["app_version"]),
        (DEPLOY, with("app_version", json!("1".repeat(101))), vec!["app_version"]),
        (DEPLOY, with("app_version", json!("1.0\u{0}")), vec!["app_version"]),
        (DEPLOY, with("label", json!("v0")), vec!["label"]),
        (DEPLOY, with("label", json!("1.0.0")), vec!["label"]),
        (DEPLOY, with("label", json!("v1234567890")), vec!["label"]),
        (DEPLOY, with("status", json!("Downloaded")), vec!["status"]),
        (DEPLOY, with("client_unique_id", json!("c".repeat(129))), vec!["client_unique_id"]),
        (DEPLOY, with("client_unique_id", json!("line\nbreak")), vec!["client_unique_id"]),
        (DOWNLOAD, with("label", json!(null)), vec!["label"]),
        (DOWNLOAD, json!({ "label": "latest", "deployment_key": "?" }), vec!["deployment_key", "label"]),
    ] {
        let error = anonymous.post(path, body.clone()).await.refused(400);
        for name in named {
            assert!(error.contains(name), "{body}: {error}");
        }
    }
    for body in ["", "{", "{\"deployment_key\":", "\u{feff}{}", "a=b"] {
        post(&anonymous, DEPLOY, Some("application/json"), body).await.refused(400);
    }
    let mut not_text = report_of(200, &key, "bad").into_bytes();
    not_text.push(0xff);
    post(&anonymous, DEPLOY, Some("application/json"), not_text).await.refused(400);
    post(&anonymous, DEPLOY, Some("application/json"), vec![b'['; 10_240]).await.refused(400);

    anonymous.post(DEPLOY, with("deployment_key", json!("never-made-0123456789"))).await.refused(404);
    anonymous.post(DOWNLOAD, with("deployment_key", json!("never-made-0123456789"))).await.refused(404);
    post(&anonymous, DEPLOY, Some("application/json"), report_of(10_241, &key, "bad")).await.refused(413);
    // Without Content-Length the size is known only while the body is read.
    let chunks =
        report_of(10_241, &key, "bad").into_bytes().chunks(1_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect::<Vec<_>>();
    let stream = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    post(&anonymous, DEPLOY, Some("application/json"), stream).await.refused(413);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"] {
        post(&anonymous, DEPLOY, Some(kind), sound.to_string()).await.refused(415);
    }
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let answer = anonymous.send(anonymous.request(method, DEPLOY)).await;
        answer.refused(405);
        assert_eq!(answer.header("allow"), "POST, OPTIONS");
    }

    // Unusual but valid reports are accepted.
    assert_eq!(post(&anonymous, DEPLOY, Some("application/json"), report_of(10_240, &key, "large")).await.text(), r#"{"status":"ok"}"#);
    assert_eq!(post(&anonymous, DEPLOY, None, report_of(200, &key, "untyped")).await.assert(200), json!({ "status": "ok" }));
    let kind = Some("Application/JSON; charset=UTF-8");
    post(&anonymous, DEPLOY, kind, report_of(200, &key, "charset")).await.assert(200);
    post(&anonymous, &format!("{DEPLOY}/"), kind, report_of(200, &key, "slash")).await.assert(200);
    // A well-formed label without a release is accepted but not counted.
    anonymous.post(DEPLOY, with("label", json!("v999999999"))).await.assert(200);
    let expected = json!({ "1.0.0": { "active": 4, "downloaded": 0, "installed": 0, "failed": 0 } });
    until_counted(&owner, "app", "Production", &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_queue_no_report_is_acknowledged() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().without("REPORTS")).await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    for (path, body) in [
        (DEPLOY, json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "a" })),
        (DOWNLOAD, json!({ "deployment_key": key, "label": "v1", "client_unique_id": "a" })),
        ("/reportStatus/deploy", json!({ "deploymentKey": key, "appVersion": "1.0.0", "clientUniqueId": "a" })),
    ] {
        let answer = app.anonymous().post(path, body).await;
        answer.refused(503);
        answer.header("retry-after").parse::<u32>().unwrap();
    }
    assert_eq!(app.edge.output.until("report.not_queued", |events| events.len() >= 3).await.len(), 3);
    assert_eq!(owner.metrics("app", "Production").await, json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanently_rejected_report_does_not_block_others_in_its_batch() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    // The edge has a snapshot of a deployment that the control plane does not know, as for one that was deleted a moment ago.
    let stray = "unknown-to-control-0123456789";
    app.edge.put_snapshot(stray, &Snapshot::publish(&header(1), &[]).unwrap()).await;

    let mut sending = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (client, key) = (app.anonymous(), if number % 4 == 0 { stray.to_owned() } else { key.clone() });
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": format!("client {number}") });
        sending.spawn(async move { client.post(DEPLOY, body).await.assert(200) });
    }
    sending.join_all().await;
    let expected = json!({ "1.0.0": { "active": 15, "downloaded": 0, "installed": 0, "failed": 0 } });
    until_counted(&owner, "app", "Production", &expected).await;
    // All earlier reports have been processed when this one is counted.
    app.anonymous().post(DEPLOY, json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "last" })).await.assert(200);
    let expected = json!({ "1.0.0": { "active": 16, "downloaded": 0, "installed": 0, "failed": 0 } });
    until_counted(&owner, "app", "Production", &expected).await;
    assert!(app.edge.output.events("reports.retry").is_empty(), "{:?}", app.edge.output.events("reports.retry"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_from_one_address_are_limited_across_deployments() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().with("LIMIT_REPORTS_ADDRESS", "3/1h")).await;
    let owner = app.sign_up("ada").await;
    let (key, other) = owner.create_app("app").await;
    let send = async |address: &str, key: &str| {
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "one" });
        let request = app.anonymous().request(Method::POST, DEPLOY).json(&body).header("cf-connecting-ip", address);
        app.anonymous().send(request).await
    };
    for key in [&key, &other, &key] {
        send("192.0.2.7", key).await.assert(200);
    }
    for key in [&key, &other] {
        send("192.0.2.7", key).await.refused(429);
    }
    send("192.0.2.8", &key).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn spoofed_headers_do_not_evade_the_report_limit() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().with("LIMIT_REPORTS", "3/1h")).await;
    let owner = app.sign_up("ada").await;
    let (key, other) = owner.create_app("app").await;
    let client = app.anonymous();
    // Cloudflare overwrites this header; its local runtime accepts it from the client, which simulates clients at several addresses.
    let send = async |address: &str, key: &str, forged: &str| {
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "one" });
        let request = client.request(Method::POST, DEPLOY).json(&body).header("cf-connecting-ip", address);
        client.send(request.header("x-forwarded-for", forged).header("x-updraft-client-address", forged)).await
    };
    for number in 0..3 {
        send("192.0.2.7", &key, &format!("198.51.100.{number}")).await.assert(200);
        send(&format!("2001:db8:1:2::{number}"), &key, "").await.assert(200);
    }
    let refused = send("192.0.2.7", &key, "203.0.113.9").await;
    refused.refused(429);
    assert!((3_500..=3_600).contains(&refused.header("retry-after").parse::<u32>().unwrap()), "{refused:?}");
    send("2001:db8:1:2:ffff::9", &key, "").await.refused(429);
    send("2001:db8:1:3::1", &key, "").await.assert(200);
    send("192.0.2.8", &key, "").await.assert(200);
    send("192.0.2.7", &other, "").await.assert(200);
    // All networks of a site together get ten times the limit of one: three, one, and twenty-six.
    for network in 4..30 {
        send(&format!("2001:db8:1:{network:x}::1"), &key, "").await.assert(200);
    }
    send("2001:db8:1:40::1", &key, "").await.refused(429);
    send("2001:db8:1:40::1", &other, "").await.assert(200);
    send("2001:db8:2::1", &key, "").await.assert(200);
}
