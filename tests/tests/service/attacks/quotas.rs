//! A free account that tries to fill the service: everything it can create is limited.

use reqwest::Method;
use serde_json::json;
use tests::SessionOrigin::Dashboard;
use tests::logged::{self, traces};
use tests::multipart::Multipart;
use tests::raw::{answer, connect, read_answer};
use tests::wait::until;
use tests::{Bundle, Client, Options, TestApp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::v1::apps::{accept, transfer};

/// Refused with 409 that names the quota and its value.
fn is_reached(answer: &tests::Answer, quota: &str) {
    let said = answer.refused(409);
    assert!(said.contains(&format!("quota of {quota} is reached")), "{said}");
}

async fn create(client: &Client, app: &str, deployment: &str) -> tests::Answer {
    client.post(&format!("/v1/apps/{app}/deployments"), json!({ "name": deployment })).await
}

/// Creates a deployment with a custom key.
async fn bring(client: &Client, app: &str, deployment: &str, key: &str) -> tests::Answer {
    client.post(&format!("/v1/apps/{app}/deployments"), json!({ "name": deployment, "key": key })).await
}

/// Retains this many keys of deleted deployments for the app that has the key `of`, named by the prefix and a number from 1.
async fn keep(app: &TestApp, of: &str, prefix: &str, count: u64) {
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($3 AS BIGINT)) \
        INSERT INTO deployment_keys (deployment_key, account_id, app_id, deployment_id, last_deployment_id, snapshot_version) \
        SELECT $2 || CAST(i AS TEXT), k.account_id, k.app_id, NULL, k.last_deployment_id, 0 \
        FROM n, deployment_keys k WHERE k.deployment_key = $1";
    assert_eq!(app.change(sql, &[of, prefix, &count.to_string()]).await, count);
}

