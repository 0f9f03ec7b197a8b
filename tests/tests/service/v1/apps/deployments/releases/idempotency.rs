//! `Idempotency-Key` of POST …/releases, …/promotions and …/rollbacks.

use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tests::wait::until;
use tests::{Answer, Client, Options, TestApp, on_write, raw};
use tokio::io::AsyncWriteExt;

use crate::v1::apps::deployments::{
    below, history, labels, patch, patch_of, prepared, prepared_with, refused, release, state, stored, unsigned, until_somebody_waits,
};

const HEADER: &str = "idempotency-key";
const DAY: i64 = 86_400_000;
const OPERATIONS: [&str; 3] = ["releases", "promotions", "rollbacks"];

/// A server, and the owner of its app `demo` with two releases in Staging.
async fn with_releases() -> (TestApp, Client) {
    with_releases_of(Options::default()).await
}

async fn with_releases_of(options: Options) -> (TestApp, Client) {
    let (app, ada) = prepared_with(options).await;
    for content in ["one", "two"] {
        release(&ada, "Staging", content, json!({ "description": content })).await;
    }
    (app, ada)
}

fn upload_to(client: &Client, path: &str, content: &str, info: &Value) -> RequestBuilder {
    let form = Form::new()
        .part("package", Part::bytes(content.as_bytes().to_vec()).file_name("bundle.zip"))
        .part("packageInfo", Part::text(info.to_string()));
    client.request(Method::POST, path).multipart(form)
}

fn upload(client: &Client, content: &str, info: &Value) -> RequestBuilder {
    upload_to(client, &below("Staging", "releases"), content, info)
}

fn json_to(client: &Client, path: &str, body: &Value) -> RequestBuilder {
    client.request(Method::POST, path).json(body)
}

/// A request for one of [`OPERATIONS`]: uploads "three" to Staging, promotes from there to Production, or rolls Staging back.
fn operation(client: &Client, operation: &str) -> RequestBuilder {
    let path = below("Staging", operation);
    match operation {
        "releases" => upload_to(client, &path, "three", &json!({ "appVersion": "1.0.0", "description": "three", "rollout": 20 })),
        "promotions" => json_to(client, &path, &json!({ "destination": "Production", "packageInfo": { "rollout": 20 } })),
        _ => json_to(client, &path, &json!({})),
    }
}

/// The deployment that gets the operation's release.
fn target(operation: &str) -> &'static str {
    if operation == "promotions" { "Production" } else { "Staging" }
}

async fn send(client: &Client, key: &str, request: RequestBuilder) -> Answer {
    client.send(request.header(HEADER, key)).await
}

/// Sends these requests concurrently with the same key.
async fn at_once(client: &Client, key: &'static str, requests: Vec<RequestBuilder>) -> Vec<Answer> {
    let under_way: Vec<_> = requests
        .into_iter()
        .map(|request| {
            let client = client.clone();
            tokio::spawn(async move { send(&client, key, request).await })
        })
        .collect();
    let mut answers = Vec::new();
    for answer in under_way {
        answers.push(answer.await.unwrap());
    }
    answers
}

fn is_repeated(answer: &Answer) -> bool {
    match answer.optional_header("idempotent-replayed").as_deref() {
        Some("true") => true,
        None => false,
        Some(other) => panic!("{}: {other}", answer.asked),
    }
}

/// What an answer says, except for the signatures of its URLs.
#[track_caller]
fn essence(answer: &Answer) -> (String, Value) {
    (answer.header("location"), unsigned(answer.assert(201)["package"].take()))
}

/// Expects an answer to a request that created a release.
#[track_caller]
fn created(answer: &Answer) -> (String, Value) {
    let essence = essence(answer);
    assert!(!is_repeated(answer), "{}", answer.asked);
    essence
}

