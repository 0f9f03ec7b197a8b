//! Another server responds instead of the control plane, or the control plane does not accept this edge: a wrong URL, a proxy's error page, a wrong
//! secret. None of these responses may be trusted.

use serde_json::{Value, json};
use shared::snapshot::Snapshot;
use tests::app::EDGE_SECRET;
use tests::edge::{Edge, EdgeOptions};
use tests::signed::{self, header};
use tests::stand_in::{DayRange, StandIn};
use tests::{Client, Options, TestApp};

const DEPLOY: &str = "/v1/public/svc/report_status/deploy";
const REPORTS: &str = "POST /internal/v1/reports ";
const SNAPSHOTS: &str = "GET /internal/v1/snapshots/";

fn before(base: &str) -> EdgeOptions {
    EdgeOptions { stand_in: Some(base.to_owned()), ..EdgeOptions::default() }.without_memory().with("REPORT_RETRY_BASE_SECONDS", "1")
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn check(key: &str) -> String {
    format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")
}

fn report(key: &str) -> Value {
    json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "a" })
}

fn empty_snapshot() -> String {
    Snapshot::publish(&header(1), &[]).unwrap()
}

fn posted(stand_in: &StandIn) -> Vec<Value> {
    let asked = stand_in.asked().into_iter().filter(|asked| asked.line.starts_with(REPORTS));
    asked.map(|asked| serde_json::from_slice(&asked.body).unwrap()).collect()
}

