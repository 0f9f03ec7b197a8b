//! What the CLI says and does when something is wrong around it: no credential, no server, a busy server, a read-only home.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::json;
use tests::{Cli, TestApp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A scripted answer: status, headers and body.
type Scripted = (u16, &'static [(&'static str, &'static str)], String);

/// A server that answers the n-th request with the n-th answer, and the last one from then on.
async fn scripted(answers: Vec<Scripted>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let answer = move || {
        let index = seen.fetch_add(1, Ordering::SeqCst);
        let (status, headers, body) = answers.get(index).or(answers.last()).unwrap().clone();
        let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
        for (name, value) in headers {
            response.headers_mut().insert(*name, value.parse().unwrap());
        }
        async move { response }
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    (base, count)
}

fn apps() -> String {
    json!({ "apps": [] }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_credential_the_advice_is_to_sign_in() {
    let (what, next) = Cli::new().run(&["app", "list"]).await.error(3);
    assert_eq!(what, "no server is known");
    assert!(next.contains("updraft login"), "{next}");
    let (what, next) = Cli::new().with("UPDRAFT_URL", "http://127.0.0.1:9").run(&["app", "list"]).await.error(3);
    assert!(what.contains("not signed in"), "{what}");
    assert!(next.contains("updraft login --server http://127.0.0.1:9"), "{next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_or_unknown_credential_is_not_signed_in() {
    let app = TestApp::spawn().await;
    let key = app.access_key("ada", 1_000).await;
    let cli = Cli::with_token(&app.base, &key);
    cli.expect(0, &["app", "list"]).await;
    app.clock.advance(60_000);
    let (what, next) = cli.run(&["app", "list"]).await.error(3);
    assert!(what.contains("does not accept your credential"), "{what}");
    assert!(next.contains("UPDRAFT_TOKEN"), "{next}");
    assert!(!format!("{what}{next}").contains(&key));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_reached_is_exit_code_6() {
    let (what, next) = Cli::with_token("http://127.0.0.1:9", "svc_ak_x").run(&["app", "list"]).await.error(6);
    assert!(what.starts_with("cannot connect to http://127.0.0.1:9"), "{what}");
    assert!(next.contains("updraft doctor"), "{next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_and_does_not_answer_is_given_up() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", silent.local_addr().unwrap());
    let cli = Cli::with_token(&base, "svc_ak_x").with("UPDRAFT_TIMEOUT", "1");
    let (what, next) = cli.run(&["app", "list"]).await.error(6);
    assert_eq!(what, format!("{base} did not answer within 1 s"));
    assert!(next.contains("updraft doctor") && next.contains("UPDRAFT_TIMEOUT"), "{next}");
    // A change can have been done.
    let (_, next) = cli.run(&["app", "create", "demo"]).await.error(6);
    assert!(next.contains("look before you run the command again"), "{next}");
    let (what, _) = cli.with("UPDRAFT_TIMEOUT", "soon").run(&["app", "list"]).await.error(2);
    assert!(what.contains("UPDRAFT_TIMEOUT"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_stops_in_the_middle_is_given_up() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        assert_ne!(connection.read(&mut [0; 4096]).await.unwrap(), 0);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{").await.unwrap();
        connection
    });
    let (what, _) = Cli::with_token(&base, "svc_ak_x").with("UPDRAFT_TIMEOUT", "1").run(&["app", "list"]).await.error(6);
    assert!(what.contains("did not answer"), "{what}");
    served.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_not_sent_unencrypted_to_other_machines() {
    let (what, _) = Cli::with_token("http://updraft.example.com", "svc_ak_x").run(&["app", "list"]).await.error(2);
    assert!(what.contains("unencrypted"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_file_does_not_decide_where_a_token_goes() {
    let (base, count) = scripted(vec![(200, &[], apps())]).await;
    let cli = Cli::new().with("UPDRAFT_TOKEN", "svc_ak_x");
    cli.write("updraft.toml", format!("server = \"{base}\"\n"));
    let (what, next) = cli.run(&["app", "list"]).await.error(2);
    assert!(what.contains("not sent"), "{what}");
    assert!(next.contains("UPDRAFT_URL"), "{next}");
    cli.run_with(&["login", "--token", "-"], b"svc_ak_x").await.error(2);
    assert_eq!(count.load(Ordering::SeqCst), 0);
    cli.with("UPDRAFT_URL", &base).expect(0, &["app", "list"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_not_repeated_after_503() {
    let busy = json!({ "error": "the database cannot be reached", "requestId": "r" }).to_string();
    let (base, count) = scripted(vec![(503, &[("retry-after", "0")], busy)]).await;
    Cli::with_token(&base, "svc_ak_x").run(&["app", "create", "demo"]).await.error(6);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_asked_again_as_it_says() {
    for status in [429, 503] {
        let busy = json!({ "error": "too many requests", "requestId": "r" }).to_string();
        let (base, count) = scripted(vec![(status, &[("retry-after", "0")], busy), (200, &[], apps())]).await;
        Cli::with_token(&base, "svc_ak_x").expect(0, &["app", "list"]).await;
        assert_eq!(count.load(Ordering::SeqCst), 2, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_is_reported_at_once() {
    let full = json!({ "error": "an account can have at most 25 API keys", "requestId": "r" }).to_string();
    let (base, count) = scripted(vec![(429, &[], full)]).await;
    let (what, next) = Cli::with_token(&base, "svc_ak_x").run(&["app", "list"]).await.error(1);
    assert!(what.contains("25 API keys") && next.contains("higher limit"), "{what} {next}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_says_when_to_try_again() {
    let limited = json!({ "error": "too many requests", "requestId": "r" }).to_string();
    let cases: [(&'static [_], _); 3] = [
        (&[("retry-after", "700")], "Try again in 12 minutes."),
        (&[("retry-after", "61")], "Try again in 2 minutes."),
        (&[("retry-after", "7201")], "Try again in 3 hours."),
    ];
    for (headers, said) in cases {
        let (base, count) = scripted(vec![(429, headers, limited.clone())]).await;
        let (_, next) = Cli::with_token(&base, "svc_ak_x").run(&["app", "list"]).await.error(1);
        assert_eq!((next.as_str(), count.load(Ordering::SeqCst)), (said, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stays_busy_is_given_up() {
    let busy = json!({ "error": "the database cannot be reached", "requestId": "r-1" }).to_string();
    let (base, count) = scripted(vec![(503, &[("retry-after", "0")], busy)]).await;
    let ended = Cli::with_token(&base, "svc_ak_x").run(&["app", "list"]).await;
    ended.error(6);
    assert!(ended.err.contains("request ID: r-1"), "{}", ended.err);
    assert_eq!(count.load(Ordering::SeqCst), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn something_that_is_no_updraft_server_is_told_apart() {
    let (base, _) = scripted(vec![(200, &[("content-type", "text/html")], "<html>".to_owned())]).await;
    let (what, next) = Cli::with_token(&base, "svc_ak_x").run(&["app", "list"]).await.error(6);
    assert!(what.contains("does not understand"), "{what}");
    assert!(next.contains("updraft doctor"), "{next}");
    let (base, _) = scripted(vec![(302, &[("location", "https://elsewhere.example.com/")], String::new())]).await;
    Cli::with_token(&base, "svc_ak_x").run(&["app", "list"]).await.error(6);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_from_the_server_cannot_move_the_cursor() {
    let app = json!({ "name": "a\u{1b}[2Jb\u{7}\u{1b}]0;m", "createdTime": 0, "deployments": [], "collaborators": {} });
    let (base, _) = scripted(vec![(200, &[], json!({ "apps": [app] }).to_string())]).await;
    let printed = Cli::with_token(&base, "svc_ak_x").expect(0, &["app", "list"]).await;
    assert!(!printed.out.contains(['\u{1b}', '\u{7}']), "{:?}", printed.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_of_the_server_is_pointed_out() {
    for (version, said) in [("99.0.0", "newer than this CLI: 99.0.0"), ("0.0.1", "older than this CLI: 0.0.1")] {
        let health = json!({ "status": "ok", "version": version }).to_string();
        let refused = json!({ "error": "invalid credentials", "requestId": "r" }).to_string();
        let (base, _) = scripted(vec![(200, &[], health.clone()), (401, &[], refused)]).await;
        let ended = Cli::new().run_with(&["login", "--server", &base, "--token", "-"], b"svc_ak_x").await;
        ended.error(3);
        assert!(ended.err.contains("warning:") && ended.err.contains(said), "{}", ended.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_lost_is_a_failure_and_a_closed_pipe_is_none() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let cli = Cli::with_token(&app.base, ada.token());
    for arguments in [&["app", "list"][..], &["app", "list", "-o", "json"], &["api", "GET", "/v1/apps"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let child = cli.command(arguments).stdout(full).spawn().unwrap();
        let (what, _) = tests::cli::end(child).await.error(1);
        assert!(what.contains("cannot write to standard output"), "{what}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    tests::cli::end(cli.command(&["app", "list"]).stdout(writer).spawn().unwrap()).await.assert(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_variable_counts_as_none() {
    let app = TestApp::spawn().await;
    let cli = Cli::with_token(&app.base, app.sign_up("ada").await.token()).with("UPDRAFT_APP", "").with("UPDRAFT_DEPLOYMENT", "");
    let (what, _) = cli.run(&["release", "list"]).await.error(2);
    assert_eq!(what, "no app is given");
    let (what, _) = cli.run(&["release", "list", "-a", "demo"]).await.error(2);
    assert_eq!(what, "no deployment is given");
}
