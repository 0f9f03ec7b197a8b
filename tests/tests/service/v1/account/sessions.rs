//! The sessions of an account: listed, revoked one by one, all, or by origin.

use serde_json::{Value, json};
use tests::SessionOrigin::{CliBrowser, CliDevice, Dashboard};
use tests::{Client, Device, TestApp};

use crate::v1::{members, segment};

const DAY: i64 = 86_400_000;

fn laptop() -> Device {
    let text = |text: &str| Some(text.to_owned());
    Device {
        id: text("5d3c"),
        name: text("Ada's laptop"),
        client_name: text("updraft"),
        client_version: text("1.2.3"),
        client_platform: text("linux x64"),
    }
}

async fn list(client: &Client) -> Vec<Value> {
    client.get("/v1/account/sessions").await.assert(200)["sessions"].as_array().unwrap().clone()
}

/// Whether the client is still signed in.
async fn is_in(client: &Client) -> bool {
    client.get("/v1/authenticated").await.status.as_u16() == 200
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_listed_with_its_origin_and_last_use() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let start = app.clock.now().0;
    let dashboard = app.open_session_of("ada", Dashboard, "2001:db8::7", &Device::default()).await;
    app.clock.advance(1_000);
    let cli = app.open_session_of("ada", CliBrowser, "203.0.113.7", &laptop()).await;
    app.clock.advance(1_000);
    let old = app.open_session("ada", Dashboard).await;
    app.forget_origin(&old).await;
    let shown = list(&dashboard).await;
    assert_eq!(shown.len(), 3, "an access key is not a session: {shown:?}");
    let id = shown[0]["id"].as_str().unwrap();
    assert_eq!(
        shown[0],
        json!({
            "id": id, "createdBy": "2001:db8::7", "createdTime": start, "lastUsedTime": start + 2_000, "expires": start + 14 * DAY,
            "credentialOrigin": "dashboard_session", "isCurrent": true,
        })
    );
    assert_eq!(
        shown[1],
        json!({
            "id": shown[1]["id"], "createdBy": "203.0.113.7", "createdTime": start + 1_000, "lastUsedTime": null,
            "expires": start + 1_000 + 90 * DAY, "credentialOrigin": "cli_browser", "deviceName": "Ada's laptop", "clientName": "updraft",
            "clientPlatform": "linux x64", "isCurrent": false,
        })
    );
    assert_eq!(members(&shown[2]), ["createdBy", "createdTime", "expires", "id", "isCurrent", "lastUsedTime"]);
    let mut flags = Vec::new();
    for client in [&dashboard, &cli, &old] {
        flags.push(list(client).await.iter().map(|session| session["isCurrent"].as_bool().unwrap()).collect::<Vec<_>>());
    }
    assert_eq!(flags, [[true, false, false], [false, true, false], [false, false, true]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_accounts_active_sessions_are_listed() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    app.sign_up("bob").await;
    let (first, bob) = (app.open_session("ada", Dashboard).await, app.open_session("bob", Dashboard).await);
    app.open_session("ada", CliDevice).await;
    assert_eq!((list(&first).await.len(), list(&bob).await.len()), (2, 1));
    // The first one exceeds its idle timeout.
    app.clock.advance(4 * DAY);
    let second = app.open_session("ada", Dashboard).await;
    let origins: Vec<Value> = list(&second).await.iter().map(|session| session["credentialOrigin"].clone()).collect();
    assert_eq!(origins, ["cli_device", "dashboard_session"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_dashboard_sessions_can_be_revoked_and_nothing_else() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    app.sign_up("bob").await;
    // An expired session is not counted.
    app.open_session("ada", Dashboard).await;
    app.clock.advance(4 * DAY);
    let (one, two) = (app.open_session("ada", Dashboard).await, app.open_session("ada", Dashboard).await);
    let (cli, bob, old) =
        (app.open_session("ada", CliBrowser).await, app.open_session("bob", Dashboard).await, app.open_session("ada", Dashboard).await);
    app.forget_origin(&old).await;
    assert_eq!(one.delete("/v1/account/sessions").await.assert(200), json!({ "revoked": 2 }));
    assert!(!is_in(&one).await && !is_in(&two).await);
    assert!(is_in(&key).await && is_in(&cli).await && is_in(&bob).await && is_in(&old).await);
    assert_eq!(cli.delete("/v1/account/sessions").await.assert(200), json!({ "revoked": 0 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_current_session_is_kept_on_request() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let (one, two) = (app.open_session("ada", Dashboard).await, app.open_session("ada", Dashboard).await);
    for query in ["keepCurrent=yes", "keepCurrent=1", "keepCurrent=TRUE", "keepCurrent=true&keepCurrent=false", "keepCurrent=%FF"] {
        let refusal = one.delete(&format!("/v1/account/sessions?{query}")).await.refused(400);
        assert!(refusal.contains("keepCurrent"), "{refusal}");
    }
    assert!(is_in(&two).await, "a refused request revokes nothing");
    assert_eq!(one.delete("/v1/account/sessions?keepCurrent=true").await.assert(200), json!({ "revoked": 1 }));
    assert!(is_in(&one).await && !is_in(&two).await);
    assert_eq!(one.delete("/v1/account/sessions?keepCurrent=true").await.assert(200), json!({ "revoked": 0 }));
    // A CLI credential is not a dashboard session, so none is kept for it.
    let cli = app.open_session("ada", CliBrowser).await;
    assert_eq!(cli.delete("/v1/account/sessions?keepCurrent=true").await.assert(200), json!({ "revoked": 1 }));
    assert!(is_in(&cli).await && !is_in(&one).await);
    let last = app.open_session("ada", Dashboard).await;
    assert_eq!(last.delete("/v1/account/sessions?keepCurrent=false").await.assert(200), json!({ "revoked": 1 }));
    assert!(!is_in(&last).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_can_revoke_itself() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let (one, two, cli) =
        (app.open_session("ada", Dashboard).await, app.open_session("ada", Dashboard).await, app.open_session("ada", CliDevice).await);
    let answer = one.delete("/v1/account/sessions/current").await;
    answer.assert(204);
    assert!(answer.body.is_empty());
    one.delete("/v1/account/sessions/current").await.refused(401);
    assert!(is_in(&two).await);
    cli.delete("/v1/account/sessions/current").await.assert(204);
    assert!(!is_in(&cli).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_revoked_by_address_or_device() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    app.sign_up("bob").await;
    let none = Device::default();
    let (here, there, cli, bob) = (
        app.open_session_of("ada", Dashboard, "192.0.2.1", &none).await,
        app.open_session_of("ada", Dashboard, "2001:db8::7", &none).await,
        app.open_session_of("ada", CliBrowser, "203.0.113.7", &laptop()).await,
        app.open_session_of("bob", Dashboard, "2001:db8::7", &laptop()).await,
    );
    here.delete("/v1/sessions/2001%3Adb8%3A%3A7").await.assert(204);
    assert!(!is_in(&there).await && is_in(&cli).await && is_in(&bob).await, "only sessions of the caller's account");
    here.delete("/v1/sessions/2001:db8::7").await.refused(404);
    here.delete(&format!("/v1/sessions/{}", segment("Ada's laptop"))).await.assert(204);
    assert!(!is_in(&cli).await && is_in(&bob).await);
    // Also without an origin, and including the caller's own.
    let old = app.open_session_of("ada", Dashboard, "192.0.2.1", &none).await;
    app.forget_origin(&old).await;
    here.delete("/v1/sessions/192.0.2.1").await.assert(204);
    assert!(!is_in(&here).await && !is_in(&old).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_without_sessions_is_not_found() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    let ended = app.open_session_of("ada", Dashboard, "192.0.2.9", &Device::default()).await;
    app.clock.advance(4 * DAY);
    let session = app.open_session_of("ada", Dashboard, "192.0.2.1", &Device::default()).await;
    // The access key was created from 127.0.0.1, but is not a session.
    for source in
        ["127.0.0.1", "192.0.2.9", "192.0.2", "192.0.2.1%20", "%25", "_________", "test", "%FF", "%00", "a%00b", &"x".repeat(5_000)]
    {
        session.delete(&format!("/v1/sessions/{source}")).await.refused(404);
    }
    assert!(is_in(&key).await && is_in(&session).await && !is_in(&ended).await);
}
