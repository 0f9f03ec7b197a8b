//! Kinds of credentials: their permissions, lifetimes, and stored data.

use reqwest::Method;
use serde_json::json;
use shared::hash::Sha256Hex;
use tests::SessionOrigin::{CliBrowser, CliDevice, Dashboard};
use tests::{Answer, Client, Options, SessionOrigin, TestApp};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Operations of any login session.
const LOGIN: [(Method, &str); 4] = [
    (Method::GET, "/v1/account/sessions"),
    (Method::DELETE, "/v1/account/sessions"),
    (Method::DELETE, "/v1/account/sessions/current"),
    (Method::DELETE, "/v1/sessions/127.0.0.1"),
];

/// Operations of dashboard sessions only.
const DASHBOARD: [(Method, &str); 2] = [(Method::PATCH, "/v1/account"), (Method::DELETE, "/v1/account")];

/// Operations of every credential.
const ANY: [&str; 3] = ["/v1/account", "/v1/authenticated", "/v1/apps"];

/// Sends a body that validation would refuse.
async fn ask(client: &Client, (method, path): &(Method, &str)) -> Answer {
    client.send(client.request(method.clone(), path).header("content-type", "application/json").body("{")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_credential_can_read_its_account() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    let dashboard = app.open_session("ada", Dashboard).await;
    for client in [key, dashboard].into_iter().chain(app.other_sessions("ada").await) {
        for path in ANY {
            client.get(path).await.assert(200);
        }
        assert_eq!(client.get("/v1/authenticated").await.json(), json!({ "authenticated": true }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_key_is_refused_where_a_login_is_required() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    for operation in LOGIN.iter().chain(&DASHBOARD) {
        ask(&key, operation).await.refused_with(403, None);
    }
    session.get("/v1/account").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_sessions_are_refused_where_a_dashboard_session_is_required() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    for client in app.other_sessions("ada").await {
        for operation in &DASHBOARD {
            ask(&client, operation).await.refused_with(403, Some("dashboard_session_required"));
        }
        client.get("/v1/account/sessions").await.assert(200);
        client.delete("/v1/account/sessions/current").await.assert(204);
        client.get("/v1/authenticated").await.refused(401);
    }
    // An unknown origin of a later version is not a dashboard session.
    let later = app.open_session("ada", Dashboard).await;
    assert_eq!(app.change("UPDATE access_keys SET credential_origin = 'robot' WHERE is_session", &[]).await, 1);
    ask(&later, &DASHBOARD[0]).await.refused_with(403, Some("dashboard_session_required"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_valid_credential_nothing_else_is_revealed() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let stored = Sha256Hex::of(session.token().as_bytes()).to_string();
    let bare = session.token().trim_start_matches("svc_ss_").to_owned();
    let unknown = format!("svc_ss_{}", "A".repeat(43));
    for token in [None, Some(unknown), Some(stored), Some(bare.clone()), Some(format!("svc_ak_{bare}"))] {
        let client = app.anonymous().with_token(token);
        for operation in LOGIN.iter().chain(&DASHBOARD).cloned().chain(ANY.map(|path| (Method::GET, path))) {
            let answer = ask(&client, &operation).await;
            answer.refused(401);
            assert_eq!((answer.header("www-authenticate").as_str(), answer.json().get("code")), ("Bearer", None), "{}", answer.asked);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_hash_of_a_session_is_stored_and_its_name_is_unique() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    for (origin, name, is_session) in [(Dashboard, "Login-", 1), (CliBrowser, "CLI-", 0), (CliDevice, "CLI-", 0)] {
        let client = app.open_session("ada", origin).await;
        let secret = client.token().strip_prefix("svc_ss_").unwrap();
        assert!(secret.len() == 43 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "256 bits");
        let hash = Sha256Hex::of(client.token().as_bytes()).to_string();
        let text = async |sql| app.texts(sql, &[&hash]).await.remove(0);
        let id = text("SELECT id FROM access_keys WHERE token_hash = $1").await;
        assert_eq!(text("SELECT friendly_name FROM access_keys WHERE token_hash = $1").await, format!("{name}{id}"));
        let sessions = app.texts("SELECT id FROM access_keys WHERE token_hash = $1 AND is_session", &[&hash]).await;
        assert_eq!(sessions.len(), is_session);
    }
}

/// Whether the client is still signed in, which counts as a use.
async fn is_in(client: &Client) -> bool {
    match client.get("/v1/authenticated").await.status.as_u16() {
        200 => true,
        401 => false,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_session_expires_after_fourteen_days_even_if_used() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    for _ in 0..6 {
        app.clock.advance(2 * DAY);
        assert!(is_in(&session).await);
    }
    app.clock.advance(2 * DAY - 1);
    assert!(is_in(&session).await);
    app.clock.advance(1);
    assert!(!is_in(&session).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_session_expires_after_three_idle_days() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let unused = app.open_session("ada", Dashboard).await;
    let also_unused = app.open_session("ada", Dashboard).await;
    app.clock.advance(3 * DAY - 1);
    assert!(is_in(&unused).await);
    app.clock.advance(1);
    assert!(!is_in(&also_unused).await);
    // One of them is used again and again.
    for _ in 0..2 {
        app.clock.advance(3 * DAY - 1);
        assert!(is_in(&unused).await);
    }
    app.clock.advance(3 * DAY + 5 * MINUTE);
    assert!(!is_in(&unused).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unrecorded_use_still_keeps_a_session_alive() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    assert!(is_in(&session).await);
    app.clock.advance(5 * MINUTE - 1);
    assert!(is_in(&session).await);
    app.clock.advance(3 * DAY - 1);
    assert!(is_in(&session).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_credential_expires_after_ninety_days_used_or_not() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    for origin in [CliBrowser, CliDevice] {
        let client = app.open_session("ada", origin).await;
        app.clock.advance(90 * DAY - 1);
        assert!(is_in(&client).await);
        app.clock.advance(1);
        assert!(!is_in(&client).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_without_an_origin_and_access_keys_have_no_idle_timeout() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    let old = app.open_session("ada", Dashboard).await;
    app.forget_origin(&old).await;
    app.clock.advance(14 * DAY - 1);
    assert!(is_in(&old).await);
    app.clock.advance(1);
    assert!(!is_in(&old).await);
    assert!(is_in(&key).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_lifetimes_are_settings() {
    let options = Options::default().with("LIMIT_SESSION", "2h").with("LIMIT_SESSION_IDLE", "30m").with("LIMIT_CLI_CREDENTIAL", "1d");
    let app = TestApp::spawn_with(options).await;
    app.sign_up("ada").await;
    let open = async |origin: SessionOrigin| app.open_session("ada", origin).await;
    let (session, idle, cli) = (open(Dashboard).await, open(Dashboard).await, open(CliBrowser).await);
    for _ in 0..4 {
        app.clock.advance(30 * MINUTE - 1);
        assert!(is_in(&session).await);
    }
    assert!(!is_in(&idle).await);
    app.clock.advance(4);
    assert!(!is_in(&session).await);
    assert!(is_in(&cli).await);
    app.clock.advance(DAY);
    assert!(!is_in(&cli).await);
}
