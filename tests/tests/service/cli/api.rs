//! `updraft api`: any request, with the credential in use, and the bytes as they came.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use tests::{Cli, TestApp};
use tokio::net::TcpListener;

/// What a request was.
#[derive(Clone, Debug)]
struct Seen {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

/// A server that gives every request this answer, and the requests that it has seen.
async fn answering(status: u16, kind: &'static str, body: impl Into<Bytes>) -> (String, Arc<Mutex<Vec<Seen>>>) {
    let (listener, body) = (TcpListener::bind(("127.0.0.1", 0)).await.unwrap(), body.into());
    let base = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&seen);
    let answer = move |method: Method, uri: Uri, headers: HeaderMap, received: Bytes| {
        requests.lock().unwrap().push(Seen { method, uri, headers, body: received });
        let response = (StatusCode::from_u16(status).unwrap(), [(header::CONTENT_TYPE, kind)], body.clone()).into_response();
        async move { response }
    };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
    (base, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_is_printed_exactly_as_it_came() {
    // Neither valid UTF-8 nor a line end.
    let odd: &[u8] = b"{ \"a\" :1}\r\n\xff\x00 ";
    let (base, _) = answering(200, "application/octet-stream", odd).await;
    let cli = Cli::with_token(&base, "svc_ak_x");
    let output = cli.command(&["api", "GET", "apps"]).output().await.unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, odd);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_ends_its_line() {
    for body in ["{\"error\":\"app was not found\"}", "{\"error\":\"app was not found\"}\n"] {
        let (base, _) = answering(404, "application/json", body).await;
        let printed = Cli::with_token(&base, "svc_ak_x").expect(4, &["api", "GET", "apps/demo"]).await;
        assert_eq!(printed.out, "{\"error\":\"app was not found\"}\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_is_what_was_given() {
    let (base, seen) = answering(200, "application/json", "{}").await;
    let cli = Cli::with_token(&base, "svc_ak_x");
    let last = || seen.lock().unwrap().last().cloned().unwrap();

    cli.expect(0, &["api", "get", "v1/apps", "--field", "limit=5", "--raw-field", "q=a&b c"]).await;
    let request = last();
    assert_eq!((request.method, request.uri.to_string().as_str()), (Method::GET, "/v1/apps?limit=5&q=a%26b+c"));
    assert_eq!(request.headers[header::AUTHORIZATION], "Bearer svc_ak_x");
    assert!(request.body.is_empty());

    cli.expect(0, &["api", "PATCH", "apps/demo", "-F", "packageInfo.rollout=50", "-F", "tags[]=a", "-f", "name=5", "-H", "X-Extra: yes"])
        .await;
    let request = last();
    assert_eq!(request.method, Method::PATCH);
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).unwrap(),
        json!({ "packageInfo": { "rollout": 50 }, "tags": ["a"], "name": "5" })
    );
    assert_eq!(request.headers["x-extra"], "yes");
    assert_eq!(request.headers[header::CONTENT_TYPE], "application/json");

    let body = b"raw \xff\x00 bytes";
    cli.run_with(&["api", "POST", "/v1/anything", "--input", "-", "--field", "page=2", "-H", "Content-Type: text/plain"], body)
        .await
        .assert(0);
    let request = last();
    assert_eq!((request.uri.to_string().as_str(), &request.body[..]), ("/v1/anything?page=2", &body[..]));
    assert_eq!(request.headers[header::CONTENT_TYPE], "text/plain");
    cli.write("body.json", "{\"from\": \"a file\"}");
    cli.expect(0, &["api", "POST", "anything", "--input", "body.json"]).await;
    assert_eq!(last().body, "{\"from\": \"a file\"}");
    cli.run(&["api", "POST", "anything", "--input", "absent.json"]).await.error(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credential_cannot_leave_the_server_or_be_replaced() {
    let (base, seen) = answering(200, "application/json", "{}").await;
    let cli = Cli::with_token(&base, "svc_ak_x");
    let outside = [
        &["api", "GET", "https://evil.example/v1/apps"][..],
        &["api", "GET", "//evil.example/v1/apps"],
        &["api", "GET", "apps/../../dashboard"],
        &["api", "GET", "apps/%2e%2e/%2E./dashboard"],
        &["api", "GET", "apps", "--header", "Authorization: Bearer other"],
        &["api", "GET", "apps", "--header", "Host: evil.example"],
        &["api", "GET", "apps", "--header", "X: a\r\nAuthorization: b"],
        &["api", "FROBNICATE", "apps"],
    ];
    for arguments in outside {
        let (_, next) = cli.run(arguments).await.error(2);
        assert!(!next.is_empty(), "{arguments:?}");
    }
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_follows_the_status() {
    for (status, code) in [(200, 0), (201, 0), (204, 0), (400, 1), (401, 3), (403, 1), (404, 4), (409, 5), (413, 1), (500, 6)] {
        let body = if status == 204 { String::new() } else { json!({ "error": format!("status {status}"), "requestId": "r" }).to_string() };
        let (base, _) = answering(status, "application/json", body.clone()).await;
        let ended = Cli::with_token(&base, "svc_ak_x").run(&["api", "POST", "apps"]).await;
        ended.assert(code);
        assert_eq!(ended.out, if code == 0 { body } else { body + "\n" }, "{status}");
        if code != 0 {
            ended.error(code);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_json_asked_for_nothing_else_is_printed() {
    for (status, body, code, printed) in
        [(502, "<html>Bad gateway</html>", 6, ""), (200, "<html>", 6, ""), (204, "", 0, "null\n"), (404, "{}", 4, "{}\n")]
    {
        let (base, _) = answering(status, "text/html", body).await;
        let ended = Cli::with_token(&base, "svc_ak_x").run(&["api", "POST", "apps", "--output", "json"]).await;
        ended.assert(code);
        assert_eq!(ended.out, printed, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_for_everyone_needs_no_credential() {
    let app = TestApp::spawn().await;
    let cli = Cli::new().with("UPDRAFT_URL", &app.base);
    let ended = cli.run(&["api", "GET", "health"]).await;
    assert_eq!(ended.json()["status"], "ok");
    let (what, next) = cli.run(&["api", "GET", "apps"]).await.error(3);
    assert!(what.contains("not signed in"), "{what}");
    assert!(next.contains("updraft login"), "{next}");
    let ended = cli.expect(0, &["api", "GET", "health", "--include"]).await;
    assert!(ended.out.starts_with("HTTP/1.1 200 OK\n") && ended.out.contains("\n\n{"), "{}", ended.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_end_is_not_read_to_the_end() {
    let (base, _) = answering(200, "application/json", vec![b' '; (64 << 20) + 1]).await;
    let (what, _) = Cli::with_token(&base, "svc_ak_x").run(&["api", "GET", "apps"]).await.error(6);
    assert!(what.contains("more than 64 MB"), "{what}");
}