/// Expects that a request changes nothing and gets the first answer.
async fn repeats(app: &TestApp, first: &(String, Value), asking: impl Future<Output = Answer>) {
    let before = (state(app).await, stored(app).await);
    let answer = asking.await;
    assert_eq!(essence(&answer), *first);
    assert!(is_repeated(&answer), "{}", answer.asked);
    assert_eq!((state(app).await, stored(app).await), before, "{}", answer.asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_gets_the_first_answer_and_changes_nothing() {
    for name in OPERATIONS {
        let (mut app, ada) = with_releases().await;
        let first = created(&send(&ada, "a key", operation(&ada, name)).await);
        app.clock.advance(7_200_000);
        repeats(&app, &first, send(&ada, "a key", operation(&ada, name))).await;
        let again = send(&ada, "a key", operation(&ada, name)).await.assert(201)["package"].take();
        let download = app.anonymous().get(again["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap()).await;
        download.assert_status(200);
        // By another credential of the account, and after a restart.
        app.stop().await;
        app.start().await;
        let laptop = app.named_key("ada", "laptop").await;
        repeats(&app, &first, send(&laptop, "a key", operation(&laptop, name))).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM idempotency_keys").await, 1);
        app.verify_audit().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_nothing_is_kept() {
    let (app, ada) = with_releases().await;
    for _ in 0..2 {
        created(&ada.send(operation(&ada, "rollbacks")).await);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM idempotency_keys").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_used_for_another_request_is_refused() {
    let (app, ada) = with_releases().await;
    ada.create_app("other").await;
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Third" })).await.assert(201);
    let info = json!({ "appVersion": "1.0.0", "description": "three" });
    send(&ada, "upload", upload(&ada, "three", &info)).await.assert(201);
    let other_info = |member: &str, value: Value| {
        let mut info = info.clone();
        info[member] = value;
        upload(&ada, "three", &info)
    };
    let promotion = |source: &str, body: Value| json_to(&ada, &below(source, "promotions"), &body);
    let promoted = json!({ "destination": "Production", "label": "v1", "packageInfo": { "description": "copied" } });
    send(&ada, "promotion", promotion("Staging", promoted.clone())).await.assert(201);
    let other_promotion = |member: &str, value: Value| {
        let mut body = promoted.clone();
        body[member] = value;
        promotion("Staging", body)
    };
    let rollback = |deployment: &str, target: Value| json_to(&ada, &below(deployment, "rollbacks"), &json!({ "targetRelease": target }));
    send(&ada, "rollback", rollback("Staging", json!("v1"))).await.assert(201);
    for (key, request) in [
        ("upload", upload(&ada, "four", &info)),
        ("upload", other_info("appVersion", json!("1.0.1"))),
        ("upload", other_info("description", Value::Null)),
        ("upload", other_info("isMandatory", json!(true))),
        ("upload", other_info("isDisabled", json!(true))),
        ("upload", other_info("rollout", json!(50))),
        ("upload", upload_to(&ada, &below("Production", "releases"), "three", &info)),
        ("upload", upload_to(&ada, "/v1/apps/other/deployments/Staging/releases", "three", &info)),
        ("upload", promotion("Staging", promoted.clone())),
        ("upload", rollback("Staging", json!("v1"))),
        ("promotion", promotion("Third", promoted.clone())),
        ("promotion", other_promotion("destination", json!("Third"))),
        ("promotion", other_promotion("label", json!("v2"))),
        ("promotion", other_promotion("label", Value::Null)),
        ("promotion", other_promotion("packageInfo", Value::Null)),
        ("promotion", other_promotion("packageInfo", json!({ "description": "copied", "rollout": 50 }))),
        ("promotion", json_to(&ada, "/v1/apps/other/deployments/Staging/promotions", &promoted)),
        ("promotion", upload(&ada, "three", &info)),
        ("promotion", rollback("Staging", json!("v1"))),
        ("rollback", rollback("Staging", json!("v2"))),
        ("rollback", rollback("Staging", Value::Null)),
        ("rollback", rollback("Production", json!("v1"))),
        ("rollback", upload(&ada, "three", &info)),
    ] {
        let text = refused(&app, 409, send(&ada, key, request)).await;
        assert!(text.contains("Idempotency-Key"), "{key}: {text}");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM idempotency_keys").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_can_be_written_in_several_ways() {
    let (app, ada) = prepared().await;
    ada.post("/v1/apps/demo/deployments", json!({ "name": "caf\u{e9}" })).await.assert(201);
    let (short, info) = (below("caf%C3%A9", "releases"), json!({ "appVersion": "1.0.0" }));
    let answer = send(&ada, "key", upload_to(&ada, &short, "one", &info)).await;
    let (location, package) = created(&answer);
    repeats(
        &app,
        &(location, package.clone()),
        send(&ada, "key", {
            let nulls = json!({ "appVersion": "1.0.0", "description": null, "rollout": 100, "isMandatory": false, "unknown": 1 });
            let form = Form::new().part("packageInfo", Part::text(nulls.to_string())).part("package", Part::bytes(b"one".to_vec()));
            ada.request(Method::POST, &short).multipart(form)
        }),
    )
    .await;
    // The location leads the caller to the app, by the name in the request.
    for path in ["/v1/apps/ada@example.com:demo/deployments/caf%C3%A9/releases", "/v1/apps/demo/deployments/cafe%CC%81/releases"] {
        let answer = send(&ada, "key", upload_to(&ada, path, "one", &info)).await;
        assert_eq!((essence(&answer).1, is_repeated(&answer)), (package.clone(), true));
        assert_eq!(unsigned(ada.get(&answer.header("location")).await.assert(200)["package"].take()), package);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_requests_with_one_key_one_is_done_and_all_get_its_answer() {
    for name in OPERATIONS {
        for count in [2, 10] {
            let (app, ada) = with_releases_of(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "20")).await;
            let (before, blobs) = (app.audit_rows().await, app.leftovers().await.rows[1]);
            let answers = at_once(&ada, "key", (0..count).map(|_| operation(&ada, name)).collect()).await;
            let first = essence(&answers[0]);
            assert!(answers.iter().all(|answer| essence(answer) == first), "{name}");
            assert_eq!(answers.iter().filter(|answer| !is_repeated(answer)).count(), 1, "{name}");
            let expected = if name == "promotions" { 1 } else { 3 };
            assert_eq!(history(&ada, target(name)).await.len(), expected, "{name}");
            assert_eq!(app.audit_rows().await - before, 1, "{name}");
            let new_blobs = i64::from(name == "releases");
            let (rows, files) = stored(&app).await;
            assert_eq!((rows[1], files.len()), (blobs + new_blobs, usize::try_from(blobs + new_blobs).unwrap()), "{name}: {files:?}");
            repeats(&app, &first, send(&ada, "key", operation(&ada, name))).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_different_requests_with_one_key_one_succeeds() {
    let (app, ada) = with_releases().await;
    for round in 0..5 {
        let key: &'static str = ["a", "b", "c", "d", "e"][round];
        let requests = vec![
            json_to(&ada, &below("Staging", "rollbacks"), &json!({ "targetRelease": null })),
            json_to(
                &ada,
                &below("Staging", "promotions"),
                &json!({ "destination": "Production", "packageInfo": { "appVersion": format!("1.{round}.0") } }),
            ),
            upload(&ada, &format!("round {round}"), &json!({ "appVersion": "1.0.0" })),
        ];
        let before = app.number("SELECT COUNT(*) FROM releases").await;
        let answers = at_once(&ada, key, requests).await;
        let done = answers.iter().filter(|answer| answer.status.as_u16() == 201).count();
        for answer in answers.iter().filter(|answer| answer.status.as_u16() != 201) {
            assert!(answer.refused(409).contains("Idempotency-Key"), "{}", answer.text());
        }
        assert_eq!((done, app.number("SELECT COUNT(*) FROM releases").await - before), (1, 1), "round {round}");
    }
    // A refused upload leaves no blob.
    let hashes =
        app.number("SELECT COUNT(*) FROM blobs b WHERE NOT EXISTS (SELECT 1 FROM releases r WHERE r.blob_sha256 = b.sha256)").await;
    assert_eq!(hashes, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_rollbacks_with_different_keys_are_both_done() {
    let (_app, ada) = with_releases().await;
    let (one, two) = tokio::join!(send(&ada, "one", operation(&ada, "rollbacks")), send(&ada, "two", operation(&ada, "rollbacks")));
    let mut made = [created(&one).1, created(&two).1];
    made.sort_by_key(|package| package["label"].to_string());
    assert_eq!(labels(&made), ["v3", "v4"]);
    assert_eq!(made.map(|package| package["originalLabel"].clone()), ["v1", "v2"]);
    let answers = at_once(&ada, "three", vec![operation(&ada, "rollbacks"), operation(&ada, "rollbacks")]).await;
    assert_eq!((essence(&answers[0]), history(&ada, "Staging").await.len()), (essence(&answers[1]), 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_request_is_done_if_the_first_one_is_lost() {
    let (app, ada) = with_releases().await;
    // The first one waits for the deployment, the second one for the first.
    let mut holder = app.db().write().await.unwrap();
    let lock = "UPDATE deployments SET last_label = last_label";
    on_write!(holder, |conn| sqlx::query(lock).execute(conn).await).unwrap();
    let (head, body) = raw::parts(operation(&ada, "rollbacks").header(HEADER, "key").build().unwrap()).await;
    let mut lost = raw::connect(&app.base).await;
    lost.write_all(&[head, body].concat()).await.unwrap();
    until_somebody_waits(&app).await;
    let asking = tokio::spawn({
        let ada = ada.clone();
        async move { send(&ada, "key", operation(&ada, "rollbacks")).await }
    });
    drop(lost);
    holder.commit().await.unwrap();
    let answer = essence(&asking.await.unwrap());
    assert_eq!(history(&ada, "Staging").await.len(), 3);
    repeats(&app, &answer, send(&ada, "key", operation(&ada, "rollbacks"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_given_again() {
    for name in OPERATIONS {
        let (app, ada) = with_releases().await;
        let before = history(&ada, target(name)).await.len();
        let request = operation(&ada, name).header(HEADER, "key").build().unwrap();
        let (head, body) = raw::parts(request).await;
        let mut stream = raw::connect(&app.base).await;
        stream.write_all(&[head, body].concat()).await.unwrap();
        let package = until("the release exists", async || history(&ada, target(name)).await.get(before).cloned()).await;
        // Nobody reads the answer.
        drop(stream);
        let location = below(target(name), &format!("releases/{}", package["label"].as_str().unwrap()));
        repeats(&app, &(location, unsigned(package)), send(&ada, "key", operation(&ada, name))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_request_leaves_the_key_free() {
    for name in OPERATIONS {
        let (app, ada) = with_releases().await;
        // The last statement of a change fails.
        assert_eq!(app.change("DELETE FROM audit_head", &[]).await, 1);
        assert!(send(&ada, "key", operation(&ada, name)).await.status.is_server_error(), "{name}");
        assert_eq!(app.number("SELECT COUNT(*) FROM idempotency_keys").await, 0);
        let restore = "INSERT INTO audit_head (id, seq, hash) SELECT 1, seq, hash FROM audit_events ORDER BY seq DESC LIMIT 1";
        assert_eq!(app.change(restore, &[]).await, 1);
        created(&send(&ada, "key", operation(&ada, name)).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_leaves_the_key_free_for_the_corrected_one() {
    let (app, ada) = with_releases().await;
    let asked = [
        ("a", 400, upload(&ada, "three", &json!({}))),
        ("a", 409, upload(&ada, "two", &json!({ "appVersion": "1.0.0" }))),
        ("a", 404, upload_to(&ada, &below("Absent", "releases"), "three", &json!({ "appVersion": "1.0.0" }))),
        ("b", 400, json_to(&ada, &below("Staging", "promotions"), &json!({}))),
        ("b", 404, json_to(&ada, &below("Staging", "promotions"), &json!({ "destination": "Absent" }))),
        ("b", 409, json_to(&ada, &below("Staging", "promotions"), &json!({ "destination": "Staging" }))),
        ("c", 400, json_to(&ada, &below("Staging", "rollbacks"), &json!({ "targetRelease": 1 }))),
        ("c", 404, json_to(&ada, &below("Staging", "rollbacks"), &json!({ "targetRelease": "v9" }))),
        ("c", 409, json_to(&ada, &below("Staging", "rollbacks"), &json!({ "targetRelease": "v2" }))),
    ];
    for (key, status, request) in asked {
        refused(&app, status, send(&ada, key, request)).await;
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM idempotency_keys").await, 0);
    created(&send(&ada, "c", operation(&ada, "rollbacks")).await);
    created(&send(&ada, "b", operation(&ada, "promotions")).await);
    created(&send(&ada, "a", operation(&ada, "releases")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_free_again_after_24_hours() {
    let (app, ada) = with_releases().await;
    let first = created(&send(&ada, "key", operation(&ada, "rollbacks")).await);
    app.clock.advance(DAY - 1);
    repeats(&app, &first, send(&ada, "key", operation(&ada, "rollbacks"))).await;
    app.clock.advance(1);
    let second = created(&send(&ada, "key", operation(&ada, "rollbacks")).await);
    assert_eq!((&first.1["label"], &second.1["label"]), (&json!("v3"), &json!("v4")));
    repeats(&app, &second, send(&ada, "key", operation(&ada, "rollbacks"))).await;
    app.clock.advance(DAY);
    // For another request too.
    created(&send(&ada, "key", operation(&ada, "releases")).await);
}

// On one thread, where the time that jobs sleep by can be advanced.
#[tokio::test]
async fn expired_keys_are_deleted() {
    let (app, ada) = with_releases().await;
    send(&ada, "old", operation(&ada, "rollbacks")).await.assert(201);
    app.clock.advance(DAY - 1);
    send(&ada, "new", operation(&ada, "rollbacks")).await.assert(201);
    app.clock.advance(1);
    let keys = async || app.texts("SELECT key FROM idempotency_keys ORDER BY key", &[]).await;
    assert_eq!(keys().await, ["new", "old"]);
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(1)).await;
    tokio::time::resume();
    until("the expired key is deleted", async || (keys().await == ["new"]).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_have_their_own_keys() {
    let (app, ada) = with_releases().await;
    let bob = app.sign_up("bob").await;
    app.share("ada", "demo", "bob", "Developer", app.clock.now().0 + 1).await;
    let of_ada = created(&send(&ada, "key", operation(&ada, "rollbacks")).await);
    let of_bob = created(&send(&bob, "key", operation(&bob, "rollbacks")).await);
    assert_eq!((&of_ada.1["label"], &of_bob.1["label"]), (&json!("v3"), &json!("v4")));
    repeats(&app, &of_ada, send(&ada, "key", operation(&ada, "rollbacks"))).await;
    repeats(&app, &of_bob, send(&bob, "key", operation(&bob, "rollbacks"))).await;
    assert_eq!(app.change("DELETE FROM accounts WHERE email = $1", &["bob@example.com"]).await, 1);
    assert_eq!(app.number("SELECT COUNT(*) FROM idempotency_keys").await, 1, "an account's keys are deleted with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_edit_of_the_release_does_not_change_the_answer() {
    for name in OPERATIONS {
        let (app, ada) = with_releases().await;
        let first = created(&send(&ada, "key", operation(&ada, name)).await);
        let mut edited = json!({ "appVersion": "1.0.1", "isMandatory": true, "isDisabled": true });
        if name != "rollbacks" {
            edited["rollout"] = json!(50);
        }
        patch(&ada, target(name), edited).await.assert(200);
        if name != "promotions" {
            let label = first.1["label"].as_str().unwrap();
            patch_of(&ada, target(name), label, json!({ "description": "edited" })).await.assert(200);
        }
        repeats(&app, &first, send(&ada, "key", operation(&ada, name))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_releases_and_deployments_do_not_change_the_answer() {
    for name in OPERATIONS {
        let (app, ada) = with_releases().await;
        let first = created(&send(&ada, "key", operation(&ada, name)).await);
        for deployment in ["Staging", "Production"] {
            ada.delete(&below(deployment, "history")).await.assert_status(204);
            repeats(&app, &first, send(&ada, "key", operation(&ada, name))).await;
        }
        for deployment in ["Staging", "Production"] {
            ada.delete(&format!("/v1/apps/demo/deployments/{deployment}")).await.assert_status(204);
            repeats(&app, &first, send(&ada, "key", operation(&ada, name))).await;
        }
        refused(&app, 404, send(&ada, "another key", operation(&ada, name))).await;
        if name == "releases" {
            refused(&app, 409, send(&ada, "key", upload(&ada, "four", &json!({ "appVersion": "1.0.0" })))).await;
        }
        ada.delete("/v1/apps/demo").await.assert_status(204);
        refused(&app, 404, send(&ada, "key", operation(&ada, name))).await;
        // Another app of the same name is another app.
        ada.create_app("demo").await;
        refused(&app, 409, send(&ada, "key", operation(&ada, name))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_needs_the_same_rights_as_the_first() {
    for name in OPERATIONS {
        let (app, ada) = with_releases().await;
        let bob = app.sign_up("bob").await;
        ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({})).await.assert(201);
        let first = created(&send(&bob, "key", operation(&bob, name)).await);
        let (deploy, read) = (app.api_key("bob", &["deploy"]).await, app.api_key("bob", &["read"]).await);
        repeats(&app, &first, send(&deploy, "key", operation(&deploy, name))).await;
        refused(&app, 403, send(&read, "key", operation(&read, name))).await;
        refused(&app, 401, send(&app.anonymous(), "key", operation(&app.anonymous(), name))).await;
        let role = async |role: &str| {
            ada.patch("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": role })).await.assert(200);
        };
        role("Viewer").await;
        refused(&app, 403, send(&bob, "key", operation(&bob, name))).await;
        role("Developer").await;
        repeats(&app, &first, send(&bob, "key", operation(&bob, name))).await;
        ada.delete("/v1/apps/demo/collaborators/bob@example.com").await.assert_status(204);
        refused(&app, 404, send(&bob, "key", operation(&bob, name))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_loses_the_role_while_waiting_for_the_first_request_gets_no_answer() {
    let (app, ada) = with_releases().await;
    let bob = app.sign_up("bob").await;
    app.share("ada", "demo", "bob", "Developer", app.clock.now().0 + 1).await;
    created(&send(&bob, "key", operation(&bob, "rollbacks")).await);
    let mut holder = app.db().write().await.unwrap();
    on_write!(holder, |conn| sqlx::query("UPDATE idempotency_keys SET expires = expires").execute(conn).await).unwrap();
    let asking = tokio::spawn({
        let bob = bob.clone();
        async move { send(&bob, "key", operation(&bob, "rollbacks")).await }
    });
    until_somebody_waits(&app).await;
    let remove = "DELETE FROM collaborators WHERE permission = 'Developer'";
    on_write!(holder, |conn| sqlx::query(remove).execute(conn).await).unwrap();
    holder.commit().await.unwrap();
    asking.await.unwrap().refused(404);
    assert_eq!(history(&ada, "Staging").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_upload_needs_no_room() {
    let (app, ada) = prepared_with(Options::default().with("LIMIT_STORED_BYTES", "2KiB")).await;
    let (content, info) = ("x".repeat(1_500), json!({ "appVersion": "1.0.0" }));
    let first = created(&send(&ada, "key", upload(&ada, &content, &info)).await);
    refused(&app, 409, send(&ada, "another key", upload(&ada, &"y".repeat(1_500), &info))).await;
    repeats(&app, &first, send(&ada, "key", upload(&ada, &content, &info))).await;
    let text = refused(&app, 409, send(&ada, "key", upload(&ada, "y", &info))).await;
    assert!(text.contains("Idempotency-Key"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_counts_against_the_rate_limits() {
    let (app, ada) = prepared_with(Options::default().with("LIMIT_UPLOADS", "3/15m")).await;
    let info = json!({ "appVersion": "1.0.0" });
    let first = created(&send(&ada, "key", upload(&ada, "one", &info)).await);
    for _ in 0..2 {
        repeats(&app, &first, send(&ada, "key", upload(&ada, "one", &info))).await;
    }
    refused(&app, 429, send(&ada, "key", upload(&ada, "one", &info))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_has_1_to_255_printable_ascii_characters() {
    let (app, ada) = with_releases().await;
    for name in OPERATIONS {
        for key in [&b""[..], b"\t", "k\u{e9}".as_bytes(), b"k\xff", b"one\ttwo", &b"k".repeat(256)] {
            let request = operation(&ada, name).header(HEADER, HeaderValue::from_bytes(key).unwrap());
            let text = refused(&app, 400, ada.send(request)).await;
            assert!(text.starts_with("Idempotency-Key: "), "{text}");
        }
        let text = refused(&app, 400, send(&ada, "one", operation(&ada, name).header(HEADER, "two"))).await;
        assert!(text.starts_with("Idempotency-Key: "), "{text}");
    }
    for key in ["k".repeat(255), "~".to_owned(), "release 1.2.3; try \"again\"".to_owned()] {
        let first = created(&send(&ada, &key, operation(&ada, "rollbacks")).await);
        repeats(&app, &first, send(&ada, &key, operation(&ada, "rollbacks"))).await;
    }
}
