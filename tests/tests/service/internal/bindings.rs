//! The listener for a self-hosted edge: KV values and Queue messages, as a bare workerd requests them.

use reqwest::Method;
use serde_json::{Value, json};
use shared::ids::ReportId;
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;
use tests::app::EDGE_SECRET;
use tests::signed::{keys_of, opened};
use tests::{Answer, Client, Config, Options, TestApp};

async fn prepared() -> (TestApp, Client, Client, String) {
    let app = TestApp::spawn_with(Options::default().with("BINDINGS_LISTEN", "127.0.0.1:0")).await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"1", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let workerd = Client::new(&format!("http://{}", app.bindings.as_ref().unwrap()), None);
    (app, ada, workerd, staging)
}

async fn value(workerd: &Client, key: &str) -> Answer {
    workerd.get(&format!("/deployment%2F{key}?urlencoded=true&cache_ttl=30")).await
}

async fn send(workerd: &Client, message: impl Into<reqwest::Body>) -> Answer {
    let request = workerd.request(Method::POST, "/message").header("x-msg-fmt", "text");
    workerd.send(request.header("content-type", "application/octet-stream").body(message)).await
}

fn report(number: u8, key: &str, client: &str, label: &str) -> Value {
    let id = ReportId::v7(UnixMillis(1_000), [number; 10]).to_string();
    json!({ "id": id, "received": 5, "deploymentKey": key, "clientId": client, "event": "installed", "label": label })
}

fn installed(count: i64) -> Value {
    json!({ "v1": { "active": count, "downloaded": 0, "installed": count, "failed": 0 } })
}

