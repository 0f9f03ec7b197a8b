//! Behavior common to all management routes: HEAD, 404, 405, 413, 415, malformed JSON.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use tests::SessionOrigin::Dashboard;
use tests::{Client, TestApp};

async fn prepared() -> (TestApp, Client) {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let ada = app.open_session("ada", Dashboard).await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    (app, ada)
}

/// Every route and its methods.
const ROUTES: &[(&str, &[&str])] = &[
    ("/", &["GET", "HEAD"]),
    ("/health", &["GET", "HEAD"]),
    ("/v1/health", &["GET", "HEAD"]),
    ("/v1/openapi.json", &["GET", "HEAD"]),
    ("/v1/docs", &["GET", "HEAD"]),
    ("/v1/auth/cli/authorizations", &["POST"]),
    ("/v1/auth/cli/device", &["POST"]),
    ("/v1/auth/cli/token", &["POST"]),
    ("/v1/cli/authorizations/resolve", &["POST"]),
    ("/v1/cli/devices", &["GET", "HEAD"]),
    ("/v1/cli/devices/current", &["DELETE"]),
    ("/v1/authenticated", &["GET", "HEAD"]),
    ("/v1/account", &["GET", "HEAD", "PATCH", "DELETE"]),
    ("/v1/account/sessions", &["GET", "HEAD", "DELETE"]),
    ("/v1/account/sessions/current", &["DELETE"]),
    ("/v1/sessions/127.0.0.1", &["DELETE"]),
    ("/v1/apps", &["GET", "HEAD", "POST"]),
    ("/v1/apps/demo", &["DELETE", "GET", "HEAD", "PATCH"]),
    ("/v1/apps/demo/transfer/a@example.com", &["POST"]),
    ("/v1/apps/demo/collaborators", &["GET", "HEAD"]),
    ("/v1/apps/demo/collaborators/a@example.com", &["DELETE", "PATCH", "POST"]),
    ("/v1/apps/demo/collaborators/me/accept", &["POST"]),
    ("/v1/apps/demo/deployments", &["GET", "HEAD", "POST"]),
    ("/v1/apps/demo/deployments/Staging", &["DELETE", "GET", "HEAD", "PATCH"]),
    ("/v1/apps/demo/deployments/Staging/releases", &["GET", "HEAD", "POST"]),
    ("/v1/apps/demo/deployments/Staging/releases/v1", &["GET", "HEAD"]),
    ("/v1/apps/demo/deployments/Staging/releases/v1/diffs", &["GET", "HEAD"]),
    ("/v1/apps/demo/deployments/Staging/release", &["PATCH"]),
    ("/v1/apps/demo/deployments/Staging/promotions", &["POST"]),
    ("/v1/apps/demo/deployments/Staging/rollbacks", &["POST"]),
    ("/v1/apps/demo/deployments/Staging/history", &["DELETE", "GET", "HEAD"]),
    ("/v1/apps/demo/deployments/Staging/metrics", &["GET", "HEAD"]),
    ("/v1/auth/register", &["GET", "HEAD", "POST"]),
    ("/v1/auth/verify-email", &["POST"]),
    ("/v1/auth/resend-verification", &["POST"]),
    ("/v1/auth/forgot-password", &["POST"]),
    ("/v1/auth/reset-password", &["POST"]),
    ("/v1/auth/login", &["GET", "HEAD", "POST"]),
    ("/v1/auth/link", &["GET", "HEAD"]),
    ("/auth/login", &["GET", "HEAD"]),
    ("/auth/register", &["GET", "HEAD"]),
    ("/auth/link", &["GET", "HEAD"]),
    ("/internal/v1/reports", &["POST"]),
    ("/internal/v1/snapshots/0123456789", &["GET", "HEAD"]),
    ("/internal/v1/versions", &["GET", "HEAD"]),
    ("/internal/v1/edge-counters", &["POST"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn head_is_answered_like_get_without_a_body() {
    let (_app, ada) = prepared().await;
    for (path, methods) in ROUTES.iter().filter(|(path, _)| !path.starts_with("/internal")) {
        if !methods.contains(&"GET") {
            continue;
        }
        let get = ada.get(path).await;
        // The first path redirects to the dashboard without a body.
        let leads_on = matches!(*path, "/" | "/v1/auth/login" | "/v1/auth/register" | "/v1/auth/link") || path.starts_with("/auth/");
        get.assert_status(if leads_on { 303 } else { 200 });
        let head = ada.send(ada.request(Method::HEAD, path)).await;
        head.assert_status(get.status.as_u16());
        assert!(head.body.is_empty() && (leads_on || !get.body.is_empty()), "{path}");
        for name in ["content-type", "content-length", "cache-control", "x-content-type-options"] {
            assert_eq!(head.optional_header(name), get.optional_header(name), "{name} of {path}");
        }
    }
    let head = ada.send(ada.request(Method::HEAD, "/v1/apps/absent")).await;
    head.assert_status(404);
    assert!(head.body.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsupported_method_is_405_with_the_allowed_ones() {
    let (_app, ada) = prepared().await;
    for (path, methods) in ROUTES.iter().filter(|(path, _)| !path.starts_with("/internal")) {
        for slash in ["", "/"] {
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
                if methods.contains(&method) {
                    continue;
                }
                let answer = ada.send(ada.request(method.parse().unwrap(), &format!("{path}{slash}"))).await;
                answer.refused(405);
                let allow = answer.header("allow");
                let allowed: BTreeSet<&str> = allow.split(',').map(str::trim).collect();
                assert_eq!(allowed, methods.iter().copied().collect(), "{method} {path}");
                assert_eq!(answer.optional_header("access-control-allow-origin"), None, "management paths send no CORS headers");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_are_404_for_every_method() {
    let (_app, ada) = prepared().await;
    for path in [
        "/v1",
        "/v2/apps",
        "/v1/app",
        "/v1/auth",
        "/v1/auth/logout",
        "/v1/account/session",
        "/v1/account/sessions/01890000-0000-7000-8000-000000000000",
        "/v1/sessions",
        "/more",
        "/v1/apps/demo/more",
        "/v1/apps/demo/deployments/Staging/more",
        "/internal",
        "/internal/v1/other",
        "/V1/apps",
        "/v1/apps/demo/deployments/Staging/history/more",
        "/%00",
        "/..%2f..%2fetc%2fpasswd",
        "/v1/public/svc",
        "/v1/public/svc/updateCheck",
        "/v0.2/public/codepush/update_check",
        "/v1/v1/v1/updateCheck",
    ] {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            ada.send(ada.request(method, path)).await.refused(404);
        }
    }
}

const JSON_ROUTES: [&str; 2] = ["/v1/apps", "/v1/apps/demo/deployments"];

#[tokio::test(flavor = "multi_thread")]
async fn a_json_body_holds_up_to_10_240_bytes() {
    let (app, ada) = prepared().await;
    for (index, path) in JSON_ROUTES.into_iter().enumerate() {
        let body = |name: &str, size: usize| {
            let text = json!({ "name": name }).to_string();
            let fill = " ".repeat(size - text.len());
            format!("{text}{fill}")
        };
        let send = async |body: reqwest::Body| {
            ada.send(ada.request(Method::POST, path).header("content-type", "application/json").body(body)).await
        };
        let chunked = |text: String| {
            let chunks: Vec<_> = text.as_bytes().chunks(1_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
            reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))
        };
        send(body(&format!("said {index}"), 10_240).into()).await.assert(201);
        send(chunked(body(&format!("unsaid {index}"), 10_240))).await.assert(201);
        let before = (app.number("SELECT COUNT(*) FROM apps").await, app.number("SELECT COUNT(*) FROM deployments").await);
        for size in [10_241, 20_000, 200_000] {
            let refusal = send(body("large", size).into()).await.refused(413);
            assert!(refusal.contains("10240"), "{refusal}");
            send(chunked(body("large", size))).await.refused(413);
        }
        assert_eq!((app.number("SELECT COUNT(*) FROM apps").await, app.number("SELECT COUNT(*) FROM deployments").await), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_another_content_type_is_415() {
    let (_app, ada) = prepared().await;
    for (index, path) in JSON_ROUTES.into_iter().enumerate() {
        let body = |kind: usize| json!({ "name": format!("n{index}-{kind}") }).to_string();
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/xml",
            "multipart/form-data; boundary=x",
            "json",
            "text/json-not",
        ] {
            ada.send(ada.request(Method::POST, path).header("content-type", kind).body(body(0))).await.refused(415);
        }
        for (number, kind) in
            ["application/json", "application/json;charset=UTF-8", "Application/JSON ; charset=utf-8"].into_iter().enumerate()
        {
            ada.send(ada.request(Method::POST, path).header("content-type", kind).body(body(number))).await.assert(201);
        }
        // The content type of an empty body does not matter; the missing body does.
        ada.send(ada.request(Method::POST, path).header("content-type", "text/plain")).await.refused(400);
        ada.send(ada.request(Method::POST, path)).await.refused(400);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_json_is_400_with_the_position() {
    let (_app, ada) = prepared().await;
    let deep = "[".repeat(5_000);
    for path in JSON_ROUTES {
        for body in [
            &b"{"[..],
            b"{\"name\":}",
            b"{\"name\":\"x\"}}",
            b"name=x",
            b"{'name':'x'}",
            b"\xff\xfe{}",
            b"{\"name\":\"\\ud800\"}",
            b"{\"name\":\"a\nb\"}",
            deep.as_bytes(),
        ] {
            let answer = ada.send(ada.request(Method::POST, path).header("content-type", "application/json").body(body.to_vec())).await;
            let refusal = answer.refused(400);
            assert!(refusal.contains("JSON") && refusal.contains("line"), "{refusal}");
        }
    }
}

/// Every operation of the document with a JSON body: its method, and a valid path.
async fn json_operations(app: &TestApp) -> Vec<(Method, String, Value)> {
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if operation["requestBody"]["content"].get("application/json").is_none() {
                continue;
            }
            let path = path.replace("{app}", "demo").replace("{deployment}", "Staging");
            // IDs are UUIDs; other path parameters may look like one.
            let path = path.split('/').map(|part| if part.starts_with('{') { "0189abcd-0000-7000-8000-000000000000" } else { part });
            let path = path.collect::<Vec<_>>().join("/");
            found.push((method.to_uppercase().parse().unwrap(), path, operation["responses"].clone()));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_that_takes_json_refuses_invalid_and_too_large_bodies() {
    let (app, ada) = prepared().await;
    let operations = json_operations(&app).await;
    assert!(operations.len() > 15, "{operations:?}");
    let filled = |length: usize| format!("{{\"fill\":\"{}\"}}", "x".repeat(length));
    let (large, largest) = (filled(10_240), filled(8 << 20));
    for (method, path, responses) in operations {
        // Imports take more than other operations.
        let large = if path.contains("/imports") { &largest } else { &large };
        for (kind, body, status) in [
            ("application/json", large.as_str(), 413),
            ("text/plain", "{}", 415),
            ("application/json", "{", 400),
            ("application/json", "[]", 400),
            ("application/json", "\"text\"", 400),
        ] {
            let answer = ada.send(ada.request(method.clone(), &path).header("content-type", kind).body(body.to_owned())).await;
            answer.refused(status);
            assert!(responses.get(status.to_string()).is_some(), "{method} {path}: {status} is not documented");
        }
    }
    // Every request was refused before any change, including to the session.
    ada.get("/v1/apps/demo").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_but_valid_queries_and_headers_change_nothing() {
    let (_app, ada) = prepared().await;
    for path in ["/v1/apps?", "/v1/apps?&&=&x", "/v1/apps?%FF=%00", "/v1/apps?name=demo#fragment"] {
        ada.get(path).await.assert(200);
    }
    let answer = ada.send(ada.request(Method::GET, "/v1/apps").header("x-request-id", "mine").header("accept", "text/html")).await;
    answer.assert(200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_ne!(answer.header("x-request-id"), "mine");
}