/// A bundle of one to two KiB that a ZIP cannot compress. Each mark gives different contents.
fn kilobyte(mark: &str) -> Vec<u8> {
    let words: Vec<String> = (0..300_u32).map(|number| format!("{:x}", number.wrapping_mul(2_654_435_761))).collect();
    let bundle = Bundle::script(&format!("{}{mark}", words.concat())).0;
    assert!((1_024..2_048).contains(&bundle.len()), "{}", bundle.len());
    bundle
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_cannot_exceed_its_app_limit() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_APPS", "2")).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    for name in ["one", "two"] {
        ada.create_app(name).await;
    }
    is_reached(&ada.post("/v1/apps", json!({ "name": "three" })).await, "2 apps per account");
    bob.create_app("three").await;
    // A pending transfer to it counts toward the sender until accepted.
    bob.post("/v1/apps/three/transfer/ada@example.com", json!({})).await.assert(201);
    is_reached(&ada.post("/v1/apps/bob@example.com:three/collaborators/me/accept", json!({})).await, "2 apps per account");
    // Another account's app does not count, and deleting one frees its place.
    ada.delete("/v1/apps/one").await.assert_status(204);
    ada.post("/v1/apps", json!({ "name": "four" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_cannot_exceed_its_deployment_and_collaborator_limits() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_DEPLOYMENTS", "3").with("LIMIT_COLLABORATORS_PER_APP", "2")).await;
    let ada = app.sign_up("ada").await;
    for name in ["bob", "eve"] {
        app.sign_up(name).await;
    }
    ada.create_app("app").await;
    create(&ada, "app", "third").await.assert(201);
    is_reached(&create(&ada, "app", "fourth").await, "3 deployments per app");
    ada.delete("/v1/apps/app/deployments/third").await.assert_status(204);
    create(&ada, "app", "fourth").await.assert(201);
    ada.post("/v1/apps/app/collaborators/bob@example.com", json!({})).await.assert(201);
    is_reached(&ada.post("/v1/apps/app/collaborators/eve@example.com", json!({})).await, "2 collaborators per app");
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_are_limited_to_two_hundred_a_day_even_if_deleted() {
    let log = logged::listen("info");
    let app = TestApp::spawn_with(Options::default().with("LIMIT_DEPLOYMENTS", "1000")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("app").await;
    for number in 2..200 {
        create(&ada, "app", &format!("d{number}")).await.assert_status(201);
        // Requests per minute are limited, too.
        app.clock.advance(1_000);
    }
    is_reached(&create(&ada, "app", "more").await, "200 new deployments per account and day");
    ada.delete("/v1/apps/app/deployments/d2").await.assert_status(204);
    is_reached(&create(&ada, "app", "more").await, "200 new deployments per account and day");
    // The default deployments of a new app count, too.
    is_reached(&ada.post("/v1/apps", json!({ "name": "other" })).await, "200 new deployments per account and day");
    // Each refusal logs one line, like every limit.
    let (lines, account) = (traces(&log), app.account_of("ada").await.to_string());
    let lines: Vec<_> = lines.iter().map(|line| (line["event"].as_str(), line["outcome"].as_str(), line["account.id"].as_str())).collect();
    assert_eq!(lines, [(Some("limit"), Some("deployments"), Some(account.as_str())); 3]);
    app.clock.advance(86_400_000);
    create(&ada, "app", "more").await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_keys_of_deleted_deployments_are_kept_for_reuse() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("app").await;
    let quota = "2000 keys of deleted deployments per account";
    keep(&app, &staging, "kept-key-of-the-test-", 2_000).await;
    is_reached(&create(&ada, "app", "more").await, quota);
    // Neither a new key nor one in use is retained.
    is_reached(&bring(&ada, "app", "more", "a-key-that-nobody-had").await, quota);
    is_reached(&bring(&ada, "app", "more", &staging).await, quota);
    // Following the advice in the refusal works, and frees one place.
    bring(&ada, "app", "again", "kept-key-of-the-test-7").await.assert(201);
    assert_eq!(ada.deployment_key("app", "again").await, "kept-key-of-the-test-7");
    create(&ada, "app", "more").await.assert(201);
    for name in ["again", "more"] {
        ada.delete(&format!("/v1/apps/app/deployments/{name}")).await.assert_status(204);
    }
    is_reached(&create(&ada, "app", "most").await, quota);
    bring(&ada, "app", "most", "kept-key-of-the-test-7").await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_cannot_exceed_the_limit_of_deleted_deployment_keys() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let ((_, given), (_, own)) = (ada.create_app("given").await, bob.create_app("own").await);
    keep(&app, &given, "kept-key-of-ada-", 1_500).await;
    keep(&app, &own, "kept-key-of-bob-", 501).await;
    transfer(&ada, "given", "bob").await.assert(201);
    let accepting = async || accept(&bob, "ada@example.com:given", json!({})).await;
    is_reached(&accepting().await, "2000 keys of deleted deployments per account");
    // An app without such keys does not count, and one key less is sufficient.
    ada.create_app("other").await;
    transfer(&ada, "other", "bob").await.assert(201);
    accept(&bob, "ada@example.com:other", json!({})).await.assert(200);
    bring(&bob, "own", "again", "kept-key-of-bob-1").await.assert(201);
    accepting().await.assert(200);
    is_reached(&create(&bob, "own", "more").await, "2000 keys of deleted deployments per account");
    // They belong to the receiver now.
    bring(&bob, "given", "again", "kept-key-of-ada-1").await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_keys_count_toward_the_access_key_limit() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_ACCESS_KEYS", "3")).await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    for name in ["one", "two"] {
        session.post("/v1/access-keys", json!({ "friendlyName": name, "ttl": 1 })).await.assert(201);
    }
    app.clock.advance(1_000);
    is_reached(&session.post("/v1/access-keys", json!({ "friendlyName": "three" })).await, "3 access keys per account");
    session.delete("/v1/access-keys/one").await.assert_status(204);
    session.post("/v1/access-keys", json!({ "friendlyName": "three" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_storage_quota_covers_all_apps_of_an_account() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_STORED_BYTES", "2KiB")).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    for name in ["one", "two"] {
        ada.create_app(name).await;
    }
    bob.create_app("bobs").await;
    app.share("ada", "one", "bob", "Developer", 1).await;
    let info = json!({ "appVersion": "1.0.0" });
    ada.upload("one", "Staging", &kilobyte(""), info.clone()).await.assert(201);
    let rows = "SELECT COUNT(*) FROM blobs";
    let before = app.number(rows).await;
    let more = kilobyte(" ");
    for (client, name) in [(&ada, "two"), (&bob, "ada@example.com:one")] {
        is_reached(&client.upload(name, "Staging", &more, info.clone()).await, "2048 bytes of bundles per account");
    }
    assert_eq!(app.number(rows).await, before);
    bob.upload("bobs", "Staging", &more, info).await.assert(201);
}

/// The head of an upload to Staging of the app `app`.
fn head(client: &Client, framing: &str) -> String {
    let request = client.request(Method::POST, "/v1/apps/app/deployments/Staging/releases").build().unwrap();
    let (path, authorization) = (request.url().path(), request.headers()["authorization"].to_str().unwrap());
    let content_type = Multipart::content_type();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: {authorization}\r\ncontent-type: {content_type}\r\n{framing}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_beyond_the_quota_is_refused_before_it_is_stored() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_STORED_BYTES", "2MiB")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("app").await;
    // Nothing follows the head: the body stays incomplete.
    let refused = async |framing: &str| {
        let before = app.leftovers().await;
        let answer = answer(&app.base, head(&ada, framing).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 409 "), "{framing}: {answer}");
        assert!(answer.contains("the quota of 2097152 bytes of bundles per account is reached"), "{framing}: {answer}");
        assert_eq!(app.leftovers().await, before, "{framing}");
    };
    refused("content-length: 100000000").await;
    ada.upload("app", "Staging", &vec![7; 2 << 20], json!({ "appVersion": "1.0.0" })).await.assert(201);
    for framing in ["content-length: 1000", "transfer-encoding: chunked"] {
        refused(framing).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_uploads_of_an_account_are_limited() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_BODY_PAUSE", "1h").with("LIMIT_UPLOADS_AT_ONCE", "4")).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    for client in [&ada, &bob] {
        client.create_app("app").await;
    }
    let (other, account) = (app.named_key("ada", "other").await, app.account_of("ada").await);
    let info = json!({ "appVersion": "1.0.0" });
    let body = Multipart::default().text("packageInfo", info.to_string()).file("package", b"whole").end();
    let framing = format!("content-length: {}\r\nexpect: 100-continue", body.len());
    let begin = async || {
        let mut stream = connect(&app.base).await;
        stream.write_all(head(&ada, &framing).as_bytes()).await.unwrap();
        let mut said = [0; 25];
        stream.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream
    };
    let mut under_way = Vec::new();
    for _ in 0..4 {
        under_way.push(begin().await);
    }
    for client in [&ada, &other] {
        let answer = client.upload("app", "Staging", b"fifth", info.clone()).await;
        answer.refused_with(429, None);
        assert_eq!(answer.header("retry-after"), "10");
    }
    bob.upload("app", "Staging", b"his", info.clone()).await.assert(201);
    // A release, a refusal and a disconnect each free the slot.
    let (mut done, mut refused) = (under_way.remove(0), under_way.remove(0));
    done.write_all(&body).await.unwrap();
    let answer = read_answer(&mut done).await;
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    refused.write_all(&vec![b'x'; body.len()]).await.unwrap();
    let answer = read_answer(&mut refused).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(app.state().uploads_under_way.count(&account), 2);
    drop(under_way);
    until("all have ended", async || (app.state().uploads_under_way.count(&account) == 0).then_some(())).await;
    ada.upload("app", "Nowhere", b"lost", info.clone()).await.refused(404);
    let mut under_way = Vec::new();
    for _ in 0..4 {
        under_way.push(begin().await);
    }
    other.upload("app", "Staging", b"fifth", info).await.refused(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_releases_or_apps_does_not_free_the_storage_quota() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_STORED_BYTES", "2KiB")).await;
    let ada = app.sign_up("ada").await;
    let (info, quota) = (json!({ "appVersion": "1.0.0" }), "2048 bytes of bundles per account");
    for name in ["one", "two"] {
        ada.create_app(name).await;
    }
    ada.upload("one", "Staging", &kilobyte(""), info.clone()).await.assert(201);
    for deleted in ["/v1/apps/one/deployments/Staging/history", "/v1/apps/one/deployments/Staging", "/v1/apps/one"] {
        ada.delete(deleted).await.assert_status(204);
        // Neither other bytes nor the same ones in another app.
        for mark in ["", " "] {
            let refused = ada.upload("two", "Staging", &kilobyte(mark), info.clone()).await;
            is_reached(&refused, quota);
            assert!(!refused.text().contains("clear"), "{}", refused.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_transfer_moves_stored_bytes_to_the_receivers_quota() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_STORED_BYTES", "2KiB")).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (info, quota) = (json!({ "appVersion": "1.0.0" }), "2048 bytes of bundles per account");
    ada.create_app("one").await;
    bob.create_app("bobs").await;
    ada.upload("one", "Staging", &kilobyte(""), info.clone()).await.assert(201);
    transfer(&ada, "one", "bob").await.assert(201);
    is_reached(&ada.upload("one", "Staging", &kilobyte(" "), info.clone()).await, quota);
    accept(&bob, "ada@example.com:one", json!({})).await.assert(200);
    let bobs = async |mark: &str| bob.upload("bobs", "Staging", &kilobyte(mark), info.clone()).await;
    is_reached(&bobs(" ").await, quota);
    // They count toward the receiver, who cannot free them either.
    bob.delete("/v1/apps/one").await.assert_status(204);
    is_reached(&bobs(" ").await, quota);
    // The sender has free quota again, and cannot transfer to the full account any more.
    ada.create_app("two").await;
    ada.upload("two", "Staging", &kilobyte(" "), info.clone()).await.assert(201);
    transfer(&ada, "two", "bob").await.assert(201);
    is_reached(&accept(&bob, "ada@example.com:two", json!({})).await, quota);
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_from_one_address_are_limited_across_deployments() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_REPORTS_ADDRESS", "3/1m").with("TRUSTED_PROXIES", "127.0.0.1")).await;
    let (key, other) = app.sign_up("ada").await.create_app("app").await;
    let send = async |address: &str, key: &str| {
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "one" });
        let request = app.anonymous().request(reqwest::Method::POST, "/v1/public/svc/report_status/deploy").json(&body);
        app.anonymous().send(request.header("x-forwarded-for", address)).await
    };
    for key in [&key, &other, &key] {
        send("192.0.2.7", key).await.assert(200);
    }
    for key in [&key, &other] {
        assert_eq!(send("192.0.2.7", key).await.header("retry-after"), "60");
    }
    send("192.0.2.8", &key).await.assert(200);
    app.clock.advance(60_000);
    send("192.0.2.7", &other).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_uploads_are_limited_per_account_across_credentials() {
    let options = Options::default().with("LIMIT_ACCOUNT_MANAGEMENT_API", "8/1m").with("LIMIT_ACCOUNT_UPLOADS", "2/15m");
    let app = TestApp::spawn_with(options).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let other = app.named_key("ada", "other").await;
    for client in [&ada, &other].repeat(4) {
        client.get("/v1/authenticated").await.assert(200);
    }
    let answer = other.get("/v1/authenticated").await;
    answer.refused_with(429, None);
    assert_eq!(answer.header("retry-after"), "60");
    bob.get("/v1/authenticated").await.assert(200);
    app.clock.advance(60_000);
    ada.create_app("app").await;
    let info = json!({ "appVersion": "1.0.0" });
    for (client, content) in [(&ada, "one"), (&other, "two")] {
        client.upload("app", "Staging", &Bundle::script(content).0, info.clone()).await.assert(201);
    }
    for client in [&ada, &other] {
        assert_eq!(client.upload("app", "Staging", &Bundle::script("three").0, info.clone()).await.header("retry-after"), "900");
    }
}
