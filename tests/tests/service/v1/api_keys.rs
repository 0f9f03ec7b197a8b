//! API keys: created on the dashboard for programs, with scopes and an optional expiration; revoked but never deleted.

use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use shared::time::UnixMillis;
use tests::SessionOrigin::{CliBrowser, Dashboard};
use tests::{Client, TestApp};

use crate::v1::members;

const KEYS: &str = "/v1/api-keys";
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// The time `millis` from now, as in requests and responses.
fn away(app: &TestApp, millis: i64) -> String {
    UnixMillis(app.clock.now().0 + millis).iso8601()
}

async fn make(session: &Client, body: Value) -> Value {
    session.post(KEYS, body).await.assert(201)
}

fn path(key: &Value) -> String {
    format!("{KEYS}/{}", key["id"].as_str().unwrap())
}

/// A client that uses the key.
fn client(app: &TestApp, key: &Value) -> Client {
    app.anonymous().with_token(Some(key["key"].as_str().unwrap().to_owned()))
}

async fn listed(session: &Client) -> Vec<Value> {
    session.get(KEYS).await.assert(200)["apiKeys"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_created_used_renamed_narrowed_widened_and_revoked() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let answer = session.post(KEYS, json!({ "name": "ci", "scopes": ["read", "deploy", "read"] })).await;
    let made = answer.assert(201);
    assert_eq!(answer.header("location"), path(&made));
    let (now, raw, prefix) = (app.clock.now().0, made["key"].as_str().unwrap(), made["key_prefix"].as_str().unwrap());
    let mut expected = json!({
        "id": made["id"], "name": "ci", "key_prefix": prefix, "key": raw, "scopes": ["deploy", "read"], "expires_at": null,
        "revoked_at": null, "last_used_at": null, "created_at": now, "updated_at": now,
    });
    assert_eq!(made, expected);
    let secret = raw.strip_prefix(prefix).unwrap();
    let public = prefix.strip_prefix("svc_sk_live_").unwrap();
    assert_eq!((public.len(), secret.len()), (9, 32));
    assert!(format!("{public}{secret}").bytes().all(|byte| byte.is_ascii_alphanumeric()));
    expected.as_object_mut().unwrap().remove("key");
    assert_eq!(session.get(KEYS).await.assert(200), json!({ "apiKeys": [expected] }), "the raw key is shown once");

    let ci = client(&app, &made);
    ci.get("/v1/apps").await.assert(200);
    app.clock.advance(HOUR);
    let renamed = session.patch(&path(&made), json!({ "name": "build" })).await.assert(200);
    assert_eq!(members(&renamed), members(&expected));
    assert_eq!((&renamed["name"], &renamed["updated_at"], &renamed["created_at"]), (&json!("build"), &json!(now + HOUR), &json!(now)));
    assert_eq!((&renamed["scopes"], &renamed["last_used_at"]), (&json!(["deploy", "read"]), &json!(now)));
    let narrowed = session.patch(&path(&made), json!({ "scopes": ["read"], "expires_at": away(&app, DAY) })).await.assert(200);
    assert_eq!((&narrowed["scopes"], &narrowed["expires_at"]), (&json!(["read"]), &json!(away(&app, DAY))));
    session.reauthenticate().await;
    let widened = session.patch(&path(&made), json!({ "scopes": ["apps", "read"], "expires_at": null })).await.assert(200);
    assert_eq!((&widened["scopes"], &widened["expires_at"], &widened["name"]), (&json!(["read", "apps"]), &Value::Null, &json!("build")));

    let gone = session.delete(&path(&made)).await;
    gone.assert(204);
    assert!(gone.body.is_empty());
    ci.get("/v1/authenticated").await.refused(401);
    let revoked = listed(&session).await.remove(0);
    assert_eq!(revoked["revoked_at"], now + HOUR);
    app.clock.advance(HOUR);
    session.delete(&path(&made)).await.assert(204);
    assert_eq!(listed(&session).await, [revoked], "revoking again changes nothing");
    for patch in [json!({ "name": "x" }), json!({ "scopes": ["read"] }), json!({ "expires_at": null })] {
        session.patch(&path(&made), patch).await.refused_with(409, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_key_works_again_with_a_later_expiration() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let made = make(&session, json!({ "name": "ci", "scopes": ["read"], "expires_at": away(&app, HOUR) })).await;
    assert_eq!(made["expires_at"], away(&app, HOUR));
    let ci = client(&app, &made);
    app.clock.advance(HOUR - 1);
    ci.get("/v1/apps").await.assert(200);
    app.clock.advance(1);
    ci.get("/v1/apps").await.refused(401);
    session.reauthenticate().await;
    session.patch(&path(&made), json!({ "expires_at": away(&app, HOUR) })).await.assert(200);
    ci.get("/v1/apps").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_is_named_at_once() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let made = make(&session, json!({ "name": "ci", "scopes": ["read"] })).await;
    let text = session.post(KEYS, json!({ "expires_at": 7 })).await.refused(400);
    for member in ["name: ", "scopes: ", "expires_at: "] {
        assert!(text.contains(member), "{text}");
    }
    for name in [json!(null), json!(""), json!("x".repeat(256)), json!(7), json!("two\nlines")] {
        session.post(KEYS, json!({ "name": name, "scopes": ["read"] })).await.refused(400);
        session.patch(&path(&made), json!({ "name": name })).await.refused(400);
    }
    for scopes in
        [json!(null), json!([]), json!("read"), json!(["write"]), json!(["read", 7]), json!([["read"]]), json!({}), json!(["Read"])]
    {
        session.post(KEYS, json!({ "name": "x", "scopes": scopes })).await.refused(400);
        session.patch(&path(&made), json!({ "scopes": scopes })).await.refused(400);
    }
    let past = [away(&app, 0), away(&app, -DAY)];
    let malformed = [
        "",
        "tomorrow",
        "2999-01-01",
        "2999-02-30T00:00:00Z",
        "2999-01-01T00:00:00",
        "9999999999999",
        "2999-01-01x00:00:00Z",
        "2999-01-01 00:00:00Z",
        "2999-01-01_00:00:00Z",
        // In UTC this is the year 10000.
        "9999-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59.999-00:01",
    ]
    .map(str::to_owned);
    for expires in malformed.iter().chain(&past).map(|text| json!(text)).chain([json!(7), json!(true), json!([])]) {
        session.post(KEYS, json!({ "name": "x", "scopes": ["read"], "expires_at": expires })).await.refused(400);
        session.patch(&path(&made), json!({ "expires_at": expires })).await.refused(400);
    }
    // At least one member is required; null is a value only for expires_at.
    for nothing in [json!({}), json!({ "name": null, "scopes": null }), json!({ "key": "x" })] {
        session.patch(&path(&made), nothing).await.refused(400);
    }
    session.patch(&path(&made), json!({ "expires_at": null })).await.assert(200);
    assert_eq!(listed(&session).await.len(), 1);
    // Other formats of a time.
    for (given, shown) in [
        ("2999-01-01T01:30:00+01:30", "2999-01-01T00:00:00.000Z"),
        ("2999-01-01T00:00:00.123456Z", "2999-01-01T00:00:00.123Z"),
        ("2999-01-01t00:00:00z", "2999-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(session.patch(&path(&made), json!({ "expires_at": given })).await.assert(200)["expires_at"], shown);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_credential_gets_the_right_refusal() {
    let app = TestApp::spawn().await;
    let named = app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let made = make(&session, json!({ "name": "ci", "scopes": ["deploy", "read", "apps"] })).await;
    let api = client(&app, &made);
    let (new, code) = (json!({ "name": "x", "scopes": ["read"] }), Some("dashboard_session_required"));
    let others = app.other_sessions("ada").await;
    // Creating a key: callers without a dashboard session are told that one is required.
    for other in others.iter().chain([&named, &api]) {
        other.post(KEYS, new.clone()).await.refused_with(403, code);
        other.post(KEYS, json!([])).await.refused_with(403, code);
    }
    for key in [&named, &api] {
        key.patch(&path(&made), json!({ "name": "x" })).await.refused_with(403, None);
        key.delete(&path(&made)).await.refused_with(403, None);
    }
    api.get(KEYS).await.refused_with(403, None);
    assert_eq!(listed(&named).await.len(), 1);
    for other in &others {
        assert_eq!(listed(other).await.len(), 1);
        other.patch(&path(&made), json!({ "name": "x" })).await.refused_with(403, code);
    }
    others[0].delete(&path(&made)).await.assert(204);
    app.anonymous().get(KEYS).await.refused(401);
    app.anonymous().post(KEYS, new).await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_another_account_are_inaccessible() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    app.sign_up("bob").await;
    let (ada, bob) = (app.open_session("ada", Dashboard).await, app.open_session("bob", Dashboard).await);
    let made = make(&ada, json!({ "name": "ci", "scopes": ["read"] })).await;
    for path in [path(&made), format!("{KEYS}/absent"), format!("{KEYS}/%00"), format!("{KEYS}/%FF")] {
        bob.patch(&path, json!({ "name": "mine" })).await.refused(404);
        bob.delete(&path).await.refused(404);
    }
    assert!(listed(&bob).await.is_empty());
    client(&app, &made).get("/v1/apps").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_keys_do_not_exceed_the_limit() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let under_way: Vec<_> = (0..50)
        .map(|index| {
            let session = session.clone();
            tokio::spawn(async move { session.post(KEYS, json!({ "name": format!("key {index}"), "scopes": ["read"] })).await })
        })
        .collect();
    let mut made = 0;
    for answer in under_way {
        let answer = answer.await.unwrap();
        if answer.status.as_u16() == 201 {
            made += 1;
        } else {
            answer.refused_with(429, None);
            assert_eq!(answer.optional_header("retry-after"), None, "waiting does not help");
        }
    }
    assert_eq!((made, listed(&session).await.len()), (25, 25));
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_and_expired_keys_do_not_count_toward_the_limit() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    app.change("UPDATE accounts SET max_api_keys = 2 WHERE email = $1", &["ada@example.com"]).await;
    let session = app.open_session("ada", Dashboard).await;
    let new = json!({ "name": "x", "scopes": ["read"] });
    let short = make(&session, json!({ "name": "short", "scopes": ["read"], "expires_at": away(&app, HOUR) })).await;
    let long = make(&session, new.clone()).await;
    session.post(KEYS, new.clone()).await.refused(429);
    app.clock.advance(HOUR);
    session.reauthenticate().await;
    make(&session, new.clone()).await;
    session.post(KEYS, new.clone()).await.refused(429);
    // The expired key can be renamed but not extended.
    session.patch(&path(&short), json!({ "name": "y" })).await.assert(200);
    session.patch(&path(&short), json!({ "expires_at": null })).await.refused_with(429, None);
    session.delete(&path(&long)).await.assert(204);
    session.patch(&path(&short), json!({ "expires_at": null })).await.assert(200);
    session.post(KEYS, new).await.refused(429);
    assert_eq!(session.get("/v1/account").await.assert(200)["account"]["limits"]["maxApiKeys"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_mfa_deadline_keys_can_only_be_narrowed() {
    let app = TestApp::spawn().await;
    let named = app.sign_up("ada").await;
    let early = app.open_session("ada", Dashboard).await;
    let until = away(&app, 30 * DAY);
    let made = make(&early, json!({ "name": "ci", "scopes": ["read", "deploy"], "expires_at": until })).await;
    app.miss_mfa_deadline("ada").await;
    let (session, cli) = (app.open_session("ada", Dashboard).await, app.open_session("ada", CliBrowser).await);
    let code = Some("mfa_setup_required");
    session.post(KEYS, json!({ "name": "x", "scopes": ["read"] })).await.refused_with(403, code);
    session.post(KEYS, json!({})).await.refused_with(403, code);
    for wider in [
        json!({ "scopes": ["read", "deploy", "apps"] }),
        json!({ "scopes": ["apps"] }),
        json!({ "expires_at": null }),
        json!({ "expires_at": away(&app, 31 * DAY) }),
        json!({ "name": "x", "expires_at": null }),
    ] {
        session.patch(&path(&made), wider).await.refused_with(403, code);
    }
    for other in [&cli, &named] {
        other.post(KEYS, json!({ "name": "x", "scopes": ["read"] })).await.refused_with(403, Some("dashboard_session_required"));
    }
    // Renaming, narrowing and an unchanged expiration are still allowed, but not an earlier one.
    session.patch(&path(&made), json!({ "name": "x", "scopes": ["deploy", "read"], "expires_at": until })).await.assert(200);
    let narrowed = session.patch(&path(&made), json!({ "scopes": ["read"] })).await.assert(200);
    assert_eq!((&narrowed["name"], &narrowed["scopes"]), (&json!("x"), &json!(["read"])));
    session.patch(&path(&made), json!({ "scopes": ["read", "deploy"] })).await.refused_with(403, code);
    session.patch(&path(&made), json!({ "expires_at": away(&app, HOUR) })).await.refused_with(403, code);
    session.patch(&path(&made), json!({ "expires_at": until })).await.assert(200);
    client(&app, &made).get("/v1/apps").await.assert(200);
    session.delete(&path(&made)).await.assert(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_use_is_written_at_most_every_five_minutes() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let made = make(&session, json!({ "name": "ci", "scopes": ["read"] })).await;
    let (ci, start) = (client(&app, &made), app.clock.now().0);
    let used = async |wait: i64| {
        app.clock.advance(wait);
        ci.get("/v1/authenticated").await.assert(200);
        listed(&session).await[0]["last_used_at"].as_i64().unwrap() - start
    };
    assert_eq!([used(1_000).await, used(299_999).await, used(1).await, used(60_000).await], [1_000, 1_000, 301_000, 301_000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_hash_of_a_key_is_stored_and_only_the_whole_key_works() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let (made, other) = (
        make(&session, json!({ "name": "a", "scopes": ["read"] })).await,
        make(&session, json!({ "name": "b", "scopes": ["read"] })).await,
    );
    let (raw, prefix) = (made["key"].as_str().unwrap(), made["key_prefix"].as_str().unwrap());
    let stored = app.texts("SELECT key_hash FROM api_keys WHERE key_prefix = $1", &[prefix]).await;
    assert_eq!(stored, [Sha256Hex::of(raw.as_bytes()).to_string()]);
    let swapped = format!("{prefix}{}", other["key"].as_str().unwrap().strip_prefix(other["key_prefix"].as_str().unwrap()).unwrap());
    let last = if raw.ends_with('A') { 'B' } else { 'A' };
    let near = format!("{}{last}", &raw[..raw.len() - 1]);
    for wrong in
        [swapped, near, prefix.to_owned(), format!("{raw}A"), raw[..raw.len() - 1].to_owned(), raw.to_lowercase(), stored[0].clone()]
    {
        let answer = app.anonymous().with_token(Some(wrong)).get("/v1/authenticated").await;
        answer.refused(401);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    client(&app, &made).get("/v1/authenticated").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_notified_of_created_revoked_and_surviving_keys() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let (kept, gone) = (
        make(&session, json!({ "name": "kept key", "scopes": ["read"] })).await,
        make(&session, json!({ "name": "gone key", "scopes": ["read"] })).await,
    );
    let mail = app.last_mail_to("ada@example.com").await;
    assert_eq!(mail.subject, "An API key was created");
    assert!(mail.text.contains("gone key") && !mail.text.contains(gone["key"].as_str().unwrap()), "{}", mail.text);
    session.delete(&path(&gone)).await.assert(204);
    assert_eq!(app.last_mail_to("ada@example.com").await.subject, "An API key was revoked");
    let new = "another long passphrase nobody guesses";
    session.patch("/v1/account", json!({ "password": new, "currentPassword": tests::people::PASSWORD })).await.assert(200);
    let mail = app.last_mail_to("ada@example.com").await;
    assert!(mail.text.contains("kept key") && !mail.text.contains("gone key"), "{}", mail.text);
    client(&app, &kept).get("/v1/apps").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_deleted_with_their_account() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let (api, session) = (app.api_key("ada", &["read"]).await, app.open_session("ada", Dashboard).await);
    session.delete_with("/v1/account", json!({ "password": tests::people::PASSWORD })).await.assert(204);
    api.get("/v1/authenticated").await.refused(401);
    assert_eq!(app.number("SELECT COUNT(*) FROM api_keys").await, 0);
}
