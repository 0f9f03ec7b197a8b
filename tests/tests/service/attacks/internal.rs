//! Internal paths: what unauthenticated clients can make the process read, and what they can learn.

use reqwest::Method;
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use shared::ids::ReportId;
use shared::signature::{Secrets, sign_call};
use shared::time::UnixMillis;
use tests::app::EDGE_SECRET;
use tests::raw::{connect, read_answer};
use tests::reports::{BATCHES, batch, report};
use tests::wait::until;
use tests::{Client, TestApp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The largest batch, in bytes.
const LARGEST: usize = 2 << 20;

async fn prepared() -> (TestApp, Client, String) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"1", json!({ "appVersion": "1.0.0" })).await.assert(201);
    (app, ada, staging)
}

fn one(staging: &str, number: u8) -> Value {
    let id = ReportId::v7(UnixMillis(1_000), [number; 10]).to_string();
    report(&id, 5, staging, Some(&format!("client-{number}")), "installed", "v1")
}

fn installed(count: i64) -> Value {
    json!({ "v1": { "active": count, "downloaded": 0, "installed": count, "failed": 0 } })
}

/// A signature in the current format, and one in the previous format.
fn signatures(app: &TestApp, method: &str, path: &str, body: &str) -> (String, String) {
    let with = sign_call(&Secrets::parse(EDGE_SECRET).unwrap(), method, path, app.clock.now(), body.as_bytes());
    let without = with.replace(&format!(",h={}", Sha256Hex::of(body.as_bytes())), "");
    assert_ne!(with, without);
    (with, without)
}

/// The head of a call that waits for `100 Continue` before sending its body.
fn head(signature: &str, length: usize) -> String {
    format!(
        "POST {BATCHES} HTTP/1.1\r\nhost: localhost\r\nx-updraft-signature: {signature}\r\ncontent-length: {length}\r\nexpect: 100-continue\r\n\r\n"
    )
}

