//! Ordinary checks are answered on a fast path before the router, with the same responses as through the full stack.

use axum::http::HeaderMap;
use reqwest::Method;
use serde_json::{Value, json};
use shared::wire::path::{self, Job};
use tests::{Answer, Bundle, Options, TestApp, raw};

/// Everything in a response, including its length, except values that are unique to each.
fn said(answer: &Answer) -> (u16, Vec<(String, String)>, Value) {
    let mut headers: HeaderMap = answer.headers.clone();
    for new in ["date", "x-request-id"] {
        headers.remove(new).unwrap_or_else(|| panic!("{}: no {new}", answer.asked));
    }
    let mut headers: Vec<(String, String)> =
        headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
    headers.sort();
    let mut body = answer.json();
    if let Some(id) = body.get_mut("requestId") {
        assert_eq!(id.as_str(), Some(answer.header("x-request-id").as_str()), "{}", answer.asked);
        *id = Value::Null;
    }
    let length = (String::from("content-length"), answer.body.len().to_string());
    assert!(headers.contains(&length), "{}: {headers:?}", answer.asked);
    (answer.status.as_u16(), headers, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fast_path_and_the_full_stack_answer_identically() {
    both_say_the_same(&TestApp::spawn().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fast_path_and_the_full_stack_answer_identically_for_an_https_base_url() {
    let app = TestApp::spawn_with(Options::default().with("BASE_URL", "https://updates.example.com")).await;
    both_say_the_same(&app).await;
    let answer = app.anonymous().get("/v1/public/svc/update_check").await;
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000; includeSubDomains");
}

async fn both_say_the_same(app: &TestApp) {
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    let package =
        ada.upload("demo", "Staging", &Bundle::script("A\n").0, json!({ "appVersion": "1.x" })).await.assert(201)["package"].clone();
    let hash = package["packageHash"].as_str().unwrap();
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Gone" })).await.assert(201);
    let gone = ada.deployment_key("demo", "Gone").await;
    ada.delete("/v1/apps/demo/deployments/Gone").await.assert_status(204);
    let client = app.anonymous();
    let mut statuses = Vec::new();
    for (path, _) in path::all().into_iter().filter(|(_, endpoint)| endpoint.job == Job::Check) {
        for query in [
            format!("deployment_key={production}&app_version=1.0.0"),
            format!("deployment_key={staging}&app_version=1.0.0"),
            format!("deploymentKey={staging}&appVersion=1.2&packageHash={hash}&clientUniqueId=x"),
            format!("deployment_key={gone}&app_version=1.0.0"),
            "deployment_key=nobody-has-this-key&app_version=1.0.0".to_owned(),
            "deployment_key=%00&app_version=x".to_owned(),
            String::new(),
        ] {
            let short = client.get(&format!("{path}?{query}")).await;
            // A middleware removes a trailing slash.
            let slash = client.get(&format!("{path}/?{query}")).await;
            assert_eq!(said(&short), said(&slash), "{path}?{query}");
            statuses.push(short.status.as_u16());
        }
    }
    for status in [200, 404, 400] {
        assert!(statuses.contains(&status), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_the_middleware_refuses_are_refused_on_the_fast_path() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let client = app.anonymous();
    let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0");
    client.get(&path).await.assert(200);
    for (name, value) in [("x-updraft-client-address", "203.0.113.7"), ("x-updraft-address-signature", "t=1,v1=00")] {
        let forged = client.send(client.request(Method::GET, &path).header(name, value)).await;
        assert!(forged.refused(400).contains("edge"), "{name}");
    }
    for (method, status) in [(Method::HEAD, 200), (Method::OPTIONS, 204), (Method::POST, 405), (Method::DELETE, 405)] {
        client.send(client.request(method, &path)).await.assert_status(status);
    }
}

/// The raw lines of a response in any order, without those that are unique to each.
async fn said_to(base: &str, request: &str) -> Vec<String> {
    let answer = raw::exchange(base, request.as_bytes()).await;
    let is_new = |line: &str| ["date:", "x-request-id:"].iter().any(|name| line.to_ascii_lowercase().starts_with(name));
    let mut lines: Vec<_> = answer.lines().filter(|line| !is_new(line)).map(str::to_owned).collect();
    lines.sort();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{request}: {answer}");
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_checks_are_answered_identically_on_both_paths() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let (base, host) = (&app.base, app.base.strip_prefix("http://").unwrap());
    let query = format!("deployment_key={key}&app_version=1.0.0");
    for (before, headers) in [
        ("", ""),
        ("", "Content-Length: 2\r\n\r\n{}"),
        ("", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        ("", "Expect: 100-continue\r\n"),
        ("", "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n{}"),
        (base.as_str(), ""),
    ] {
        let request = |slash: &str| {
            let end = if headers.contains("\r\n\r\n") { "" } else { "\r\n" };
            let path = format!("{before}/v1/public/svc/update_check{slash}?{query}");
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}{end}")
        };
        let (short, long) = (said_to(base, &request("")).await, said_to(base, &request("/")).await);
        assert_eq!(short, long, "{}", request(""));
        assert!(short.iter().any(|line| line.to_ascii_lowercase().starts_with("content-length:")), "{short:?}");
    }
}