/// Without usable KV, a cached deployment is still served, and an unknown one is not answered with 404.
async fn nothing_is_forgotten_and_nothing_made_up(edge: &Edge, never_pushed: &str) {
    let client = Client::new(&edge.base, None);
    let key = "pushed-by-hand-0123456789";
    edge.put_snapshot(key, &empty_snapshot()).await;
    client.get(&check(key)).await.assert(200);
    edge.put_kv(key, "no snapshot").await;
    for _ in 0..3 {
        client.get(&check(key)).await.assert(200);
        client.post(DEPLOY, report(key)).await.assert(200);
        client.get(&check(never_pushed)).await.refused(503);
        client.post(DEPLOY, report(never_pushed)).await.refused(503);
    }
    assert!(edge.output.until("snapshot.control_failed", |events| events.len() >= 12).await.iter().all(|event| event["status"] == 404));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_404_from_another_server_does_not_make_a_deployment_unknown() {
    for body in
        ["<h1>404 Not Found</h1>", "", "null", r#"{"error":"this path was not found","requestId":"x"}"#, r#""deployment was not found""#]
    {
        let stand_in = StandIn::start(|_| answer("404 Not Found", "Content-Type: application/json\r\n", body)).await;
        let edge = Edge::before(&before(&stand_in.base)).await;
        nothing_is_forgotten_and_nothing_made_up(&edge, "never-pushed-0123456789").await;
        assert!(stand_in.asked().iter().any(|asked| asked.line.starts_with(&format!("{SNAPSHOTS}pushed-by-hand-0123456789 "))), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_edge_secret_does_not_make_a_deployment_unknown() {
    let control = TestApp::spawn_with(Options { has_machine_clock: true, ..Options::default() }).await;
    let (known_to_control, _) = control.sign_up("ada").await.create_app("app").await;
    let options = EdgeOptions { edge_secret: Some("another-secret-than-controls-0123456789".to_owned()), ..before(&control.base) };
    let edge = Edge::before(&options).await;
    nothing_is_forgotten_and_nothing_made_up(&edge, &known_to_control).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_200_from_another_server_loses_no_report() {
    // A response of a wrong server or proxy: 200 with unrelated content.
    let stand_in = StandIn::start(|_| answer("200 OK", "Content-Type: text/plain\r\n", "control")).await;
    let edge = Edge::before(&before(&stand_in.base)).await;
    let client = Client::new(&edge.base, None);
    client.get(&check("never-pushed-0123456789")).await.refused(503);

    let key = "pushed-by-hand-0123456789";
    edge.put_snapshot(key, &empty_snapshot()).await;
    client.get(&check(key)).await.assert(200);
    client.post(DEPLOY, report(key)).await.assert(200);
    let retries = edge.output.until("reports.retry", |events| events.len() >= 2).await;
    assert_eq!(retries[0]["status"], 200, "{retries:?}");
    assert_eq!((&retries[0]["by_attempt"], &retries[1]["by_attempt"]), (&json!({ "1": 1 }), &json!({ "2": 1 })));
    let batches = posted(&stand_in);
    assert_eq!(batches[0], batches[1], "a redelivered report is the same");
    assert_eq!(batches[0]["reports"].as_array().unwrap().len(), 1);
    assert_eq!(client.get("/v1/health").await.text(), "control", "passed-through responses are not validated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_an_incomplete_response_is_retried() {
    let stand_in = StandIn::start(|asked| {
        let sent = serde_json::from_slice::<Value>(&asked.body).map_or(0, |batch| batch["reports"].as_array().unwrap().len());
        let judged = match sent {
            1 => json!({ "accepted": 0, "dropped": [] }),
            _ => json!({ "accepted": sent, "dropped": [{ "id": "", "reason": "one more than there were" }] }),
        };
        answer("200 OK", "Content-Type: application/json\r\n", &judged.to_string())
    })
    .await;
    let edge = Edge::before(&before(&stand_in.base)).await;
    let key = "pushed-by-hand-0123456789";
    edge.put_snapshot(key, &empty_snapshot()).await;
    let client = Client::new(&edge.base, None);
    client.post(DEPLOY, report(key)).await.assert(200);
    let retries = edge.output.until("reports.retry", |events| events.len() >= 2).await;
    assert!(retries[0]["error"].as_str().unwrap().contains("0 were processed"), "{retries:?}");
    for _ in 0..5 {
        client.post(DEPLOY, report(key)).await.assert(200);
    }
    let several = |event: &Value| event["messages"].as_u64().unwrap() > 1;
    edge.output.until("reports.retry", |events| events.iter().any(several)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_and_lookups_do_not_follow_redirects() {
    // A server that accepts everything.
    let elsewhere = StandIn::start(|asked| {
        let body = if asked.line.starts_with("GET ") {
            signed::empty(EDGE_SECRET, "never-pushed-0123456789")
        } else {
            json!({ "accepted": 1, "dropped": [] }).to_string()
        };
        answer("200 OK", "Content-Type: application/json\r\n", &body)
    })
    .await;
    let target = elsewhere.base.clone();
    let stand_in = StandIn::start(move |asked| {
        let path = asked.line.split(' ').nth(1).unwrap();
        answer("307 Temporary Redirect", &format!("Location: {target}{path}\r\n"), "")
    })
    .await;
    let edge = Edge::before(&before(&stand_in.base)).await;
    let client = Client::new(&edge.base, None);
    client.get(&check("never-pushed-0123456789")).await.refused(503);

    let key = "pushed-by-hand-0123456789";
    edge.put_snapshot(key, &empty_snapshot()).await;
    client.post(DEPLOY, report(key)).await.assert(200);
    let retries = edge.output.until("reports.retry", |events| events.len() >= 2).await;
    assert!(retries.iter().all(|event| event["status"] == 307), "{retries:?}");
    assert!(posted(&stand_in).len() >= 2);
    let signed: Vec<DayRange> = stand_in.asked().into_iter().filter(|asked| asked.line.contains(" /internal/")).collect();
    assert!(signed.iter().all(|asked| asked.header("x-updraft-signature").len() == 1), "{signed:?}");
    assert!(elsewhere.asked().is_empty(), "{:?}", elsewhere.asked());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_response_is_not_buffered() {
    // A snapshot that is valid as far as it is read.
    let body = signed::empty(EDGE_SECRET, "never-pushed-0123456789") + &" ".repeat(27 << 20);
    let stand_in = StandIn::start(move |_| answer("200 OK", "Content-Type: application/json\r\n", &body)).await;
    let edge = Edge::before(&before(&stand_in.base)).await;
    Client::new(&edge.base, None).get(&check("never-pushed-0123456789")).await.refused(503);
    let failed = edge.output.until("snapshot.control_failed", |events| !events.is_empty()).await;
    assert!(failed[0]["error"].as_str().unwrap().contains("more than"), "{failed:?}");
}