async fn is_told_to_go_on(stream: &mut TcpStream) {
    let mut said = [0; 25];
    stream.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_with_forged_signatures_block_nothing() {
    let (app, ada, staging) = prepared().await;
    let invented = format!("t={},h={},v1={}", app.clock.now().0, "ab".repeat(32), "cd".repeat(32));
    let mut unauthenticated = Vec::new();
    for _ in 0..16 {
        let mut stream = connect(&app.base).await;
        // The first byte of a body that is never sent.
        let head = head(&invented, LARGEST).replace("expect: 100-continue\r\n", "");
        stream.write_all(format!("{head}x").as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "no response before the body: {answer}");
        unauthenticated.push(stream);
    }
    assert_eq!(app.state().front.internal.free(), (16, 4));
    let client = app.anonymous();
    client.send(batch(&client, app.clock.now(), &[one(&staging, 1)])).await.assert(200);
    assert_eq!(ada.metrics("demo", "Staging").await, installed(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_without_a_body_hash_block_only_each_other() {
    let (app, ada, staging) = prepared().await;
    let invented = format!("t={},v1={}", app.clock.now().0, "cd".repeat(32));
    let mut unauthenticated = Vec::new();
    for _ in 0..4 {
        let mut stream = connect(&app.base).await;
        stream.write_all(head(&invented, LARGEST).as_bytes()).await.unwrap();
        is_told_to_go_on(&mut stream).await;
        unauthenticated.push(stream);
    }
    assert_eq!(app.state().front.internal.free(), (16, 0));
    let client = app.anonymous();
    client.send(batch(&client, app.clock.now(), &[one(&staging, 1)])).await.assert(200);
    // A snapshot request has no body, so an older edge is still served.
    let path = format!("/internal/v1/snapshots/{staging}");
    let (_, without) = signatures(&app, "GET", &path, "");
    client.send(client.request(Method::GET, &path).header("x-updraft-signature", without)).await.assert_status(200);
    // A batch from an older edge is served once one of them disconnects.
    let body = json!({ "reports": [one(&staging, 2)] }).to_string();
    let (_, without) = signatures(&app, "POST", BATCHES, &body);
    let mut older = connect(&app.base).await;
    older.write_all(head(&without, body.len()).as_bytes()).await.unwrap();
    unauthenticated.pop();
    is_told_to_go_on(&mut older).await;
    older.write_all(body.as_bytes()).await.unwrap();
    let answer = read_answer(&mut older).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(ada.metrics("demo", "Staging").await, installed(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_sixteen_verified_bodies_are_read_concurrently() {
    let (app, ada, staging) = prepared().await;
    let mut reading = Vec::new();
    for number in 0..17 {
        let body = json!({ "reports": [one(&staging, number)] }).to_string();
        let (with, _) = signatures(&app, "POST", BATCHES, &body);
        let mut stream = connect(&app.base).await;
        stream.write_all(head(&with, body.len()).as_bytes()).await.unwrap();
        reading.push((stream, body));
        if number < 16 {
            is_told_to_go_on(&mut reading.last_mut().unwrap().0).await;
        }
    }
    let (mut last, body) = reading.pop().unwrap();
    assert_eq!(app.state().front.internal.free().0, 0);
    assert!(last.try_read(&mut [0; 25]).is_err(), "the seventeenth has to wait");
    for (stream, body) in &mut reading {
        stream.write_all(body.as_bytes()).await.unwrap();
        assert!(read_answer(stream).await.starts_with("HTTP/1.1 200"));
    }
    is_told_to_go_on(&mut last).await;
    last.write_all(body.as_bytes()).await.unwrap();
    assert!(read_answer(&mut last).await.starts_with("HTTP/1.1 200"));
    assert_eq!(ada.metrics("demo", "Staging").await, installed(17));
    until("every slot is released", async || (app.state().front.internal.free() == (16, 4)).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_differs_from_the_signed_one_is_refused() {
    let (app, ada, staging) = prepared().await;
    let (body, other) = (json!({ "reports": [one(&staging, 1)] }).to_string(), json!({ "reports": [one(&staging, 2)] }).to_string());
    let (with, without) = signatures(&app, "POST", BATCHES, &body);
    let (of_other, _) = signatures(&app, "POST", BATCHES, &other);
    let exchanged = with.replace(Sha256Hex::of(body.as_bytes()).as_str(), Sha256Hex::of(other.as_bytes()).as_ref());
    let client = app.anonymous();
    for signature in [&with, &without, &exchanged] {
        let call = client.request(Method::POST, BATCHES).header("x-updraft-signature", signature).body(other.clone());
        client.send(call).await.refused(404);
    }
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));
    for (signature, body) in [(with, &body), (without, &body), (of_other, &other)] {
        let call = client.request(Method::POST, BATCHES).header("x-updraft-signature", signature).body(body.clone());
        client.send(call).await.assert(200);
    }
    assert_eq!(ada.metrics("demo", "Staging").await, installed(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn internal_paths_are_indistinguishable_from_absent_ones() {
    let (app, _, staging) = prepared().await;
    let client = app.anonymous();
    let absent = client.get("/internal/nothing").await.refused(404);
    let snapshot = format!("/internal/v1/snapshots/{staging}");
    let of_snapshots = [&snapshot, "/internal/v1/snapshots/short", "/internal/v1/snapshots/%ff", "/internal/v1/versions?keys=%ff"];
    for path in [&[BATCHES, "/internal/v1/reports/", "/internal/v1/edge-counters"][..], &of_snapshots[..]].concat() {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            for signature in [None, Some("t=1,v1=00"), Some("invented")] {
                let mut request = client.request(method.parse().unwrap(), path);
                if let Some(signature) = signature {
                    request = request.header("x-updraft-signature", signature);
                }
                let answer = client.send(request).await;
                assert_eq!(answer.refused(404), absent, "{method} {path} {signature:?}");
                assert_eq!(answer.optional_header("allow"), None, "{method} {path}");
            }
        }
        client.send(client.request(Method::HEAD, path)).await.assert_status(404);
    }
    // Nor by the body limit, with or without Content-Length.
    let invented = format!("t={},h={},v1={}", app.clock.now().0, "ab".repeat(32), "cd".repeat(32));
    let older = format!("t={},v1={}", app.clock.now().0, "cd".repeat(32));
    for signature in [None, Some(&invented), Some(&older)] {
        let call = client.request(Method::POST, BATCHES).body(vec![b' '; LARGEST + 1]);
        let call = match signature {
            Some(signature) => call.header("x-updraft-signature", signature),
            None => call,
        };
        assert_eq!(client.send(call).await.refused(404), absent, "{signature:?}");
    }
    // A signed caller gets a specific error.
    let (with, _) = signatures(&app, "PUT", BATCHES, "");
    let answer = client.send(client.request(Method::PUT, BATCHES).header("x-updraft-signature", with)).await;
    answer.refused(405);
    assert_eq!(answer.header("allow"), "POST");
}
