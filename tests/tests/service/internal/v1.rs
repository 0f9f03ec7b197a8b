//! The API that only the edge may call: batches of reports, and single snapshots.

use reqwest::Method;
use serde_json::{Value, json};
use shared::ids::ReportId;
use shared::keys::DeploymentKey;
use shared::signature::{Secrets, sign_call};
use shared::time::UnixMillis;
use tests::app::EDGE_SECRET;
use tests::signed::opened;
use tests::{Answer, Client, TestApp};

const REPORTS: &str = "/internal/v1/reports";
const WINDOW: i64 = 5 * 60_000;

async fn prepared() -> (TestApp, Client, String, String) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    for content in [b"1", b"2", b"3"] {
        ada.upload("demo", "Staging", content, json!({ "appVersion": "1.0.0" })).await.assert(201);
        ada.upload("demo", "Production", content, json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    (app, ada, production, staging)
}

fn signature(secret: &str, method: &str, path: &str, time: UnixMillis, body: &[u8]) -> String {
    sign_call(&Secrets::parse(secret).unwrap(), method, path, time, body)
}

async fn send(app: &TestApp, method: Method, path: &str, signature: Option<&str>, body: Vec<u8>) -> Answer {
    let client = app.anonymous();
    let request = client.request(method, path).header("content-type", "application/json").body(body);
    client.send(signature.into_iter().fold(request, |request, signature| request.header("x-updraft-signature", signature))).await
}

/// Posts a batch like the edge's consumer, with a valid signature.
async fn post(app: &TestApp, body: &[u8]) -> Answer {
    let signature = signature(EDGE_SECRET, "POST", REPORTS, app.clock.now(), body);
    send(app, Method::POST, REPORTS, Some(&signature), body.to_vec()).await
}

async fn deliver(app: &TestApp, reports: &[Value]) -> Value {
    post(app, json!({ "reports": reports }).to_string().as_bytes()).await.assert(200)
}

fn id(number: u8) -> String {
    ReportId::v7(UnixMillis(1_000), [number; 10]).to_string()
}

fn report(number: u8, received: i64, key: &str, client: Option<&str>, event: &str, place: &str) -> Value {
    let mut report = json!({ "id": id(number), "received": received, "deploymentKey": key, "event": event });
    if let Some(client) = client {
        report["clientId"] = json!(client);
    }
    report[if event == "binary" { "appVersion" } else { "label" }] = json!(place);
    report
}

fn counts(active: i64, downloaded: i64, installed: i64, failed: i64) -> Value {
    json!({ "active": active, "downloaded": downloaded, "installed": installed, "failed": failed })
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_completely_signed_call_is_answered() {
    let (app, ada, _, staging) = prepared().await;
    let now = app.clock.now();
    let body = json!({ "reports": [report(1, 5, &staging, Some("a"), "installed", "v1")] }).to_string().into_bytes();
    let other = json!({ "reports": [report(2, 5, &staging, Some("b"), "installed", "v1")] }).to_string().into_bytes();
    let good = signature(EDGE_SECRET, "POST", REPORTS, now, &body);
    let upper = good.split_once("v1=").map(|(time, hex)| format!("{time}v1={}", hex.to_uppercase())).unwrap();
    for wrong in [
        None,
        Some(String::new()),
        Some("t=1,v1=".to_owned()),
        Some(good.replace("t=", "t=0")),
        Some(format!("t={},{}", now.0 + 1, good.split_once(',').unwrap().1)),
        Some(good[..good.len() - 2].to_owned()),
        Some(format!("{good}00")),
        Some(signature("another-edge-secret-of-32-characters-or-more", "POST", REPORTS, now, &body)),
        Some(signature(EDGE_SECRET, "PUT", REPORTS, now, &body)),
        Some(signature(EDGE_SECRET, "POST", "/internal/v1/reports?x=1", now, &body)),
        Some(signature(EDGE_SECRET, "POST", "/internal/v1/report", now, &body)),
        Some(signature(EDGE_SECRET, "POST", REPORTS, now, &other)),
        Some(signature(EDGE_SECRET, "POST", REPORTS, now, b"")),
        Some(signature(EDGE_SECRET, "POST", REPORTS, now.plus_millis(-WINDOW - 1), &body)),
        Some(signature(EDGE_SECRET, "POST", REPORTS, now.plus_millis(WINDOW + 1), &body)),
    ] {
        let answer = send(&app, Method::POST, REPORTS, wrong.as_deref(), body.clone()).await;
        assert!([401, 403, 404].contains(&answer.status.as_u16()), "{wrong:?}: {}", answer.text());
        answer.refused(answer.status.as_u16());
    }
    // The signature in the wrong place: a bearer token, a query.
    let client = app.anonymous().with_token(Some(good.clone()));
    assert!(client.post(REPORTS, json!({ "reports": [] })).await.status.is_client_error());
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}), "none of these were counted");

    for (name, right) in [("good", good.clone()), ("in capitals", upper)] {
        let answer = send(&app, Method::POST, REPORTS, Some(&right), body.clone()).await;
        assert_eq!(answer.assert(200), json!({ "accepted": 1, "dropped": [] }), "{name}");
    }
    for time in [now.plus_millis(-WINDOW), now.plus_millis(WINDOW)] {
        let signature = signature(EDGE_SECRET, "POST", REPORTS, time, &body);
        send(&app, Method::POST, REPORTS, Some(&signature), body.clone()).await.assert(200);
    }
    app.clock.advance(WINDOW + 1);
    assert!(send(&app, Method::POST, REPORTS, Some(&good), body.clone()).await.status.is_client_error(), "an expired call is refused");
    app.clock.advance(-2 * WINDOW - 2);
    assert!(send(&app, Method::POST, REPORTS, Some(&good), body).await.status.is_client_error(), "a call from the future is refused");
    assert_eq!(ada.metrics("demo", "Staging").await, json!({ "v1": counts(1, 0, 1, 0) }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_batch_is_refused_as_a_whole() {
    let (app, ada, _, staging) = prepared().await;
    for body in [&b""[..], b"{", b"[]", b"null", b"{}", b"{\"reports\":null}", b"{\"reports\":{}}", b"{\"reports\":\"x\"}", b"\xff"] {
        post(&app, body).await.refused(400);
    }
    let one = |number: usize| report(u8::try_from(number).unwrap(), 5, &staging, Some(&format!("client-{number}")), "installed", "v1");
    let too_many: Vec<Value> = (0..101).map(one).collect();
    let refusal = post(&app, json!({ "reports": too_many }).to_string().as_bytes()).await.refused(400);
    assert!(refusal.contains("100"), "{refusal}");
    let body = |size: usize| {
        let text = json!({ "reports": [one(1)], "more": "" }).to_string();
        let fill = "x".repeat(size - text.len());
        text.replace("\"more\":\"\"", &format!("\"more\":\"{fill}\"")).into_bytes()
    };
    let limit = 2 << 20;
    assert_eq!(body(limit).len(), limit);
    post(&app, &body(limit + 1)).await.refused(413);
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));
    assert_eq!(post(&app, &body(limit)).await.assert(200)["accepted"], 1);
    assert_eq!(deliver(&app, &too_many[..100]).await, json!({ "accepted": 100, "dropped": [] }));
    assert_eq!(ada.metrics("demo", "Staging").await, json!({ "v1": counts(100, 0, 100, 0) }));
    assert_eq!(deliver(&app, &[]).await, json!({ "accepted": 0, "dropped": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_report_of_a_batch_is_validated_separately() {
    let (app, ada, _, staging) = prepared().await;
    let mut no_label = report(4, 5, &staging, Some("a"), "installed", "v1");
    no_label.as_object_mut().unwrap().remove("label");
    let mut no_id = report(5, 5, &staging, Some("a"), "installed", "v1");
    no_id.as_object_mut().unwrap().remove("id");
    let mut odd_id = report(6, 5, &staging, Some("a"), "installed", "v1");
    odd_id["id"] = json!("not an id\n<script>");
    let answer = deliver(
        &app,
        &[
            report(1, 5, &staging, Some("good"), "installed", "v1"),
            report(2, 5, "key-of-no-deployment", Some("a"), "installed", "v1"),
            report(3, 5, &staging, Some("a"), "installed", "latest"),
            no_label,
            no_id,
            odd_id,
            report(7, 5, &staging, Some("a\u{0}b"), "downloaded", "v1"),
            report(8, 5, "short", Some("a"), "downloaded", "v1"),
            report(9, 5, &staging, Some("a"), "exploded", "v1"),
            report(10, 5, &staging, Some("a"), "binary", ""),
            json!(null),
            json!("text"),
            json!([]),
            json!({}),
            report(11, 5, &staging, Some("also-good"), "downloaded", "v1"),
            // An unknown release is accepted, but not counted.
            report(12, 5, &staging, Some("also-good"), "downloaded", "v999"),
        ],
    )
    .await;
    assert_eq!(answer["accepted"], 3, "{answer}");
    let dropped = answer["dropped"].as_array().unwrap();
    let mut ids: Vec<&str> = dropped.iter().map(|dropped| dropped["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let mut expected: Vec<String> = [2, 3, 4, 7, 8, 9, 10].into_iter().map(id).collect();
    expected.extend(std::iter::repeat_n(String::new(), 6));
    expected.sort_unstable();
    assert_eq!(ids, expected, "{answer}");
    assert!(dropped.iter().all(|dropped| !dropped["reason"].as_str().unwrap().is_empty()), "{answer}");
    assert_eq!(ada.metrics("demo", "Staging").await, json!({ "v1": counts(1, 1, 1, 0) }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivered_batch_counts_nothing_twice() {
    let (app, ada, _, staging) = prepared().await;
    let reports = [
        report(1, 5, &staging, Some("a"), "binary", "1.0.0"),
        report(2, 6, &staging, Some("a"), "downloaded", "v1"),
        report(3, 7, &staging, Some("a"), "installed", "v1"),
        report(4, 8, &staging, None, "downloaded", "v1"),
        report(5, 9, &staging, None, "installed", "v1"),
        report(6, 9, &staging, None, "failed", "v2"),
        report(7, 9, &staging, None, "binary", "3.0.0"),
        // Twice within one batch.
        report(4, 8, &staging, None, "downloaded", "v1"),
    ];
    // active 1: device a runs v1; downloaded and installed 2: device a, and the report without a client ID.
    let expected = json!({ "1.0.0": counts(0, 0, 0, 0), "v1": counts(1, 2, 2, 0), "v2": counts(0, 0, 0, 1) });
    for _ in 0..3 {
        assert_eq!(deliver(&app, &reports).await, json!({ "accepted": 8, "dropped": [] }));
        assert_eq!(ada.metrics("demo", "Staging").await, expected);
    }
    // Nor one by one, in reverse.
    for report in reports.iter().rev() {
        deliver(&app, std::slice::from_ref(report)).await;
    }
    assert_eq!(ada.metrics("demo", "Staging").await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_do_not_depend_on_the_order_of_arrival() {
    let (app, ada, production, staging) = prepared().await;
    // One device reports 1.0.0, v1, v2 (which fails), then Production's v3, by time of receipt. The last two have the same time: the higher ID is the
    // later one.
    let story = |client: &str| {
        [
            report(1, 10, &staging, Some(client), "binary", "1.0.0"),
            report(2, 20, &staging, Some(client), "installed", "v1"),
            report(3, 30, &staging, Some(client), "failed", "v2"),
            report(4, 40, &staging, Some(client), "binary", "2.0.0"),
            report(5, 40, &production, Some(client), "installed", "v3"),
        ]
    };
    let orders = permutations(5);
    assert_eq!(orders.len(), 120);
    for (index, order) in orders.iter().enumerate() {
        let story = story(&format!("client-{index}"));
        let in_order: Vec<Value> = order.iter().map(|position| story[*position].clone()).collect();
        // In two overlapping deliveries, split at a different place each time.
        let cut = index % 4 + 1;
        deliver(&app, &in_order[..cut]).await;
        deliver(&app, &in_order[cut - 1..]).await;
    }
    // Each of the 120 devices ran 1.0.0, v1 and 2.0.0 at some time, and runs Production's v3 now.
    let staging =
        json!({ "1.0.0": counts(0, 0, 0, 0), "2.0.0": counts(0, 0, 0, 0), "v1": counts(0, 0, 120, 0), "v2": counts(0, 0, 0, 120) });
    assert_eq!(ada.metrics("demo", "Staging").await, staging);
    assert_eq!(ada.metrics("demo", "Production").await, json!({ "v3": counts(120, 0, 120, 0) }));
}

/// Every permutation of the numbers below `count`.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let shorter = permutations(last);
    let insert = |order: &Vec<usize>, place: usize| {
        let mut order = order.clone();
        order.insert(place, last);
        order
    };
    shorter.iter().flat_map(|order| (0..=order.len()).map(move |place| insert(order, place))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_report_counts_its_event_but_moves_no_device_back() {
    let (app, ada, _, staging) = prepared().await;
    deliver(&app, &[report(9, 900, &staging, Some("a"), "installed", "v2")]).await;
    deliver(&app, &[report(1, 100, &staging, Some("a"), "installed", "v1"), report(2, 200, &staging, Some("a"), "binary", "1.0.0")]).await;
    let expected = json!({ "1.0.0": counts(0, 0, 0, 0), "v1": counts(0, 0, 1, 0), "v2": counts(1, 0, 1, 0) });
    assert_eq!(ada.metrics("demo", "Staging").await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_batches_and_direct_reports_add_up() {
    let (app, ada, production, staging) = prepared().await;
    let mut sending = Vec::new();
    for batch in 0..6_u8 {
        // Sixty devices; each batch moves twenty of them, so that every device is in two batches.
        let reports: Vec<Value> = (0..20_u8)
            .map(|index| {
                let client = format!("client-{}", (u16::from(batch) * 10 + u16::from(index)) % 60);
                let key = if batch % 2 == 0 { &staging } else { &production };
                report(batch * 20 + index, i64::from(batch), key, Some(&client), "installed", "v1")
            })
            .collect();
        let body = json!({ "reports": reports }).to_string().into_bytes();
        let signature = signature(EDGE_SECRET, "POST", REPORTS, app.clock.now(), &body);
        let client = app.anonymous();
        sending.push(tokio::spawn(async move {
            let request = client.request(Method::POST, REPORTS).header("x-updraft-signature", signature).body(body);
            client.send(request).await
        }));
    }
    for answer in sending {
        assert_eq!(answer.await.unwrap().assert(200)["accepted"], 20);
    }
    let (staging, production) = (ada.metrics("demo", "Staging").await, ada.metrics("demo", "Production").await);
    // Batches 0 2 4 are on Staging with devices 0-19, 20-39, 40-59; 1 3 5 on Production with 10-29, 30-49, 50-59 and 0-9. The newer batch wins: batch
    // 1 took 10-29, batch 2 20-39, batch 3 30-49, batch 4 40-59, batch 5 50-59 and 0-9. So 20-29 and 40-49 are on Staging.
    assert_eq!(staging, json!({ "v1": counts(20, 0, 60, 0) }));
    assert_eq!(production, json!({ "v1": counts(40, 0, 60, 0) }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_without_a_client_id_is_deduplicated_for_15_days() {
    let (app, ada, _, staging) = prepared().await;
    let day = 86_400_000;
    let reports = [report(1, 5, &staging, None, "downloaded", "v1")];
    deliver(&app, &reports).await;
    let forget = async || {
        control::testing::counting::purge(&app.state().db, app.clock.now()).await.unwrap();
        app.number("SELECT COUNT(*) FROM report_ids").await
    };
    app.clock.advance(15 * day);
    assert_eq!(forget().await, 1);
    deliver(&app, &reports).await;
    assert_eq!(ada.metrics("demo", "Staging").await, json!({ "v1": counts(0, 1, 0, 0) }));
    assert_eq!(app.number("SELECT COUNT(*) FROM report_ids").await, 1);
    app.clock.advance(1);
    assert_eq!(forget().await, 0);
}

async fn snapshot(app: &TestApp, method: Method, path: &str) -> Answer {
    let signature = signature(EDGE_SECRET, method.as_str(), path, app.clock.now(), b"");
    send(app, method, path, Some(&signature), Vec::new()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_served_to_the_edge() {
    let (app, _, _, staging) = prepared().await;
    let path = format!("/internal/v1/snapshots/{staging}");
    let answer = snapshot(&app, Method::GET, &path).await;
    answer.assert_status(200);
    assert_eq!((answer.header("content-type"), answer.header("cache-control")), ("text/plain".to_owned(), "no-store".to_owned()));
    let parsed = opened(&staging, &answer.body);
    assert!(!parsed.is_tombstone());
    let version = app.texts("SELECT CAST(snapshot_version AS TEXT) FROM deployment_keys WHERE deployment_key = $1", &[&staging]).await;
    assert_eq!(parsed.version().to_string(), version[0]);
    assert_eq!(vec![parsed.deployment().to_string()], app.texts("SELECT id FROM deployments WHERE deployment_key = $1", &[&staging]).await);
    let head = snapshot(&app, Method::HEAD, &path).await;
    head.assert_status(200);
    assert!(head.body.is_empty());
    // The path is signed as sent.
    snapshot(&app, Method::GET, &format!("{path}/")).await.assert_status(200);
    snapshot(&app, Method::GET, &format!("{path}?x=1")).await.assert_status(200);

    for key in ["0123456789", &staging.to_uppercase()] {
        DeploymentKey::try_from(key).unwrap();
        snapshot(&app, Method::GET, &format!("/internal/v1/snapshots/{key}")).await.refused(404);
    }
    snapshot(&app, Method::GET, "/internal/v1/snapshots/short").await.refused(400);

    app.free_key(&staging).await;
    app.change("UPDATE deployment_keys SET snapshot_version = snapshot_version + 1 WHERE deployment_key = $1", &[&staging]).await;
    let gone = snapshot(&app, Method::GET, &path).await;
    gone.assert_status(200);
    assert!(opened(&staging, &gone.body).is_tombstone());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_served_only_to_the_edge() {
    let (app, ada, _, staging) = prepared().await;
    let path = format!("/internal/v1/snapshots/{staging}");
    let now = app.clock.now();
    let outdated = signature(EDGE_SECRET, "GET", &path, now.plus_millis(-WINDOW - 1), b"");
    let of_another = signature(EDGE_SECRET, "GET", "/internal/v1/snapshots/0123456789", now, b"");
    let forged = signature("another-edge-secret-of-32-characters-or-more", "GET", &path, now, b"");
    let absent = send(&app, Method::GET, "/internal/v1/snapshots/0123456789", None, Vec::new()).await;
    for wrong in [None, Some(outdated), Some(of_another), Some(forged), Some("t=,v1=".to_owned())] {
        let answer = send(&app, Method::GET, &path, wrong.as_deref(), Vec::new()).await;
        assert_eq!(
            answer.refused(absent.status.as_u16()),
            absent.refused(absent.status.as_u16()),
            "known and unknown keys get the same response"
        );
    }
    assert!(ada.get(&path).await.status.is_client_error(), "access keys do not work here");
}

async fn call(app: &TestApp, method: Method, path: &str, body: &Value) -> Answer {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let signature = signature(EDGE_SECRET, method.as_str(), path, app.clock.now(), &body);
    send(app, method, path, Some(&signature), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_of_several_snapshots_are_told_to_the_edge() {
    let (app, ada, production, staging) = prepared().await;
    let versions = async |keys: &str| call(&app, Method::GET, &format!("/internal/v1/versions?keys={keys}"), &Value::Null).await;
    let version = async |key: &str| -> i64 {
        let rows = app.texts("SELECT CAST(snapshot_version AS TEXT) FROM deployment_keys WHERE deployment_key = $1", &[key]).await;
        rows[0].parse().unwrap()
    };
    let answer = versions(&format!("{staging},never-made-0123456789,{production}")).await.assert(200);
    assert_eq!(
        answer,
        json!({ "versions": { staging.as_str(): version(&staging).await, production.as_str(): version(&production).await } })
    );
    ada.upload("demo", "Staging", b"4", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let later = versions(&staging).await.assert(200);
    assert!(later["versions"][&staging].as_i64() > answer["versions"][&staging].as_i64());

    let many = vec!["0123456789"; 20].join(",");
    assert_eq!(versions(&many).await.assert(200), json!({ "versions": {} }));
    for wrong in ["", "short", &format!("{staging},"), &format!("{many},0123456789"), "%ff"] {
        versions(wrong).await.refused(400);
    }
    let path = format!("/internal/v1/versions?keys={staging}");
    send(&app, Method::GET, &path, None, Vec::new()).await.refused(404);
    send(&app, Method::GET, "/internal/v1/versions?keys=%ff", None, Vec::new()).await.refused(404);
    call(&app, Method::POST, &path, &Value::Null).await.refused(405);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_edge_did_not_trust_is_counted_once_and_shown_by_health() {
    const COUNTERS: &str = "/internal/v1/edge-counters";
    let app = TestApp::spawn().await;
    let told = |sequence: i64| json!({ "isolate": "0a1b2c", "sequence": sequence, "counts": { "distrusted": 2, "alteredBundles": 1, "later": 7 } });
    let health = async || app.anonymous().get("/v1/health").await.assert(200)["checks"]["edge"].clone();
    let counted = async || {
        app.number("SELECT CAST(COALESCE(SUM(distrusted + old + replayed + altered_bundles), 0) AS BIGINT) FROM edge_counters").await
    };
    assert_eq!(health().await, "off");
    send(&app, Method::POST, COUNTERS, None, told(1).to_string().into_bytes()).await.refused(404);
    let nothing = json!({ "isolate": "0a1b2c", "sequence": 9, "counts": {} });
    assert_eq!(call(&app, Method::POST, COUNTERS, &nothing).await.assert(200), json!({ "status": "ok" }));
    assert_eq!(counted().await, 0);
    for _ in 0..2 {
        assert_eq!(call(&app, Method::POST, COUNTERS, &told(1)).await.assert(200), json!({ "status": "ok" }));
        assert_eq!(counted().await, 3);
    }
    call(&app, Method::POST, COUNTERS, &told(2)).await.assert(200);
    assert_eq!(counted().await, 6);
    app.clock.advance(9 * 60_000);
    assert_eq!(health().await, "degraded");
    app.clock.advance(60_001);
    assert_eq!(health().await, "off");

    for wrong in [
        json!({}),
        json!([]),
        json!({ "isolate": "", "sequence": 1, "counts": {} }),
        json!({ "isolate": "a b", "sequence": 1, "counts": {} }),
    ] {
        call(&app, Method::POST, COUNTERS, &wrong).await.refused(400);
    }
    let long = json!({ "isolate": "a".repeat(65), "sequence": 1, "counts": {} });
    call(&app, Method::POST, COUNTERS, &long).await.refused(400);
    let negative = json!({ "isolate": "a", "sequence": 1, "counts": { "distrusted": -1 } });
    call(&app, Method::POST, COUNTERS, &negative).await.refused(400);
    call(&app, Method::GET, COUNTERS, &Value::Null).await.refused(405);
    app.clock.advance(2 * 86_400_000);
    let mut app = app;
    app.stop().await;
    app.start().await;
    tests::wait::eventually("old rows are deleted", async || match app.number("SELECT COUNT(*) FROM edge_counters").await {
        0 => Ok(()),
        left => Err(left.to_string()),
    })
    .await;
}