/// The settings of a server with this listener.
fn config(app: &TestApp, listen: &str) -> Result<Config, String> {
    let mut settings = app.settings();
    settings.insert("UPDRAFT_BINDINGS_LISTEN".to_owned(), listen.to_owned());
    Config::read(&settings).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_value_is_what_the_publisher_would_write() {
    let (app, ada, workerd, staging) = prepared().await;
    let key = DeploymentKey::try_from(staging.as_str()).unwrap();
    let now = async || {
        let answer = value(&workerd, &staging).await;
        answer.assert_status(200);
        let (version, text) = app.state().snapshots.text(&key).await.unwrap().unwrap();
        assert_eq!(answer.body, text);
        let metadata: Value = serde_json::from_str(&answer.header("cf-kv-metadata")).unwrap();
        assert_eq!(metadata, json!({ "version": version, "signer": keys_of(EDGE_SECRET).signer() }));
        opened(&staging, &answer.body)
    };
    let first = now().await;
    ada.upload("demo", "Staging", b"2", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let second = now().await;
    assert!(first.version() < second.version() && !second.is_tombstone());

    app.free_key(&staging).await;
    app.change("UPDATE deployment_keys SET snapshot_version = snapshot_version + 1 WHERE deployment_key = $1", &[&staging]).await;
    assert!(now().await.is_tombstone());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_values_and_messages_are_served() {
    let (_app, _, workerd, staging) = prepared().await;
    for name in ["never-made-0123456789", "short", "%00", "%ff"] {
        value(&workerd, name).await.refused(404);
    }
    let (bare, split) = (format!("/{staging}"), format!("/deployment/{staging}"));
    for path in ["/", "/deployment", "/v1/health", "/v1/apps", "/internal/v1/reports", &bare, &split] {
        workerd.get(path).await.refused(404);
    }
    for method in [Method::PUT, Method::DELETE, Method::POST, Method::OPTIONS] {
        workerd.send(workerd.request(method, &format!("/deployment%2F{staging}"))).await.refused(405);
    }
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        workerd.send(workerd.request(method, "/message")).await.refused(405);
    }
    workerd.post("/batch", json!({})).await.refused(405);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_acknowledged_after_it_is_counted_once() {
    let (_app, ada, workerd, staging) = prepared().await;
    for (message, count) in [(report(1, &staging, "a", "v1"), 1), (report(1, &staging, "a", "v1"), 1), (report(2, &staging, "b", "v1"), 2)]
    {
        let metrics = send(&workerd, message.to_string()).await.assert(200)["metadata"]["metrics"].clone();
        // Without any of these workerd throws.
        assert_eq!((&metrics["backlogCount"], &metrics["backlogBytes"]), (&json!(0), &json!(0)));
        assert_eq!(ada.metrics("demo", "Staging").await, installed(count));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_can_never_count_is_accepted_and_dropped() {
    let (_app, ada, workerd, staging) = prepared().await;
    let unknown = report(1, "never-made-0123456789", "a", "v1").to_string();
    let unlabeled = report(2, &staging, "a", "latest").to_string();
    for message in ["", "{", "{}", "[]", "null", "7", &unknown, &unlabeled] {
        send(&workerd, message.to_owned()).await.assert(200);
    }
    send(&workerd, b"\xff".to_vec()).await.assert(200);
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_message_is_refused() {
    let (_app, ada, workerd, staging) = prepared().await;
    let mut message = report(1, &staging, "a", "v1");
    message["padding"] = json!("x".repeat(128_000));
    send(&workerd, message.to_string()).await.refused(413);
    let chunks: Vec<_> = message.to_string().into_bytes().chunks(1_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
    send(&workerd, reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))).await.refused(413);
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_can_neither_read_nor_post() {
    let (_app, ada, workerd, staging) = prepared().await;
    for origin in ["https://example.com", "http://localhost:8081", "null", ""] {
        let post = workerd.request(Method::POST, "/message").header("content-type", "text/plain").header("origin", origin);
        workerd.send(post.body(report(1, &staging, "a", "v1").to_string())).await.refused(403);
        workerd.send(workerd.request(Method::GET, &format!("/deployment%2F{staging}")).header("origin", origin)).await.refused(403);
    }
    assert_eq!(ada.metrics("demo", "Staging").await, json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_database_every_request_fails() {
    let (app, _, workerd, staging) = prepared().await;
    app.db().close().await;
    value(&workerd, &staging).await.refused(503);
    send(&workerd, report(1, &staging, "a", "v1").to_string()).await.refused(503);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_is_off_by_default_and_stops_with_the_server() {
    let (mut app, _, workerd, staging) = prepared().await;
    app.stop().await;
    assert!(workerd.request(Method::GET, "/").send().await.is_err_and(|error| error.is_connect()));
    app.start().await;
    value(&workerd, &staging).await.assert_status(200);
    assert_eq!(TestApp::spawn().await.bindings, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_loopback_addresses_are_allowed() {
    let app = TestApp::spawn().await;
    for listen in ["127.0.0.1:8081", "127.8.0.1:1", "[::1]:8081", "[::ffff:127.0.0.1]:8081"] {
        assert_eq!(config(&app, listen).unwrap().bindings_listen, Some(listen.parse().unwrap()));
    }
    for listen in ["0.0.0.0:8081", "[::]:8081", "192.0.2.1:8081", "10.0.0.1:8081", "[fe80::1]:8081", "localhost:8081", "127.0.0.1", "8081"]
    {
        let refusal = config(&app, listen).unwrap_err();
        assert!(refusal.starts_with("UPDRAFT_BINDINGS_LISTEN: must be a loopback address"), "{listen}: {refusal}");
    }
    // The Worker needs the same secrets, so they are not generated.
    let mut settings = app.settings();
    settings.insert("UPDRAFT_BINDINGS_LISTEN".to_owned(), "127.0.0.1:8081".to_owned());
    settings.remove("UPDRAFT_EDGE_SECRET");
    let refusal = Config::read(&settings).unwrap_err().to_string();
    assert!(refusal.contains("UPDRAFT_EDGE_SECRET"), "{refusal}");
}
